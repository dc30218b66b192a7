"""Rule about transfers of data that the other side has already."""

from collections import defaultdict
from typing import TypeAlias

import numpy as np

from cltrace.events.kinds import CallFlag
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
    """Find writes of unused or unchanged data, and reads of data that cannot have changed."""
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
                        "reads of unchanged data, writes over unused data, or of the same data again",
                        len(members),
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
    same_data = (commands.flags & int(CallFlag.SAME_DATA) != 0).tolist()
    columns = zip(
        commands.source_buffer.tolist(),
        commands.target_buffer.tolist(),
        commands.source_offset_bytes.tolist(),
        commands.target_offset_bytes.tolist(),
        commands.size_bytes.tolist(),
        commands.launch.tolist(),
        commands.thread.tolist(),
        strict=True,
    )
    # The trace does not have the origins of image transfers.
    images = {number for number, memory in evidence.memory.items() if memory.kind == "image"}
    untracked = {int(ABSENT), *evidence.parents.values(), *evidence.parents, *images}
    ranges = _KnownRanges()
    redundant = []
    for at, (source, target, source_offset, target_offset, size, launch, thread) in enumerate(
        columns
    ):
        if kinds["read"][at] and source not in untracked:
            is_redundant = ranges.read(source, (source_offset, size))
        elif kinds["write"][at] and target not in untracked:
            written = target_offset, size
            is_redundant = ranges.write(target, written, thread, is_same=same_data[at])
        else:
            is_redundant = False
            used = evidence.used_buffers.get(launch) if kinds["kernel"][at] else None
            ranges.use(used, evidence.constant_buffers.get(launch, frozenset()))
        if is_redundant:
            redundant.append(at)
    return redundant


_Range: TypeAlias = tuple[int, int]
"""Offset and size of a part of a buffer, bytes."""


class _KnownRanges:
    """Ranges of buffers whose data the host has, or has sent, by buffer."""

    def __init__(self) -> None:
        self._read: dict[int, set[_Range]] = defaultdict(set)
        self._unused: dict[int, set[_Range]] = defaultdict(set)
        self._written: dict[int, dict[_Range, int]] = defaultdict(dict)

    def read(self, buffer: int, part: _Range) -> bool:
        """Take note of a read. Return whether the host had the data."""
        self._unused.pop(buffer, None)
        is_known = part in self._read[buffer]
        self._read[buffer].add(part)
        return is_known

    def write(self, buffer: int, part: _Range, thread: int, *, is_same: bool) -> bool:
        """Take note of a write. Return whether it was not needed, or the write before it.

        `is_same` tells whether it brings what the thread wrote to the range before.
        """
        self._read.pop(buffer, None)
        written = self._written[buffer]
        is_known = part in self._unused[buffer] or (is_same and written.get(part) == thread)
        self._unused[buffer].add(part)
        self._written[buffer] = {
            other: writer for other, writer in written.items() if not _overlap(other, part)
        } | {part: thread}
        return is_known

    def use(self, buffers: frozenset[int] | None, constant: frozenset[int]) -> None:
        """Take note of a launch that uses some buffers, of which it cannot change the constant ones.

        `None` is for a command that may have changed any data.
        """
        if buffers is None:
            for known in (self._read, self._unused, self._written):
                known.clear()
            return
        for buffer in buffers:
            self._unused.pop(buffer, None)
            if buffer not in constant:
                self._read.pop(buffer, None)
                self._written.pop(buffer, None)


def _overlap(first: _Range, second: _Range) -> bool:
    return first[0] < second[0] + second[1] and second[0] < first[0] + first[1]
