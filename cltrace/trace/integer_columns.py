"""Whole numbers out of SQLite, as numpy tables."""

import itertools
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from cltrace.trace.commands import Int64s

_ROWS_AT_ONCE: Final = 1000
"""So few that what is made of them is still in the processor's cache when it becomes an array."""
_ABSENT_SQL: Final = f"(-{2**63 - 1} - 1)"
"""The least whole number, which SQLite does not read as one when it is written out."""


def whole_numbers(
    connection: sqlite3.Connection,
    expressions: Sequence[str],
    source: str,
    parameters: Mapping[str, object],
) -> Int64s:
    """SQL expressions over the rows of `source`, shape (rows, expressions). NULL becomes `ABSENT`.

    Raises: `sqlite3.Error`; `TypeError`, `ValueError` or `OverflowError` for what is no whole number.
    """
    words = ", ".join(f"coalesce({one}, {_ABSENT_SQL})" for one in expressions)
    width = len(expressions)
    parts = [np.empty((0, width), np.int64)]
    cursor = connection.execute(f"SELECT {words} FROM {source}", parameters)
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        values = itertools.chain.from_iterable(rows)
        parts.append(np.fromiter(values, np.int64, len(rows) * width).reshape(-1, width))
    return np.concatenate(parts)
