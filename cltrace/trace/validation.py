"""Checks of the values in a trace, which may come from a stranger, before they are used.

`guard` has checked that the file contains only cltrace's tables. But SQLite allows any value in any
column.
"""

import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from cltrace.errors import DamagedTraceError
from cltrace.events.apis import Api
from cltrace.trace import schema
from cltrace.trace.guard import version_of
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
    "last_launch_id": "launch",
    "launch_block_id": "launch_block",
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
"""Table that the ids in a column refer to. A table's own `id` refers to the table itself."""

_MAX_INTEGER: Final = 1 << 62
_MAX_REAL: Final = 1e20
_MAX_MISSING_IDS: Final = 1 << 20
"""Largest number of ids that may be missing in a table: a recording that was cut off has gaps."""

_LONG_TABLES: Final = frozenset(
    {
        *("packed_command", "api_call", "edge", "wait", "launch_block", "launch_block_arg"),
        *("region", "content", "power_sample"),
    }
)
"""Tables that grow with a program's activity. They are not read when a trace is opened."""

_RELATIONS: Final = (*schema.TABLES, *schema.OLDER_TABLES)
"""Tables, and views of the names of older tables (`views.unpacked`)."""

_ALLOWED_TYPES: Final = {
    "REAL": ("real", "integer"),
    "TEXT": ("text",),
    "BLOB": ("blob",),
}


def check_short_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Check the values in all short tables. Readers of long tables check each value themselves.

    Raises: `DamagedTraceError`.
    """
    _check(connection, path, [table for table in schema.TABLES if table.name not in _LONG_TABLES])


def check_values(connection: sqlite3.Connection, path: Path) -> None:
    """Check that every value has its column's type, and that cltrace could have given every id.

    Values in packed tables are checked as they are stored. Raises: `DamagedTraceError`.
    """
    _check(connection, path, schema.tables_of(version_of(path)))


def check_numbering(connection: sqlite3.Connection, path: Path, name: str) -> int:
    """Check that the ids of a table's rows are plausible, and return the highest id.

    Raises: `DamagedTraceError`.
    """
    table = next(table for table in _RELATIONS if table.name == name)
    return _check_ids(connection, path, table)


def check_tables(connection: sqlite3.Connection, path: Path, names: Collection[str]) -> None:
    """Check the values in some tables. Raises: `DamagedTraceError`."""
    _check(connection, path, [table for table in _RELATIONS if table.name in names])


def _check(connection: sqlite3.Connection, path: Path, tables: Sequence[Table]) -> None:
    max_ids = {table.name: _check_ids(connection, path, table) for table in tables}
    if "packed_command" in max_ids:
        max_ids["command"] = max_ids["packed_command"]
    if "launch_block" in max_ids:
        max_ids["launch"] = _max_packed_launch_id(connection, path)
    for table in tables:
        violations = {
            column.split()[0]: _violation_sql(column, max_ids.get(_referenced_table(table, column)))
            for column in table.columns
        }
        # An intact table takes one pass; a damaged one is searched again, column by column.
        if not _exists(connection, table, " OR ".join(f"({sql})" for sql in violations.values())):
            continue
        name = next(name for name, sql in violations.items() if _exists(connection, table, sql))
        raise DamagedTraceError(
            f"{path} is damaged: {table.name}.{name} holds a value that cltrace never writes"
        )


def _exists(connection: sqlite3.Connection, table: Table, condition: str) -> bool:
    cursor = connection.execute(f"SELECT 1 FROM {table.name} WHERE {condition} LIMIT 1")
    return cursor.fetchone() is not None


def _referenced_table(table: Table, column: str) -> str:
    """Return the name of the table that a column refers to; "" if it refers to none."""
    name = column.split()[0]
    return table.name if name == "id" else REFERENCES.get(name, "")


def _check_ids(connection: sqlite3.Connection, path: Path, table: Table) -> int:
    """Check the ids of a table, and return the highest; 0 for a table without ids."""
    if "id" not in table.column_names:
        return 0
    count, lowest, highest = connection.execute(
        f"SELECT count(*), coalesce(min(id), 1), coalesce(max(id), 0) FROM {table.name}"
    ).fetchone()
    if type(lowest) is not int or type(highest) is not int:
        raise DamagedTraceError(f"{path} is damaged: rows of {table.name} are not numbered")
    if lowest < 1 or highest > count + _MAX_MISSING_IDS:
        raise DamagedTraceError(
            f"{path} is damaged: {count} rows of {table.name} are numbered {lowest} to {highest}"
        )
    return int(highest)


def _max_packed_launch_id(connection: sqlite3.Connection, path: Path) -> int:
    """Return the highest id of packed launch configurations. Raises: `DamagedTraceError`."""
    launches, highest = connection.execute(
        "SELECT coalesce(sum(launches), 0), coalesce(max(last_launch_id), 0) FROM launch_block "
        "WHERE typeof(last_launch_id) = 'integer' "
        f"AND launches BETWEEN 1 AND {schema.MAX_BLOCK_LAUNCHES}"
    ).fetchone()
    if highest > launches + _MAX_MISSING_IDS:
        raise DamagedTraceError(
            f"{path} is damaged: {launches} launch configurations are numbered up to {highest}"
        )
    return int(highest)


def _violation_sql(column: str, max_id: int | None) -> str:
    """Return SQL that is true for an invalid value. `max_id` is the highest id that it may refer to."""
    name, kind, *rest = column.split()
    if kind == "INTEGER":
        # A key of a table is never NULL, but views of older tables' names may have any value.
        is_nullable = rest not in (["NOT", "NULL"], ["PRIMARY", "KEY"])
        return _integer_violation_sql(name, max_id, is_nullable=is_nullable)
    types = ", ".join(f"'{type_name}'" for type_name in _ALLOWED_TYPES[kind])
    condition = f"typeof({name}) NOT IN ({types})"
    if rest != ["NOT", "NULL"]:
        condition = f"{name} IS NOT NULL AND {condition}"
    if kind == "REAL":
        condition += f" OR {name} NOT BETWEEN {-_MAX_REAL} AND {_MAX_REAL}"
    return condition


def _integer_violation_sql(name: str, max_id: int | None, *, is_nullable: bool) -> str:
    """Return SQL that is true for an invalid value of a column of integers.

    Text and bytes are above all numbers. Calls of functions, like `typeof`, would take most of the time.
    """
    low, high = -_MAX_INTEGER, _MAX_INTEGER
    if max_id is not None:
        low, high = 0, max_id + _MAX_MISSING_IDS
    condition = f"{name} NOT BETWEEN {low} AND {high} OR {name} <> CAST({name} AS INTEGER)"
    if not is_nullable:
        condition += f" OR {name} IS NULL"
    if name == "api":
        apis = ", ".join(str(int(api)) for api in Api)
        condition += f" OR {name} NOT IN ({apis})"
    return condition
