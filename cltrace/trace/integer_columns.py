"""Integers from SQLite, as numpy tables."""

import itertools
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from cltrace.trace.commands import Int64s

_ROWS_PER_FETCH: Final = 1000
"""Small enough that the rows are still in the processor's cache when they become an array."""
_ABSENT_SQL: Final = f"(-{2**63 - 1} - 1)"
"""Expression for `ABSENT`: SQLite parses the literal itself as a float."""


def read_integers(
    connection: sqlite3.Connection,
    expressions: Sequence[str],
    source: str,
    parameters: Mapping[str, object],
) -> Int64s:
    """Evaluate SQL expressions over the rows of `source`. Return an array of shape (rows, expressions).

    NULL becomes `ABSENT`.
    Raises: `sqlite3.Error`; `TypeError`, `ValueError` or `OverflowError` for a value that is no integer.
    """
    selected = ", ".join(f"coalesce({expression}, {_ABSENT_SQL})" for expression in expressions)
    width = len(expressions)
    parts = [np.empty((0, width), np.int64)]
    cursor = connection.execute(f"SELECT {selected} FROM {source}", parameters)
    while rows := cursor.fetchmany(_ROWS_PER_FETCH):
        values = itertools.chain.from_iterable(rows)
        parts.append(np.fromiter(values, np.int64, len(rows) * width).reshape(-1, width))
    return np.concatenate(parts)
