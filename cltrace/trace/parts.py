"""Reading a long table in parts, by several processes at once: making numbers of rows is what takes time.

The parts come in the order of the rows, whoever read them.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import numpy as np

from cltrace.errors import DamagedTraceError
from cltrace.trace.commands import Int64s

_ROWS_A_PART: Final = 250_000
_MOST_WORKERS: Final = 4
_START: Final = (
    "import sys; sys.path[:] = {path!r}; from cltrace.trace.part_worker import main; main({task!r})"
)


def worker_count(rows: int) -> int:
    """How many processes are worth starting to read so many rows; 1 when none is."""
    if rows < 2 * _ROWS_A_PART or not sys.executable:
        return 1
    return max(min(os.cpu_count() or 1, _MOST_WORKERS, rows // _ROWS_A_PART), 1)


def parts_of(
    path: Path, table: str, expressions: Mapping[str, str], ids: tuple[int, int], workers: int
) -> Iterator[dict[str, Int64s]]:
    """SQL expressions by name, of the rows with numbers from `ids[0]` to `ids[1]`, part after part.

    NULL is `ABSENT`. Raises: `DamagedTraceError`.
    """
    low, high = ids
    parts = [
        (first, min(first + _ROWS_A_PART - 1, high)) for first in range(low, high + 1, _ROWS_A_PART)
    ]
    with contextlib.ExitStack() as stack:
        readers = [
            stack.enter_context(
                _reader(path, table, list(expressions.values()), parts[number::workers])
            )
            for number in range(workers)
        ]
        for number in range(len(parts)):
            yield _received(readers[number % workers], list(expressions), path)


@contextlib.contextmanager
def _reader(
    path: Path, table: str, wanted: Sequence[str], parts: Sequence[tuple[int, int]]
) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that reads some parts. It ends with the block, whatever it is doing."""
    task = {"path": str(path.resolve()), "table": table, "wanted": wanted, "parts": parts}
    code = _START.format(path=sys.path, task=json.dumps(task))
    with subprocess.Popen(
        [sys.executable, "-I", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _received(
    process: "subprocess.Popen[bytes]", names: Sequence[str], path: Path
) -> dict[str, Int64s]:
    """The next part that a process has read."""
    assert process.stdout is not None
    count = int(_numbers(process.stdout, 1, process, path)[0])
    return {name: _numbers(process.stdout, count, process, path) for name in names}


def _numbers(
    stream: IO[bytes], count: int, process: "subprocess.Popen[bytes]", path: Path
) -> Int64s:
    raw = stream.read(8 * count)
    if len(raw) < 8 * count:
        said = process.stderr.read().decode(errors="replace") if process.stderr else ""
        last = said.strip().splitlines()[-1:] or ["its reader ended early"]
        raise DamagedTraceError(f"{path} is damaged: {last[0]}")
    return np.frombuffer(raw, np.int64)
