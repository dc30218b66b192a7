"""Detection of stamps that do not come from one steady counter: resets, wraps, and other clocks.

The *offset* of a device is host time minus device time. A call allows only the offsets with which its
command was queued between the call's entry and its return. The range is narrow for most calls, and wide
where the call waited or its thread was not scheduled.

Calls are taken in the order in which the host entered them, in blocks of some dozens. The likeliest
offset of a block is the one that most of its calls allow; of several such offsets, the one with which the
fewest commands were queued late. It is right as long as most stamps of the block are right. Two blocks
whose offsets no drift can connect belong to different *epochs*: the counter was reset between them. A
stamp is *foreign* if its call allows no offset that the nearest block of its epoch allows.

If all stamps are right, there is one epoch and no stamp is foreign. Proof: a block allows the offsets
that all calls which allow its likeliest offset have in common. These calls are more than half of the
block, and all of them allow the true offset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.points import MAX_DRIFT, ClockObservations
from cltrace.timeline.clock_fit.sources import BLOCK_CALLS, MemoryObservations, ObservationSource
from cltrace.timeline.columns import Bools, Float64s, Int64s

_TOLERANCE_NS: Final = 100_000.0
"""Far more than a launch takes. The exact fit deals with smaller differences."""
_SOON_NS: Final = 50_000.0
"""A call is late at an offset with which it queued its command more than this after its entry."""
_LATE_PENALTY: Final = 0.25
"""Part of its vote for an offset that a late call loses. A call that contradicts the offset loses all."""
_MAX_EPOCHS: Final = 64
_BLOCKS_AT_ONCE: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Epochs:
    """Epoch of each observation, counted from 0, and a mask of the foreign ones.

    `count` is 0 if most stamps do not follow the host's time at all.
    """

    count: int
    epoch: Int64s
    is_foreign: Bools


@dataclass(frozen=True, slots=True)
class _Offsets:
    """Offsets that calls, or blocks of calls, allow: from `low_ns` to `high_ns`. Shape (n,).

    `low_ns` holds at `begin_ns`, `high_ns` at `end_ns`. These are the entry and the return of a call;
    both are the middle of a block.
    """

    low_ns: Float64s
    high_ns: Float64s
    begin_ns: Float64s
    end_ns: Float64s

    def __len__(self) -> int:
        return len(self.begin_ns)

    def __getitem__(self, chosen: Int64s | slice) -> "_Offsets":
        return _Offsets(*(getattr(self, name)[chosen] for name in self.__slots__))


def find_epochs(observations: ClockObservations, quantum_ns: int = 1) -> Epochs:
    """Return the epochs of observations. `quantum_ns` is the step in which their stamps move."""
    source = MemoryObservations(observations)
    division = divide_epochs(source, quantum_ns)
    ((_, epoch, is_foreign),) = division.parts(source)
    return Epochs(division.count, epoch, is_foreign)


class EpochDivision:
    """Division of a source's observations into epochs. `count` is 0 if no offset fits most stamps."""

    def __init__(
        self,
        origin: "_Origin",
        blocks: "_Blocks | None",
        begins: list[int],
        tolerance_ns: float,
        calls: int,
    ) -> None:
        self._origin = origin
        self._blocks = blocks
        self._begins = begins
        self._tolerance_ns = tolerance_ns
        # An epoch that another one took all calls from does not count.
        used = [at for at, (begin, end) in enumerate(pairwise([*begins, calls])) if begin != end]
        self._number = np.cumsum(np.isin(np.arange(len(begins)), used)) - 1
        self.count = len(used) if blocks is not None else 0

    def parts(self, source: ObservationSource) -> Iterator[tuple[Int64s, Int64s, Bools]]:
        """Yield the numbers of observations, the epoch of each, from 0, and if it is foreign."""
        for numbers, part in source.parts():
            if self._blocks is None:
                yield numbers, np.zeros(len(part), np.int64), np.ones(len(part), np.bool_)
                continue
            epoch = np.searchsorted(self._begins, numbers, "right") - 1
            calls = self._origin.call_offsets(part)
            nearest = self._blocks.nearest(numbers, epoch)
            yield numbers, self._number[epoch], _is_apart(calls, nearest, self._tolerance_ns)


