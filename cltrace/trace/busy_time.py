"""Exact lengths of unions of intervals, for many groups of intervals at once.

Intervals belong to *cells*, and groups are unions of cells. They are sorted by device and start. An
interval that overlaps with no other of its device counts whole in each of its groups: this is the usual
case of a queue that executes in order. The others are swept per partition.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import SortedRuns

Int64s = NDArray[np.int64]

_WIDTH = 4


class BusyTimes:
    """Intervals of cells on devices, from which the busy times of groups of cells are found."""

    def __init__(self, scratch: Scratch) -> None:
        self._runs = SortedRuns(scratch, _WIDTH, keys=2)

    def add(self, device: Int64s, start_ns: Int64s, end_ns: Int64s, cells: Int64s) -> None:
        """Add intervals, `start <= end`. Devices have no common clock."""
        self._runs.add(np.stack([device, start_ns, end_ns, cells], axis=1))

    def of_groups(self, partitions: Sequence[Int64s]) -> list[Int64s]:
        """Return the busy time of each group of each partition: the sum over devices of the unions.

        A partition has the group of each cell.
        """
        sweeps = [_Sweep(groups) for groups in partitions]
        if not sweeps:
            return []
        alone = np.zeros(len(partitions[0]), np.int64)
        device, covered = -1, 0
        for rows in self._runs.parts():
            begin = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
            for at, end in zip(begin.tolist(), [*begin[1:].tolist(), len(rows)], strict=True):
                part = rows[at:end, 1:]
                is_new = int(rows[at, 0]) != device
                device = int(rows[at, 0])
                if is_new:
                    covered = int(part[0, 0])
                    for sweep in sweeps:
                        sweep.begin_device(covered)
                covered = _add_part(part, covered, alone, sweeps)
        return [
            sweep.busy_ns + _sum_by(groups, alone)
            for sweep, groups in zip(sweeps, partitions, strict=True)
        ]


def _sum_by(groups: Int64s, values: Int64s) -> Int64s:
    sums = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, groups, values)
    return sums


def _add_part(part: Int64s, covered: int, alone: Int64s, sweeps: Sequence["_Sweep"]) -> int:
    """Add intervals of one device that begin in order. Return the end of all intervals so far."""
    start, end, cells = part.T
    until = np.maximum(np.maximum.accumulate(end), covered)
    is_begin = start >= np.append(covered, until[:-1])
    # The last run of intervals may go on in the next part.
    is_alone = is_begin & np.append(is_begin[1:], np.False_)
    np.add.at(alone, cells[is_alone], (end - start)[is_alone])
    others = part[~is_alone]
    for sweep in sweeps:
        sweep.add(others)
    return int(until[-1])


class _Sweep:
    """Sweep over the intervals of a device, in the order of their starts, for one partition of cells."""

    def __init__(self, groups: Int64s) -> None:
        self._groups = groups
        self.busy_ns = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
        self._covered = self.busy_ns.copy()

    def begin_device(self, start_ns: int) -> None:
        """Forget the intervals so far: those of the next device begin at `start_ns` or later."""
        self._covered[:] = start_ns

    def add(self, intervals: Int64s) -> None:
        """Add the intervals, which are rows of start, end and cell."""
        groups = self._groups[intervals[:, 2]]
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
        begin = np.flatnonzero(np.diff(groups, prepend=-1))
        start, end = intervals[order, 0], intervals[order, 1]
        first, span = (int(start.min()), int(end.max() - start.min()) + 1) if len(start) else (0, 1)
        if len(begin) * span < 1 << 62:
            self._add_all(groups, begin, start, end, first, span)
            return
        for at, until in zip(begin.tolist(), [*begin[1:].tolist(), len(groups)], strict=True):
            self._add_group(int(groups[at]), start[at:until], end[at:until])

    def _add_group(self, group: int, start: Int64s, end: Int64s) -> None:
        until = np.maximum(np.maximum.accumulate(end), self._covered[group])
        before = np.append(self._covered[group], until[:-1])
        self.busy_ns[group] += np.maximum(end - np.maximum(start, before), 0).sum()
        self._covered[group] = until[-1]

    def _add_all(
        self, groups: Int64s, begin: Int64s, start: Int64s, end: Int64s, first: int, span: int
    ) -> None:
        """Add the intervals of several groups, the times of each after those of the last."""
        if not len(begin):
            return
        rank = np.zeros(len(groups), np.int64)
        rank[begin[1:]] = 1
        shift = np.cumsum(rank) * span - first
        here = groups[begin]
        carried = np.clip(self._covered[here], first, first + span - 1) + shift[begin]
        start, end = start + shift, end + shift
        end[begin] = np.maximum(end[begin], carried)
        until = np.maximum.accumulate(end)
        before = np.append(0, until[:-1])
        before[begin] = carried
        own = np.maximum(end - np.maximum(start, before), 0)
        np.add.at(self.busy_ns, groups, own)
        last = np.append(begin[1:] - 1, len(groups) - 1)
        # What was covered before may end after all of these intervals.
        self._covered[here] = np.maximum(self._covered[here], until[last] - shift[last])
