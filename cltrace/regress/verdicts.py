"""Verdicts on paired samples of kernels: slower, the same, faster, or ambiguous."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np

from cltrace.regress.statistics import (
    MIN_PAIRS,
    Floats,
    Interval,
    centre_interval,
    hodges_lehmann,
    holm,
    sign_flip_p,
)

K = TypeVar("K", bound=Hashable)
LEVEL: Final = 0.05
_MAX_PAIRS: Final = 4096


class Verdict(StrEnum):
    """Verdict on a kernel's time. Only `SLOW` is a regression."""

    SLOW = "SLOW"
    SAME = "SAME"
    FAST = "FAST"
    AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of the test of a kernel's samples.

    Attributes:
        verdict: slower, the same, faster, or ambiguous.
        ratio: head's time by base's.
        interval: the 95 % confidence interval of `ratio`.
        p: the p value of no change, adjusted for all kernels that were tested together.
        num_pairs: the pairs that were tested.
        floor: the smallest relative change that matters.
        more_pairs: about how many more pairs would decide an ambiguous result; None where no number
            would, or none is needed.
    """

    verdict: Verdict
    ratio: float
    interval: Interval
    p: float
    num_pairs: int
    floor: float
    more_pairs: int | None


def min_pairs(num_tests: int) -> int:
    """Return the fewest pairs with which a change is detectable among `num_tests` tests.

    With fewer the smallest possible p is above the level.
    """
    return max(MIN_PAIRS, int(np.ceil(np.log2(2 * max(num_tests, 1) / LEVEL))))


def compute_findings(log_ratios: Mapping[K, Floats], floors: Mapping[K, float]) -> dict[K, Finding]:
    """Return the finding of each kernel from its log ratios of head by base, a value per pair.

    Raises: `ValueError` for fewer than six pairs.
    """
    if any(len(d) < MIN_PAIRS for d in log_ratios.values()):
        raise ValueError(f"fewer than {MIN_PAIRS} pairs cannot decide")
    keys = list(log_ratios)
    estimates = [hodges_lehmann(log_ratios[key]) for key in keys]
    # The test is two-sided: twice the smaller of the two p values.
    raw = [
        min(1.0, 2 * sign_flip_p(log_ratios[key] if estimate >= 0 else -log_ratios[key]))
        for key, estimate in zip(keys, estimates, strict=True)
    ]
    adjusted = holm(raw)
    return {
        key: _make_finding(log_ratios[key], estimate, p, floors[key], len(keys))
        for key, estimate, p in zip(keys, estimates, adjusted, strict=True)
    }


def confirm(first: Finding, second: Finding) -> Finding:
    """Return the first round's finding, made ambiguous where the second round contradicts it.

    The second round consists of new pairs. A change that it does not show again is ambiguous.
    """
    up = first.verdict is Verdict.SLOW and second.ratio > 1 + first.floor
    down = first.verdict is Verdict.FAST and second.ratio < 1 / (1 + first.floor)
    if first.verdict in {Verdict.SAME, Verdict.AMBIGUOUS} or up or down:
        return first
    return replace(first, verdict=Verdict.AMBIGUOUS, more_pairs=max(first.num_pairs, MIN_PAIRS))


def _make_finding(d: Floats, estimate: float, p: float, floor: float, num_tests: int) -> Finding:
    interval = centre_interval(d)
    edge = float(np.log1p(floor))
    verdict = _decide(estimate, interval, p, edge)
    return Finding(
        verdict=verdict,
        ratio=float(np.exp(estimate)),
        interval=Interval(float(np.exp(interval.low)), float(np.exp(interval.high))),
        p=p,
        num_pairs=len(d),
        floor=floor,
        more_pairs=_estimate_more_pairs(d, estimate, edge, num_tests)
        if verdict is Verdict.AMBIGUOUS
        else None,
    )


def _decide(estimate: float, interval: Interval, p: float, edge: float) -> Verdict:
    if p < LEVEL and estimate > edge and interval.low > 0:
        return Verdict.SLOW
    if p < LEVEL and estimate < -edge and interval.high < 0:
        return Verdict.FAST
    if -edge < interval.low and interval.high < edge:
        return Verdict.SAME
    return Verdict.AMBIGUOUS


def _estimate_more_pairs(d: Floats, estimate: float, edge: float, num_tests: int) -> int | None:
    """Return how many more pairs decide, if the estimate stays where it is.

    A change is decided when the interval excludes 0 and p is below the level, no change when the interval
    is within the floor.
    """
    n = len(d)
    spread = float(1.4826 * np.median(np.abs(d - np.median(d)))) or float(np.std(d))
    distance = abs(estimate) if abs(estimate) > edge else edge - abs(estimate)
    if distance <= 0:
        return None
    detectable = min_pairs(num_tests) if abs(estimate) > edge else 0
    needed = max((2.2 * spread / distance) ** 2, detectable, n + 1)
    return int(np.ceil(needed)) - n if needed <= _MAX_PAIRS else None
