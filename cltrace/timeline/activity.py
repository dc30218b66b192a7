"""What a trace says was done, as tables of numpy columns on one axis of time.

Everything that draws, analyses or exports a timeline starts from here. Times are ns on the trace's
axis (`timeline.hosts`); `ABSENT` is no time, no number. Rows are ordered as the trace has them:
processes one after another, each by the entry of its calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Final

import numpy as np

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.kinds import CallFlag
from cltrace.timeline.clock_fit.points import Bools, Int64s
from cltrace.timeline.clocks import ClockMap
from cltrace.timeline.hosts import Axis
from cltrace.trace.commands import ABSENT

KINDS: Final = tuple(sorted({kind.value for kind in COMMAND_KINDS.values()}))
"""What commands do; `Commands.kind` is a position in it."""


@dataclass(frozen=True)
class Commands:
    """What was enqueued. Shape (n,) each.

    `kind` counts in `KINDS`, `kernel` in `Names.kernels`. `queued_ns` to `end_ns` are `ABSENT` unless the
    command `is_placed`. `bound_ns` is how far off those may be by the device's clock, `ABSENT` where
    there are no stamps on a clock that is known; `is_proven` is 1 where that bound is proven.
    `duration_ns` is END minus START by the device's own clock, or what the host saw; `ABSENT` if there
    is neither. `known_ns` is when the host knew that the command was complete, `NEVER` if it never did.
    `flags` are `CallFlag` and what `trace.commands` adds.
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
    known_ns: Int64s
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
        """Which commands have a start and an end on the axis."""
        placed: Bools = (self.start_ns != ABSENT) & (self.end_ns != ABSENT)
        return placed

    @cached_property
    def is_blocking(self) -> Bools:
        """Whose calls waited for them."""
        blocking: Bools = self.flags & int(CallFlag.BLOCKING) != 0
        return blocking

    def are(self, *kinds: str) -> Bools:
        """Which commands do one of `kinds`."""
        found: Bools = np.isin(self.kind, [KINDS.index(kind) for kind in kinds])
        return found


@dataclass(frozen=True, slots=True)
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

    def are(self, *apis: Api) -> Bools:
        """Which calls are of one of these entry points."""
        found: Bools = np.isin(self.api, [int(api) for api in apis])
        return found


@dataclass(frozen=True, slots=True)
class Names:
    """What numbers are called. `kernels` is a list whose first is no kernel; the others go by number."""

    kernels: tuple[str, ...]
    sites: Mapping[int, str]
    queues: Mapping[int, str]
    devices: Mapping[int, str]
    threads: Mapping[int, str]
    processes: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Activity:
    """All that was done.

    `edges` are pairs of positions in `commands`: the first has the second in its wait list; `waits`
    pairs of a position in `calls` and one in `commands`. `in_order` are the queues that execute in
    order. `clocks` are the devices' clocks as the trace has them, in host time.
    """

    commands: Commands
    calls: Calls
    edges: Int64s
    waits: Int64s
    in_order: frozenset[int]
    names: Names
    axis: Axis
    clocks: Mapping[int, ClockMap]


def within(activity: Activity, begin_ns: int, end_ns: int) -> Activity:
    """What went on between two times: commands that ran then, or were enqueued then and have no place.

    Those that ran on begin and end with the stretch.
    """
    commands, calls = activity.commands, activity.calls
    first = np.where(commands.is_placed, commands.start_ns, commands.enter_ns)
    last = np.where(commands.is_placed, commands.end_ns, commands.return_ns)
    chosen = np.flatnonzero((first < end_ns) & (last > begin_ns))
    chosen_calls = np.flatnonzero((calls.enter_ns < end_ns) & (calls.return_ns > begin_ns))
    part = Commands(*(getattr(commands, one.name)[chosen] for one in fields(commands)))
    placed = part.is_placed
    clipped = {
        name: np.where(placed, np.clip(getattr(part, name), begin_ns, end_ns), ABSENT)
        for name in ("start_ns", "end_ns")
    }
    return replace(
        activity,
        commands=replace(part, **clipped),
        calls=Calls(*(getattr(calls, one.name)[chosen_calls] for one in fields(calls))),
        edges=_moved(activity.edges, (chosen, len(commands)), (chosen, len(commands))),
        waits=_moved(activity.waits, (chosen_calls, len(calls)), (chosen, len(commands))),
    )


def _moved(pairs: Int64s, *chosen: tuple[Int64s, int]) -> Int64s:
    """Pairs of positions, as positions among those that were chosen of so many."""
    columns = []
    for column, (kept, count) in zip(pairs.T, chosen, strict=True):
        place = np.full(count, -1)
        place[kept] = np.arange(len(kept))
        columns.append(place[column])
    moved = np.stack(columns, axis=1)
    return moved[(moved >= 0).all(axis=1)]
