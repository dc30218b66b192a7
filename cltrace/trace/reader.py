"""Reader of traces: `load(path)`, and views as pandas tables."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cltrace.errors import DamagedTraceError, QueryError
from cltrace.trace.guard import open_trace
from cltrace.trace.table_location import TableLocation, file_identity
from cltrace.trace.validation import check_numbering, check_short_tables, check_tables
from cltrace.trace.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd

    from cltrace.trace.commands import Int64s

_MAX_INTEGER: Final = 1 << 62
_VIEWS_BY_NAME: Final = {view.name: view for view in VIEWS}


class Trace:
    """A trace file that is open for reading. Close it, or use it in a `with` block.

    `trace["v_command"]` and `trace.table("v_command")` return a view as a pandas table;
    `docs/trace-format.md` describes the columns. `trace.sql(...)` runs a query on the views.
    """

    def __init__(self, path: Path) -> None:
        """Open the trace at `path`. Raises: `TraceError`."""
        self.path: Final = path
        self._connection = open_trace(path)
        self._identity = file_identity(path)
        try:
            with self._damage_errors():
                check_short_tables(self._connection, path)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def view_names(self) -> list[str]:
        """Names of the views."""
        return list(_VIEWS_BY_NAME)

    @property
    def meta(self) -> dict[str, str | None]:
        """Facts about the whole trace, as text."""
        return {str(key): value for key, value in self.rows("SELECT key, value FROM v_meta")}

    def meta_int(self, key: str) -> int | None:
        """Return a fact that is an integer; `None` if it is missing or not a plausible integer."""
        return parse_integer(self.meta.get(key))

    @property
    def command_line(self) -> list[str]:
        """The command that was traced."""
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            words = json.loads(self.meta.get("command") or "[]")
            if isinstance(words, list):
                return [str(word) for word in words]
        return []

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a trusted query. Raises: `DamagedTraceError`."""
        with self._damage_errors():
            return self._connection.execute(sql, parameters or {}).fetchall()

    def iterate(
        self, sql: str, parameters: dict[str, Any] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a trusted query. Raises: `DamagedTraceError`."""
        with self._damage_errors():
            yield from self._connection.execute(sql, parameters or {})

    def columns(
        self,
        expressions: Mapping[str, str],
        source: str,
        parameters: Mapping[str, object] | None = None,
    ) -> "dict[str, Int64s]":
        """Return SQL expressions over the rows of `source` as integer columns of shape (n,), by name.

        NULL becomes `ABSENT`. Raises: `DamagedTraceError`, also for a value that is no integer.
        """
        from cltrace.trace.integer_columns import read_integers  # noqa: PLC0415 - 0.1 s for numpy

        names, wanted = list(expressions), list(expressions.values())
        with self._damage_errors():
            try:
                table = read_integers(self._connection, wanted, source, parameters or {})
            except (TypeError, ValueError, OverflowError) as error:
                raise DamagedTraceError(f"{self.path} is damaged: {error}") from error
        return {name: table[:, at].copy() for at, name in enumerate(names)}

    def column_parts(
        self, table: str, expressions: Mapping[str, str]
    ) -> "Iterator[dict[str, Int64s]]":
        """Yield integer columns of a table with an `id` column, in parts, in the order of the ids.

        The columns are as in `columns`. Several processes read a long table. Raises: `DamagedTraceError`.
        """
        from cltrace.trace.parallel_read import read_column_parts, worker_count  # noqa: PLC0415 - as in `columns`

        with self._damage_errors():
            max_id = check_numbering(self._connection, self.path, table)
        workers = worker_count(max_id)
        if workers == 1:
            yield self.columns(expressions, f"{table} ORDER BY id")
        else:
            location = TableLocation(self.path, self._identity, table, expressions)
            yield from read_column_parts(location, max_id, workers)

    def check_tables(self, *names: str) -> None:
        """Check that cltrace could have written every value in some tables.

        Opening a trace checks short tables, and `columns` checks the types of the values that it reads.
        Raises: `DamagedTraceError`.
        """
        with self._damage_errors():
            check_tables(self._connection, self.path, names)

    def table(self, view: str) -> "pd.DataFrame":
        """Return a view as a pandas table. Raises: `KeyError` for an unknown view."""
        if view not in _VIEWS_BY_NAME:
            raise KeyError(f"there is no view {view!r}; there are {', '.join(_VIEWS_BY_NAME)}")
        return self.sql(f"SELECT * FROM {view}")

    def __getitem__(self, view: str) -> "pd.DataFrame":
        return self.table(view)

    def sql(self, query: str) -> "pd.DataFrame":
        """Return the result of a query on the views as a pandas table.

        Columns are `Int64`, `Float64` or `string`; columns of bytes or of mixed types are `object`.
        Raises: `QueryError` if the query is wrong or does more than read.
        """
        import pandas as pd  # noqa: PLC0415 - 0.3 s that most readers do not need

        try:
            cursor = self._connection.execute(query)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise QueryError(f"the query is wrong: {error}") from error
        names = [column[0] for column in cursor.description or ()]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        series = [
            pd.Series(list(column), dtype=_dtype_of(name, column))
            for name, column in zip(names, columns, strict=True)
        ]
        return pd.concat(series, axis=1, keys=names) if series else pd.DataFrame()

    def __repr__(self) -> str:
        return f"<cltrace.Trace {str(self.path)!r}>"

    def _repr_html_(self) -> str:
        """Return a table of the kernels, for notebooks."""
        columns = "label AS kernel, calls, total_ns, median_ns, min_ns, max_ns"
        kernels = self.sql(
            f"SELECT {columns} FROM v_rollup WHERE dimension = 'kernel' AND activity = 'kernel' "
            "ORDER BY total_ns DESC"
        )
        return str(kernels.to_html(index=False, escape=True))

    @contextlib.contextmanager
    def _damage_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # SQLite quotes text of the file in its own messages, whatever bytes it has.
            raise DamagedTraceError(f"{self.path} is damaged: {error}") from error


def parse_integer(text: object) -> int | None:
    """Return a text as an integer; `None` if it is no integer, or larger than any that cltrace writes."""
    try:
        number = int(str(text))
    except ValueError:
        return None
    return number if abs(number) < _MAX_INTEGER else None


def _dtype_of(name: str, column: tuple[Any, ...]) -> str:
    """Return the pandas type of a column. In a file from a stranger, a column may have any values."""
    kinds = set(map(type, column)) - {type(None)}
    if not kinds:
        return "Int64" if name.endswith(("_ns", "_bytes", "_id")) else "object"
    if kinds == {int}:
        return "Int64"
    if kinds <= {int, float}:
        return "Float64"
    return "string" if kinds == {str} else "object"


def load(path: str | Path) -> Trace:
    """Open the trace at `path`. Raises: `TraceError` if it is not a readable trace."""
    return Trace(Path(path))
