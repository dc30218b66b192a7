"""Reading a trace: `load(path)` and the tables of its views."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cltrace.errors import DamagedTraceError
from cltrace.trace.guard import open_trace
from cltrace.trace.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd

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
        """A fact that is a whole number; `None` when it is missing or is none."""
        value = self.meta.get(key)
        try:
            return None if value is None else int(value)
        except (TypeError, ValueError):
            return None

    @property
    def command_line(self) -> list[str]:
        """The command that was traced."""
        with contextlib.suppress(TypeError, ValueError):
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

    def table(self, view: str) -> "pd.DataFrame":
        """A view as a pandas table. Raises: `KeyError` for a view that there is not."""
        import pandas as pd  # noqa: PLC0415 - 0.3 s that most readers do not need

        if view not in _VIEWS_BY_NAME:
            raise KeyError(f"there is no view {view!r}; there are {', '.join(_VIEWS_BY_NAME)}")
        with self._said_plainly():
            return pd.read_sql_query(
                f"SELECT * FROM {view}", self._connection, dtype_backend="numpy_nullable"
            )

    def __getitem__(self, view: str) -> "pd.DataFrame":
        return self.table(view)

    def sql(self, query: str) -> "pd.DataFrame":
        """The result of a query on the views, as a pandas table."""
        import pandas as pd  # noqa: PLC0415 - 0.3 s that most readers do not need

        return pd.read_sql_query(query, self._connection, dtype_backend="numpy_nullable")

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


def load(path: str | Path) -> Trace:
    """Open the trace at `path`. Raises: `TraceError` when it is not a readable trace."""
    return Trace(Path(path))
