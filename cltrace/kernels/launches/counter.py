"""Counts of the launches of a trace: each configuration is counted once, by several processes."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from cltrace.errors import KernelError
from cltrace.kernels.arguments import Argument
from cltrace.kernels.compiler import BOTH_FORMS, CodeForm, Compiler, Target
from cltrace.kernels.compiler.confinement import ProcessLimits
from cltrace.kernels.counts.count_cache import MAX_KEYS, Key, find_similar
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.counts.traced_launches import TracedLaunch, usual_local_size
from cltrace.kernels.launches.configurations import CountedKernel, LaunchConfigurations
from cltrace.kernels.launches.count_store import Outcome
from cltrace.kernels.launches.processes import TaskQueue, run_tasks, worker_count
from cltrace.kernels.launches.settings import CountingSettings, default_settings
from cltrace.kernels.launches.tasks import (
    CodeTask,
    CountTask,
    InputsTask,
    Result,
    Task,
    TaskRunner,
    task_as_written,
)
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import KernelCode
from cltrace.trace.progress import Progress, no_progress

_Counts = TypeVar("_Counts")
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
        forms: frozenset[CodeForm] = BOTH_FORMS,
    ) -> None:
        """`limits` are those of compilations, None for the usual ones.

        `targets` are the GPUs on which `code` has the registers of kernels, None if `code` is not needed.
        `forms` are the code forms that `count` and `count_all` count.
        """
        self._needs_code = targets is not None
        self._settings = settings if settings is not None else default_settings()
        self._limits = limits
        self._machine = machine
        self._known = LaunchConfigurations(machine, self._settings, targets or ())
        self._forms = forms
        self._runner = TaskRunner(
            self._settings.cache, self._known.programs, Compiler(limits=limits)
        )

    def count(self, launch: TracedLaunch) -> KernelCounts:
        """Return the counts of a launch. Raises: `KernelError`."""
        self._find_inputs(launch)
        kernel, key = self._known.configuration(launch)
        by_configuration = kernel.as_written if CodeForm.WRITTEN in self._forms else kernel.counts
        counts = by_configuration.get(key)
        if counts is not None:
            return counts
        if len(by_configuration) >= MAX_KEYS:
            local_size = launch.local_size or usual_local_size(launch.global_size, self._machine)
            return find_similar(by_configuration, launch.global_size, local_size)
        return self._read(kernel, key, self._forms)

    def current_arguments(self, launch: TracedLaunch) -> Sequence[Argument]:
        """Return the arguments of a launch, without contents that kernels before it may have changed.

        Raises: `KernelError` for a launch without a program.
        """
        self._find_inputs(launch)
        return self._known.current_arguments(launch)

    def _find_inputs(self, launch: TracedLaunch) -> None:
        """Find the inputs of a launch's kernel, and of those that ran before it."""
        while (inputs_task := self._known.inputs_task(launch)) is not None:
            self._known.remember(inputs_task, self._runner.run(inputs_task))

    def count_as_written(self, launch: TracedLaunch) -> KernelCounts:
        """Return counts that include the code as written, of a launch that `count` has counted.

        Raises: `KernelError`.
        """
        kernel, key = self._known.configuration(launch)
        return self._read(kernel, key, BOTH_FORMS)

    def _read(self, kernel: CountedKernel, key: Key, forms: frozenset[CodeForm]) -> KernelCounts:
        """Return the counts of a configuration. Raises: `KernelError`."""
        task = kernel.tasks[key]
        counts = kernel.counts.get(key)
        if counts is None:
            counts = kernel.counts[key] = self._outcome(task, Outcome.read)
        if CodeForm.WRITTEN in forms:
            written = self._outcome(task_as_written(task), Outcome.read_written)
            counts = kernel.as_written[key] = counts.with_written(written)
        return counts

    def _outcome(self, task: CountTask, read: Callable[[Outcome], _Counts]) -> _Counts:
        """Return the counts of a task, which is run if they are not known. Raises: `KernelError`."""
        outcome = self._known.find_outcome(task)
        with suppress(ValueError):  # what was kept may be no counts of this version
            if outcome is not None:
                return read(outcome)
        return read(self._count(task))

    def code(self, launch: TracedLaunch) -> KernelCode:
        """Return the code of a launch's kernel. Raises: `KernelError`."""
        task = self._known.code_task(launch)
        code = self._known.find_code(task)
        if code is None:
            self._known.remember(task, self._runner.run(task))
            code = self._known.find_code(task)
            assert code is not None
        return code

    def is_counted(self, launch: TracedLaunch, forms: frozenset[CodeForm] | None = None) -> bool:
        """Return True if `count` only has to read. `forms` are those of the counter by default."""
        try:
            if self._known.inputs_task(launch) is not None:
                return False
            kernel, key = self._known.configuration(launch)
        except KernelError:
            return True
        if len(kernel.counts) >= MAX_KEYS:
            return True
        outcome = self._known.find_outcome(kernel.tasks[key])
        if outcome is None or not outcome.counts:
            return outcome is not None
        needs_written = CodeForm.WRITTEN in (self._forms if forms is None else forms)
        written = task_as_written(kernel.tasks[key])
        return not needs_written or self._known.find_outcome(written) is not None

    def count_all(
        self,
        launches: Sequence[TracedLaunch],
        progress: Progress = no_progress,
        *,
        max_s: float | None = None,
        forms: frozenset[CodeForm] | None = None,
    ) -> None:
        """Count launches by several processes, so that `count` only has to read.

        `max_s` limits the time; what has not been counted by then is left. `forms` are those of the
        counter by default.
        """
        if max_s is not None and max_s <= 0:
            return
        end_s = None if max_s is None else time.monotonic() + max_s
        parallel = _ParallelCount(
            self._known, launches, self._forms if forms is None else forms, progress
        )
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
        self,
        known: LaunchConfigurations,
        launches: Sequence[TracedLaunch],
        forms: frozenset[CodeForm],
        progress: Progress,
    ) -> None:
        self._known = known
        self._forms = forms
        self._progress = progress
        self._total = len(launches)
        self._open: dict[CodeForm, dict[str, int]] = {form: {} for form in BOTH_FORMS}
        """Launches per task that has no result yet, by code form and the task's key."""
        self._without_inputs: dict[str, list[TracedLaunch]] = {}
        """Launches whose kernels' inputs are not known, by program."""
        self._kernels: dict[str, dict[str, str]] = {}
        """Keys of the inputs to find by program and kernel."""
        self.queue = TaskQueue(known.programs)
        for launch in launches:
            self._add(launch)
        self._queue_inputs()

    def max_tasks(self) -> int:
        """Return the largest number of tasks that may be left."""
        return len(self.queue) + sum(map(len, self._without_inputs.values()))

    def accept(self, task: Task, result: Result) -> None:
        """Take the result of a task."""
        self._known.remember(task, result)
        if isinstance(task, CountTask):
            self._add_task(task, self._open[task.form].pop(task.key, 0))
        elif isinstance(task, InputsTask):
            for launch in self._without_inputs.pop(task.program, ()):
                self._add(launch)
            self._queue_inputs()
        waiting = sum(sum(launches.values()) for launches in self._open.values())
        waiting += sum(map(len, self._without_inputs.values()))
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

    def _queue_inputs(self) -> None:
        """Queue the tasks that find the inputs of kernels, one per program."""
        for program, keys in self._kernels.items():
            self.queue.add(InputsTask(program, keys))
        self._kernels.clear()

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
        if len(kernel.tasks) <= MAX_KEYS:
            self._add_task(kernel.tasks[key], 1)

    def _add_task(self, task: CountTask, launches: int) -> None:
        """Add the task of some launches, unless it is known, and then that of the code as written."""
        open_tasks = self._open[task.form]
        outcome = self._known.find_outcome(task)
        if task.key in open_tasks:
            open_tasks[task.key] += launches
        elif outcome is None:
            open_tasks[task.key] = launches
            self.queue.add(task)
        elif outcome.counts and task.form is CodeForm.OPTIMISED and CodeForm.WRITTEN in self._forms:
            self._add_task(task_as_written(task), launches)
