"""A process that runs tasks of counting, which it receives from the process that started it."""

import gc
import itertools
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from cltrace.kernels.compiler import Compiler
from cltrace.kernels.compiler.confinement import ProcessLimits
from cltrace.kernels.launches.tasks import TaskRunner

if TYPE_CHECKING:
    from cltrace.kernels.counts.traced_launches import TracedProgram

_TASKS_PER_COLLECTION: Final = 64


def main(descriptor: int) -> None:
    """Receive tasks over a socket and send their results, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    with Connection(descriptor) as connection:
        directory, limits = connection.recv()
        programs: dict[str, TracedProgram] = {}
        runner = TaskRunner(
            None if directory is None else Path(directory),
            programs,
            Compiler(limits=ProcessLimits() if limits is None else limits),
        )
        # A collection takes longer than a task, as programs are many objects.
        gc.disable()
        for number in itertools.count(1):
            if number % _TASKS_PER_COLLECTION == 0:
                gc.collect()
            try:
                program, task = connection.recv()
            except EOFError:
                return
            if program is not None:
                programs[task.program] = program
            result = runner.run(task)
            try:
                connection.send(result)
            except BrokenPipeError:
                return


def _end(_: int, __: FrameType | None) -> None:
    """End by an exception, so that a compiler that runs is killed on the way out."""
    sys.exit(0)
