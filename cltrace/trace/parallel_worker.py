"""Worker process of `parallel_read`, which reads parts of a table.

It writes each part to standard output: the number of rows, then the columns one after another, all as
64-bit integers in native byte order. An error is a line on standard error and one of the statuses below.
"""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.errors import CltraceError, DamagedTraceError, TraceError
from cltrace.trace.guard import open_trace
from cltrace.trace.integer_columns import read_integers
from cltrace.trace.table_location import file_identity

REFUSED: Final = 2
DAMAGED: Final = 3


def main(task: str) -> None:
    """Read the parts of a task, which is JSON."""
    try:
        _read(json.loads(task))
    except CltraceError as error:
        sys.stderr.write(str(error))
        sys.exit(DAMAGED if isinstance(error, DamagedTraceError) else REFUSED)


def _read(task: dict[str, object]) -> None:
    path, table = Path(str(task["path"])), str(task["table"])
    expressions, parts = task["expressions"], task["parts"]
    assert isinstance(expressions, list)
    assert isinstance(parts, list)
    connection = open_trace(path)
    if list(file_identity(path)) != task["identity"]:
        raise TraceError(f"{path} was replaced while it was read")
    for first, last in parts:
        source = f"{table} WHERE id BETWEEN :first AND :last ORDER BY id"
        try:
            rows = read_integers(connection, expressions, source, {"first": first, "last": last})
        except (sqlite3.DatabaseError, TypeError, ValueError, OverflowError) as error:
            raise DamagedTraceError(f"{path} is damaged: {error}") from error
        # The receiver takes the workers' parts in turn. Flushing each part lets this worker go on to the
        # next one meanwhile.
        sys.stdout.buffer.write(np.int64(len(rows)).tobytes())
        sys.stdout.buffer.write(np.ascontiguousarray(rows.T).tobytes())
        sys.stdout.buffer.flush()
