"""Copies of traces, whole or without what reveals the program and the machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from cltrace.trace import schema
from cltrace.trace.database import TraceDatabase
from cltrace.trace.guard import open_trace, version_of
from cltrace.trace.table_copies import TableCopy, table_copies
from cltrace.trace.validation import check_values

LEFT_OUT: Final = (
    "sources, headers, build options and logs, kernel arguments, buffer contents, command lines, "
    "environment variables, file names, directories, messages, filters of kernels, UUIDs of devices, "
    "and names of hosts, threads, regions and power channels"
)
"""Data that a redacted copy lacks, in words."""
NAMES: Final = "names"
"""Subject of the redaction that stands in names of its own for those of hosts, files and the like."""
_TABLES_LEFT_OUT: Final = frozenset({"include", "launch_block_arg", "content", "content_data"})
_HOST: Final = (
    "(SELECT 'host ' || count(DISTINCT p.host) FROM source.process p WHERE p.host <= {table}.host)"
)
_UUID: Final = (
    "printf('%032x', (SELECT count(DISTINCT d.uuid) FROM source.device d WHERE d.uuid <= {uuid}))"
)
_PCI_ADDRESS: Final = ":".join(("[0-9a-f]" * 4, "[0-9a-f]" * 2, "[0-9a-f]" * 2 + ".[0-9a-f]"))
_CHANNEL_DEVICE: Final = (
    f"CASE WHEN device GLOB '{_PCI_ADDRESS}' THEN device "
    "WHEN device IN (SELECT d.uuid FROM source.device d) "
    f"THEN {_UUID.format(uuid='power_channel.device')} ELSE '' END"
)
# The key of a channel names the program of a meter, or holds the UUID of a board.
_INSIDE_CHANNEL: Final = (
    "coalesce((SELECT c.reader || ':channel ' || min(c.id) FROM source.power_channel c "
    "WHERE c.host = power_channel.host AND c.key = power_channel.inside), '')"
)
_SETTINGS: Final = "CASE WHEN json_valid(value) THEN json_set(value, {}) ELSE '[]' END".format(
    ", ".join(
        f"'$.{name}', json(CASE WHEN coalesce(json_array_length(value, '$.{name}'), 0) "
        """THEN '["masked"]' ELSE '[]' END)"""
        for name in ("include_kernels", "exclude_kernels")
    )
)
"""Settings with masked filters of kernels: their presence stays visible, because commands are missing."""
_NAMED_DIMENSIONS: Final = "('callsite', 'thread', 'process', 'region')"
_EXPRESSIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "meta": {
        "value": "CASE WHEN key IN ('command', 'merged_from') THEN '[]' "
        "WHEN key IN ('working_directory', 'host') THEN '' "
        f"WHEN key = 'settings' THEN {_SETTINGS} ELSE value END"
    },
    "device": {"uuid": f"CASE WHEN uuid <> '' THEN {_UUID.format(uuid='device.uuid')} END"},
    "process": {
        "host": _HOST,
        "argv": "'[]'",
        "working_directory": "''",
        "executable": "''",
        "environment": "'{}'",
    },
    "thread": {"name": "''"},
    "string": {"text": "'text ' || id"},
    "site": {"file": "'file'", "line": "id", "function": "'site ' || id"},
    "program": {"source_string_id": "NULL"},
    "build": {"options": "''", "log_string_id": "NULL"},
    "launch_block": {"arguments_known": "0"},
    "diagnostic": {"message": "code"},
    "rollup": {
        # A call site's key is its file and line.
        "key": "CASE dimension WHEN 'callsite' THEN 'site ' || rowid ELSE key END",
        "label": f"CASE WHEN dimension = 'callsite' THEN 'site ' || rowid WHEN dimension IN "
        f"{_NAMED_DIMENSIONS} THEN dimension || ' ' || key ELSE label END",
    },
    "power_channel": {
        "host": _HOST,
        "key": "reader || ':channel ' || id",
        "label": "'channel ' || id",
        "inside": _INSIDE_CHANNEL,
        "device": _CHANNEL_DEVICE,
        "note": "''",
        "source": "''",
    },
    "power_probe": {
        "host": _HOST,
        "evidence": "''",
        "remedy": "''",
        "security": "''",
        "ended": "''",
    },
}
"""Expressions in place of columns, by table."""


def copy_trace(path: Path, target: Path) -> None:
    """Write the trace at `path` to `target`, in the current schema.

    Raises: `TraceError`, `OutputError`.
    """
    _write(path, target, table_copies(_checked_version(path), {}, {}), ())


def copy_redacted(path: Path, target: Path) -> None:
    """Write the trace at `path` to `target` without what `LEFT_OUT` names.

    Rows are never written and then changed, so the file holds no rest of them. Raises: `TraceError`,
    `OutputError`.
    """
    copies = [
        replace(copy, expressions=_redacted(copy))
        for copy in table_copies(_checked_version(path), {}, {})
        if copy.table.name not in _TABLES_LEFT_OUT
    ]
    _write(path, target, copies, ("source", "arguments", "environment", NAMES))


def _checked_version(path: Path) -> int:
    connection = open_trace(path)
    try:
        check_values(connection, path)
    finally:
        connection.close()
    return version_of(path)


def _redacted(copy: TableCopy) -> tuple[str, ...]:
    own = _EXPRESSIONS.get(copy.table.name, {})
    return tuple(
        own[name].replace("{table}", copy.source.name) if name in own else expression
        for name, expression in zip(copy.table.column_names, copy.expressions, strict=True)
    )


def _write(path: Path, target: Path, copies: list[TableCopy], redactions: tuple[str, ...]) -> None:
    database = TraceDatabase(target)
    try:
        database.copy(path, copies)
        database.insert(schema.REDACTION, ((None, what) for what in redactions))
        database.check()
        database.commit()
    except BaseException:
        database.discard_quietly()
        raise
