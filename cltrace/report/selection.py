"""Sums over a part of the commands: of some kernels, or of some time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import UsageError
from cltrace.events.apis import COMMAND_KINDS
from cltrace.report.activity import Line
from cltrace.report.quantities import time_text
from cltrace.trace.catalogue import catalogue_of_rows
from cltrace.trace.column_blocks import Collected
from cltrace.trace.command_groups import KEY_COLUMNS, Group, devices_of, grouped_by
from cltrace.trace.command_sums import columns_of, measured, roll_up, taken_from
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.reader import Trace

_ALWAYS_READ: Final = {
    "what": "CASE WHEN api BETWEEN 0 AND 65535 AND coalesce(flags, 0) BETWEEN 0 AND 1 << 46 "
    "THEN (coalesce(flags, 0) << 16) | api ELSE 'damaged' END",
    "on_host_ns": "complete_host_ns - enter_host_ns",
    **{
        name: name
        for name in ("queued_device_ns", "start_device_ns", "end_device_ns", "size_bytes")
    },
}
"""What is read of each command. Making numbers of rows takes the time: small ones share a number."""
_PACKED: Final = (
    "CASE WHEN coalesce(queue_id, 0) BETWEEN 0 AND 1 << 30 AND coalesce({key}, 0) BETWEEN 0 AND 1 << 31 "
    "THEN (coalesce(queue_id, 0) << 32) | coalesce({key}, 0) ELSE 'damaged' END"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which commands are meant: of kernels whose name matches a glob, entered in a stretch of time.

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
        """Whether no condition is given."""
        return self.kernel is None and self.from_ns is None and self.to_ns is None


def selected_lines(trace: Trace, dimension: str, selection: Selection) -> list[Line]:
    """The sums of a dimension over the selected commands."""
    trace.check_tables("launch")  # arrays are made as long as launches are numbered
    catalogue = catalogue_of_rows(trace.rows, {})
    is_meant = _condition(trace, selection)
    # Places and kernels of several processes are one where they have one name.
    numbers: dict[Group, int] = {}
    collected = Collected()
    for columns in trace.parts("command", _read_of_each(dimension, selection)):
        commands = _unpacked(columns, dimension)
        chosen = is_meant(commands)
        commands = {name: column[chosen] for name, column in commands.items()}
        positions, names = grouped_by(dimension, commands, catalogue)
        known = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
        part = measured(commands, devices_of(commands["queue_id"], catalogue))
        collected.add({"group": known[positions], **columns_of(part)})
    listed = list(numbers)
    sums = roll_up(collected.take("group"), taken_from(collected))
    return [Line(*listed[at], rollup) for at, rollup in sums]


def _read_of_each(dimension: str, selection: Selection) -> dict[str, str]:
    """SQL expressions for what is to be known of each command."""
    key = KEY_COLUMNS[dimension]
    wanted = {**_ALWAYS_READ, "where": _PACKED.format(key=key)}
    if selection.kernel is not None and key != "launch_id":
        wanted["launch_id"] = "launch_id"
    if (selection.from_ns, selection.to_ns) != (None, None):
        wanted["enter_host_ns"] = "enter_host_ns"
    return wanted


def _unpacked(columns: dict[str, Int64s], dimension: str) -> dict[str, Int64s]:
    """What was read, as the columns that sums are made of."""
    what, where, on_host = (columns.pop(name) for name in ("what", "where", "on_host_ns"))
    enter = columns.pop("enter_host_ns", np.zeros(len(what), np.int64))
    return {
        **columns,
        "api": what & 0xFFFF,
        "flags": what >> 16,
        "queue_id": where >> 32,
        KEY_COLUMNS[dimension]: where & 0xFFFFFFFF,
        "enter_host_ns": enter,
        "complete_host_ns": np.where(on_host == ABSENT, ABSENT, enter + on_host),
    }


def _condition(
    trace: Trace, selection: Selection
) -> Callable[[Mapping[str, Int64s]], NDArray[np.bool_]]:
    """What tells which commands are selected. Raises: `UsageError`."""
    launches = None
    if selection.kernel is not None:
        launches = trace.columns(
            {"id": "launch_id"}, "v_launch WHERE kernel GLOB :kernel", {"kernel": selection.kernel}
        )["id"]
    origin = trace.meta_int("origin_host_ns")
    if origin is None and (selection.from_ns, selection.to_ns) != (None, None):
        raise UsageError(
            "this trace has no start that times could count from: it was merged of several machines"
        )
    commanding = [int(api) for api in COMMAND_KINDS]

    def is_meant(columns: Mapping[str, Int64s]) -> NDArray[np.bool_]:
        chosen = np.isin(columns["api"], commanding)
        if launches is not None:
            chosen &= np.isin(columns["launch_id"], launches)
        if selection.from_ns is not None:
            chosen &= columns["enter_host_ns"] >= (origin or 0) + selection.from_ns
        if selection.to_ns is not None:
            chosen &= columns["enter_host_ns"] < (origin or 0) + selection.to_ns
        return chosen

    return is_meant
