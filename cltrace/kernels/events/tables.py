"""Events of a file as tables: for pandas, and for SQL."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import QueryError
from cltrace.kernels.events.files import read_events
from cltrace.kernels.events.named_lines import named_lines
from cltrace.kernels.events.records import Decision, EventKind, EventSite, LaunchEvents
from cltrace.trace.guard import restrict_to_reading

if TYPE_CHECKING:
    import pandas as pd

_ACCESS_COLUMNS: Final = ("row", "site", "memory", "offset_bytes", "epoch", "step")
_VIEWS: Final = (
    """CREATE VIEW branches AS SELECT item, work_group, warp, stream, length, operations
       FROM item_row JOIN stream_row USING (stream_id)""",
    """CREATE VIEW accesses AS SELECT item, kind, file, line, m.memory, space, offset_bytes, bytes, epoch,
       step FROM access_row a JOIN item_row USING (row) JOIN site_row USING (site)
       LEFT JOIN memory_row m ON m.memory_id = a.memory""",
)
_MAX_STREAM_TEXT: Final = 1 << 16
_MAX_TEXTS: Final = 1 << 26
_ROWS_AT_ONCE: Final = 1 << 16
_Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table of events. `columns` has the meaning of each column."""

    name: str
    description: str
    columns: Mapping[str, str]


TABLES: Final = (
    TableDescription(
        "branches",
        "the branches of each recorded work-item",
        {
            "item": "linear global id, first dimension fastest",
            "work_group": "linear number of its work-group",
            "warp": "number of its warp among those recorded",
            "stream": "its conditions in the order of evaluation: 1 true, 0 false",
            "length": "number of conditions",
            "operations": "operations that it executed",
        },
    ),
    TableDescription(
        "accesses",
        "accesses of memory and barriers, in the order of execution",
        {
            "item": "linear global id",
            "kind": "read, write, atomic, local barrier or global barrier",
            "file": "source file",
            "line": "line in it",
            "memory": "argument or variable; NULL for barriers",
            "space": "global, constant, local or private; NULL for barriers",
            "offset_bytes": "offset in it; in local memory from the work-group's own copy",
            "bytes": "size of the access",
            "epoch": "barriers that the work-item has passed before",
            "step": "number of the execution; work-items with the same step did it together",
        },
    ),
    TableDescription(
        "emitted",
        "the values that annotations or `--emit` ask for, in the order of execution",
        {
            "item": "linear global id",
            "name": "name of the value",
            "index_number": "its index",
            "value": "the value",
        },
    ),
    TableDescription(
        "decisions",
        "the conditions of the kernel",
        {
            "decision": "number",
            "file": "source file",
            "line": "line in it",
            "column_number": "column in the line",
            "kind": "condition, loop or case",
            "depth": "loops around it",
            "next_if_false": "decision that follows, NULL for the end",
            "next_if_true": "decision that follows, NULL for the end",
        },
    ),
)
"""The tables of a file of events."""


