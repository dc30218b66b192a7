"""Checking the values in a trace from a stranger, before they are computed with.

`guard` has seen that the file has our tables and nothing else. SQLite lets any of their columns hold
anything.
"""

import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from cltrace.errors import DamagedTraceError
from cltrace.events.apis import Api
from cltrace.trace import schema
from cltrace.trace.schema import Table

REFERENCES: Final = {
    "process_id": "process",
    "thread_id": "thread",
    "platform_id": "platform",
    "device_id": "device",
    "parent_device_id": "device",
    "context_id": "context",
    "queue_id": "queue",
    "program_id": "program",
    "parent_program_id": "program",
    "kernel_id": "kernel",
    "launch_id": "launch",
    "buffer_id": "buffer",
    "parent_buffer_id": "buffer",
    "source_buffer_id": "buffer",
    "target_buffer_id": "buffer",
    "site_id": "site",
    "outer_site_id": "site",
    "string_id": "string",
    "source_string_id": "string",
    "log_string_id": "string",
    "name_string_id": "string",
    "content_data_id": "content_data",
    "command_id": "command",
    "waits_for_command_id": "command",
    "api_call_id": "api_call",
    "power_channel_id": "power_channel",
}
"""Which table a column's numbers are of. A table's own `id` is of the table itself."""

_LARGEST: Final = 1 << 62
_LARGEST_REAL: Final = 1e20
_MOST_MISSING: Final = 1 << 20
"""How many numbers may be missing in a table: a recording that was cut short has gaps."""

_LONG_TABLES: Final = frozenset(
    {
        *("command", "api_call", "edge", "wait", "launch", "launch_arg", "region", "content"),
        "power_sample",
    }
)
"""Tables that grow with what a program does. Opening a trace does not read them."""

_ALLOWED_TYPES: Final = {
    "INTEGER": ("integer",),
    "REAL": ("real", "integer"),
    "TEXT": ("text",),
    "BLOB": ("blob",),
}


def check_short_tables(connection: sqlite3.Connection, path: Path) -> None:
    """`check_values` of what reports compute with; a reader of long tables looks at each value.

    Raises: `DamagedTraceError`.
    """
    _check(connection, path, [one for one in schema.TABLES if one.name not in _LONG_TABLES])


def check_values(connection: sqlite3.Connection, path: Path) -> None:
    """See that every value is of its column's type, and every number one that cltrace could have given.

    Raises: `DamagedTraceError`.
    """
    _check(connection, path, schema.TABLES)


def check_numbering(connection: sqlite3.Connection, path: Path, name: str) -> int:
    """See that the rows of a table are numbered as cltrace does it, and return the highest number.

    Raises: `DamagedTraceError`.
    """
    table = next(one for one in schema.TABLES if one.name == name)
    return _check_numbers(connection, path, table)


def check_tables(connection: sqlite3.Connection, path: Path, names: Collection[str]) -> None:
    """`check_values` of some tables. Raises: `DamagedTraceError`."""
    _check(connection, path, [one for one in schema.TABLES if one.name in names])


def _check(connection: sqlite3.Connection, path: Path, tables: Sequence[Table]) -> None:
    counts = {table.name: _check_numbers(connection, path, table) for table in tables}
    for table in tables:
        wrong = {
            column.split()[0]: _wrong(column, counts.get(_target(table, column)))
            for column in table.columns
        }
        # One pass over a table that is well; a damaged one is looked at again, column by column.
        if not _exists(connection, table, " OR ".join(f"({one})" for one in wrong.values())):
            continue
        name = next(name for name, one in wrong.items() if _exists(connection, table, one))
        raise DamagedTraceError(
            f"{path} is damaged: {table.name}.{name} holds what cltrace never writes"
        )


def _exists(connection: sqlite3.Connection, table: Table, condition: str) -> bool:
    found = connection.execute(f"SELECT 1 FROM {table.name} WHERE {condition} LIMIT 1")
    return found.fetchone() is not None


def _target(table: Table, column: str) -> str:
    """The table that a column's numbers are of; none when they are of no table."""
    name = column.split()[0]
    return table.name if name == "id" else REFERENCES.get(name, "")


def _check_numbers(connection: sqlite3.Connection, path: Path, table: Table) -> int:
    """The highest number that a row of the table has or may have."""
    if "id" not in table.column_names:
        return 0
    count, lowest, highest = connection.execute(
        f"SELECT count(*), coalesce(min(id), 1), coalesce(max(id), 0) FROM {table.name}"
    ).fetchone()
    if lowest < 1 or highest > count + _MOST_MISSING:
        raise DamagedTraceError(
            f"{path} is damaged: {count} rows of {table.name} are numbered {lowest} to {highest}"
        )
    return int(highest)


def _wrong(column: str, highest: int | None) -> str:
    """SQL that is true of a value which cannot be; `highest` is what it may refer to, if it does."""
    name, kind, *rest = column.split()
    types = ", ".join(f"'{one}'" for one in _ALLOWED_TYPES[kind])
    condition = f"typeof({name}) NOT IN ({types})"
    if rest != ["NOT", "NULL"]:
        condition = f"{name} IS NOT NULL AND {condition}"
    if highest is not None:
        condition += f" OR {name} NOT BETWEEN 0 AND {highest + _MOST_MISSING}"
    elif kind == "INTEGER":
        condition += f" OR {name} NOT BETWEEN {-_LARGEST} AND {_LARGEST}"
    elif kind == "REAL":
        condition += f" OR {name} NOT BETWEEN {-_LARGEST_REAL} AND {_LARGEST_REAL}"
    if name == "api":
        apis = ", ".join(str(int(api)) for api in Api)
        condition += f" OR {name} NOT IN ({apis})"
    return condition
