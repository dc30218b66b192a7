"""Running a stranger's SQL on a trace: read only, for a limited time, up to a number of rows."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cltrace.errors import DamagedTraceError, QueryError
from cltrace.trace.guard import limit_time, open_trace


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
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(most_rows + 1)
        except sqlite3.OperationalError as error:
            if is_over_time():
                raise QueryError(
                    f"the query took longer than {most_seconds:g} s: narrow it, or raise the limit "
                    "with --timeout"
                ) from error
            raise QueryError(f"the query is wrong: {error}") from error
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


def _translated(error: sqlite3.DatabaseError, path: Path) -> QueryError | DamagedTraceError:
    text = str(error)
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return QueryError(
            f"the query may only read the views of the trace ({text}): see `cltrace query --list`"
        )
    if "malformed" in text or "corrupt" in text:
        return DamagedTraceError(f"{path} is damaged: {text}")
    return QueryError(f"the query is wrong: {text}")
