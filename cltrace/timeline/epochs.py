"""Telling apart what one counter cannot have done: steps, wraps, and stamps of other clocks.

Commands are taken in the order in which the host entered their calls. In blocks of some dozens, the
median offset between host and device is right as long as most stamps of the block are. Blocks whose
medians no drift explains are of different *epochs*: the counter was set anew between them. A stamp far
off the medians around it is *foreign*.
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


def epochs_of(seen: Observations) -> Epochs:
    """The epochs of observations."""
    with np.errstate(over="ignore"):
        earliest = seen.enter_host_ns - seen.queued_device_ns
        latest = seen.return_host_ns - seen.queued_device_ns
    origin = int(np.median(earliest))
    low, high = (_since(origin, one) for one in (earliest, latest))
    time = _since(int(seen.enter_host_ns[0]), seen.enter_host_ns)
    block = np.minimum(np.arange(len(seen)) // _BLOCK, max(len(seen) // _BLOCK - 1, 0))
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    medians, middles = _medians(low, begin), _medians(time, begin)
    of_block = _runs(medians, middles)
    nearest = _nearest_block(block, medians, middles, low, high, time)
    centre = medians[nearest]
    room = _TOLERANCE_NS + HIGHEST_DRIFT * np.abs(time - middles[nearest])
    is_foreign = (low > centre + room) | (high < centre - room)
    count = int(of_block[-1]) + 1
    if count > _MOST_EPOCHS or is_foreign.mean() > 0.5:
        return Epochs(0, np.zeros(len(seen), np.int64), np.ones(len(seen), np.bool_))
    return Epochs(count, of_block[nearest], is_foreign)


def _medians(values: Float64s, begin: Int64s) -> Float64s:
    """The median of each block; all but the last are of one length."""
    last = np.median(values[begin[-1] :])
    whole = values[: (len(begin) - 1) * _BLOCK].reshape(-1, _BLOCK)
    return np.append(np.median(whole, axis=1), last)


def _since(origin: int, values: Int64s) -> Float64s:
    """Differences of 64-bit numbers, which may be so far apart that they wrap."""
    with np.errstate(over="ignore"):
        return (values - np.int64(origin)).astype(np.float64)


def _runs(medians: Float64s, middles: Float64s) -> Int64s:
    """Number the runs of blocks whose medians a drift explains."""
    room = _TOLERANCE_NS + HIGHEST_DRIFT * np.diff(middles)
    return np.concatenate([[0], np.cumsum(np.abs(np.diff(medians)) > room)]).astype(np.int64)


def _nearest_block(
    block: Int64s,
    medians: Float64s,
    middles: Float64s,
    low: Float64s,
    high: Float64s,
    time: Float64s,
) -> Int64s:
    """Of its own block and the two beside it, the one whose median an observation is nearest to."""
    best, best_distance = block, np.full(len(block), np.inf)
    for shift in (0, -1, 1):
        candidate = np.clip(block + shift, 0, len(medians) - 1)
        centre = medians[candidate]
        distance = np.maximum(np.maximum(low - centre, centre - high), 0.0)
        drifted = distance - HIGHEST_DRIFT * np.abs(time - middles[candidate])
        is_better = drifted < best_distance - _TOLERANCE_NS / 2
        best = np.where(is_better, candidate, best)
        best_distance = np.where(is_better, drifted, best_distance)
    return best
