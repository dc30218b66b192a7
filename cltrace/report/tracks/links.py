"""Numbers of the commands of a page, and the links of each to slices and other commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.kinds import FAULT_SHIFT
from cltrace.report.tracks.scene import NONE, CommandLinks, Slices, TrackKind
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Int64s
from cltrace.timeline.slack import UNLIMITED_NS
from cltrace.trace.commands import ABSENT

_FAULTS: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class TrackRow:
    """Row of a page's timeline, in the track of that number.

    `calls` are the positions of its host calls among those that enqueued nothing, `NONE` for other
    slices.
    """

    track: int
    kind: TrackKind
    slices: Slices
    calls: Int64s


def index_drawn_commands(count: int, slices: Slices, rows: Sequence[TrackRow]) -> Int64s:
    """Return the number on the page of each of `count` commands: of those with a slice, in their order.

    It is `NONE` for the others, and for one more place at the end, so that `NONE` maps to `NONE`.
    """
    is_drawn = np.zeros(count + 1, bool)
    is_drawn[slices.command[_kinds(rows) != list(TrackKind).index(TrackKind.PATH)]] = True
    kept = np.flatnonzero(is_drawn[:-1])
    numbers = np.full(count + 1, NONE)
    numbers[kept] = np.arange(len(kept))
    return numbers


def link_commands(
    analysis: Analysis, rows: Sequence[TrackRow], slices: Slices, numbers: Int64s, launch: Int64s
) -> CommandLinks:
    """Return the links of each numbered command. `launch` is the number of each command's NDRange."""
    commands, dependencies = analysis.activity.commands, analysis.dependencies
    kept = np.flatnonzero(numbers[:-1] != NONE)
    start, queued, submit = (
        commands.start_ns[kept],
        commands.queued_ns[kept],
        commands.submit_ns[kept],
    )
    bound = commands.bound_ns[kept]
    slack = analysis.slack_ns[kept]
    edges = numbers[analysis.activity.edges]
    return CommandLinks(
        id=commands.id[kept],
        host_slice=_slice_of(TrackKind.THREAD, rows, slices, numbers),
        device_slice=_slice_of(TrackKind.QUEUE, rows, slices, numbers),
        queued_ns=np.where((start != ABSENT) & (queued != ABSENT), start - queued, NONE),
        submit_ns=np.where((start != ABSENT) & (submit != ABSENT), start - submit, NONE),
        bound_ns=np.where(bound == ABSENT, NONE, bound),
        is_proven=commands.is_proven[kept],
        launch=launch[kept],
        faults=(commands.flags[kept] >> FAULT_SHIFT) & _FAULTS,
        queue_before=numbers[dependencies.queue_predecessor[kept]],
        last_before=numbers[dependencies.last_predecessor[kept]],
        slack_ns=np.where(slack < UNLIMITED_NS, slack, NONE),
        edges=edges[(edges != NONE).all(axis=1)],
        waits=_waits(analysis, rows, numbers),
    )


def _kinds(rows: Sequence[TrackRow]) -> Int64s:
    """Return the kind of the track of each slice, as a position among the kinds."""
    order = list(TrackKind)
    kinds = np.array([order.index(row.kind) for row in rows], np.int64)
    return np.repeat(kinds, [len(row.slices) for row in rows])


def _slice_of(kind: TrackKind, rows: Sequence[TrackRow], slices: Slices, numbers: Int64s) -> Int64s:
    """Return the slice of each numbered command in tracks of a kind; `NONE` where it has none."""
    slice_of = np.full(int((numbers != NONE).sum()) + 1, NONE)
    is_here = (slices.command != NONE) & (_kinds(rows) == list(TrackKind).index(kind))
    slice_of[numbers[slices.command[is_here]]] = np.flatnonzero(is_here)
    return slice_of[:-1]


def _waits(analysis: Analysis, rows: Sequence[TrackRow], numbers: Int64s) -> Int64s:
    """Return pairs of a host call's slice and a command that it waited for."""
    waits = analysis.dependencies.waits
    slice_of = np.full(len(analysis.activity.calls) + 1, NONE)
    first = 0
    for row in rows:
        is_call = row.calls != NONE
        slice_of[row.calls[is_call]] = first + np.flatnonzero(is_call)
        first += len(row.slices)
    pairs = np.stack([slice_of[waits.call], numbers[waits.command]], axis=1)
    drawn: Int64s = pairs[(pairs != NONE).all(axis=1)]
    return drawn
