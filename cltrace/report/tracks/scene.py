"""What the page's timeline shows: tracks of rows of slices, and how commands depend on each other."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

import numpy as np

from cltrace.report.document import Unit
from cltrace.timeline.clock_fit.points import Int64s

NONE: Final = -1


class NameKind(StrEnum):
    """What a slice is, which decides its colour."""

    REGION = "region"
    """A stretch of the program that it gave a name to."""
    KERNEL = "kernel"
    TRANSFER = "transfer"
    OTHER = "other"
    """A marker, a barrier: what neither computes nor moves."""
    CALL = "call"
    WAIT = "wait"
    """A host call that waits for the device."""
    HOST = "host"
    """On the critical path: a thread of the program did something else than wait."""
    LAUNCH = "launch"
    RETURN = "return"


class TrackKind(StrEnum):
    """What a track shows."""

    PATH = "path"
    THREAD = "thread"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class Name:
    """A name of slices."""

    text: str
    kind: NameKind


@dataclass(frozen=True, slots=True)
class Track:
    """A track: `rows` rows, which follow those of the tracks before. `process` is 0 for all processes."""

    kind: TrackKind
    label: str
    process: int
    rows: int


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices, row after row; in a row they are apart and ascend. Shape (n,) each.

    `name` counts in `Scene.names`. `command` is a position among `Links`, `NONE` for a call that made
    none. `site` counts in `Scene.sites`; 0 is none. `count` is how many slices one stands for: more
    than 1 where there was no room for all. `busy_ns` is how long these are together.
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
        """Some of the slices."""
        return Slices(*(getattr(self, one.name)[chosen] for one in fields(self)))


def joined(parts: Sequence[Slices]) -> Slices:
    """Slices one part after the other."""
    names = [one.name for one in fields(Slices)]
    empty = np.empty(0, np.int64)
    return Slices(
        *(np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in names)
    )


@dataclass(frozen=True, slots=True)
class Links:
    """What is known of each command beside its slices. Shape (m,) each, but for pairs.

    `host_slice` and `device_slice` are positions among slices; `NONE` for one that is not drawn, or not
    singly. `queued_ns` and `submit_ns` are how long before its start it was queued and submitted,
    `bound_ns` how far off its times may be, which is proven where `is_proven` is 1; `NONE` is not known.
    `launch` counts in `Scene.launches`; 0 is none. `queue_before` and `last_before` are positions among
    commands: what it follows in its queue, and what it waited for last. `slack_ns` is `NONE` where it is
    not known. `edges` are pairs of a command and one in its wait list, `waits` of the slice of a host
    call and a command that it waited for; shape (k, 2).
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
class Level:
    """A quantity over time: `value` from each time on. Shape (n,); ns on the trace's axis.

    `unit` is bytes or watts; watts are given in thousandths.
    """

    label: str
    unit: Unit
    process: int
    time_ns: Int64s
    value: Int64s


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the timeline of a page shows, from `begin_ns` to `end_ns` on the trace's axis.

    `row_sizes` is the number of slices in each row. `merged_below_ns` is the length below which slices
    were put together because there were too many; 0 if each is there.
    """

    begin_ns: int
    end_ns: int
    tracks: tuple[Track, ...]
    row_sizes: Int64s
    slices: Slices
    names: tuple[Name, ...]
    sites: tuple[str, ...]
    launches: tuple[str, ...]
    processes: dict[int, str]
    links: Links
    levels: tuple[Level, ...]
    merged_below_ns: int