def divide_epochs(source: ObservationSource, quantum_ns: int = 1) -> EpochDivision:
    """Divide observations into epochs. `quantum_ns` is the step in which their stamps move."""
    tolerance_ns = _TOLERANCE_NS + quantum_ns
    origin = _find_origin(source)
    none = EpochDivision(origin, None, [0], tolerance_ns, len(source))
    agreeing, offsets = _all_block_offsets(source, origin, tolerance_ns)
    if not len(offsets):
        return none
    first, offsets = _join_blocks(offsets, tolerance_ns)
    if len(first) > _MAX_EPOCHS:
        return none
    blocks = _Blocks(agreeing, offsets, first, len(source))
    begins = _assign_calls(source, origin, blocks, tolerance_ns)
    division = EpochDivision(origin, blocks, begins, tolerance_ns, len(source))
    foreign = sum(int(is_foreign.sum()) for _, _, is_foreign in division.parts(source))
    return none if foreign / len(source) > 0.5 else division


@dataclass(frozen=True, slots=True)
class _Origin:
    """Origin of offsets and of times: so float64 keeps nanoseconds."""

    offset_ns: int
    first_ns: int

    def call_offsets(self, observations: ClockObservations) -> _Offsets:
        """Return the offsets that each call allows, since the origin."""
        # Differences of arbitrary stamps may wrap.
        with np.errstate(over="ignore"):
            lowest = observations.enter_host_ns - observations.queued_device_ns
            low_ns = (lowest - np.int64(self.offset_ns)).astype(np.float64)
        begin_ns, end_ns = (
            (column - self.first_ns).astype(np.float64)
            for column in (observations.enter_host_ns, observations.return_host_ns)
        )
        return _Offsets(low_ns, low_ns + (end_ns - begin_ns), begin_ns, end_ns)


def _find_origin(source: ObservationSource) -> _Origin:
    """Return the entry of the first call, and the median offset of those in the first part."""
    _, part = next(source.parts())
    with np.errstate(over="ignore"):
        lowest = part.enter_host_ns - part.queued_device_ns
    middle = len(lowest) // 2
    return _Origin(int(np.partition(lowest, middle)[middle]), int(part.enter_host_ns[0]))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks with an offset that most of their calls allow, by number, and the first of each epoch."""

    agreeing: Int64s
    offsets: _Offsets
    first: Int64s
    calls: int

    def block_of(self, numbers: Int64s) -> Int64s:
        """Return the position in `agreeing` of the block of each call, or of the next block."""
        return np.searchsorted(self.agreeing, _block_numbers(numbers, self.calls))

    def end_of(self, position: int) -> int:
        """Return the number of the first call after a block."""
        block = int(self.agreeing[position])
        is_last = block == max(self.calls // BLOCK_CALLS - 1, 0)
        return self.calls if is_last else BLOCK_CALLS * (block + 1)

    def nearest(self, numbers: Int64s, epoch: Int64s) -> _Offsets:
        """Return the offsets of the nearest block of each call's epoch."""
        last = np.append(self.first[1:], len(self.offsets)) - 1
        return self.offsets[np.clip(self.block_of(numbers), self.first[epoch], last[epoch])]


