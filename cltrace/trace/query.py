"""Running a stranger's SQL on a trace: read only, for a limited time, up to a number of rows."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.errors import DamagedTraceError, QueryError
from cltrace.trace.guard import TimeLimitError, limit_time, open_trace

_LONGEST_VALUE_BYTES: Final = 32 << 20
_MOST_RESULT_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query. `is_cut` says that there were more than were asked for."""

    column_names: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_cut: bool


def query(path: Path, sql: str, *, most_rows: int, most_seconds: float) -> QueryResult:
    """Run one statement on the `v_*` views of the trace at `path`.

    Raises: `TraceError`, and `QueryError` when the statement is wrong, does more than read, or takes
    longer than `most_seconds`.
    """
    connection = open_trace(path)
    try:
        is_over_time = limit_time(connection, most_seconds)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE_BYTES)
            cursor = connection.execute(sql)
            rows = _fetched(cursor, most_rows + 1, is_over_time)
        except sqlite3.OperationalError as error:
            if is_over_time():
                raise _too_long(most_seconds) from error
            raise QueryError(f"the query is wrong: {error}") from error
        except TimeLimitError as error:
            raise _too_long(most_seconds) from error
        except sqlite3.DatabaseError as error:
            raise _translated(error, path) from error
        except (sqlite3.Warning, sqlite3.ProgrammingError, ValueError) as error:
            raise QueryError(f"the query is wrong: {error}") from error
        if cursor.description is None:
            raise QueryError("the query returns nothing: give one SELECT statement")
        names = tuple(str(column[0]) for column in cursor.description)
        return QueryResult(names, rows[:most_rows], len(rows) > most_rows)
    finally:
        connection.close()


def _fetched(
    cursor: sqlite3.Cursor, most_rows: int, is_over_time: Callable[[], bool]
) -> list[tuple[Any, ...]]:
    """Rows up to a number, a size and a time. SQLite itself looks at the time between steps only."""
    rows: list[tuple[Any, ...]] = []
    size_bytes = 0
    for row in cursor:
        rows.append(row)
        size_bytes += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if size_bytes > _MOST_RESULT_BYTES:
            raise QueryError(
                f"the result is larger than {_MOST_RESULT_BYTES >> 20} MiB: select less of it"
            )
        if len(rows) == most_rows:
            break
        if is_over_time():
            raise TimeLimitError
    return rows


def _too_long(most_seconds: float) -> QueryError:
    return QueryError(
        f"the query took longer than {most_seconds:g} s: narrow it, or raise the limit with --timeout"
    )


def _translated(error: sqlite3.DatabaseError, path: Path) -> QueryError | DamagedTraceError:
    text = str(error)
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return QueryError(
            f"the query may only read the views of the trace ({text}): see `cltrace query --list`"
        )
    if "malformed" in text or "corrupt" in text:
        return DamagedTraceError(f"{path} is damaged: {text}")
    return QueryError(f"the query is wrong: {text}")
