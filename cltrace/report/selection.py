"""Sums over a part of the commands: of some kernels, or of some time."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import DamagedTraceError, UsageError
from cltrace.events.apis import COMMAND_KINDS
from cltrace.report.activity import Line
from cltrace.report.quantities import time_text
from cltrace.trace.catalogue import catalogue_of_rows
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.reader import Trace
from cltrace.trace.rollup import durations, roll_up
from cltrace.trace.rollups import WHOLE_DEVICE, Group, groupings

_COLUMNS: Final = (
    *("api", "queue_id", "thread_id", "site_id", "launch_id", "enter_host_ns"),
    *("queued_device_ns", "start_device_ns", "end_device_ns", "complete_host_ns", "size_bytes"),
    "flags",
)
_MOST_MISSING: Final = 1 << 20
"""How many numbers may be missing among launches: a recording that was cut short has gaps."""


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
    _check_launches(trace)
    commands = _selected(trace, selection)
    if not len(commands["api"]):
        return []
    groups = groupings(commands, catalogue_of_rows(trace.rows, {}))
    positions, names = groups[dimension]
    commands["device_id"], _ = groups[WHOLE_DEVICE]
    # Places and kernels of several processes are one where they have one name.
    numbers: dict[Group, int] = {}
    known = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    listed = list(numbers)
    sums = roll_up(known[positions], commands, durations(commands))
    return [Line(*listed[at], rollup) for at, rollup in sums]


def _selected(trace: Trace, selection: Selection) -> dict[str, Int64s]:
    """The selected commands, as columns."""
    columns = trace.columns({name: name for name in _COLUMNS}, "command ORDER BY id")
    columns["flags"] = np.where(columns["flags"] == ABSENT, 0, columns["flags"])
    chosen = np.isin(columns["api"], [int(api) for api in COMMAND_KINDS])
    if selection.kernel is not None:
        launches = trace.columns(
            {"id": "launch_id"}, "v_launch WHERE kernel GLOB :kernel", {"kernel": selection.kernel}
        )
        chosen &= np.isin(columns["launch_id"], launches["id"])
    origin = trace.meta_int("origin_host_ns")
    if origin is None and (selection.from_ns, selection.to_ns) != (None, None):
        raise UsageError(
            "this trace has no start that times could count from: it was merged of several machines"
        )
    if selection.from_ns is not None:
        chosen &= columns["enter_host_ns"] >= (origin or 0) + selection.from_ns
    if selection.to_ns is not None:
        chosen &= columns["enter_host_ns"] < (origin or 0) + selection.to_ns
    return {name: column[chosen] for name, column in columns.items()}


def _check_launches(trace: Trace) -> None:
    """See that launches are numbered as cltrace does it: arrays are made that long."""
    sql = "SELECT count(*), coalesce(max(launch_id), 0), coalesce(min(launch_id), 1) FROM v_launch"
    count, highest, lowest = trace.rows(sql)[0]
    if lowest < 1 or highest > count + _MOST_MISSING:
        raise DamagedTraceError(
            f"{trace.path} is damaged: {count} launches are numbered {lowest} to {highest}"
        )
