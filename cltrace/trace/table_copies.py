"""Copies of a trace's tables into a trace of the present schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.trace import schema
from cltrace.trace.schema import Table

_KERNEL_SQL: Final = "(SELECT l.kernel_id FROM source.launch l WHERE l.id = command.launch_id)"
_STAGES: Final = ("queued", "submit", "start", "end")

_OF_OLDER: Final[Mapping[str, tuple[Table, Mapping[str, str]]]] = {
    schema.PACKED_COMMAND.name: (
        schema.COMMAND,
        {
            "kernel_id": _KERNEL_SQL,
            "return_after_ns": "return_host_ns - enter_host_ns",
            "base_device_ns": "0",
            **{f"{stage}_after_ns": f"{stage}_device_ns" for stage in _STAGES},
        },
    ),
    schema.LAUNCH_BLOCK.name: (
        schema.LAUNCH,
        {
            **dict.fromkeys(("launch_id", "last_launch_id"), "id"),
            "launches": "1",
            **dict.fromkeys(("members", "global_sizes", "local_sizes"), "NULL"),
            **dict.fromkeys(("global_offsets", "work_items_each"), "NULL"),
        },
    ),
    schema.LAUNCH_BLOCK_ARG.name: (
        schema.LAUNCH_ARG,
        {
            "launch_block_id": "launch_id",
            **dict.fromkeys(("buffers", "offsets", "sizes", "scalars", "details"), "NULL"),
        },
    ),
}
"""By table: the older table that its rows come from, and the columns with an expression of their own."""


@dataclass(frozen=True, slots=True)
class TableCopy:
    """Copy of the rows of table `source` into `table`: an SQL expression for each column."""

    table: Table
    source: Table
    expressions: tuple[str, ...]

    @property
    def max_id_sql(self) -> str | None:
        """Query for the highest id of the rows; `None` for a table without ids."""
        has_ids = "id" in self.table.column_names and "id" in self.source.column_names
        return f"SELECT max(id) FROM {self.source.name}" if has_ids else None


def table_copies(
    version: int, id_shifts: Mapping[str, int], references: Mapping[str, str]
) -> list[TableCopy]:
    """Return the copies of all tables of a file of some schema version, with shifted ids.

    `id_shifts` are added to ids, by the table that they belong to; `references` tells the table that a
    column refers to.
    """
    copies = []
    for table in schema.TABLES:
        source, own = table, dict[str, str]()
        if not table.is_in(version):
            if table.name not in _OF_OLDER:
                continue
            source, converted = _OF_OLDER[table.name]
            own = dict(converted)
        expressions = []
        for name in table.column_names:
            shift = id_shifts.get(table.name if name == "id" else references.get(name, ""), 0)
            expression = own.get(name, name)
            expressions.append(f"{expression} + {shift}" if shift else expression)
        copies.append(TableCopy(table, source, tuple(expressions)))
    return copies


def launch_ids(version: int) -> str:
    """Return SQL for the highest id of the launch configurations of a file of some schema version."""
    column, table = "last_launch_id", schema.LAUNCH_BLOCK
    if not table.is_in(version):
        column, table = "id", schema.LAUNCH
    return f"SELECT max({column}) FROM {table.name}"
