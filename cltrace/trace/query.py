"""Queries of users on a trace: read-only, with limits on time, rows and size."""

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.errors import DamagedTraceError, QueryError
from cltrace.similar_names import suggest_name
from cltrace.trace.guard import TimeLimitError, limit_time, open_trace
from cltrace.trace.views import VIEWS

_MAX_VALUE_BYTES: Final = 32 << 20
_MAX_RESULT_BYTES: Final = 64 << 20
_UNKNOWN_NAME: Final = re.compile(r"no such (table|column): (?:\w+\.)?(\w+)")
MAX_HEAP_BYTES: Final = 512 << 20
"""Memory of SQLite where it is limited."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a query. `is_cut` is true if the query has more rows than the limit."""

    column_names: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_cut: bool


def query(
    path: Path,
    sql: str,
    *,
    max_rows: int,
    max_seconds: float,
    open_file: Callable[[Path], sqlite3.Connection] = open_trace,
) -> QueryResult:
    """Run a statement on the `v_*` views of the trace at `path`, or on what `open_file` makes of it.

    Raises: `TraceError`; `QueryError` if the statement is wrong, does more than read, or takes longer
    than `max_seconds`.
    """
    connection = open_file(path)
    try:
        is_over_time = limit_time(connection, max_seconds)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            cursor = connection.execute(sql)
            rows = _fetch(cursor, max_rows + 1, is_over_time)
        except sqlite3.OperationalError as error:
            if is_over_time():
                raise too_long(max_seconds) from error
            raise QueryError(f"the query is wrong: {error}{_suggestion(error)}") from error
        except TimeLimitError as error:
            raise too_long(max_seconds) from error
        except sqlite3.DatabaseError as error:
            raise _translate_error(error, path) from error
        except MemoryError as error:
            raise QueryError(
                f"the query needs more than {MAX_HEAP_BYTES >> 20} MiB of memory: select less at once"
            ) from error
        except (sqlite3.Warning, sqlite3.ProgrammingError, ValueError) as error:
            raise QueryError(f"the query is wrong: {error}") from error
        if cursor.description is None:
            raise QueryError("the query returns nothing: give one SELECT statement")
        names = tuple(str(column[0]) for column in cursor.description)
        return QueryResult(names, rows[:max_rows], len(rows) > max_rows)
    finally:
        connection.close()


def _fetch(
    cursor: sqlite3.Cursor, max_rows: int, is_over_time: Callable[[], bool]
) -> list[tuple[Any, ...]]:
    """Fetch rows up to the limits. SQLite itself checks the time only between steps of a statement."""
    rows: list[tuple[Any, ...]] = []
    size_bytes = 0
    for row in cursor:
        rows.append(row)
        size_bytes += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if size_bytes > _MAX_RESULT_BYTES:
            raise QueryError(
                f"the result is larger than {_MAX_RESULT_BYTES >> 20} MiB: select less of it"
            )
        if len(rows) == max_rows:
            break
        if is_over_time():
            raise TimeLimitError
    return rows


def _suggestion(error: sqlite3.OperationalError) -> str:
    """Return the view or column that a misspelt name is most like, as the end of a message."""
    unknown = _UNKNOWN_NAME.fullmatch(str(error))
    if unknown is None:
        return ""
    kind, name = unknown.groups()
    views = [view.name for view in VIEWS]
    columns = {column.name for view in VIEWS for column in view.columns}
    return suggest_name(name, views if kind == "table" else sorted(columns))


def too_long(max_seconds: float) -> QueryError:
    """Return the error of a query that exceeded its time limit."""
    return QueryError(
        f"the query took longer than {max_seconds:g} s: narrow it, or raise the limit with --timeout"
    )


def _translate_error(error: sqlite3.DatabaseError, path: Path) -> QueryError | DamagedTraceError:
    text = str(error)
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return QueryError(
            f"the query may only read the views of the trace ({text}): see `cltrace query --list`"
        )
    if "malformed" in text or "corrupt" in text:
        return DamagedTraceError(f"{path} is damaged: {text}")
    return QueryError(f"the query is wrong: {text}")
