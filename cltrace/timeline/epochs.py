"""Telling apart what one counter cannot have done: steps, wraps, and stamps of other clocks.

A call allows some *offsets* between host and device, those with which it queued its command between its
entry and its return: few, or many where it waited or its thread was not scheduled. Calls are taken in the
order in which the host entered them. In blocks of some dozens, the likeliest offset is the one that
most calls allow, best soon after their entries; it is right as long as most stamps of the block are.
Blocks that no drift explains together are of different *epochs*: the counter was set anew between them. A
stamp is *foreign* where its call allows nothing that the calls with the likeliest offsets around allow.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.points import HIGHEST_DRIFT, Bools, Float64s, Int64s, Observations

_BLOCK: Final = 64
_TOLERANCE_NS: Final = 100_000.0
"""Far more than a launch takes; what is nearer is left to the exact fit."""
_SOON_NS: Final = 50_000.0
_LATE_PRICE: Final = 0.25
"""That a call queued its command late is less likely than soon: so much less of a stamp in favour."""
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
    """The lowest and the highest offset that calls, or blocks of them, allow at a time. Shape (n,)."""

    low_ns: Float64s
    high_ns: Float64s
    time_ns: Float64s

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, chosen: Int64s | slice) -> "_Offsets":
        return _Offsets(self.low_ns[chosen], self.high_ns[chosen], self.time_ns[chosen])


def epochs_of(seen: Observations, quantum_ns: int = 1) -> Epochs:
    """The epochs of observations. `quantum_ns` is the step in which their stamps move."""
    tolerance_ns = _TOLERANCE_NS + quantum_ns
    calls = _calls(seen)
    block = np.minimum(np.arange(len(seen)) // _BLOCK, max(len(seen) // _BLOCK - 1, 0))
    agreeing, blocks = _blocks(calls, block, tolerance_ns)
    if not len(blocks):
        return _no_epochs(len(seen))
    epoch_of_block, blocks = _followed(blocks, tolerance_ns)
    count = int(epoch_of_block[-1]) + 1
    if count > _MOST_EPOCHS:
        return _no_epochs(len(seen))
    home = np.searchsorted(agreeing, block)
    epoch = _divided(calls, home, blocks, epoch_of_block, tolerance_ns)
    first = np.searchsorted(epoch_of_block, np.arange(count))
    last = np.append(first[1:], len(blocks)) - 1
    near = blocks[np.clip(home, first[epoch], last[epoch])]
    is_foreign = _is_apart(calls, near, tolerance_ns)
    if is_foreign.mean() > 0.5:
        return _no_epochs(len(seen))
    return Epochs(count, epoch, is_foreign)


def _no_epochs(observations: int) -> Epochs:
    return Epochs(0, np.zeros(observations, np.int64), np.ones(observations, np.bool_))


def _calls(seen: Observations) -> _Offsets:
    """What each call allows, from the median on. Stamps may be so far apart that differences wrap."""
    with np.errstate(over="ignore"):
        lowest = seen.enter_host_ns - seen.queued_device_ns
        origin = np.partition(lowest, len(lowest) // 2)[len(lowest) // 2]
        low_ns = (lowest - origin).astype(np.float64)
    high_ns = low_ns + (seen.return_host_ns - seen.enter_host_ns)
    time_ns = (seen.enter_host_ns - seen.enter_host_ns[0]).astype(np.float64)
    return _Offsets(low_ns, high_ns, time_ns)


def _blocks(calls: _Offsets, block: Int64s, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """What the calls with the likeliest offset of each block allow: in its middle, where most have one.

    Also which blocks these are.
    """
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    end = np.append(begin[1:], len(calls))
    middle_ns = calls.time_ns[(begin + end) // 2]
    half_ns = tolerance_ns / 2
    room_ns = half_ns + HIGHEST_DRIFT * np.abs(calls.time_ns - middle_ns[block])
    low_ns, high_ns = calls.low_ns - room_ns, calls.high_ns + room_ns
    late_ns = np.minimum(calls.low_ns + _SOON_NS + room_ns, high_ns)
    lowest_ns, highest_ns = np.maximum.reduceat(low_ns, begin), np.minimum.reduceat(high_ns, begin)
    late = np.add.reduceat((late_ns < lowest_ns[block]).astype(np.int64), begin)
    # Where all agree and so few are late, no other offset is likelier: that is so in most blocks.
    is_plain = (lowest_ns <= highest_ns) & (late * _LATE_PRICE <= 1)
    for at in np.flatnonzero(~is_plain).tolist():
        those = slice(begin[at], end[at])
        lowest_ns[at], highest_ns[at] = _allowed_by_likeliest(
            low_ns[those], late_ns[those], high_ns[those]
        )
    agreeing = np.flatnonzero(lowest_ns <= highest_ns)
    low_ns, high_ns = lowest_ns[agreeing] + half_ns, highest_ns[agreeing] - half_ns
    return agreeing, _sorted(low_ns, high_ns, middle_ns[agreeing])


def _allowed_by_likeliest(
    low_ns: Float64s, late_ns: Float64s, high_ns: Float64s
) -> tuple[float, float]:
    """The offsets that all calls with the likeliest offset allow; none, low above high, without most.

    A call allows `low_ns` to `high_ns`, from `late_ns` on less likely.
    """
    count = len(low_ns)
    edges = np.concatenate([low_ns, late_ns, high_ns])
    order = np.argsort(edges, kind="stable")
    weights = np.repeat([1.0, -_LATE_PRICE, _LATE_PRICE - 1.0], count)
    likeliest = edges[order[np.cumsum(weights[order]).argmax()]]
    those = (low_ns <= likeliest) & (likeliest <= high_ns)
    if 2 * those.sum() <= count:
        return np.inf, -np.inf
    return float(low_ns[those].max()), float(high_ns[those].min())


def _sorted(low_ns: Float64s, high_ns: Float64s, time_ns: Float64s) -> _Offsets:
    """Offsets of which the highest may be below the lowest, as calls agree within a tolerance only."""
    middle_ns = (low_ns + high_ns) / 2
    return _Offsets(np.minimum(low_ns, middle_ns), np.maximum(high_ns, middle_ns), time_ns)


def _followed(blocks: _Offsets, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """The epoch of each block, and what all blocks of its epoch together allow in it."""
    epoch, forth = _carried(blocks, tolerance_ns)
    low_ns, high_ns = forth.low_ns.copy(), forth.high_ns.copy()
    begin = np.flatnonzero(np.diff(epoch, prepend=-1))
    for first, after in zip(begin, np.append(begin[1:], len(blocks)), strict=True):
        _, back = _carried(blocks[np.arange(first, after)[::-1]], tolerance_ns)
        low_ns[first:after] = np.maximum(low_ns[first:after], back.low_ns[::-1])
        high_ns[first:after] = np.minimum(high_ns[first:after], back.high_ns[::-1])
    return epoch, _sorted(low_ns, high_ns, blocks.time_ns)


def _carried(blocks: _Offsets, tolerance_ns: float) -> tuple[Int64s, _Offsets]:
    """What each block and those before it allow, from the last on that contradicts those before it.

    Also the number of that one.
    """
    epochs, lows, highs, epoch = [], [], [], 0
    low, high, before = -np.inf, np.inf, float(blocks.time_ns[0])
    columns = blocks.low_ns.tolist(), blocks.high_ns.tolist(), blocks.time_ns.tolist()
    for lower, upper, time in zip(*columns, strict=True):
        room = tolerance_ns + HIGHEST_DRIFT * abs(time - before)
        low, high, before = max(low - room, lower), min(high + room, upper), time
        if low > high:
            epoch += 1
            low, high = lower, upper
        epochs.append(epoch)
        lows.append(low)
        highs.append(high)
    return np.array(epochs), _Offsets(np.array(lows), np.array(highs), blocks.time_ns)


def _divided(
    calls: _Offsets, home: Int64s, blocks: _Offsets, epoch_of_block: Int64s, tolerance_ns: float
) -> Int64s:
    """The epoch of each call: one ends where it is likeliest, in a block or in those that allow both.

    `home` is the block of each call.
    """
    epoch = np.zeros(len(calls), np.int64)
    begin = 0
    for last in np.flatnonzero(np.diff(epoch_of_block)).tolist():
        after = np.searchsorted(epoch_of_block, epoch_of_block[last + 1], "right")
        those = calls[begin : np.searchsorted(home, after)]
        here, there = (_unlikely(those, blocks, at, tolerance_ns) for at in (last, last + 1))
        begin += int(np.concatenate([[0.0], np.cumsum(here - there)]).argmin())
        epoch[begin:] += 1
    return epoch


def _unlikely(calls: _Offsets, blocks: _Offsets, at: int, tolerance_ns: float) -> Float64s:
    """The price of each call by what a block allows: 1 where it contradicts it, less where it is late."""
    block = blocks[at : at + 1]
    room_ns = tolerance_ns / 2 + HIGHEST_DRIFT * np.abs(calls.time_ns - block.time_ns)
    is_late = calls.low_ns + _SOON_NS + room_ns < block.low_ns
    return np.where(_is_apart(calls, block, tolerance_ns / 2), 1.0, is_late * _LATE_PRICE)


def _is_apart(calls: _Offsets, blocks: _Offsets, tolerance_ns: float) -> Bools:
    """Which calls allow nothing that their blocks allow, whatever the drift."""
    room_ns = tolerance_ns + HIGHEST_DRIFT * np.abs(calls.time_ns - blocks.time_ns)
    apart_ns = np.maximum(calls.low_ns - blocks.high_ns, blocks.low_ns - calls.high_ns)
    is_apart: Bools = apart_ns > room_ns
    return is_apart
