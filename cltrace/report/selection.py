"""Sums over selected commands: of some kernels, or of a stretch of time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import UsageError
from cltrace.events.apis import COMMAND_KINDS
from cltrace.report.activity import RollupRow, label_devices
from cltrace.report.quantities import time_text
from cltrace.similar_names import suggest_name
from cltrace.trace.catalogue import catalogue_of_trace
from cltrace.trace.column_blocks import ColumnBlocks
from cltrace.trace.command_groups import KEY_COLUMNS, CommandGroup, device_ids_of, group_by
from cltrace.trace.command_sums import columns_by_name, command_columns, pop_columns, roll_up
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.reader import Trace

_ALWAYS_READ: Final = {
    "api_and_flags": "CASE WHEN api BETWEEN 0 AND 65535 AND coalesce(flags, 0) BETWEEN 0 AND 1 << 46 "
    "THEN (coalesce(flags, 0) << 16) | api ELSE 'damaged' END",
    "on_host_ns": "complete_host_ns - enter_host_ns",
    **{
        name: name
        for name in ("queued_device_ns", "start_device_ns", "end_device_ns", "size_bytes")
    },
}
"""SQL of the columns read per command. Converting values takes longest, so small ones share a value."""
_PACKED: Final = (
    "CASE WHEN coalesce(queue_id, 0) BETWEEN 0 AND 1 << 30 AND coalesce({key}, 0) BETWEEN 0 AND 1 << 31 "
    "THEN (coalesce(queue_id, 0) << 32) | coalesce({key}, 0) ELSE 'damaged' END"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Condition on commands: kernels whose name matches a glob, calls entered in a stretch of time.

    Times are in ns since the trace's start. `None` means no such condition.
    """

    kernel: str | None = None
    from_ns: int | None = None
    to_ns: int | None = None

    def __str__(self) -> str:
        words = []
        if self.kernel is not None:
            words.append(f"kernels like {self.kernel}")
        if self.from_ns is not None:
            words.append(f"from {time_text(self.from_ns)}")
        if self.to_ns is not None:
            words.append(f"to {time_text(self.to_ns)}")
        return ", ".join(words)

    @property
    def is_everything(self) -> bool:
        """True without any condition."""
        return self.kernel is None and self.from_ns is None and self.to_ns is None


def find_unmatched_note(pattern: str | None, kernels: Sequence[str]) -> str:
    """Return the note that no kernel that ran matches a glob, with a similar name; empty if one does."""
    if pattern is None or any(fnmatchcase(name, pattern) for name in kernels):
        return ""
    return f"note: no kernel that ran matches {pattern}{suggest_name(pattern, kernels)}"


def sum_selected(trace: Trace, dimension: str, selection: Selection) -> list[RollupRow]:
    """Return the sums of a dimension over the selected commands."""
    catalogue = catalogue_of_trace(trace.rows, {})
    is_selected = _condition(trace, selection)
    # Sites and kernels of the same name in several processes are one group.
    numbers: dict[CommandGroup, int] = {}
    collected = ColumnBlocks()
    for columns in trace.column_parts("command", _column_queries(dimension, selection)):
        commands = _unpack(columns, dimension)
        chosen = is_selected(commands)
        commands = {name: column[chosen] for name, column in commands.items()}
        positions, names = group_by(dimension, commands, catalogue)
        group_numbers = np.array(
            [numbers.setdefault(name, len(numbers)) for name in names], np.int32
        )
        part = command_columns(commands, device_ids_of(commands["queue_id"], catalogue))
        collected.append({"group": group_numbers[positions], **columns_by_name(part)})
    groups = list(numbers)
    sums = roll_up(collected.pop("group"), pop_columns(collected))
    rows = [RollupRow(*groups[number], rollup) for number, rollup in sums]
    return label_devices(trace, dimension, rows)


def _column_queries(dimension: str, selection: Selection) -> dict[str, str]:
    """Return SQL expressions by column name for what is read of each command."""
    key = KEY_COLUMNS[dimension]
    queries = {**_ALWAYS_READ, "queue_and_key": _PACKED.format(key=key)}
    if selection.kernel is not None and key != "kernel_id":
        queries["kernel_id"] = "kernel_id"
    if (selection.from_ns, selection.to_ns) != (None, None):
        queries["enter_host_ns"] = "enter_host_ns"
    return queries


def _unpack(columns: dict[str, Int64s], dimension: str) -> dict[str, Int64s]:
    """Return the columns that sums are made from, unpacked from the columns that were read."""
    api_and_flags, queue_and_key, on_host = (
        columns.pop(name) for name in ("api_and_flags", "queue_and_key", "on_host_ns")
    )
    enter = columns.pop("enter_host_ns", np.zeros(len(api_and_flags), np.int64))
    return {
        **columns,
        "api": api_and_flags & 0xFFFF,
        "flags": api_and_flags >> 16,
        "queue_id": queue_and_key >> 32,
        KEY_COLUMNS[dimension]: queue_and_key & 0xFFFFFFFF,
        "enter_host_ns": enter,
        "complete_host_ns": np.where(on_host == ABSENT, ABSENT, enter + on_host),
    }


def _condition(
    trace: Trace, selection: Selection
) -> Callable[[Mapping[str, Int64s]], NDArray[np.bool_]]:
    """Return the function that tells which commands are selected. Raises: `UsageError`."""
    kernels = None
    if selection.kernel is not None:
        kernels = trace.columns(
            {"id": "kernel_id"}, "v_kernel WHERE name GLOB :kernel", {"kernel": selection.kernel}
        )["id"]
    origin = trace.meta_int("origin_host_ns")
    if origin is None and (selection.from_ns, selection.to_ns) != (None, None):
        raise UsageError(
            "cannot select by time: this trace was merged from several machines and has no common start"
        )
    command_apis = [int(api) for api in COMMAND_KINDS]

    def is_selected(columns: Mapping[str, Int64s]) -> NDArray[np.bool_]:
        selected = np.isin(columns["api"], command_apis)
        if kernels is not None:
            selected &= np.isin(columns["kernel_id"], kernels)
        if selection.from_ns is not None:
            selected &= columns["enter_host_ns"] >= (origin or 0) + selection.from_ns
        if selection.to_ns is not None:
            selected &= columns["enter_host_ns"] < (origin or 0) + selection.to_ns
        return selected

    return is_selected
