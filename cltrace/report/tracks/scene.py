"""Contents of the page's timeline: tracks of rows of slices, and dependencies of commands."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

import numpy as np

from cltrace.report.document import Unit
from cltrace.timeline.columns import Float64s, Int64s

NONE: Final = -1


class NameKind(StrEnum):
    """Kind of a slice, which decides its colour."""

    REGION = "region"
    """A named region of the program."""
    KERNEL = "kernel"
    TRANSFER = "transfer"
    OTHER = "other"
    """A marker or a barrier: it neither computes nor moves data."""
    CALL = "call"
    WAIT = "wait"
    """A host call that waits for the device."""
    BUILD = "build"
    """A build of a program, or its compilation or linking alone."""
    HOST = "host"
    """On the critical path: a thread of the program did something other than wait."""
    LAUNCH = "launch"
    RETURN = "return"


class TrackKind(StrEnum):
    """Kind of a track."""

    PATH = "path"
    THREAD = "thread"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class SliceName:
    """Name of slices."""

    text: str
    kind: NameKind


@dataclass(frozen=True, slots=True)
class Track:
    """Track of `rows` rows, which follow those of the tracks before it.

    `process` is 0 for all processes.
    """

    kind: TrackKind
    label: str
    process: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Slices, row after row; in a row they do not overlap and ascend. Shape (n,) each.

    `name` is an index of `Scene.names`. `command` is a position among `CommandLinks`, `NONE` for a call
    that enqueued nothing. `site` is an index of `Scene.sites`; 0 is none. `count` is the number of slices
    that one stands for: more than 1 where there was no room for all. `busy_ns` is the sum of their
    durations.
    """

    begin_ns: Int64s
    duration_ns: Int64s
    name: Int64s
    command: Int64s
    site: Int64s
    status: Int64s
    size_bytes: Int64s
    count: Int64s
    busy_ns: Int64s

    def __len__(self) -> int:
        return len(self.begin_ns)

    def at(self, chosen: Int64s) -> "Slices":
        """Return some of the slices."""
        return Slices(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


def join_slices(parts: Sequence[Slices]) -> Slices:
    """Return slices one part after the other."""
    names = [field.name for field in fields(Slices)]
    empty = np.empty(0, np.int64)
    return Slices(
        **{
            name: np.concatenate([empty, *(getattr(part, name) for part in parts)])
            for name in names
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLinks:
    """Links and times of each command beside its slices. Shape (m,) each, except pairs.

    `host_slice` and `device_slice` are positions among slices; `NONE` for one that is not drawn, or not
    alone. `queued_ns` and `submit_ns` are the times from queueing and submission to its start, `bound_ns`
    the uncertainty of its times, which is proven where `is_proven` is 1; `NONE` is not known. `launch` is
    an index of `Scene.launches`; 0 is none. `queue_before` and `last_before` are positions among
    commands: the command that it follows in its queue, and the one that it waited for last. `slack_ns` is
    `NONE` where it is not known. `edges` are pairs of a command and one in its wait list, `waits` of the
    slice of a host call and a command that it waited for; shape (k, 2).
    """

    id: Int64s
    host_slice: Int64s
    device_slice: Int64s
    queued_ns: Int64s
    submit_ns: Int64s
    bound_ns: Int64s
    is_proven: Int64s
    launch: Int64s
    faults: Int64s
    queue_before: Int64s
    last_before: Int64s
    slack_ns: Int64s
    edges: Int64s
    waits: Int64s


@dataclass(frozen=True, slots=True)
class CounterLevel:
    """Quantity over time: `value` from each time on. Shape (n,); ns on the trace's axis.

    `unit` is bytes or watts; watts are given in thousandths. `energy_j` is the energy from the first time
    to each, the integral of the power; it is empty for bytes.
    """

    label: str
    unit: Unit
    process: int
    time_ns: Int64s
    value: Int64s
    energy_j: Float64s


@dataclass(frozen=True, slots=True)
class LaunchDescription:
    """Launch configuration in words: its NDRange, its arguments, and facts by label."""

    size: str = ""
    arguments: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that the timeline of a page shows, from `begin_ns` to `end_ns` on the trace's axis.

    `row_sizes` is the number of slices in each row. `merged_below_ns` is the length below which slices
    were merged because there were too many; 0 if each is there. `has_arguments` is False where there were
    too many launch configurations to describe the arguments of each.
    """

    begin_ns: int
    end_ns: int
    tracks: tuple[Track, ...]
    row_sizes: Int64s
    slices: Slices
    names: tuple[SliceName, ...]
    sites: tuple[str, ...]
    launches: tuple[LaunchDescription, ...]
    has_arguments: bool
    processes: dict[int, str]
    links: CommandLinks
    levels: tuple[CounterLevel, ...]
    merged_below_ns: int
