"""The entries of a log that a device wrote: digits of conditions, accesses, barriers and values."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.event_logs import EventLog
from cltrace.kernels.events.annotations import Emission
from cltrace.kernels.events.records import EventMemory, ValueTable
from cltrace.kernels.events.stream_tree import StreamTree
from cltrace.kernels.events.value_columns import count_earlier
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.instrument.event_log import (
    BIT_CODE,
    CODE_SHIFT,
    COORDINATE_CODE,
    HIGH_CODE,
    INDEX_CODE,
    LOW_CODE,
    MAX_SITES,
    VALUE_CODE,
)

_LOAD: Final = np.uint64((1 << CODE_SHIFT) - 1)
_NO_INDEX: Final = (1 << CODE_SHIFT) - 1


class LogEntries:
    """The entries of all recorded work-items, one work-item after the other.

    Attributes:
        lane: the work-item of each entry, as a number in the grid.
        code: its code: the number of a site, or what the log's codes say.
        load: what it tells: an address, a digit, a part of a value.
        own_bases: addresses of a work-item's own memory: shape (objects, work-items).
        dropped: the number of words that found no room.
        stopped_items: the number of work-items that were stopped before their end.
    """

    def __init__(self, log: EventLog, grid: Grid, own_objects: int) -> None:
        rows = grid.group * grid.ndrange.group_items + grid.linear_in_group
        room = log.begins[rows + 1] - log.begins[rows]
        kept = np.minimum(log.counts[rows], room)
        self.dropped = int((log.counts[rows] - kept).sum())
        self.stopped_items = int(np.count_nonzero(log.is_stopped[rows]))
        last = max(len(log.words) - 1, 0)
        bases = [
            log.words[np.minimum(log.begins[rows] + number, last)] for number in range(own_objects)
        ]
        self.own_bases = np.asarray(bases, np.uint64).reshape(own_objects, grid.count)
        events = np.maximum(kept - own_objects, 0)
        self._lanes = grid.count
        self.lane: NDArray[np.int64] = np.repeat(np.arange(grid.count, dtype=np.int64), events)
        first = np.cumsum(events) - events
        within = np.arange(len(self.lane), dtype=np.int64) - first[self.lane]
        words = log.words[log.begins[rows][self.lane] + own_objects + within]
        self.code = (words >> np.uint64(CODE_SHIFT)).astype(np.int64)
        self.load = (words & _LOAD).astype(np.int64)

    def _count_before(self, is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each entry, how many earlier ones of its work-item are counted."""
        total: NDArray[np.int64] = np.cumsum(is_counted) - is_counted
        is_first = np.ones(len(self.lane), np.bool_)
        is_first[1:] = self.lane[1:] != self.lane[:-1]
        begins = np.flatnonzero(is_first)
        if not len(begins):
            return total
        return total - np.repeat(total[begins], np.diff(begins, append=len(self.lane)))

    def streams(self, max_nodes: int) -> StreamTree:
        """Return the streams of the digits."""
        is_bit = self.code == BIT_CODE
        lane, bit = self.lane[is_bit], self.load[is_bit]
        tree = StreamTree(self._lanes, max_nodes)
        position = self._count_before(is_bit)[is_bit]
        order = np.argsort(position, kind="stable")
        begin = 0
        for end in np.cumsum(np.bincount(position)).tolist():
            here = order[begin:end]
            tree.extend(lane[here], bit[here])
            begin = end
        return tree

    def bits_before(self) -> NDArray[np.int64]:
        """Return, for each entry, the number of digits before it."""
        return self._count_before(self.code == BIT_CODE)

    def epochs(self, first_barrier: int) -> NDArray[np.int64]:
        """Return, for each entry, the number of barriers before it: sites from `first_barrier` on."""
        is_barrier: NDArray[np.bool_] = (self.code >= first_barrier) & (self.code < MAX_SITES)
        return self._count_before(is_barrier)

    def is_access(self) -> NDArray[np.bool_]:
        """Return which entries are accesses or barriers."""
        is_access: NDArray[np.bool_] = self.code < MAX_SITES
        return is_access

    def locate(
        self,
        entries: NDArray[np.int64],
        memories: Sequence[EventMemory],
        shared: Sequence[tuple[int, int]],
        own: Sequence[int],
        spaces: Sequence[frozenset[str]],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the memory objects of accesses, -1 for none, and the offsets in them.

        `shared` are pairs of an object that all work-items share and its address, `own` the objects of
        `own_bases`; `spaces` has, by site, the spaces that its accesses may be in.
        """
        address, lane, code = self.load[entries], self.lane[entries], self.code[entries]
        memory = np.full(len(entries), -1, np.int64)
        offset = np.zeros(len(entries), np.int64)

        def note(number: int, base: NDArray[np.int64] | np.int64) -> None:
            may_be = np.asarray([memories[number].space in names for names in spaces])
            distance = address - base
            is_inside = (distance >= 0) & (distance < memories[number].size_bytes)
            is_inside &= (memory < 0) & may_be[np.minimum(code, len(spaces) - 1)]
            memory[is_inside] = number
            offset[is_inside] = distance[is_inside]

        for number, base in shared:
            note(number, np.int64(base & int(_LOAD)))
        for position, number in enumerate(own):
            note(number, (self.own_bases[position] & _LOAD).astype(np.int64)[lane])
        return memory, offset

    def coordinates(self, entries: NDArray[np.int64], axes: int) -> NDArray[np.uint32]:
        """Return the bits of the coordinates of accesses of images: shape (axes, accesses).

        What found no room is 2^32 - 1.
        """
        bits = np.full((axes, len(entries)), np.iinfo(np.uint32).max, np.uint32)
        is_whole = np.ones(len(entries), np.bool_)
        for axis in range(axes):
            at = np.minimum(entries + axis, max(len(self.code) - 1, 0))
            if axis:
                is_whole &= (self.code[at] == COORDINATE_CODE) & (entries + axis < len(self.code))
            bits[axis, is_whole] = self.load[at][is_whole] & np.iinfo(np.uint32).max
        return bits

    def values(self, emissions: Sequence[Emission]) -> ValueTable:
        """Return the emitted values."""
        first = np.flatnonzero(self.code == VALUE_CODE)
        first = first[first + 3 < len(self.code)] if len(first) else first
        is_whole = (
            (self.code[first + 1] == INDEX_CODE)
            & (self.code[first + 2] == LOW_CODE)
            & (self.code[first + 3] == HIGH_CODE)
        )
        first = first[is_whole]
        row, emission = self.lane[first], self.load[first]
        bits = self.load[first + 2] | (self.load[first + 3] << 32)
        index = self.load[first + 1]
        index = np.where(
            index == _NO_INDEX, count_earlier(row * max(len(emissions), 1) + emission), index
        )
        values = np.zeros(len(first))
        for number, item in enumerate(emissions):
            chosen = emission == number
            values[chosen] = _numbers(bits[chosen], item.type)
        return ValueTable(row, emission, index, values)


def _numbers(bits: NDArray[np.int64], type_name: str) -> NDArray[np.float64]:
    """Return the numbers of an OpenCL type that bits stand for."""
    match type_name:
        case "float":
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
        case "half":
            numbers = bits.astype(np.uint32).view(np.float32)
            return numbers.astype(np.float16).astype(np.float64)
        case "double":
            return bits.view(np.float64)
        case "char" | "short" | "int":
            width = {"char": 8, "short": 16, "int": 32}[type_name]
            return (bits << (64 - width) >> (64 - width)).astype(np.float64)
        case "ulong" | "size_t":
            return bits.view(np.uint64).astype(np.float64)
        case _:
            return bits.astype(np.float64)
