"""SQLite file of a new trace: filled fast, and visible under its name only when it is complete."""

import contextlib
import glob
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from cltrace.errors import DamagedTraceError, OutputError, TraceError
from cltrace.files import find_trace_output
from cltrace.spool.layout import FILE_MODE, ProcessIdentity
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.guard import sqlite_uri
from cltrace.trace.schema import (
    APPLICATION_ID,
    LARGE_PAGE_BYTES,
    PAGE_BYTES,
    SCHEMA_VERSION,
    TABLES,
    Table,
)
from cltrace.trace.table_copies import TableCopy
from cltrace.trace.validation import check_short_tables
from cltrace.trace.views import VIEWS
from cltrace.trace.views.unpacked import UNPACKED_VIEWS

_ROWS_PER_INSERT: Final = 16_384
_ROWS_PER_STATEMENT: Final = 32
"""More save no time, and SQLite before 3.32 takes at most 999 parameters."""
_NULL_IF_ABSENT: Final = f"nullif(?, -{2**63 - 1} - 1)"
"""Term of a column in which some values are `ABSENT`: SQLite parses the literal itself as a float."""
_UNREADABLE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN)


class TraceDatabase:
    """Database of a trace that is being written. The file appears at `path` on `commit`, or not at all.

    A symbolic link at `path` is followed. Raises: `OutputError` if the file cannot be written, with the
    reason and the path.
    """

    def __init__(self, path: Path, *, is_large: bool = False) -> None:
        """Create the file. `is_large` selects larger pages, which are faster for a long trace."""
        path = find_trace_output(path)
        self._path = path
        self._page_bytes = LARGE_PAGE_BYTES if is_large else PAGE_BYTES
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        with self._output_errors():
            _remove_stale(path)
            self._temporary.unlink(missing_ok=True)
            os.close(os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
            address = sqlite_uri(self._temporary)
            self._connection = sqlite3.connect(address, isolation_level=None, uri=True)
            self._prepare()

    def insert(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, which are given as sequences in the order of the table's columns."""
        with self._output_errors():
            self._connection.executemany(table.insert_sql, rows)

    def copy(self, path: Path, copies: Sequence[TableCopy]) -> None:
        """Copy all rows of some tables from the trace at `path`.

        The caller has checked that the trace contains only cltrace's tables. SQLite copies the rows
        itself, in a tenth of the time that they would take through Python.
        """
        with self._output_errors(), _damage_errors(path):
            self._connection.execute("COMMIT")
            self._connection.execute("ATTACH ? AS source", (f"{sqlite_uri(path)}?mode=ro",))
            self._connection.execute("BEGIN")
            self._check_source(path, {copy.source for copy in copies})
            for copy in copies:
                self._connection.execute(
                    f"INSERT INTO main.{copy.table.name} SELECT {', '.join(copy.expressions)} "
                    f"FROM source.{copy.source.name}"
                )
            self._connection.execute("COMMIT")
            self._connection.execute("DETACH source")
            self._connection.execute("BEGIN")

    def insert_columns(
        self,
        table: Table,
        columns: dict[str, Int64s],
        *,
        texts: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Insert rows, which are given as columns by name. `ABSENT` and missing columns become NULL.

        Columns in `texts` are positions in the texts of the column, which are cltrace's own.

        Most columns of a long table are constant over many rows. Constants are written into the
        statement, because binding values is the largest part of an insertion's time.
        """
        arrays = [columns.get(name) for name in table.column_names]
        count = max((len(array) for array in arrays if array is not None), default=0)
        for begin in range(0, count, _ROWS_PER_INSERT):
            end = min(begin + _ROWS_PER_INSERT, count)
            self._insert_part(
                table,
                [None if array is None else array[begin:end] for array in arrays],
                end - begin,
                [texts.get(name) for name in table.column_names],
            )

    def _insert_part(
        self,
        table: Table,
        parts: Sequence[Int64s | None],
        count: int,
        texts: Sequence[Sequence[str] | None],
    ) -> None:
        """Insert rows of which the constant columns are written into the statement.

        A statement inserts several rows: calls of SQLite per row take half of the time.
        """
        terms = [
            _sql_term(part) if names is None else _text_term(part, names)
            for part, names in zip(parts, texts, strict=True)
        ]
        varying = [
            part
            for part, term in zip(parts, terms, strict=True)
            if part is not None and "?" in term
        ]
        values = np.stack(varying, axis=1) if varying else np.empty((count, 0), np.int64)
        row = f"({', '.join(terms)})"
        whole = count - count % _ROWS_PER_STATEMENT
        for begin, end, rows in ((0, whole, _ROWS_PER_STATEMENT), (whole, count, 1)):
            statement = f"INSERT INTO {table.name} VALUES {', '.join([row] * rows)}"
            size = (end - begin) // rows
            with self._output_errors():
                self._connection.executemany(
                    statement,
                    values[begin:end].reshape(size, rows * len(varying)).tolist(),
                )

    def delete(self, table: Table, column: str, values: Iterable[int | str]) -> None:
        """Delete the rows whose `column` has one of `values`."""
        with self._output_errors():
            self._connection.executemany(
                f"DELETE FROM {table.name} WHERE {column} = ?", ((value,) for value in values)
            )

    def check(self) -> None:
        """Check that a reader will accept the inserted rows. Raises: `DamagedTraceError`."""
        check_short_tables(self._connection, self._path)

    def commit(self) -> None:
        """Finish the file and move it to its path."""
        with self._output_errors():
            self._connection.execute("COMMIT")
            self._connection.close()
            with self._temporary.open("rb+") as file:
                os.fsync(file.fileno())
            # What stands there now may be something else than at the start.
            self._temporary.replace(find_trace_output(self._path))
            # The spools are removed next, so the new name must be on the disk before.
            _sync_directory(self._path.absolute().parent)

    def discard(self) -> None:
        """Remove the unfinished file."""
        # There is no connection if connecting failed.
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self._connection.close()
        self._temporary.unlink(missing_ok=True)

    def _check_source(self, path: Path, tables: Collection[Table]) -> None:
        """Check the attached file's tables, because it was opened again since the trace was checked."""
        statements = dict(
            self._connection.execute(
                "SELECT name, sql FROM source.sqlite_schema WHERE type = 'table'"
            )
        )
        if any(statements.get(table.name) != table.create_sql for table in tables):
            raise TraceError(f"{path} was replaced while it was read")

    def _prepare(self) -> None:
        execute = self._connection.execute
        # Nobody reads the file before it is complete, so a journal would only cost time.
        execute("PRAGMA journal_mode = OFF")
        execute("PRAGMA synchronous = OFF")
        execute("PRAGMA locking_mode = EXCLUSIVE")
        # Attached files may come from strangers.
        execute("PRAGMA trusted_schema = OFF")
        execute("PRAGMA cell_size_check = ON")
        execute(f"PRAGMA page_size = {self._page_bytes}")
        execute(f"PRAGMA application_id = {APPLICATION_ID}")
        execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        execute("BEGIN")
        for table in TABLES:
            execute(table.create_sql)
        for view in (*UNPACKED_VIEWS, *VIEWS):
            execute(view.create_sql)

    @contextlib.contextmanager
    def _output_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, OverflowError, sqlite3.Error) as error:
            self.discard_quietly()
            raise OutputError(f"{self._path} cannot be written: {_reason(error)}") from error

    def discard_quietly(self) -> None:
        """Remove the unfinished file, and ignore errors."""
        with contextlib.suppress(OSError):
            self.discard()


def _remove_stale(path: Path) -> None:
    """Remove what processes that were killed left of unfinished files for the same trace."""
    for left in path.absolute().parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        pid = left.name.removesuffix(".tmp").rpartition(".")[2]
        if pid.isdigit() and not ProcessIdentity.of(int(pid)).is_alive:
            left.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """Write a directory's entries to the disk, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _damage_errors(path: Path) -> Iterator[None]:
    """Report what SQLite cannot read while it copies as damage of the copied trace."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in _UNREADABLE:
            raise DamagedTraceError(f"{path} is damaged: {error}") from error
        raise


def _sql_term(part: Int64s | None) -> str:
    """Return the term for a column in a statement: its only value, or a parameter."""
    if part is None or not len(part):
        return "NULL"
    if part[0] == part[-1] and (part == part[0]).all():
        return _constant(part)
    return _NULL_IF_ABSENT if (part == ABSENT).any() else "?"


def _text_term(part: Int64s | None, texts: Sequence[str]) -> str:
    """Return the term for a column of positions in texts."""
    term = _sql_term(part)
    if term != "?":
        return f"'{texts[int(term)]}'"
    cases = " ".join(f"WHEN {at} THEN '{text}'" for at, text in enumerate(texts))
    return f"CASE ? {cases} END"


def _constant(part: Int64s) -> str:
    return "NULL" if part[0] == ABSENT else str(part[0])


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "full" in str(error):
        return "no space left on the disk"
    return str(error)