class EventTables:
    """A file of events that is open for reading, with tables for pandas and SQL.

    `events["accesses"]` returns a table, `events.sql(...)` the result of a query on the tables.
    `docs/explore.md` describes the columns.
    """

    def __init__(self, path: str | Path) -> None:
        """Read the file at `path`. Raises: `KernelError`."""
        self.path: Final = Path(path)
        self.events: Final = read_events(self.path)

    def __enter__(self) -> "EventTables":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: the whole file has been read."""

    @property
    def view_names(self) -> list[str]:
        """Names of the tables."""
        return [table.name for table in TABLES]

    def table(self, view: str) -> "pd.DataFrame":
        """Return a table. Raises: `KeyError` for an unknown one."""
        import pandas as pd  # noqa: PLC0415 - 0.3 s that most readers do not need

        if view not in self.view_names:
            raise KeyError(f"there is no table {view!r}; there are {', '.join(self.view_names)}")
        return pd.DataFrame(event_columns(self.events, view))

    def __getitem__(self, view: str) -> "pd.DataFrame":
        return self.table(view)

    def sql(self, query: str) -> "pd.DataFrame":
        """Return the result of a query on the tables. Raises: `QueryError`."""
        import pandas as pd  # noqa: PLC0415 - 0.3 s that most readers do not need

        connection = open_database(self.events)
        try:
            cursor = connection.execute(query)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise QueryError(f"the query is wrong: {error}") from error
        finally:
            connection.close()
        return pd.DataFrame(rows, columns=[column[0] for column in cursor.description or ()])


def event_columns(events: LaunchEvents, table: str) -> Mapping[str, _Column]:
    """Return the columns of a table, in the order of its description."""
    match table:
        case "branches":
            return _branches(events)
        case "accesses":
            return _accesses(events)
        case "emitted":
            return _values(events)
        case _:
            return _decisions(events)


def open_database(events: LaunchEvents) -> sqlite3.Connection:
    """Return a connection to the tables of events in memory, which allows only reading."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("BEGIN")
    nodes, number = np.unique(events.items.stream, return_inverse=True)
    texts = _stream_texts(events, nodes)
    lengths = events.streams.length[nodes].tolist()
    _fill(
        connection,
        "stream_row",
        {"stream_id": range(len(texts)), "stream": texts, "length": lengths},
    )
    items, accesses = events.items, events.accesses
    item_columns = (items.item, items.group, items.warp, number, items.operations)
    names = ("item", "work_group", "warp", "stream_id", "operations")
    _fill(connection, "item_row", {"row": range(len(number)), **_lists(names, item_columns)})
    places = _places(events, events.sites)
    sites = [
        [site.kind.label, *place, site.access_bytes]
        for site, place in zip(events.sites, places, strict=True)
    ]
    _fill(connection, "site_row", _columns_of(("site", "kind", "file", "line", "bytes"), sites))
    memories = [[memory.name, memory.space] for memory in events.memories]
    _fill(connection, "memory_row", _columns_of(("memory_id", "memory", "space"), memories))
    for begin in range(0, max(len(accesses.row), 1), _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        columns = [getattr(accesses, name)[part] for name in _ACCESS_COLUMNS]
        _fill(connection, "access_row", _lists(_ACCESS_COLUMNS, columns))
    for name, columns_of in (("decisions", _decisions), ("emitted", _values)):
        _fill(
            connection, name, {key: column.tolist() for key, column in columns_of(events).items()}
        )
    for view in _VIEWS:
        connection.execute(view)
    connection.execute("COMMIT")
    restrict_to_reading(connection)
    return connection


def _fill(connection: sqlite3.Connection, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Add rows to a table, whose first column is its key unless rows have none."""
    names = list(columns)
    if table not in {"access_row", "decisions", "emitted"}:
        names[0] += " INTEGER PRIMARY KEY"
    connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(names)})")
    marks = ", ".join("?" * len(columns))
    rows = zip(*columns.values(), strict=True)
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _lists(names: Sequence[str], columns: Sequence[_Column]) -> Mapping[str, Sequence[Any]]:
    return {name: column.tolist() for name, column in zip(names, columns, strict=True)}


def _columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
    """Return numbered rows as columns; the first name is that of the number."""
    columns = list(zip(*rows, strict=True)) or [()] * (len(names) - 1)
    return dict(zip(names, [range(len(rows)), *columns], strict=True))


def _branches(events: LaunchEvents) -> Mapping[str, _Column]:
    items, streams = events.items, events.streams
    nodes, number = np.unique(items.stream, return_inverse=True)
    texts = _objects(_stream_texts(events, nodes))
    return {
        "item": items.item,
        "work_group": items.group,
        "warp": items.warp,
        "stream": texts[number] if len(nodes) else texts,
        "length": streams.length[items.stream],
        "operations": items.operations,
    }


def _stream_texts(events: LaunchEvents, nodes: NDArray[np.int64]) -> list[str]:
    """Return streams as digits; long ones are cut so that all of them have a bounded size."""
    max_bits = min(_MAX_STREAM_TEXT, max(_MAX_TEXTS // max(len(nodes), 1), 1))
    return events.streams.texts(nodes, max_bits)


def _accesses(events: LaunchEvents) -> Mapping[str, _Column]:
    accesses, sites = events.accesses, events.sites
    names = [*(memory.name for memory in events.memories), None]
    spaces = [*(memory.space for memory in events.memories), None]
    places = _places(events, sites)

    def by_site(values: Sequence[object]) -> _Column:
        return _objects(values)[accesses.site]

    return {
        "item": events.items.item[accesses.row],
        "kind": by_site([EventKind(site.kind).label for site in sites]),
        "file": by_site([file for file, _ in places]),
        "line": np.asarray([line for _, line in places], np.int64)[accesses.site],
        "memory": _objects(names)[accesses.memory],
        "space": _objects(spaces)[accesses.memory],
        "offset_bytes": accesses.offset_bytes,
        "bytes": np.asarray([site.access_bytes for site in sites], np.int64)[accesses.site],
        "epoch": accesses.epoch,
        "step": accesses.step,
    }


def _values(events: LaunchEvents) -> Mapping[str, _Column]:
    values = events.values
    return {
        "item": events.items.item[values.row],
        "name": _objects([emission.name for emission in events.emissions])[values.emission],
        "index_number": values.index,
        "value": values.value,
    }


def _decisions(events: LaunchEvents) -> Mapping[str, _Column]:
    decisions = events.decisions
    places = _places(events, decisions)
    return {
        "decision": np.arange(len(decisions)),
        "file": _objects([file for file, _ in places]),
        "line": np.asarray([line for _, line in places], np.int64),
        "column_number": np.asarray([decision.column for decision in decisions], np.int64),
        "kind": _objects([decision.kind.value for decision in decisions]),
        "depth": np.asarray([decision.depth for decision in decisions], np.int64),
        "next_if_false": _objects([_or_none(item.if_false.decision) for item in decisions]),
        "next_if_true": _objects([_or_none(item.if_true.decision) for item in decisions]),
    }


def _places(
    events: LaunchEvents, parts: Sequence[EventSite | Decision]
) -> Sequence[tuple[str, int]]:
    """Return file and line of each place, as the program names them."""
    lines = named_lines(events.source)
    return [lines.place(part.file, part.line) for part in parts]


def _or_none(decision: int) -> int | None:
    return decision if decision >= 0 else None


def _objects(values: Sequence[object]) -> _Column:
    """Return values as an array of objects of shape (n,)."""
    column = np.empty(len(values), object)
    column[:] = values
    return column
