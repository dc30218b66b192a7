"""Counts of the launches of a trace: each configuration is counted once, by several processes."""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from cltrace.errors import KernelError
from cltrace.kernels.compiler import Compiler, Target
from cltrace.kernels.compiler.confinement import ProcessLimits
from cltrace.kernels.counts.count_cache import MAX_KEYS, find_similar
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.counts.traced_launches import TracedLaunch, usual_local_size
from cltrace.kernels.launches.configurations import LaunchConfigurations
from cltrace.kernels.launches.count_store import Outcome
from cltrace.kernels.launches.processes import TaskQueue, run_tasks, worker_count
from cltrace.kernels.launches.settings import CountingSettings, default_settings
from cltrace.kernels.launches.tasks import CodeTask, CountTask, InputsTask, Result, Task, TaskRunner
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import KernelCode
from cltrace.trace.progress import Progress, no_progress

_MIN_PARALLEL: Final = 3
"""Number of tasks from which other processes are worth their start."""


@contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the garbage collection in a block that reads many counts, which have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class TracedLaunchCounter:
    """Counts of launches of a trace.

    `count_all` counts many launches by several processes; `count` returns the counts of one, and counts
    it if that has not been done. Both give the same counts. Outcomes are kept on disk.
    """

    def __init__(
        self,
        machine: Machine,
        settings: CountingSettings | None = None,
        limits: ProcessLimits | None = None,
        *,
        targets: tuple[Target, ...] | None = None,
    ) -> None:
        """`limits` are those of compilations, None for the usual ones.

        `targets` are the GPUs on which `code` has the registers of kernels, None if `code` is not needed.
        """
        self._needs_code = targets is not None
        self._settings = settings if settings is not None else default_settings()
        self._limits = limits
        self._known = LaunchConfigurations(machine, self._settings, targets or ())
        self._runner = TaskRunner(
            self._settings.cache, self._known.programs, Compiler(limits=limits)
        )

    def count(self, launch: TracedLaunch) -> KernelCounts:
        """Return the counts of a launch. Raises: `KernelError`."""
        inputs_task = self._known.inputs_task(launch)
        if inputs_task is not None:
            self._known.remember(inputs_task, self._runner.run(inputs_task))
        kernel, key = self._known.configuration(launch)
        counts = kernel.counts.get(key)
        if counts is not None:
            return counts
        if len(kernel.counts) >= MAX_KEYS:
            local_size = launch.local_size or usual_local_size(launch.global_size)
            return find_similar(kernel.counts, launch.global_size, local_size)
        task = kernel.tasks[key]
        outcome = self._known.find_outcome(task)
        try:
            counts = (outcome if outcome is not None else self._count(task)).read()
        except ValueError:  # what was kept is no counts of this version
            counts = self._count(task).read()
        kernel.counts[key] = counts
        return counts

    def code(self, launch: TracedLaunch) -> KernelCode:
        """Return the code of a launch's kernel. Raises: `KernelError`."""
        task = self._known.code_task(launch)
        code = self._known.find_code(task)
        if code is None:
            self._known.remember(task, self._runner.run(task))
            code = self._known.find_code(task)
            assert code is not None
        return code

    def is_counted(self, launch: TracedLaunch) -> bool:
        """Return True if `count` only has to read."""
        try:
            if self._known.inputs_task(launch) is not None:
                return False
            kernel, key = self._known.configuration(launch)
        except KernelError:
            return True
        return (
            key in kernel.counts
            or len(kernel.counts) >= MAX_KEYS
            or self._known.find_outcome(kernel.tasks[key]) is not None
        )

    def count_all(
        self,
        launches: Sequence[TracedLaunch],
        progress: Progress = no_progress,
        *,
        max_s: float | None = None,
    ) -> None:
        """Count launches by several processes, so that `count` only has to read.

        `max_s` limits the time; what has not been counted by then is left.
        """
        if max_s is not None and max_s <= 0:
            return
        end_s = None if max_s is None else time.monotonic() + max_s
        parallel = _ParallelCount(self._known, launches, progress)
        if self._needs_code:
            parallel.add_codes(launches)
        max_tasks = parallel.max_tasks()
        workers = min(worker_count(self._settings.workers), max_tasks)
        if max_tasks >= _MIN_PARALLEL and workers > 1:
            run_tasks(
                parallel.queue,
                parallel.accept,
                directory=self._settings.cache,
                workers=workers,
                limits=self._limits,
                end_s=end_s,
            )

    def _count(self, task: CountTask) -> Outcome:
        """Count a configuration in this process."""
        outcome = self._runner.run(task)
        assert isinstance(outcome, Outcome)
        self._known.remember(task, outcome)
        return outcome


class _ParallelCount:
    """The tasks of counting launches. The result of one may add others to `queue`."""

    def __init__(
        self, known: LaunchConfigurations, launches: Sequence[TracedLaunch], progress: Progress
    ) -> None:
        self._known = known
        self._progress = progress
        self._total = len(launches)
        self._open: dict[str, int] = {}
        """Launches per task that has no result yet, by the task's key."""
        self._without_inputs: dict[str, list[TracedLaunch]] = {}
        """Launches whose kernels' inputs are not known, by program."""
        self._kernels: dict[str, dict[str, str]] = {}
        """Keys of the inputs to find by program and kernel."""
        self.queue = TaskQueue(known.programs)
        for launch in launches:
            self._add(launch)
        for program, keys in self._kernels.items():
            self.queue.add(InputsTask(program, keys))

    def max_tasks(self) -> int:
        """Return the largest number of tasks that may be left."""
        return len(self.queue) + sum(map(len, self._without_inputs.values()))

    def accept(self, task: Task, result: Result) -> None:
        """Take the result of a task."""
        self._known.remember(task, result)
        if isinstance(task, CountTask):
            self._open.pop(task.key, None)
        elif isinstance(task, InputsTask):
            for launch in self._without_inputs.pop(task.program, ()):
                self._add(launch)
        waiting = sum(self._open.values()) + sum(map(len, self._without_inputs.values()))
        self._progress(f"{self._total - waiting:,} of {self._total:,} launches")

    def add_codes(self, launches: Sequence[TracedLaunch]) -> None:
        """Add the tasks of finding the code of kernels that is not known."""
        tasks: dict[str, CodeTask] = {}
        for launch in launches:
            with suppress(KernelError):
                task = self._known.code_task(launch)
                tasks[task.key] = task
        for task in tasks.values():
            if self._known.find_code(task) is None:
                self.queue.add(task)

    def _add(self, launch: TracedLaunch) -> None:
        """Add the task of a launch, unless it is known or another launch has it."""
        try:
            inputs_task = self._known.inputs_task(launch)
            if inputs_task is not None:
                self._kernels.setdefault(inputs_task.program, {}).update(inputs_task.keys)
                self._without_inputs.setdefault(inputs_task.program, []).append(launch)
                return
            kernel, key = self._known.configuration(launch)
        except KernelError:
            return
        task = kernel.tasks[key]
        if task.key in self._open:
            self._open[task.key] += 1
        elif len(kernel.tasks) <= MAX_KEYS and self._known.find_outcome(task) is None:
            self._open[task.key] = 1
            self.queue.add(task)
