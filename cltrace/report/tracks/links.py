"""Numbering the commands of a page anew, and what is known of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.kinds import FAULT_SHIFT
from cltrace.report.tracks.scene import NONE, Links, Slices, TrackKind
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.slack import UNLIMITED_NS
from cltrace.trace.commands import ABSENT

_FAULTS: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a page's timeline, in the track of that number.

    `calls` are the positions of its host calls among those that made no command, `NONE` for other slices.
    """

    track: int
    kind: TrackKind
    slices: Slices
    calls: Int64s


def numbered_commands(count: int, slices: Slices, rows: Sequence[Row]) -> Int64s:
    """The number on the page of each of `count` commands: of those that have a slice, in their order.

    `NONE` for the others, and in one more place at the end, so that `NONE` leads to `NONE`.
    """
    is_drawn = np.zeros(count + 1, bool)
    is_drawn[slices.command[_kinds(rows) != list(TrackKind).index(TrackKind.PATH)]] = True
    kept = np.flatnonzero(is_drawn[:-1])
    place = np.full(count + 1, NONE)
    place[kept] = np.arange(len(kept))
    return place


def links_of(
    analysis: Analysis, rows: Sequence[Row], slices: Slices, place: Int64s, launch: Int64s
) -> Links:
    """What is known of each numbered command. `launch` is the number of each command's NDRange."""
    commands, needs = analysis.activity.commands, analysis.needs
    kept = np.flatnonzero(place[:-1] != NONE)
    start, queued, submit = (
        commands.start_ns[kept],
        commands.queued_ns[kept],
        commands.submit_ns[kept],
    )
    bound = commands.bound_ns[kept]
    slack = analysis.slack_ns[kept]
    edges = place[analysis.activity.edges]
    return Links(
        id=commands.id[kept],
        host_slice=_slice_of(TrackKind.THREAD, rows, slices, place),
        device_slice=_slice_of(TrackKind.QUEUE, rows, slices, place),
        queued_ns=np.where((start != ABSENT) & (queued != ABSENT), start - queued, NONE),
        submit_ns=np.where((start != ABSENT) & (submit != ABSENT), start - submit, NONE),
        bound_ns=np.where(bound == ABSENT, NONE, bound),
        is_proven=commands.is_proven[kept],
        launch=launch[kept],
        faults=(commands.flags[kept] >> FAULT_SHIFT) & _FAULTS,
        queue_before=place[needs.queue_before[kept]],
        last_before=place[needs.last_before[kept]],
        slack_ns=np.where(slack < UNLIMITED_NS, slack, NONE),
        edges=edges[(edges != NONE).all(axis=1)],
        waits=_waits(analysis, rows, place),
    )


def _kinds(rows: Sequence[Row]) -> Int64s:
    """The kind of the track of each slice, as a position among the kinds."""
    order = list(TrackKind)
    kinds = np.array([order.index(row.kind) for row in rows], np.int64)
    return np.repeat(kinds, [len(row.slices) for row in rows])


def _slice_of(kind: TrackKind, rows: Sequence[Row], slices: Slices, place: Int64s) -> Int64s:
    """The slice of each numbered command in tracks of a kind; `NONE` where it has none."""
    number = np.full(int((place != NONE).sum()) + 1, NONE)
    is_here = (slices.command != NONE) & (_kinds(rows) == list(TrackKind).index(kind))
    number[place[slices.command[is_here]]] = np.flatnonzero(is_here)
    return number[:-1]


def _waits(analysis: Analysis, rows: Sequence[Row], place: Int64s) -> Int64s:
    """Pairs of a host call's slice and a command that it waited for."""
    waits = analysis.needs.waits
    slice_of = np.full(len(analysis.activity.calls) + 1, NONE)
    first = 0
    for row in rows:
        is_call = row.calls != NONE
        slice_of[row.calls[is_call]] = first + np.flatnonzero(is_call)
        first += len(row.slices)
    pairs = np.stack([slice_of[waits.call], place[waits.command]], axis=1)
    found: Int64s = pairs[(pairs != NONE).all(axis=1)]
    return found
