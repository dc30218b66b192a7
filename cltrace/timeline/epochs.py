"""Telling apart what one counter cannot have done: steps, wraps, and stamps of other clocks.

Commands are taken in the order in which the host entered their calls. Each call bounds the offset between
host and device from both sides, narrowly or, where it waited or the thread was not scheduled, widely. In
blocks of some dozens, the offsets that most calls allow are right as long as most stamps of the block are
(Marzullo's intersection, with which NTP chooses among clocks). Blocks whose offsets no drift explains are
of different *epochs*: the counter was set anew between them. A stamp that allows none of the offsets
around it is *foreign*.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.points import HIGHEST_DRIFT, Bools, Float64s, Int64s, Observations

_BLOCK: Final = 64
_TOLERANCE_NS: Final = 100_000.0
"""Far more than a launch takes; what is nearer is left to the exact fit."""
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
class _Bounds:
    """The lowest and the highest offset at a time, each of observations or of blocks. Shape (n,), ns."""

    low: Float64s
    high: Float64s
    time: Float64s


def epochs_of(seen: Observations) -> Epochs:
    """The epochs of observations."""
    with np.errstate(over="ignore"):
        earliest = seen.enter_host_ns - seen.queued_device_ns
        latest = seen.return_host_ns - seen.queued_device_ns
    origin = int(np.median(earliest))
    calls = _Bounds(
        _since(origin, earliest),
        _since(origin, latest),
        _since(int(seen.enter_host_ns[0]), seen.enter_host_ns),
    )
    block = np.minimum(np.arange(len(seen)) // _BLOCK, max(len(seen) // _BLOCK - 1, 0))
    blocks = _blocks(calls, block)
    of_block = _runs(blocks)
    nearest, distance = _nearest_block(block, blocks, calls)
    is_foreign = distance > _TOLERANCE_NS
    count = int(of_block[-1]) + 1
    if count > _MOST_EPOCHS or is_foreign.mean() > 0.5:
        return Epochs(0, np.zeros(len(seen), np.int64), np.ones(len(seen), np.bool_))
    return Epochs(count, of_block[nearest], is_foreign)


def _since(origin: int, values: Int64s) -> Float64s:
    """Differences of 64-bit numbers, which may be so far apart that they wrap."""
    with np.errstate(over="ignore"):
        return (values - np.int64(origin)).astype(np.float64)


def _blocks(calls: _Bounds, block: Int64s) -> _Bounds:
    """What most calls of each block allow in its middle; low above high where most do not agree."""
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    middle = _medians(calls.time, begin)
    room = _TOLERANCE_NS / 2 + HIGHEST_DRIFT * np.abs(calls.time - middle[block])
    low, high = calls.low - room, calls.high + room
    lowest = np.maximum.reduceat(low, begin)
    highest = np.minimum.reduceat(high, begin)
    end = np.append(begin[1:], len(low))
    for at in np.flatnonzero(lowest > highest).tolist():  # in most blocks all agree
        those = slice(begin[at], end[at])
        lowest[at], highest[at] = _shared_by_most(low[those], high[those])
    return _Bounds(lowest, highest, middle)


def _shared_by_most(low: Float64s, high: Float64s) -> tuple[float, float]:
    """The bounds of what most intervals share; of what is empty, where most share nothing."""
    edges = np.concatenate([low, high])
    order = np.argsort(edges, kind="stable")
    depth = np.cumsum(np.where(order < len(low), 1, -1))
    deepest = int(depth.argmax())
    if 2 * depth[deepest] <= len(low):
        return np.inf, -np.inf
    return float(edges[order[deepest]]), float(edges[order[deepest + 1]])


def _medians(values: Float64s, begin: Int64s) -> Float64s:
    """The median of each block; all but the last are of one length."""
    last = np.median(values[begin[-1] :])
    whole = values[: (len(begin) - 1) * _BLOCK].reshape(-1, _BLOCK)
    return np.append(np.median(whole, axis=1), last)


def _runs(blocks: _Bounds) -> Int64s:
    """Number the runs of blocks that a drift explains, each with all before it in its run."""
    found, run = [], 0
    low, high, since = -np.inf, np.inf, 0.0
    columns = blocks.low.tolist(), blocks.high.tolist(), blocks.time.tolist()
    for lower, upper, time in zip(*columns, strict=True):
        if lower <= upper:
            room = _TOLERANCE_NS + HIGHEST_DRIFT * (time - since)
            low, high, since = max(low - room, lower), min(high + room, upper), time
            if low > high:
                run += 1
                low, high = lower, upper
        found.append(run)
    return np.array(found, np.int64)


def _nearest_block(block: Int64s, blocks: _Bounds, calls: _Bounds) -> tuple[Int64s, Float64s]:
    """Of its own block and the two beside it the nearest to each observation, and how far it is off.

    How far is what no drift explains; infinite where these blocks allow no offset.
    """
    best, best_distance = block, np.full(len(block), np.inf)
    for shift in (0, -1, 1):
        candidate = np.clip(block + shift, 0, len(blocks.low) - 1)
        low, high = blocks.low[candidate], blocks.high[candidate]
        distance = np.maximum(np.maximum(calls.low - high, low - calls.high), 0.0)
        drifted = distance - HIGHEST_DRIFT * np.abs(calls.time - blocks.time[candidate])
        is_better = drifted < best_distance - _TOLERANCE_NS / 2
        best = np.where(is_better, candidate, best)
        best_distance = np.where(is_better, drifted, best_distance)
    return best, best_distance
