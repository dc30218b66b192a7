"""Runs of head held against runs of base: counters exactly, kernels by what pairs of runs say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.regress.counters import CounterKey, Difference, differences, steady
from cltrace.regress.samples import DeviceIdentity, KernelKey, RunSample
from cltrace.regress.statistics import FEWEST_PAIRS, Floats
from cltrace.regress.verdicts import Finding, Verdict, confirmed, findings

FLOOR: Final = 0.10
"""The smallest relative change that matters, unless another is asked for."""
_SHARE: Final = 0.01
"""Kernels with less of the time of all are listed, and fail nothing."""


@dataclass(frozen=True, slots=True)
class Round:
    """Runs of both sides: those at the same place ran one after the other."""

    base: tuple[RunSample, ...]
    head: tuple[RunSample, ...]

    @property
    def pairs(self) -> int:
        """How many there are of both."""
        return min(len(self.base), len(self.head))


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """What is known of a kernel. `finding` is None with too few pairs, or where a side lacks it.

    Times are medians over runs in ns, None for a side without it. `is_gated` says that a slower one
    counts, `is_confirmed` that a second round of pairs was there to contradict.
    """

    base_ns: float | None
    head_ns: float | None
    finding: Finding | None
    is_gated: bool
    is_confirmed: bool

    @property
    def is_slower(self) -> bool:
        """Whether this alone is a regression."""
        slow = self.finding is not None and self.finding.verdict is Verdict.SLOW
        return slow and self.is_gated and self.is_confirmed

    @property
    def is_open(self) -> bool:
        """Whether it counts and could be slower, for all that is known."""
        if not self.is_gated or self.is_slower:
            return False
        if self.finding is None:
            return self.base_ns is not None and self.head_ns is not None
        return self.finding.verdict in {Verdict.AMBIGUOUS, Verdict.SLOW}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Head by base. `unsteady` are counters that differ among the runs of one side: they tell nothing.

    `other_devices` are those that only one side ran on: with any, times are not comparable.
    """

    counters: tuple[Difference, ...]
    unsteady: tuple[CounterKey, ...]
    kernels: Mapping[KernelKey, KernelComparison]
    other_devices: tuple[DeviceIdentity, ...]
    pairs: int

    @property
    def is_worse(self) -> bool:
        """Whether there is more of what has no noise, or a kernel is slower beyond doubt."""
        counted = any(one.is_worse for one in self.counters)
        return counted or any(one.is_slower for one in self.kernels.values())

    @property
    def is_open(self) -> bool:
        """Whether a kernel that counts could be slower, for all that is known."""
        return any(one.is_open for one in self.kernels.values())


def compared(
    rounds: Sequence[Round], floor: float = FLOOR, limits: Mapping[str, float] | None = None
) -> Comparison:
    """The first round's verdicts, confirmed by the second where there is one.

    `limits` are floors of kernels by name. Raises: `ValueError` without a run of each side.
    """
    first, *later = rounds
    if not first.pairs:
        raise ValueError("there is no pair of runs")
    runs = [*first.base, *first.head]
    base, unsteady_base = steady([one.counters for each in rounds for one in each.base])
    head, unsteady_head = steady([one.counters for each in rounds for one in each.head])
    unsteady = tuple(sorted({*unsteady_base, *unsteady_head}))
    found = _verdicts(first, floor, limits or {})
    if later:
        second = _verdicts(later[0], floor, limits or {})
        found = {
            key: confirmed(one, second[key]) if key in second else one for key, one in found.items()
        }
    counted = differences(base, head)
    sides = [{one for run in side for one in run.devices} for side in (first.base, first.head)]
    return Comparison(
        tuple(one for one in counted if one.key not in unsteady),
        unsteady,
        _kernels(first, found, _shares(runs), has_second=bool(later)),
        tuple(sorted(sides[0] ^ sides[1])),
        first.pairs,
    )


def _verdicts(one: Round, floor: float, limits: Mapping[str, float]) -> dict[KernelKey, Finding]:
    """Verdicts of the kernels that all runs of a round have."""
    if one.pairs < FEWEST_PAIRS:
        return {}
    runs = [*one.base[: one.pairs], *one.head[: one.pairs]]
    shares = _shares(runs)
    common = [key for key in shares if all(key in run.kernels for run in runs)]
    # What fails nothing is not tested with what does: every test makes the others weaker.
    found: dict[KernelKey, Finding] = {}
    for is_gated in (True, False):
        mine = [key for key in common if (shares[key] >= _SHARE) is is_gated]
        ratios = {key: _log_ratios(one, key) for key in mine}
        found.update(findings(ratios, {key: limits.get(key.kernel, floor) for key in mine}))
    return found


def _log_ratios(one: Round, key: KernelKey) -> Floats:
    base, head = (
        np.array([run.kernels[key].median_ns for run in side[: one.pairs]])
        for side in (one.base, one.head)
    )
    ratios: Floats = np.log(head / base)
    return ratios


def _shares(runs: Sequence[RunSample]) -> dict[KernelKey, float]:
    """The largest share of a run's kernel time that each kernel has in any of them."""
    found: dict[KernelKey, float] = {}
    for run in runs:
        whole = sum(one.total_ns for one in run.kernels.values())
        for key, one in run.kernels.items():
            found[key] = max(found.get(key, 0.0), one.total_ns / whole)
    return dict(sorted(found.items()))


def _kernels(
    first: Round, found: Mapping[KernelKey, Finding], shares: Mapping[KernelKey, float], *,
    has_second: bool,
) -> dict[KernelKey, KernelComparison]:  # fmt: skip
    return {
        key: KernelComparison(
            _median_ns(first.base, key),
            _median_ns(first.head, key),
            found.get(key),
            share >= _SHARE,
            has_second,
        )
        for key, share in shares.items()
    }


def _median_ns(runs: Sequence[RunSample], key: KernelKey) -> float | None:
    times = [run.kernels[key].median_ns for run in runs if key in run.kernels]
    return float(np.median(times)) if times else None
