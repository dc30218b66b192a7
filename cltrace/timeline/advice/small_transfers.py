"""Rules about small transfers: many in a row, and one per iteration of a loop."""

from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
)
from cltrace.timeline.advice.sequences import (
    ANY_TIME_NS,
    MAX_LOOP_NS,
    runs_of,
    time_between_ns,
    waits_for_only,
    without,
)
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay import Change

_SMALL_BYTES: Final = 4096
_FEW_BYTES: Final = 64
"""Size of a read that a loop makes for a decision, not for its results."""
_MIN_COUNT: Final = 32
_MIN_RUN: Final = 4
"""Length from which transfers in a row are worth one larger transfer."""
_MAX_COMMANDS_BETWEEN: Final = 4
"""Commands between two reads of a loop that reads in each iteration."""
_READ_EVERY: Final = 8
"""Iterations after which the remedy of `frequent-reads` reads once."""


def tiny_transfers(evidence: Evidence) -> list[Proposal]:
    """Find small transfers one after another: each costs a call, whatever its size."""
    commands = evidence.activity.commands
    chosen = np.flatnonzero(commands.is_kind("read", "write") & _is_small(evidence, _SMALL_BYTES))
    proposals = []
    for place, members in evidence.by_place(commands.site[chosen], chosen):
        runs = [run for run in runs_of(evidence.activity, members) if len(run) >= _MIN_RUN]
        count = sum(map(len, runs))
        if count >= _MIN_COUNT:
            later = np.concatenate([run[1:] for run in runs])
            proposals.append(_in_a_row(evidence, place, count, later))
    return proposals


def _is_small(evidence: Evidence, max_bytes: int) -> Bools:
    size = evidence.activity.commands.size_bytes
    is_small: Bools = (size >= 0) & (size <= max_bytes)
    return is_small


def _in_a_row(evidence: Evidence, place: Place, count: int, later: Int64s) -> Proposal:
    commands = evidence.activity.commands
    in_calls = int((commands.return_ns - commands.enter_ns)[later].sum())
    return Proposal(
        rule="tiny-transfers",
        title="Many small transfers",
        place=place,
        times=count,
        metrics=(
            metric_count(f"reads or writes of at most {_SMALL_BYTES} bytes in a row", count),
            metric_ns("in the calls", in_calls),
        ),
        remedy=Remedy(
            "Gather the data in one array and transfer it at once, or pass small values as kernel "
            "arguments.",
            "for i in range(n): cl.enqueue_copy(queue, a[i], x, src_offset=4 * i)",
            "cl.enqueue_copy(queue, a, x)",
        ),
        change=without(evidence.activity, later, time_between_ns(evidence.activity, later, 0.5)),
        least=without(evidence.activity, later, 0),
        most=without(evidence.activity, later, ANY_TIME_NS),
    )


def frequent_reads(evidence: Evidence) -> list[Proposal]:
    """Find loops that read a few bytes in each iteration, and wait for them."""
    activity = evidence.activity
    commands = activity.commands
    is_chosen = commands.is_kind("read") & commands.is_blocking & _is_small(evidence, _FEW_BYTES)
    chosen = np.flatnonzero(is_chosen)
    proposals = []
    for place, members in evidence.by_place(commands.site[chosen], chosen):
        between = _launches_between(evidence, members)
        loop = members[(between > 0) & (between <= _MAX_COMMANDS_BETWEEN)]
        if len(loop) < _MIN_COUNT:
            continue
        waited = np.maximum(commands.end_ns - commands.enter_ns, 0)[loop]
        proposals.append(
            Proposal(
                rule="frequent-reads",
                title="The host reads a few bytes in each iteration",
                place=place,
                times=len(loop),
                metrics=(
                    metric_count(f"blocking reads of at most {_FEW_BYTES} bytes", len(loop)),
                    metric_ns("the host waited for", int(waited.sum())),
                ),
                remedy=Remedy(
                    f"Read after every {_READ_EVERY} iterations, as for a convergence test, or decide on "
                    "the device.",
                    "cl.enqueue_copy(queue, error, error_buffer)",
                    f"if step % {_READ_EVERY} == 0: cl.enqueue_copy(queue, error, error_buffer)",
                ),
                change=without(activity, loop[np.arange(len(loop)) % _READ_EVERY > 0], 0),
                least=without(activity, loop[::2], 0),
                most=_without_line(evidence, place, loop),
            )
        )
    return proposals


def _launches_between(evidence: Evidence, members: Int64s) -> Int64s:
    """Return the number of launches of its thread between each member and the one before it."""
    commands = evidence.activity.commands
    kernels = np.flatnonzero(commands.is_kind("kernel"))
    count = np.zeros(len(members), np.int64)
    for at in range(1, len(members)):
        first, last = members[at - 1], members[at]
        if commands.thread[first] == commands.thread[last]:
            low, high = np.searchsorted(kernels, [first, last])
            count[at] = high - low
    return count


def _without_line(evidence: Evidence, place: Place, loop: Int64s) -> Change:
    """Return the change that leaves out reads with all that their line does before them.

    A line may compute what it reads, as `error = pyopencl.array.max(x).get()` does.
    """
    events, activity = evidence.events, evidence.activity
    line = np.union1d(loop, _at_place(evidence, place, activity.commands.site))
    calls = _at_place(evidence, place, activity.calls.site)
    is_of_line = np.zeros(len(events), np.bool_)
    is_of_line[events.event_of_command[line]] = True
    is_of_line[events.event_of_call[calls]] = True

    def saved_ns(of_event: Int64s) -> Int64s:
        """Return all time since the call before if that is of the line, too."""
        is_inner = is_of_line[of_event - 1] & (of_event > 0)
        return np.where(is_inner, ANY_TIME_NS, MAX_LOOP_NS)

    return Change(
        removed=line,
        removed_calls=np.union1d(calls, waits_for_only(activity, line)),
        saved_commands=line,
        saved_ns=saved_ns(events.event_of_command[line]),
        saved_calls=calls,
        saved_calls_ns=saved_ns(events.event_of_call[calls]),
    )


def _at_place(evidence: Evidence, place: Place, sites: Int64s) -> Int64s:
    """Return the positions of the sites that are at a place, ascending."""
    own = [each for each, _ in groups(sites) if evidence.places.get(each, Place("")) == place]
    return np.flatnonzero(np.isin(sites, own))
