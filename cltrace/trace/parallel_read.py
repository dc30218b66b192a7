"""Reading a long table in parts, by several processes at once: making numbers of rows is what takes time.

The parts come in the order of the rows, whoever read them.
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
from cltrace.trace.table_location import Source

if TYPE_CHECKING:
    from io import BufferedReader

_ROWS_A_PART: Final = 250_000
_MOST_WORKERS: Final = 4
_START: Final = (
    "import sys; sys.path[:] = {path!r}; "
    "from cltrace.trace.parallel_worker import main; main({task!r})"
)

_KINDS: Final = {DAMAGED: DamagedTraceError, REFUSED: TraceError}
"""What a reading process that ended with such a status had found."""

Process = subprocess.Popen[bytes]


def worker_count(rows: int) -> int:
    """How many processes are worth starting to read so many rows; 1 when none is."""
    if rows < 2 * _ROWS_A_PART or not os.access(sys.executable or "", os.X_OK):
        return 1
    return max(min(len(os.sched_getaffinity(0)), _MOST_WORKERS, rows // _ROWS_A_PART), 1)


def parts_of(
    source: Source, highest: int, workers: int, *, rows_a_part: int = _ROWS_A_PART
) -> Iterator[dict[str, Int64s]]:
    """The columns of a source, of rows with numbers from 1 to `highest`, part after part.

    NULL is `ABSENT`. Raises: `TraceError`.
    """
    parts = [
        (first, min(first + rows_a_part - 1, highest))
        for first in range(1, highest + 1, rows_a_part)
    ]
    with contextlib.ExitStack() as stack:
        readers = [
            stack.enter_context(_reader(source, parts[number::workers]))
            for number in range(workers)
        ]
        for number in range(len(parts)):
            yield _received(readers[number % workers], source)


@contextlib.contextmanager
def _reader(source: Source, parts: Sequence[tuple[int, int]]) -> Iterator[Process]:
    """A process that reads some parts. It ends with the block, whatever it is doing."""
    task = {
        "path": str(source.path.absolute()),
        "identity": source.identity,
        "table": source.table,
        "wanted": list(source.expressions.values()),
        "parts": parts,
    }
    # It imports what this process would, but nothing of the directory that it happens to be in.
    own = str(Path(__file__).parents[2])
    path = [*(one for one in map(str, sys.path) if Path(one).is_absolute()), own]
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


def _received(process: Process, source: Source) -> dict[str, Int64s]:
    """The next part that a process has read."""
    count = int(_numbers(process, 1, source)[0])
    return {name: _numbers(process, count, source) for name in source.expressions}


def _numbers(process: Process, count: int, source: Source) -> Int64s:
    stream = cast("BufferedReader", process.stdout)
    found = np.empty(count, np.int64)
    if stream.readinto(found.view(np.uint8)) < found.nbytes:  # type: ignore[arg-type] # it is a buffer
        _raise_for(process, source.path)
    return found


def _raise_for(process: Process, path: Path) -> None:
    """Say why a process ended early. Raises: `TraceError`."""
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace").strip().splitlines()
    status = process.wait()
    if status in _KINDS and said:
        raise _KINDS[status](said[-1])
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise TraceError(f"{path} cannot be read: a process that reads it {how}")
