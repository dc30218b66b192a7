"""Statistics of paired samples: an estimate, an interval, a test, and a correction for several tests.

A sample is a process: launches of one process depend on each other, and treating each as a sample finds
differences that do not exist. A pair is two processes that ran one after the other, so that drift affects
both; `d` below are log ratios of such pairs, head by base.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

MIN_PAIRS: Final = 6
"""Fewer cannot reach a p of 0.05 among several kernels: the smallest p is 0.5 ** pairs."""
_MAX_EXACT_PAIRS: Final = 14
_NUM_FLIPS: Final = 20_000
_SEED: Final = 20_241_107


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a value."""

    low: float
    high: float


def hodges_lehmann(d: Floats) -> float:
    """Return the median of the means of all pairs of values, each with itself included.

    Few outliers do not move it. Hodges and Lehmann, Estimates of location based on rank tests (1963).
    Raises: `ValueError` without values.
    """
    if not len(d):
        raise ValueError("no values to estimate the centre of")
    first, second = np.triu_indices(len(d))
    return float(np.median((d[first] + d[second]) / 2))


def sign_flip_p(d: Floats) -> float:
    """Return the probability of a mean at least as high as that of `d` if signs were random.

    All flips of signs are tried for few pairs, else 20,000 random ones, the same each time (Fisher, The
    design of experiments, 1935, section 21). Never 0: the data's own signs are among the flips.
    """
    n = len(d)
    if not n:
        return 1.0
    # Sums of the same values in another order may differ by rounding.
    own = d.sum() - 1e-12 * np.abs(d).sum()
    if n <= _MAX_EXACT_PAIRS:
        bits = np.arange(1 << n)[:, None] >> np.arange(n) & 1
        return float(np.mean(((1 - 2 * bits) * d).sum(axis=1) >= own))
    signs = np.random.default_rng(_SEED).integers(0, 2, (_NUM_FLIPS, n)) * 2 - 1
    higher = int(((signs * d).sum(axis=1) >= own).sum())
    return (higher + 1) / (_NUM_FLIPS + 1)


def centre_interval(d: Floats, confidence: float = 0.95) -> Interval:
    """Return a confidence interval of the centre of the distribution that `d` was drawn from.

    The bounds are order statistics of the means of pairs: the interval that belongs to the estimate of
    Hodges and Lehmann, from the distribution of Wilcoxon's signed-rank statistic. Unlike a bootstrap of
    the median it holds for as few as six pairs. Infinite where the pairs are too few for the confidence.
    """
    n = len(d)
    rank = _lower_rank(n, (1 - confidence) / 2)
    if rank < 1:
        return Interval(-np.inf, np.inf)
    first, second = np.triu_indices(n)
    means = np.sort((d[first] + d[second]) / 2)
    return Interval(float(means[rank - 1]), float(means[len(means) - rank]))


def holm(p: Sequence[float]) -> list[float]:
    """Return p values adjusted for several tests: the family-wise error is that of one test.

    Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    order = sorted(range(len(p)), key=lambda index: p[index])
    adjusted, highest = [1.0] * len(p), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = highest
    return adjusted


def _lower_rank(n: int, tail: float) -> int:
    """Return the largest rank with a probability of a signed-rank sum below it of at most `tail`."""
    probabilities = np.ones(1)
    for value in range(1, n + 1):
        longer = np.zeros(len(probabilities) + value)
        longer[: len(probabilities)] += probabilities / 2
        longer[value:] += probabilities / 2
        probabilities = longer
    return int((np.cumsum(probabilities) <= tail).sum())
