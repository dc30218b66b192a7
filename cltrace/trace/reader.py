"""Reading a trace: `load(path)` and the tables of its views."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cltrace.errors import DamagedTraceError, QueryError
from cltrace.trace.guard import open_trace
from cltrace.trace.table_location import Source, identity_of
from cltrace.trace.validation import check_numbering, check_short_tables, check_tables
from cltrace.trace.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd

    from cltrace.trace.commands import Int64s

_MOST: Final = 1 << 62
_VIEWS_BY_NAME: Final = {view.name: view for view in VIEWS}


class Trace:
    """A trace file that is open for reading. Close it, or use it in a `with` block.

    `trace["v_command"]` and `trace.table("v_command")` are the views as pandas tables, whose
    columns `docs/trace-format.md` describes; `trace.sql(...)` runs a query on them.
    """

    def __init__(self, path: Path) -> None:
        """Open the trace at `path`. Raises: `TraceError`."""
        self.path: Final = path
        self._connection = open_trace(path)
        self._identity = identity_of(path)
        try:
            with self._said_plainly():
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
        """The names of the views."""
        return list(_VIEWS_BY_NAME)

    @property
    def meta(self) -> dict[str, str | None]:
        """Facts about the whole trace, as text."""
        return {str(key): value for key, value in self.rows("SELECT key, value FROM v_meta")}

    def meta_int(self, key: str) -> int | None:
        """A fact that is a whole number; `None` when it is missing, or is no plausible one."""
        return whole_number(self.meta.get(key))

    @property
    def command_line(self) -> list[str]:
        """The command that was traced."""
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            words = json.loads(self.meta.get("command") or "[]")
            if isinstance(words, list):
                return [str(word) for word in words]
        return []

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query of ours. Raises: `DamagedTraceError`."""
        with self._said_plainly():
            return self._connection.execute(sql, parameters or {}).fetchall()

    def iterate(
        self, sql: str, parameters: dict[str, Any] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a query of ours, one by one. Raises: `DamagedTraceError`."""
        with self._said_plainly():
            yield from self._connection.execute(sql, parameters or {})

    def columns(
        self,
        expressions: Mapping[str, str],
        source: str,
        parameters: Mapping[str, object] | None = None,
    ) -> "dict[str, Int64s]":
        """Whole numbers: SQL expressions by name, over the rows of `source`, as columns of shape (n,).

        NULL becomes `ABSENT`. Raises: `DamagedTraceError`, also when something is no whole number.
        """
        from cltrace.trace.integer_columns import whole_numbers  # noqa: PLC0415 - 0.1 s for numpy

        names, wanted = list(expressions), list(expressions.values())
        with self._said_plainly():
            try:
                table = whole_numbers(self._connection, wanted, source, parameters or {})
            except (TypeError, ValueError, OverflowError) as error:
                raise DamagedTraceError(f"{self.path} is damaged: {error}") from error
        return {name: table[:, at].copy() for at, name in enumerate(names)}

    def parts(self, table: str, expressions: Mapping[str, str]) -> "Iterator[dict[str, Int64s]]":
        """Whole numbers of a table of ours, which has an `id`, in its order, part after part.

        As `columns`; a long table is read by several processes. Raises: `DamagedTraceError`.
        """
        from cltrace.trace.parallel_read import parts_of, worker_count  # noqa: PLC0415 - as in `columns`

        with self._said_plainly():
            highest = check_numbering(self._connection, self.path, table)
        workers = worker_count(highest)
        if workers == 1:
            yield self.columns(expressions, f"{table} ORDER BY id")
        else:
            source = Source(self.path, self._identity, table, expressions)
            yield from parts_of(source, highest, workers)

    def check_tables(self, *names: str) -> None:
        """See that every value in some tables is one that cltrace could have written.

        Opening a trace does that for short tables, `columns` for the type of each number that it reads.
        Raises: `DamagedTraceError`.
        """
        with self._said_plainly():
            check_tables(self._connection, self.path, names)

    def table(self, view: str) -> "pd.DataFrame":
        """A view as a pandas table. Raises: `KeyError` for a view that there is not."""
        if view not in _VIEWS_BY_NAME:
            raise KeyError(f"there is no view {view!r}; there are {', '.join(_VIEWS_BY_NAME)}")
        return self.sql(f"SELECT * FROM {view}")

    def __getitem__(self, view: str) -> "pd.DataFrame":
        return self.table(view)

    def sql(self, query: str) -> "pd.DataFrame":
        """The result of a query on the views, as a pandas table.

        Columns are `Int64`, `Float64` or `string`; one of bytes, or of several kinds, is of objects.
        Raises: `QueryError` when the query is wrong, or does more than read.
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
        """What a notebook shows: the kernels."""
        columns = "label AS kernel, calls, total_ns, median_ns, min_ns, max_ns"
        kernels = self.sql(
            f"SELECT {columns} FROM v_rollup WHERE dimension = 'kernel' AND activity = 'kernel' "
            "ORDER BY total_ns DESC"
        )
        return str(kernels.to_html(index=False, escape=True))

    @contextlib.contextmanager
    def _said_plainly(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise DamagedTraceError(f"{self.path} is damaged: {error}") from error


def whole_number(text: object) -> int | None:
    """The number that a text is; `None` when it is none, or larger than any that cltrace writes."""
    try:
        number = int(str(text))
    except ValueError:
        return None
    return number if abs(number) < _MOST else None


def _dtype_of(name: str, column: tuple[Any, ...]) -> str:
    """The pandas type of a column: a file from a stranger may hold anything anywhere."""
    kinds = set(map(type, column)) - {type(None)}
    if not kinds:
        return "Int64" if name.endswith(("_ns", "_bytes", "_id")) else "object"
    if kinds == {int}:
        return "Int64"
    if kinds <= {int, float}:
        return "Float64"
    return "string" if kinds == {str} else "object"


def load(path: str | Path) -> Trace:
    """Open the trace at `path`. Raises: `TraceError` when it is not a readable trace."""
    return Trace(Path(path))