def _block_numbers(numbers: Int64s, calls: int) -> Int64s:
    """Return the block of each call. The last block has the remaining calls too."""
    return np.minimum(numbers // BLOCK_CALLS, max(calls // BLOCK_CALLS - 1, 0))


def _all_block_offsets(
    source: ObservationSource, origin: _Origin, tolerance_ns: float
) -> tuple[Int64s, _Offsets]:
    """Return the blocks with an offset that most of their calls allow, and the offsets of each block."""
    numbers, offsets = [], []
    for part_numbers, part in source.parts():
        block = _block_numbers(part_numbers, len(source))
        agreeing, part_offsets = _block_offsets(
            origin.call_offsets(part), block - block[0], tolerance_ns
        )
        numbers.append(agreeing + block[0])
        offsets.append(part_offsets)
    return np.concatenate(numbers), _Offsets(
        *(np.concatenate([getattr(part, name) for part in offsets]) for name in _Offsets.__slots__)
    )


def _block_offsets(calls: _Offsets, block: Int64s, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """Return the blocks with an offset that most of their calls allow, and the offsets of each block.

    The numbers of the given blocks are consecutive.

    The offsets of a block are those that all calls which allow the likeliest offset have in common.
    """
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    end = np.append(begin[1:], len(calls))
    middle_ns = calls.begin_ns[(begin + end) // 2]
    half_ns = tolerance_ns / 2
    low_room_ns, high_room_ns = (
        half_ns + MAX_DRIFT * np.abs(time_ns - middle_ns[block])
        for time_ns in (calls.begin_ns, calls.end_ns)
    )
    low_ns, high_ns = calls.low_ns - low_room_ns, calls.high_ns + high_room_ns
    soon_ns = np.minimum(calls.low_ns + _SOON_NS + low_room_ns, high_ns)
    lowest_ns, highest_ns = np.maximum.reduceat(low_ns, begin), np.minimum.reduceat(high_ns, begin)
    late = np.add.reduceat((soon_ns < lowest_ns[block]).astype(np.int64), begin)
    # In most blocks all calls agree and few are late. Then no other offset is likelier.
    is_plain = (lowest_ns <= highest_ns) & (late * _LATE_PENALTY <= 1)
    for number in np.flatnonzero(~is_plain).tolist():
        members = slice(begin[number], end[number])
        lowest_ns[number], highest_ns[number] = _likeliest_range(
            low_ns[members], soon_ns[members], high_ns[members]
        )
    agreeing = np.flatnonzero(lowest_ns <= highest_ns)
    low_ns, high_ns = lowest_ns[agreeing] + half_ns, highest_ns[agreeing] - half_ns
    return agreeing, _uncross(low_ns, high_ns, middle_ns[agreeing])


def _likeliest_range(low_ns: Float64s, soon_ns: Float64s, high_ns: Float64s) -> tuple[float, float]:
    """Return the lowest and the highest offset that all calls with the likeliest offset allow.

    A call allows `low_ns` to `high_ns`, and is late from `soon_ns` on. The result is (inf, -inf) if no
    offset is allowed by most calls.
    """
    count = len(low_ns)
    edges = np.concatenate([low_ns, soon_ns, high_ns])
    order = np.argsort(edges, kind="stable")
    weights = np.repeat([1.0, -_LATE_PENALTY, _LATE_PENALTY - 1.0], count)
    likeliest = edges[order[np.cumsum(weights[order]).argmax()]]
    members = (low_ns <= likeliest) & (likeliest <= high_ns)
    if 2 * members.sum() <= count:
        return np.inf, -np.inf
    return float(low_ns[members].max()), float(high_ns[members].min())


def _uncross(low_ns: Float64s, high_ns: Float64s, time_ns: Float64s) -> _Offsets:
    """Put both limits at their middle where low is above high: calls agree within the tolerance only."""
    middle_ns = (low_ns + high_ns) / 2
    return _Offsets(np.minimum(low_ns, middle_ns), np.maximum(high_ns, middle_ns), time_ns, time_ns)


def _join_blocks(blocks: _Offsets, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """Return the first block of each epoch, and the offsets in each block that its whole epoch allows."""
    epoch, low_ns, high_ns = _narrow_forward(blocks, tolerance_ns)
    begin = np.flatnonzero(np.diff(epoch, prepend=-1))
    for first, end in pairwise([*begin, len(blocks)]):
        _, back_low_ns, back_high_ns = _narrow_forward(
            blocks[np.arange(first, end)[::-1]], tolerance_ns
        )
        low_ns[first:end] = np.maximum(low_ns[first:end], back_low_ns[::-1])
        high_ns[first:end] = np.minimum(high_ns[first:end], back_high_ns[::-1])
    return begin, _uncross(low_ns, high_ns, blocks.begin_ns)


def _narrow_forward(blocks: _Offsets, tolerance_ns: float) -> tuple[Int64s, Float64s, Float64s]:
    """Return each block's epoch, and the low and high offset that it and its epoch so far allow.

    A block that contradicts those before it begins the next epoch.
    """
    count = len(blocks)
    epochs, lows, highs = np.empty(count, np.int64), np.empty(count), np.empty(count)
    epoch, low, high, before = 0, -np.inf, np.inf, float(blocks.begin_ns[0])
    for begin in range(0, count, _BLOCKS_AT_ONCE):
        chosen = blocks[slice(begin, begin + _BLOCKS_AT_ONCE)]
        columns = chosen.low_ns.tolist(), chosen.high_ns.tolist(), chosen.begin_ns.tolist()
        for at, (lower, upper, time) in enumerate(zip(*columns, strict=True), start=begin):
            room = MAX_DRIFT * abs(time - before)
            low, high, before = max(low - room, lower), min(high + room, upper), time
            if low - high > tolerance_ns:
                epoch += 1
                low, high = lower, upper
            epochs[at], lows[at], highs[at] = epoch, low, high
    return epochs, lows, highs


def _assign_calls(
    source: ObservationSource, origin: _Origin, blocks: _Blocks, tolerance_ns: float
) -> list[int]:
    """Return the number of the first call of each epoch.

    An epoch ends at its likeliest call: within a block, or in blocks that allow both offsets. Of several
    ends that are equally likely the earliest is taken.
    """
    begins = [0]
    for block, end_block in pairwise([*blocks.first[1:].tolist(), len(blocks.offsets)]):
        both = [blocks.offsets[slice(number, number + 1)] for number in (block - 1, block)]
        begin, end = begins[-1], blocks.end_of(end_block - 1)
        total, lowest, end_of_epoch = 0.0, 0.0, begin
        for numbers, part in source.parts():
            chosen = np.flatnonzero((numbers >= begin) & (numbers < end))
            if not len(chosen):
                continue
            calls = origin.call_offsets(part[chosen])
            before, after = (_penalty(calls, offsets, tolerance_ns) for offsets in both)
            sums = total + np.cumsum(before - after)
            total, at = float(sums[-1]), int(sums.argmin())
            if sums[at] < lowest:
                lowest, end_of_epoch = float(sums[at]), int(numbers[chosen[at]]) + 1
        begins.append(end_of_epoch)
    return begins


def _penalty(calls: _Offsets, block: _Offsets, tolerance_ns: float) -> Float64s:
    """Return how much each call speaks against a block: 1 if it contradicts it, less if it is late."""
    room_ns = tolerance_ns / 2 + MAX_DRIFT * np.abs(calls.begin_ns - block.begin_ns)
    is_late = calls.low_ns + _SOON_NS + room_ns < block.low_ns
    return np.where(_is_apart(calls, block, tolerance_ns / 2), 1.0, is_late * _LATE_PENALTY)


def _is_apart(calls: _Offsets, blocks: _Offsets, tolerance_ns: float) -> Bools:
    """Return a mask of the calls that share no offset with their blocks, at any drift."""
    low_room_ns, high_room_ns = (
        MAX_DRIFT * np.abs(time_ns - blocks.begin_ns) for time_ns in (calls.begin_ns, calls.end_ns)
    )
    above_ns = calls.low_ns - low_room_ns - blocks.high_ns
    below_ns = blocks.low_ns - high_room_ns - calls.high_ns
    is_apart: Bools = np.maximum(above_ns, below_ns) > tolerance_ns
    return is_apart
