"""Telling apart what one counter cannot have done: steps, wraps, and stamps of other clocks.

A call allows some *offsets* between host and device, those with which it queued its command between its
entry and its return: few, or many where it waited or its thread was not scheduled. Calls are taken in the
order in which the host entered them, in blocks of some dozens. The likeliest offset of a block is the one
that most of its calls allow, and of several the one with which fewest queued late; it is right as long as
most stamps of the block are. Blocks that no drift explains together are of different *epochs*: the
counter was set anew between them. A stamp is *foreign* if its call allows nothing that the nearest block
of its epoch allows.

Where all stamps are right there is one epoch, and none is foreign: a block allows what all calls with its
likeliest offset allow, these are more than half of its calls, and all of them allow the truth.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.points import HIGHEST_DRIFT, Bools, Float64s, Int64s, Observations

_BLOCK: Final = 64
"""So many calls outvote a few wrong ones, and are near each other in time in all but idle programs."""
_TOLERANCE_NS: Final = 100_000.0
"""Far more than a launch takes; what is nearer is left to the exact fit."""
_SOON_NS: Final = 50_000.0
"""A call is late at an offset with which it queued its command more than this after its entry."""
_LATE_PRICE: Final = 0.25
"""By so much less a late call counts for an offset; one that contradicts it does not at all."""
_MOST_EPOCHS: Final = 64


@dataclass(frozen=True, slots=True)
class Epochs:
    """`epoch` numbers the epoch of each observation, from 0; `is_foreign` says which fit none.

    No epochs: most stamps do not follow the host's time at all.
    """

    count: int
    epoch: Int64s
    is_foreign: Bools


@dataclass(frozen=True, slots=True)
class _Offsets:
    """What calls, or blocks of them, allow: no offset below `low_ns` then, nor above `high_ns` later.

    Shape (n,). `then_ns` and `later_ns` are the entry and the return of a call, the middle of a block.
    """

    low_ns: Float64s
    high_ns: Float64s
    then_ns: Float64s
    later_ns: Float64s

    def __len__(self) -> int:
        return len(self.then_ns)

    def __getitem__(self, chosen: Int64s | slice) -> "_Offsets":
        return _Offsets(*(getattr(self, name)[chosen] for name in self.__slots__))


def epochs_of(seen: Observations, quantum_ns: int = 1) -> Epochs:
    """The epochs of observations. `quantum_ns` is the step in which their stamps move."""
    none = Epochs(0, np.zeros(len(seen), np.int64), np.ones(len(seen), np.bool_))
    tolerance_ns = _TOLERANCE_NS + quantum_ns
    calls = _calls(seen)
    block = np.minimum(np.arange(len(seen)) // _BLOCK, max(len(seen) // _BLOCK - 1, 0))
    agreeing, blocks = _blocks(calls, block, tolerance_ns)
    if not len(blocks):
        return none
    first, blocks = _followed(blocks, tolerance_ns)
    if len(first) > _MOST_EPOCHS:
        return none
    block_of_call = np.searchsorted(agreeing, block)
    epoch = _divided(calls, block_of_call, blocks, first, tolerance_ns)
    last = np.append(first[1:], len(blocks)) - 1
    nearest = blocks[np.clip(block_of_call, first[epoch], last[epoch])]
    is_foreign = _is_apart(calls, nearest, tolerance_ns)
    if is_foreign.mean() > 0.5:
        return none
    used, epoch = np.unique(epoch, return_inverse=True)
    return Epochs(len(used), epoch, is_foreign)


def _calls(seen: Observations) -> _Offsets:
    """What each call allows, less the median offset: float64 keeps the ns. Differences may wrap."""
    with np.errstate(over="ignore"):
        lowest = seen.enter_host_ns - seen.queued_device_ns
        origin = np.partition(lowest, len(lowest) // 2)[len(lowest) // 2]
        low_ns = (lowest - origin).astype(np.float64)
    begin = seen.enter_host_ns[0]
    then_ns, later_ns = (
        (one - begin).astype(np.float64) for one in (seen.enter_host_ns, seen.return_host_ns)
    )
    return _Offsets(low_ns, low_ns + (later_ns - then_ns), then_ns, later_ns)


def _blocks(calls: _Offsets, block: Int64s, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """Which blocks have an offset that most of their calls allow, and what these calls allow together."""
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    end = np.append(begin[1:], len(calls))
    middle_ns = calls.then_ns[(begin + end) // 2]
    half_ns = tolerance_ns / 2
    early_ns, late_ns = (
        half_ns + HIGHEST_DRIFT * np.abs(one - middle_ns[block])
        for one in (calls.then_ns, calls.later_ns)
    )
    low_ns, high_ns = calls.low_ns - early_ns, calls.high_ns + late_ns
    soon_ns = np.minimum(calls.low_ns + _SOON_NS + early_ns, high_ns)
    lowest_ns, highest_ns = np.maximum.reduceat(low_ns, begin), np.minimum.reduceat(high_ns, begin)
    late = np.add.reduceat((soon_ns < lowest_ns[block]).astype(np.int64), begin)
    # Where all agree and so few are late, no other offset is likelier: that is so in most blocks.
    is_plain = (lowest_ns <= highest_ns) & (late * _LATE_PRICE <= 1)
    for at in np.flatnonzero(~is_plain).tolist():
        those = slice(begin[at], end[at])
        lowest_ns[at], highest_ns[at] = _allowed_by_likeliest(
            low_ns[those], soon_ns[those], high_ns[those]
        )
    agreeing = np.flatnonzero(lowest_ns <= highest_ns)
    low_ns, high_ns = lowest_ns[agreeing] + half_ns, highest_ns[agreeing] - half_ns
    return agreeing, _uncrossed(low_ns, high_ns, middle_ns[agreeing])


def _allowed_by_likeliest(
    low_ns: Float64s, soon_ns: Float64s, high_ns: Float64s
) -> tuple[float, float]:
    """The offsets that all calls with the likeliest offset allow; none, low above high, without most.

    A call allows `low_ns` to `high_ns`, and is late from `soon_ns` on.
    """
    count = len(low_ns)
    edges = np.concatenate([low_ns, soon_ns, high_ns])
    order = np.argsort(edges, kind="stable")
    weights = np.repeat([1.0, -_LATE_PRICE, _LATE_PRICE - 1.0], count)
    likeliest = edges[order[np.cumsum(weights[order]).argmax()]]
    those = (low_ns <= likeliest) & (likeliest <= high_ns)
    if 2 * those.sum() <= count:
        return np.inf, -np.inf
    return float(low_ns[those].max()), float(high_ns[those].min())


def _uncrossed(low_ns: Float64s, high_ns: Float64s, time_ns: Float64s) -> _Offsets:
    """Where calls agree within the tolerance only, low is above high: both are put at their middle."""
    middle_ns = (low_ns + high_ns) / 2
    return _Offsets(np.minimum(low_ns, middle_ns), np.maximum(high_ns, middle_ns), time_ns, time_ns)


def _followed(blocks: _Offsets, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """The first block of each epoch, and what all blocks of its epoch together allow in each block."""
    epoch, low_ns, high_ns = _carried(blocks, tolerance_ns)
    begin = np.flatnonzero(np.diff(epoch, prepend=-1))
    for first, end in pairwise([*begin, len(blocks)]):
        _, back_low_ns, back_high_ns = _carried(blocks[np.arange(first, end)[::-1]], tolerance_ns)
        low_ns[first:end] = np.maximum(low_ns[first:end], back_low_ns[::-1])
        high_ns[first:end] = np.minimum(high_ns[first:end], back_high_ns[::-1])
    return begin, _uncrossed(low_ns, high_ns, blocks.then_ns)


def _carried(blocks: _Offsets, tolerance_ns: float) -> tuple[Int64s, Float64s, Float64s]:
    """The epoch of each block, and what it and those before it in its epoch allow together: low and high.

    A block that contradicts those before it begins the next epoch.
    """
    epochs, lows, highs, epoch = [], [], [], 0
    low, high, before = -np.inf, np.inf, float(blocks.then_ns[0])
    columns = blocks.low_ns.tolist(), blocks.high_ns.tolist(), blocks.then_ns.tolist()
    for lower, upper, time in zip(*columns, strict=True):
        room = HIGHEST_DRIFT * abs(time - before)
        low, high, before = max(low - room, lower), min(high + room, upper), time
        if low - high > tolerance_ns:
            epoch += 1
            low, high = lower, upper
        epochs.append(epoch)
        lows.append(low)
        highs.append(high)
    return np.array(epochs), np.array(lows), np.array(highs)


def _divided(
    calls: _Offsets, block_of_call: Int64s, blocks: _Offsets, first: Int64s, tolerance_ns: float
) -> Int64s:
    """The epoch of each call. One ends where that is likeliest: in a block, or in those that allow both.

    `first` has the first block of each epoch. Of several ends that are as likely the earliest is taken.
    """
    epoch = np.zeros(len(calls), np.int64)
    begin = 0
    for at, after in pairwise([*first[1:], len(blocks)]):
        those = calls[begin : np.searchsorted(block_of_call, after)]
        before_it, in_it = (
            _price(those, blocks[one : one + 1], tolerance_ns) for one in (at - 1, at)
        )
        begin += int(np.concatenate([[0.0], np.cumsum(before_it - in_it)]).argmin())
        epoch[begin:] += 1
    return epoch


def _price(calls: _Offsets, block: _Offsets, tolerance_ns: float) -> Float64s:
    """How little each call speaks for what a block allows: 1 contradicts it, late ones cost less."""
    room_ns = tolerance_ns / 2 + HIGHEST_DRIFT * np.abs(calls.then_ns - block.then_ns)
    is_late = calls.low_ns + _SOON_NS + room_ns < block.low_ns
    return np.where(_is_apart(calls, block, tolerance_ns / 2), 1.0, is_late * _LATE_PRICE)


def _is_apart(calls: _Offsets, blocks: _Offsets, tolerance_ns: float) -> Bools:
    """Which calls allow nothing that their blocks allow, whatever the drift."""
    early_ns, late_ns = (
        HIGHEST_DRIFT * np.abs(one - blocks.then_ns) for one in (calls.then_ns, calls.later_ns)
    )
    above_ns = calls.low_ns - early_ns - blocks.high_ns
    below_ns = blocks.low_ns - late_ns - calls.high_ns
    is_apart: Bools = np.maximum(above_ns, below_ns) > tolerance_ns
    return is_apart
