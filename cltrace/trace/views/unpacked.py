"""Views that unpack tables: rows of commands, launch configurations and their arguments, one by one.

They have the names and columns of the tables that files before schema 4 have. All other views, and all
readers, read these. They are no public interface.
"""

from typing import Final

from cltrace.trace.schema import MAX_BLOCK_LAUNCHES
from cltrace.trace.views.model import View, columns

_FIRST_PACKED: Final = 4
"""First version of the schema with packed tables."""

_STEPS: Final = (
    "(WITH RECURSIVE step(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM step "
    f"WHERE n < {MAX_BLOCK_LAUNCHES - 1}) SELECT n FROM step)"
)
_BLOCK_COLUMNS: Final = (
    *("id", "kernel_id", "global_size", "local_size", "global_offset", "work_items"),
    "arguments_known",
)
_ARG_COLUMNS: Final = (
    *("launch_id", "position", "kind", "buffer_id", "offset_bytes", "size_bytes", "dtype"),
    *("value", "detail"),
)


def _own_bytes(column: str) -> str:
    """Return SQL for the bytes of launch `s.n` in a BLOB of block `b`."""
    width = f"length({column}) / b.launches"
    return f"substr({column}, 1 + s.n * ({width}), {width})"


def _integer(column: str, each: str) -> str:
    return f"{column} + coalesce(CAST({_own_bytes(each)} AS INTEGER), 0)"


def _text(column: str, each: str) -> str:
    own = f"CAST({_own_bytes(each)} AS TEXT)"
    return f"CASE WHEN {each} IS NULL THEN {column} ELSE trim({own}) END"


def _sizes(column: str, each: str) -> str:
    """Return SQL for the JSON array of a launch, as `json.dumps` writes it."""
    own = f"replace(replace(CAST({_own_bytes(each)} AS TEXT), ' ', ''), ',', ', ')"
    return f"CASE WHEN {each} IS NULL THEN {column} ELSE {own} END"


_LAUNCH_ID: Final = (
    f"b.launch_id + CASE WHEN b.members IS NULL THEN s.n "
    f"ELSE CAST({_own_bytes('b.members')} AS INTEGER) END"
)


def _of_blocks(select: str, source: str, alone: str) -> str:
    """Return a query over the launches of all blocks. `alone` selects from blocks of one launch."""
    return (
        f"(SELECT {alone} FROM {source} WHERE b.launches = 1 UNION ALL "
        f"SELECT {select} FROM {source} CROSS JOIN {_STEPS} s "
        "WHERE b.launches > 1 AND s.n < b.launches)"
    )


_LAUNCHES: Final = _of_blocks(
    f"{_LAUNCH_ID} AS id, b.kernel_id, "
    f"{_sizes('b.global_size', 'b.global_sizes')} AS global_size, "
    f"{_sizes('b.local_size', 'b.local_sizes')} AS local_size, "
    f"{_sizes('b.global_offset', 'b.global_offsets')} AS global_offset, "
    f"{_integer('b.work_items', 'b.work_items_each')} AS work_items, b.arguments_known",
    "launch_block b",
    f"b.launch_id AS id, {', '.join(f'b.{name}' for name in _BLOCK_COLUMNS[1:])}",
)
_ARGUMENTS: Final = _of_blocks(
    f"{_LAUNCH_ID} AS launch_id, a.position, a.kind, "
    f"{_integer('a.buffer_id', 'a.buffers')} AS buffer_id, "
    f"{_integer('a.offset_bytes', 'a.offsets')} AS offset_bytes, "
    f"{_integer('a.size_bytes', 'a.sizes')} AS size_bytes, a.dtype, "
    f"CASE WHEN a.scalars IS NULL THEN a.value ELSE {_own_bytes('a.scalars')} END AS value, "
    f"{_text('a.detail', 'a.details')} AS detail",
    "launch_block_arg a CROSS JOIN launch_block b ON b.id = a.launch_block_id",
    f"b.launch_id, {', '.join(f'a.{name}' for name in _ARG_COLUMNS[1:])}",
)

_LAUNCH: Final = View(
    "launch", "Launch configurations.", _LAUNCHES, columns(*((name, "") for name in _BLOCK_COLUMNS))
)
_LAUNCH_ARG: Final = View(
    "launch_arg", "Their arguments.", _ARGUMENTS, columns(*((name, "") for name in _ARG_COLUMNS))
)


def _since(base: str, *names: str) -> list[tuple[str, str, str]]:
    return [(f"{name}_device_ns", f"{base} + {name}_after_ns", "") for name in names]


_COMMAND: Final = View(
    "command",
    "Commands.",
    "packed_command",
    columns(
        *((name, "") for name in ("id", "api", "thread_id", "queue_id", "site_id", "launch_id")),
        ("kernel_id", ""),
        ("enter_host_ns", ""),
        ("return_host_ns", "enter_host_ns + return_after_ns", ""),
        *_since("base_device_ns", "queued", "submit", "start", "end"),
        *((name, "") for name in ("complete_host_ns", "execution_status", "size_bytes")),
        *((f"{side}_buffer_id", "") for side in ("source", "target")),
        *((f"{side}_offset_bytes", "") for side in ("source", "target")),
        ("flags", ""),
    ),
)
_COMMAND_OF_ROWS: Final = View(
    "command",
    "Commands of a file without packed tables.",
    "main.command c",
    columns(
        *(
            (column.name, f"c.{column.name}", "")
            for column in _COMMAND.columns
            if column.name != "kernel_id"
        ),
        ("kernel_id", "(SELECT l.kernel_id FROM launch l WHERE l.id = c.launch_id)", ""),
    ),
)

UNPACKED_VIEWS: Final = (_COMMAND, _LAUNCH, _LAUNCH_ARG)
"""Views in every file of the present schema."""


def unpacked_views(version: int) -> tuple[View, ...]:
    """Return the views that make a file of a schema version have the same relations as any other."""
    return UNPACKED_VIEWS if version >= _FIRST_PACKED else (_COMMAND_OF_ROWS,)
