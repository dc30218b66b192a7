"""What paired samples of kernels say: slower, the same, faster, or not yet to be told."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np

from cltrace.regress.statistics import (
    FEWEST_PAIRS,
    Floats,
    Interval,
    centre_interval,
    hodges_lehmann,
    holm,
    sign_flip_p,
)

K = TypeVar("K", bound=Hashable)
LEVEL: Final = 0.05
_MOST_PAIRS: Final = 4096


class Verdict(StrEnum):
    """What is known of a kernel's time. Only `SLOW` is a regression."""

    SLOW = "SLOW"
    SAME = "SAME"
    FAST = "FAST"
    AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the samples of a kernel say.

    `ratio` is head by base with its 95 % interval; `p` that of no change, adjusted for all kernels that
    were tested with it. `floor` is the smallest relative change that matters. `more_pairs` is about how
    many pairs more would decide an ambiguous one, None where no number would or none is needed.
    """

    verdict: Verdict
    ratio: float
    interval: Interval
    p: float
    pairs: int
    floor: float
    more_pairs: int | None


def fewest_pairs(tests: int) -> int:
    """With fewer pairs no change can be told among so many tests: the smallest p is too large."""
    return max(FEWEST_PAIRS, int(np.ceil(np.log2(2 * max(tests, 1) / LEVEL))))


def findings(log_ratios: Mapping[K, Floats], floors: Mapping[K, float]) -> dict[K, Finding]:
    """A finding for each kernel, by its log ratios of head by base, a value for each pair.

    Raises: `ValueError` for fewer than six pairs.
    """
    if any(len(d) < FEWEST_PAIRS for d in log_ratios.values()):
        raise ValueError(f"fewer than {FEWEST_PAIRS} pairs cannot decide")
    names = list(log_ratios)
    estimates = [hodges_lehmann(log_ratios[name]) for name in names]
    # Both directions are looked at: twice the smaller of the two.
    raw = [
        min(1.0, 2 * sign_flip_p(log_ratios[name] if estimate >= 0 else -log_ratios[name]))
        for name, estimate in zip(names, estimates, strict=True)
    ]
    adjusted = holm(raw)
    return {
        name: _finding(log_ratios[name], estimate, p, floors[name], len(names))
        for name, estimate, p in zip(names, estimates, adjusted, strict=True)
    }


def confirmed(first: Finding, second: Finding) -> Finding:
    """The first round's finding, where a second one of its own does not contradict it.

    A change that a round of new pairs does not show again is ambiguous.
    """
    up = first.verdict is Verdict.SLOW and second.ratio > 1 + first.floor
    down = first.verdict is Verdict.FAST and second.ratio < 1 / (1 + first.floor)
    if first.verdict in {Verdict.SAME, Verdict.AMBIGUOUS} or up or down:
        return first
    return Finding(
        Verdict.AMBIGUOUS, first.ratio, first.interval, first.p, first.pairs, first.floor,
        max(first.pairs, FEWEST_PAIRS),
    )  # fmt: skip


def _finding(d: Floats, estimate: float, p: float, floor: float, tests: int) -> Finding:
    interval = centre_interval(d)
    edge = float(np.log1p(floor))
    verdict = _verdict(estimate, interval, p, edge)
    return Finding(
        verdict,
        float(np.exp(estimate)),
        Interval(float(np.exp(interval.low)), float(np.exp(interval.high))),
        p,
        len(d),
        floor,
        _more(d, estimate, edge, tests) if verdict is Verdict.AMBIGUOUS else None,
    )


def _verdict(estimate: float, interval: Interval, p: float, edge: float) -> Verdict:
    if p < LEVEL and estimate > edge and interval.low > 0:
        return Verdict.SLOW
    if p < LEVEL and estimate < -edge and interval.high < 0:
        return Verdict.FAST
    if -edge < interval.low and interval.high < edge:
        return Verdict.SAME
    return Verdict.AMBIGUOUS


def _more(d: Floats, estimate: float, edge: float, tests: int) -> int | None:
    """How many pairs more make the interval narrow enough, if the estimate stays where it is.

    A change is told when the interval leaves 0 and p its level, none when it is within the floor.
    """
    n = len(d)
    spread = float(1.4826 * np.median(np.abs(d - np.median(d)))) or float(np.std(d))
    distance = abs(estimate) if abs(estimate) > edge else edge - abs(estimate)
    if distance <= 0:
        return None
    fewest = fewest_pairs(tests) if abs(estimate) > edge else 0
    wanted = max((2.2 * spread / distance) ** 2, fewest, n + 1)
    return int(np.ceil(wanted)) - n if wanted <= _MOST_PAIRS else None
