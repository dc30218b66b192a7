"""Rule about transfers of data that the other side has already."""

from collections import defaultdict

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Proposal,
    Remedy,
    metric_bytes,
    metric_count,
)
from cltrace.timeline.advice.sequences import MAX_LOOP_NS, time_between_ns, without
from cltrace.trace.commands import ABSENT

_OWN_TIME = 0.1
"""Quantile of the times between calls that counts as pyopencl's own."""


def redundant_transfers(evidence: Evidence) -> list[Proposal]:
    """Find writes that the next write replaces unused, and reads of data that cannot have changed."""
    activity = evidence.activity
    commands = activity.commands
    chosen = np.array(_find_redundant(evidence), np.int64)
    proposals = []
    for place, members in evidence.by_place(commands.site[chosen], chosen):
        if len(members) < MIN_OCCURRENCES:
            continue
        moved = int(np.maximum(commands.size_bytes[members], 0).sum())
        proposals.append(
            Proposal(
                rule="redundant-transfer",
                title="The same data is transferred again",
                place=place,
                times=len(members),
                metrics=(
                    metric_count(
                        "reads of unchanged data, or writes over unused data", len(members)
                    ),
                    metric_bytes("together", moved),
                ),
                remedy=Remedy(
                    "Move the transfer out of the loop, in front of it, or keep the data that was read.",
                    "for i in range(n): cl.enqueue_copy(queue, a, x); use(a, i)",
                    "for i in range(n): use(a, i)",
                ),
                change=without(activity, members, time_between_ns(activity, members, _OWN_TIME)),
                least=without(activity, members, 0),
                most=without(activity, members, MAX_LOOP_NS),
            )
        )
    return proposals


def _find_redundant(evidence: Evidence) -> list[int]:
    """Return positions of redundant transfers. Images, sub-buffers and their parents are not tracked."""
    commands = evidence.activity.commands
    kinds = {kind: commands.is_kind(kind).tolist() for kind in ("read", "write", "kernel")}
    columns = zip(
        commands.source_buffer.tolist(),
        commands.target_buffer.tolist(),
        commands.source_offset_bytes.tolist(),
        commands.target_offset_bytes.tolist(),
        commands.size_bytes.tolist(),
        commands.launch.tolist(),
        strict=True,
    )
    # The trace does not have the origins of image transfers.
    images = {number for number, memory in evidence.memory.items() if memory.kind == "image"}
    untracked = {int(ABSENT), *evidence.parents.values(), *evidence.parents, *images}
    fresh_reads: dict[int, set[tuple[int, int]]] = defaultdict(set)
    unused_writes: dict[int, set[tuple[int, int]]] = defaultdict(set)
    redundant = []
    for at, (source, target, source_offset, target_offset, size, launch) in enumerate(columns):
        if kinds["read"][at] and source not in untracked:
            unused_writes.pop(source, None)
            if (source_offset, size) in fresh_reads[source]:
                redundant.append(at)
            fresh_reads[source].add((source_offset, size))
        elif kinds["write"][at] and target not in untracked:
            fresh_reads.pop(target, None)
            if (target_offset, size) in unused_writes[target]:
                redundant.append(at)
            unused_writes[target].add((target_offset, size))
        elif kinds["kernel"][at] and launch in evidence.used_buffers:
            for used in evidence.used_buffers[launch]:
                fresh_reads.pop(used, None)
                unused_writes.pop(used, None)
        else:
            # The accesses of other kinds of commands are not tracked: any data may have changed.
            fresh_reads.clear()
            unused_writes.clear()
    return redundant
