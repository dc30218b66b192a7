"""Activity of a trace as tables of numpy columns on one axis of time.

Everything that draws, analyses or exports a timeline starts from these tables. Times are ns on the
trace's axis (`timeline.hosts`); `ABSENT` stands for no time and no number. Rows keep the trace's order:
processes one after another, each by the entry of its calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Final

import numpy as np

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.kinds import CallFlag
from cltrace.timeline.clock_map import ClockMap
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.hosts import Axis, ChildStart
from cltrace.trace.commands import ABSENT

KINDS: Final = tuple(sorted({kind.value for kind in COMMAND_KINDS.values()}))
"""Kinds of commands. `Commands.kind` is a position in this tuple."""


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Enqueued commands. Shape (n,) each.

    `kind` is a position in `KINDS`, `kernel` one in `Names.kernels`. `queued_ns` to `end_ns` are `ABSENT`
    unless the command `is_placed`. `bound_ns` is the largest error of these times by the device's clock,
    `ABSENT` where no stamps are on a fitted clock. `is_proven` is 1 where that bound is proven.
    `duration_ns` is END minus START by the device's own clock, else the duration that the host observed;
    `ABSENT` if there is neither. `observed_complete_ns` is when the host had proof that the command was
    complete, `NEVER` if it had none. `flags` are `CallFlag` and the flags that `trace.commands` adds.
    """

    id: Int64s
    process: Int64s
    thread: Int64s
    queue: Int64s
    device: Int64s
    api: Int64s
    kind: Int64s
    kernel: Int64s
    launch: Int64s
    site: Int64s
    enter_ns: Int64s
    return_ns: Int64s
    queued_ns: Int64s
    submit_ns: Int64s
    start_ns: Int64s
    end_ns: Int64s
    bound_ns: Int64s
    is_proven: Int64s
    duration_ns: Int64s
    observed_complete_ns: Int64s
    size_bytes: Int64s
    source_buffer: Int64s
    target_buffer: Int64s
    source_offset_bytes: Int64s
    target_offset_bytes: Int64s
    flags: Int64s

    def __len__(self) -> int:
        return len(self.id)

    @cached_property
    def is_placed(self) -> Bools:
        """Mask of the commands that have a start and an end on the axis."""
        placed: Bools = (self.start_ns != ABSENT) & (self.end_ns != ABSENT)
        return placed

    @cached_property
    def is_blocking(self) -> Bools:
        """Mask of the commands whose calls waited for them."""
        blocking: Bools = self.flags & int(CallFlag.BLOCKING) != 0
        return blocking

    def is_kind(self, *kinds: str) -> Bools:
        """Return a mask of the commands of any of `kinds`."""
        mask: Bools = np.isin(self.kind, [KINDS.index(kind) for kind in kinds])
        return mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Host calls that made no command. Shape (n,) each."""

    id: Int64s
    process: Int64s
    thread: Int64s
    queue: Int64s
    api: Int64s
    site: Int64s
    enter_ns: Int64s
    return_ns: Int64s
    status: Int64s
    size_bytes: Int64s

    def __len__(self) -> int:
        return len(self.id)

    def is_api(self, *apis: Api) -> Bools:
        """Return a mask of the calls of any of these entry points."""
        mask: Bools = np.isin(self.api, [int(api) for api in apis])
        return mask


@dataclass(frozen=True, slots=True)
class Names:
    """Names of numbered things, by their numbers. `kernels[0]` stands for no kernel."""

    kernels: tuple[str, ...]
    sites: Mapping[int, str]
    queues: Mapping[int, str]
    devices: Mapping[int, str]
    threads: Mapping[int, str]
    processes: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """All commands and calls of a trace, and the relations between them.

    `edges` are pairs of positions in `commands`: the first has the second in its wait list. `waits` are
    pairs of a position in `calls` and one in `commands`. `in_order` holds the queues that execute in
    order. `clocks` are the devices' clocks as the trace has them, in host time. `children` are the
    processes that others of the trace started.
    """

    commands: Commands
    calls: Calls
    edges: Int64s
    waits: Int64s
    in_order: frozenset[int]
    names: Names
    axis: Axis
    clocks: Mapping[int, ClockMap]
    children: tuple[ChildStart, ...] = ()


def clip_activity(activity: Activity, begin_ns: int, end_ns: int) -> Activity:
    """Return the activity between two times.

    It has the commands that ran then, and those that were enqueued then and are not placed. Commands that
    ran before or after are clipped to the two times.
    """
    commands, calls = activity.commands, activity.calls
    first = np.where(commands.is_placed, commands.start_ns, commands.enter_ns)
    last = np.where(commands.is_placed, commands.end_ns, commands.return_ns)
    chosen = np.flatnonzero((first < end_ns) & (last > begin_ns))
    chosen_calls = np.flatnonzero((calls.enter_ns < end_ns) & (calls.return_ns > begin_ns))
    columns = [field.name for field in fields(commands)]
    part = Commands(**{name: getattr(commands, name)[chosen] for name in columns})
    placed = part.is_placed
    clipped = {
        name: np.where(placed, np.clip(getattr(part, name), begin_ns, end_ns), ABSENT)
        for name in ("start_ns", "end_ns")
    }
    columns = [field.name for field in fields(calls)]
    return replace(
        activity,
        commands=replace(part, **clipped),
        calls=Calls(**{name: getattr(calls, name)[chosen_calls] for name in columns}),
        edges=_renumber(activity.edges, (chosen, len(commands)), (chosen, len(commands))),
        waits=_renumber(activity.waits, (chosen_calls, len(calls)), (chosen, len(commands))),
    )


def _renumber(pairs: Int64s, *chosen: tuple[Int64s, int]) -> Int64s:
    """Return pairs of positions as positions among the chosen rows; a pair with another row is dropped.

    `chosen` has the chosen positions and the number of all rows for each column.
    """
    columns = []
    for column, (kept, count) in zip(pairs.T, chosen, strict=True):
        place = np.full(count, -1)
        place[kept] = np.arange(len(kept))
        columns.append(place[column])
    renumbered = np.stack(columns, axis=1)
    return renumbered[(renumbered >= 0).all(axis=1)]
