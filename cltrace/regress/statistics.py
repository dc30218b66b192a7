"""Statistics of paired samples: an estimate, an interval, a test, and one level for many of them.

A sample is a process: launches of one process hang together, and counting each by itself finds
differences that are not there. A pair is two processes that ran one after the other, so what drifts
hits both; `d` below are log ratios of such pairs, head by base.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

FEWEST_PAIRS: Final = 6
"""Fewer cannot reach a p of 0.05 among several kernels: the smallest is 0.5 ** pairs."""
_EXACT_PAIRS: Final = 14
_FLIPS: Final = 20_000
_SEED: Final = 20_241_107


@dataclass(frozen=True, slots=True)
class Interval:
    """From where to where a value is, with a stated confidence."""

    low: float
    high: float


def hodges_lehmann(d: Floats) -> float:
    """The median of the means of all pairs of values, itself included: few outliers do not move it.

    Hodges and Lehmann, Estimates of location based on rank tests (1963). Raises: `ValueError` without
    values.
    """
    if not len(d):
        raise ValueError("there is no centre of nothing")
    first, second = np.triu_indices(len(d))
    return float(np.median((d[first] + d[second]) / 2))


def sign_flip_p(d: Floats) -> float:
    """How likely a mean as high as that of `d` is, if each value could as well have the other sign.

    All flips are tried for few pairs, else 20,000 at random, the same each time (Fisher, The design of
    experiments, 1935, section 21). Never 0: the smallest is that of the data's own signs.
    """
    n = len(d)
    if not n:
        return 1.0
    # Sums of the same values in another order may differ by what rounding leaves.
    own = d.sum() - 1e-12 * np.abs(d).sum()
    if n <= _EXACT_PAIRS:
        bits = np.arange(1 << n)[:, None] >> np.arange(n) & 1
        return float(np.mean(((1 - 2 * bits) * d).sum(axis=1) >= own))
    signs = np.random.default_rng(_SEED).integers(0, 2, (_FLIPS, n)) * 2 - 1
    higher = int(((signs * d).sum(axis=1) >= own).sum())
    return (higher + 1) / (_FLIPS + 1)


def centre_interval(d: Floats, confidence: float = 0.95) -> Interval:
    """Where the centre of what `d` was drawn from is: by order statistics of the means of pairs.

    The interval that belongs to the estimate of Hodges and Lehmann, from the distribution of Wilcoxon's
    signed-rank statistic; unlike a bootstrap of the median it holds for as few as six pairs. Endless
    where so few pairs cannot have the confidence.
    """
    n = len(d)
    rank = _lowest_rank(n, (1 - confidence) / 2)
    if rank < 1:
        return Interval(-np.inf, np.inf)
    first, second = np.triu_indices(n)
    means = np.sort((d[first] + d[second]) / 2)
    return Interval(float(means[rank - 1]), float(means[len(means) - rank]))


def holm(p: Sequence[float]) -> list[float]:
    """Values of p for many tests at once: that any is below a level is as rare as with one test alone.

    Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    order = sorted(range(len(p)), key=lambda place: p[place])
    adjusted, highest = [1.0] * len(p), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = highest
    return adjusted


def _lowest_rank(n: int, tail: float) -> int:
    """The largest rank of which the probability of a signed-rank sum below it is at most `tail`."""
    shares = np.ones(1)
    for value in range(1, n + 1):
        longer = np.zeros(len(shares) + value)
        longer[: len(shares)] += shares / 2
        longer[value:] += shares / 2
        shares = longer
    return int((np.cumsum(shares) <= tail).sum())
