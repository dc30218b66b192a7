"""Processes that run tasks of counting in parallel.

The tasks of a program go to the process that has parsed it, as far as all processes stay busy.
"""

import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

from cltrace.kernels.compiler.confinement import ProcessLimits
from cltrace.kernels.counts.traced_launches import TracedProgram
from cltrace.kernels.launches.count_store import KernelInputs, Outcome
from cltrace.kernels.launches.tasks import CodeTask, InputsTask, Result, Task
from cltrace.kernels.program import KernelCode

_MAX_WORKERS: Final = 64
_WORKER_BYTES: Final = 768 << 20
"""Memory that must be available for each process."""
_END_S: Final = 2.0
"""Time that a process has to end before it is killed."""
_START: Final = (
    "import sys; sys.path[:] = {path!r}; "
    "from cltrace.kernels.launches.worker import main; main({descriptor})"
)
_ENVIRONMENT: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # glibc returns large arrays to the system when they are freed, and each new one takes page faults.
    "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
}
"""Environment of the processes."""
Accept = Callable[[Task, Result], None]
"""A function that takes the result of a task, and may add further tasks."""


def worker_count(limit: int | None) -> int:
    """Return the number of processes, as far as memory allows: `limit`, or one per processor for None."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = processors if limit is None else limit
    return min(count, _MAX_WORKERS, max(_available_bytes() // _WORKER_BYTES, 1))


def _available_bytes() -> int:
    """Return the memory that new processes can use without swapping."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return _WORKER_BYTES * _MAX_WORKERS


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, the programs that it has, and the task that it runs; None if it is idle."""

    process: subprocess.Popen[bytes]
    connection: Connection
    programs: set[str] = field(default_factory=set)
    task: Task | None = None


class TaskQueue:
    """The tasks that wait, by program. `programs` has the programs by key."""

    def __init__(self, programs: Mapping[str, TracedProgram]) -> None:
        self.programs = programs
        self._waiting: dict[str, deque[Task]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, task: Task) -> None:
        """Add a task."""
        self._waiting.setdefault(task.program, deque()).append(task)

    def take(self, own: set[str], others: set[str]) -> Task | None:
        """Return a task for a process that has the programs `own`; None if none waits.

        The first choice is a task of one of them, then of a program that no process has, then of the
        program with the most tasks. `others` are the programs that other processes have.
        """
        program = next((key for key in self._waiting if key in own), None)
        if program is None:
            program = next((key for key in self._waiting if key not in others), None)
        if program is None:
            program = max(self._waiting, key=lambda key: len(self._waiting[key]), default=None)
        if program is None:
            return None
        tasks = self._waiting[program]
        task = tasks.popleft()
        if not tasks:
            del self._waiting[program]
        return task


def run_tasks(
    queue: TaskQueue,
    accept: Accept,
    *,
    directory: Path | None,
    workers: int,
    limits: ProcessLimits | None,
    end_s: float | None,
) -> None:
    """Run tasks by `workers` processes until none waits, or until the monotonic clock reads `end_s`.

    A task whose process dies has failed. `limits` are those of the compiler, None for its own.
    """
    with ExitStack() as stack:
        running: list[_Worker] = []
        while len(queue) or any(worker.task is not None for worker in running):
            idle = [worker for worker in running if worker.task is None]
            while len(queue) and len(running) < workers and not idle:
                worker = stack.enter_context(_start_worker(directory, limits))
                running.append(worker)
                idle.append(worker)
                _assign(worker, queue, running)
                idle = [other for other in running if other.task is None]
            for worker in idle:
                _assign(worker, queue, running)
            busy = {worker.connection: worker for worker in running if worker.task is not None}
            timeout_s = None if end_s is None else max(end_s - time.monotonic(), 0.0)
            ready = wait(list(busy), timeout_s)
            if not ready:
                return
            for connection in ready:
                worker = busy[connection]  # type: ignore[index] # only connections are waited for
                task, worker.task = worker.task, None
                assert task is not None
                result = _receive(worker)
                if result is None:
                    running.remove(worker)
                    result = _died(task, worker.process)
                accept(task, result)


def _assign(worker: _Worker, queue: TaskQueue, running: list[_Worker]) -> None:
    """Send a task to an idle process."""
    others = {key for other in running if other is not worker for key in other.programs}
    task = queue.take(worker.programs, others)
    if task is None:
        return
    program = None if task.program in worker.programs else queue.programs[task.program]
    worker.programs.add(task.program)
    worker.task = task
    # A process that has died is noticed when its result is received.
    with suppress(BrokenPipeError, ConnectionResetError):
        worker.connection.send((program, task))


def _receive(worker: _Worker) -> Result | None:
    """Return a result; None if the process has died."""
    try:
        result: Result = worker.connection.recv()
    except (EOFError, OSError):
        return None
    return result


def _died(task: Task, process: subprocess.Popen[bytes]) -> Result:
    """Return the result of a task whose process has died."""
    status = process.wait()
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    message = f"the process that counted it {how}"
    if isinstance(task, CodeTask):
        return KernelCode("", 0, {})
    if isinstance(task, InputsTask):
        return {name: KernelInputs(None, "KernelError", message) for name in task.keys}
    return Outcome("", "KernelError", message)


@contextmanager
def _start_worker(directory: Path | None, limits: ProcessLimits | None) -> Iterator[_Worker]:
    """Start a process, which ends with the block."""
    own, theirs = socket.socketpair()
    # The process uses this one's import path, but nothing from the current directory.
    root = str(Path(__file__).parents[3])
    path = [root, *(entry for entry in map(str, sys.path) if Path(entry).is_absolute())]
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START.format(path=path, descriptor=theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            # Ctrl-C is for this process, which ends the others.
            start_new_session=True,
            env={**os.environ, **_ENVIRONMENT},
        )
    connection = Connection(own.detach())
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.send((None if directory is None else str(directory), limits))
        yield _Worker(process, connection)
    finally:
        connection.close()
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
