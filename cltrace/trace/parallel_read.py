"""Parallel reading of a long table, in parts, by several processes.

Converting rows to numbers takes most of the time. The parts are returned in the order of the rows.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from cltrace.errors import DamagedTraceError, TraceError
from cltrace.trace.commands import Int64s
from cltrace.trace.parallel_worker import DAMAGED, REFUSED
from cltrace.trace.table_location import TableLocation

if TYPE_CHECKING:
    from io import BufferedReader

_ROWS_PER_PART: Final = 250_000
_MAX_WORKERS: Final = 4
_START: Final = (
    "import sys; sys.path[:] = {path!r}; "
    "from cltrace.trace.parallel_worker import main; main({task!r})"
)

_ERRORS: Final = {DAMAGED: DamagedTraceError, REFUSED: TraceError}
"""Error of a worker process, by its exit status."""

Process = subprocess.Popen[bytes]


def worker_count(rows: int) -> int:
    """Return the number of processes that is worth starting to read `rows` rows; 1 for none."""
    if rows < 2 * _ROWS_PER_PART or not os.access(sys.executable or "", os.X_OK):
        return 1
    return max(min(len(os.sched_getaffinity(0)), _MAX_WORKERS, rows // _ROWS_PER_PART), 1)


def read_column_parts(
    location: TableLocation, max_id: int, workers: int, *, rows_per_part: int = _ROWS_PER_PART
) -> Iterator[dict[str, Int64s]]:
    """Yield the columns of a table, for rows with ids from 1 to `max_id`, part by part.

    NULL becomes `ABSENT`. Raises: `TraceError`.
    """
    parts = [
        (first, min(first + rows_per_part - 1, max_id))
        for first in range(1, max_id + 1, rows_per_part)
    ]
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(_worker(location, parts[number::workers]))
            for number in range(workers)
        ]
        for number in range(len(parts)):
            yield _receive_part(processes[number % workers], location)


@contextlib.contextmanager
def _worker(location: TableLocation, parts: Sequence[tuple[int, int]]) -> Iterator[Process]:
    """Start a process that reads some parts. It is killed at the end of the block."""
    task = {
        "path": str(location.path.absolute()),
        "identity": location.identity,
        "table": location.table,
        "expressions": list(location.expressions.values()),
        "parts": parts,
    }
    # The worker uses this process's import path, but nothing from the current directory.
    own = str(Path(__file__).parents[2])
    path = [*(entry for entry in map(str, sys.path) if Path(entry).is_absolute()), own]
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _START.format(path=path, task=json.dumps(task))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _receive_part(process: Process, location: TableLocation) -> dict[str, Int64s]:
    """Return the next part that a process has read."""
    count = int(_receive_column(process, 1, location)[0])
    return {name: _receive_column(process, count, location) for name in location.expressions}


def _receive_column(process: Process, count: int, location: TableLocation) -> Int64s:
    stream = cast("BufferedReader", process.stdout)
    column = np.empty(count, np.int64)
    if stream.readinto(column.view(np.uint8)) < column.nbytes:  # type: ignore[arg-type] # a buffer
        _raise_worker_error(process, location.path)
    return column


def _raise_worker_error(process: Process, path: Path) -> None:
    """Raise the error for which a process ended early. Raises: `TraceError`."""
    assert process.stderr is not None
    lines = process.stderr.read().decode(errors="replace").strip().splitlines()
    status = process.wait()
    if status in _ERRORS and lines:
        raise _ERRORS[status](lines[-1])
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise TraceError(f"{path} cannot be read: a process that reads it {how}")
