"""A process that reads parts of a table for another one, which `parts` starts.

Each part goes to standard output as the number of its rows, then its columns one after another, all as
64-bit numbers of this machine. A fault is one line on standard error, and a status of those below.
"""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.errors import CltraceError, DamagedTraceError, TraceError
from cltrace.trace.guard import open_trace
from cltrace.trace.integer_columns import whole_numbers
from cltrace.trace.table_location import identity_of

REFUSED: Final = 2
DAMAGED: Final = 3


def main(task: str) -> None:
    """Read the parts that a task in JSON names."""
    try:
        _read(json.loads(task))
    except CltraceError as error:
        sys.stderr.write(str(error))
        sys.exit(DAMAGED if isinstance(error, DamagedTraceError) else REFUSED)


def _read(asked: dict[str, object]) -> None:
    path, table = Path(str(asked["path"])), str(asked["table"])
    wanted, parts = asked["wanted"], asked["parts"]
    assert isinstance(wanted, list)
    assert isinstance(parts, list)
    connection = open_trace(path)
    if list(identity_of(path)) != asked["identity"]:
        raise TraceError(f"{path} was replaced while it was read")
    for first, last in parts:
        where = f"{table} WHERE id BETWEEN :first AND :last ORDER BY id"
        try:
            found = whole_numbers(connection, wanted, where, {"first": first, "last": last})
        except (sqlite3.DatabaseError, TypeError, ValueError, OverflowError) as error:
            raise DamagedTraceError(f"{path} is damaged: {error}") from error
        # Written whole: the reader takes parts in turn, and meanwhile this one goes on with the next.
        sys.stdout.buffer.write(np.int64(len(found)).tobytes())
        sys.stdout.buffer.write(np.ascontiguousarray(found.T).tobytes())
        sys.stdout.buffer.flush()
