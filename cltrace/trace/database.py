"""Filling an SQLite file: fast, private until it is whole, and never half."""

import contextlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cltrace.errors import DamagedTraceError, OutputError, TraceError
from cltrace.spool.layout import FILE_MODE
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.guard import as_uri
from cltrace.trace.schema import (
    APPLICATION_ID,
    LARGE_PAGE_BYTES,
    PAGE_BYTES,
    SCHEMA_VERSION,
    TABLES,
    Table,
)
from cltrace.trace.validation import check_short_tables
from cltrace.trace.views import VIEWS

_ROWS_AT_ONCE: Final = 16_384
_UNREADABLE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN)


class Store:
    """A trace that is being written. It appears at `path` when `commit` returns, or not at all.

    Raises: `OutputError` when the file cannot be written; the message says why and where.
    """

    def __init__(self, path: Path, *, is_large: bool = False) -> None:
        """Begin a trace. `is_large` chooses larger pages, which a long trace is faster with."""
        self._path = path
        self._page_bytes = LARGE_PAGE_BYTES if is_large else PAGE_BYTES
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        with self._said_plainly():
            self._temporary.unlink(missing_ok=True)
            os.close(os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
            address = as_uri(self._temporary)
            self._connection = sqlite3.connect(address, isolation_level=None, uri=True)
            self._prepare()

    def insert(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, given as sequences in the order of the table's columns."""
        with self._said_plainly():
            self._connection.executemany(table.insert_sql, rows)

    def copy(self, path: Path, tables: Mapping[Table, Sequence[str]]) -> None:
        """Insert all rows of some tables of the trace at `path`, as SQL expressions over their columns.

        The trace has been looked at: nothing but tables of ours is in it. SQLite copies by itself, which
        takes a tenth of the time that rows take on their way through Python.
        """
        with self._said_plainly(), _blamed_on(path):
            self._connection.execute("COMMIT")
            self._connection.execute("ATTACH ? AS source", (f"{as_uri(path)}?mode=ro",))
            self._connection.execute("BEGIN")
            self._check_source(path, tables)
            for table, expressions in tables.items():
                self._connection.execute(
                    f"INSERT INTO main.{table.name} SELECT {', '.join(expressions)} "
                    f"FROM source.{table.name}"
                )
            self._connection.execute("COMMIT")
            self._connection.execute("DETACH source")
            self._connection.execute("BEGIN")

    def insert_columns(self, table: Table, columns: dict[str, Int64s]) -> None:
        """Insert rows, given as columns by name; `ABSENT` and missing columns become NULL.

        Most columns of a long table are constant over long stretches. Those are written into the
        statement: binding values is what an insertion costs most.
        """
        arrays = [columns.get(name) for name in table.column_names]
        count = max((len(array) for array in arrays if array is not None), default=0)
        for begin in range(0, count, _ROWS_AT_ONCE):
            parts = [
                None if array is None else array[begin : begin + _ROWS_AT_ONCE] for array in arrays
            ]
            words = [_word(part) for part in parts]
            varying = [
                _values(part)
                for part, word in zip(parts, words, strict=True)
                if part is not None and word == "?"
            ]
            statement = f"INSERT INTO {table.name} VALUES ({', '.join(words)})"
            rows = min(_ROWS_AT_ONCE, count - begin)
            with self._said_plainly():
                self._connection.executemany(
                    statement, zip(*varying, strict=True) if varying else [()] * rows
                )

    def delete(self, table: Table, column: str, values: Iterable[int | str]) -> None:
        """Delete the rows whose `column` has one of `values`."""
        with self._said_plainly():
            self._connection.executemany(
                f"DELETE FROM {table.name} WHERE {column} = ?", ((one,) for one in values)
            )

    def check(self) -> None:
        """See that a reader will take what was inserted. Raises: `DamagedTraceError`."""
        check_short_tables(self._connection, self._path)

    def commit(self) -> None:
        """Put the finished file in its place."""
        with self._said_plainly():
            self._connection.execute("COMMIT")
            self._connection.close()
            with self._temporary.open("rb+") as file:
                os.fsync(file.fileno())
            self._temporary.replace(self._path)

    def discard(self) -> None:
        """Leave nothing behind."""
        # There is no connection yet when making one failed.
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self._connection.close()
        self._temporary.unlink(missing_ok=True)

    def _check_source(self, path: Path, tables: Collection[Table]) -> None:
        """See that what is attached has these tables, as we make them: it was opened anew."""
        found = dict(
            self._connection.execute(
                "SELECT name, sql FROM source.sqlite_schema WHERE type = 'table'"
            )
        )
        if any(found.get(table.name) != table.create_sql for table in tables):
            raise TraceError(f"{path} was replaced while it was read")

    def _prepare(self) -> None:
        execute = self._connection.execute
        # What is written is private until it is whole: a journal would only cost time.
        execute("PRAGMA journal_mode = OFF")
        execute("PRAGMA synchronous = OFF")
        execute("PRAGMA locking_mode = EXCLUSIVE")
        # What is attached may be a stranger's.
        execute("PRAGMA trusted_schema = OFF")
        execute("PRAGMA cell_size_check = ON")
        execute(f"PRAGMA page_size = {self._page_bytes}")
        execute(f"PRAGMA application_id = {APPLICATION_ID}")
        execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        execute("BEGIN")
        for table in TABLES:
            execute(table.create_sql)
        for view in VIEWS:
            execute(view.create_sql)

    @contextlib.contextmanager
    def _said_plainly(self) -> Iterator[None]:
        try:
            yield
        except (OSError, OverflowError, sqlite3.Error) as error:
            self.discard_quietly()
            raise OutputError(f"{self._path} cannot be written: {_reason(error)}") from error

    def discard_quietly(self) -> None:
        """As `discard`, whatever happens."""
        with contextlib.suppress(OSError):
            self.discard()


@contextlib.contextmanager
def _blamed_on(path: Path) -> Iterator[None]:
    """What SQLite cannot read while it copies is the fault of the trace that it copies."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in _UNREADABLE:
            raise DamagedTraceError(f"{path} is damaged: {error}") from error
        raise


def _word(part: Int64s | None) -> str:
    """What stands for a column in a statement: its only value, or a question mark."""
    if part is None or not len(part):
        return "NULL"
    if (part != part[0]).any():
        return "?"
    return "NULL" if part[0] == ABSENT else str(part[0])


def _values(part: Int64s) -> list[int | None]:
    values: list[int | None] = part.tolist()
    if (part == ABSENT).any():
        absent = int(ABSENT)
        return [None if value == absent else value for value in values]
    return values


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "full" in str(error):
        return "no space left on the disk"
    return str(error)
