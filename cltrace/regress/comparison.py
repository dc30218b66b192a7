"""Runs of head held against runs of base: counters exactly, kernels by what pairs of runs say."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final, TypeVar

import numpy as np

from cltrace.regress.counters import (
    ALL_LAUNCHES,
    CounterKey,
    CounterKind,
    Difference,
    compared_counters,
)
from cltrace.regress.floors import Floors
from cltrace.regress.runs import DeviceIdentity, KernelKey, Round, RunSample
from cltrace.regress.statistics import FEWEST_PAIRS, Floats
from cltrace.regress.verdicts import Finding, Verdict, confirmed, findings
from cltrace.regress.work import (
    RunWork,
    WorkDifference,
    WorkKey,
    steady_work,
    work_differences,
)

K = TypeVar("K", KernelKey, WorkKey)
_SHARE: Final = 0.01
"""Kernels with less of the time of all are listed, and fail nothing."""
ALL_KERNELS: Final = KernelKey("", "", "")
"""The key of the time of all kernels of a run."""


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
class EnergyComparison:
    """The energy of a run, or of a launch of a kernel: medians over runs in J, and what pairs say.

    `is_confirmed` says that a second round of pairs was there to contradict.
    """

    base_j: float
    head_j: float
    finding: Finding
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Head by base. `unsteady` are counters that differ among the runs of one side: they tell nothing.

    `other_devices` are those that only one side ran on: with any, times are not comparable. `not_counted`
    are kernels of which the work is not known, and why; `sides_not_counted` those of which no run's is,
    for want of a compiler.
    """

    counters: tuple[Difference, ...]
    unsteady: tuple[CounterKey, ...]
    work: tuple[WorkDifference, ...]
    not_counted: Mapping[WorkKey, str]
    sides_not_counted: tuple[str, ...]
    kernels: Mapping[KernelKey, KernelComparison]
    energy: Mapping[WorkKey, EnergyComparison]
    other_devices: tuple[DeviceIdentity, ...]
    pairs: int

    @property
    def has_more(self) -> bool:
        """Whether there is more of what has no noise."""
        counted = any(one.is_worse for one in self.counters)
        return counted or any(one.is_worse for one in self.work)

    @property
    def is_slower(self) -> bool:
        """Whether a kernel is slower beyond doubt, on the same device."""
        return not self.other_devices and any(one.is_slower for one in self.kernels.values())

    @property
    def draws_more(self) -> tuple[EnergyComparison, ...]:
        """What draws more energy in the first round of pairs, and was not contradicted."""
        return tuple(one for one in self.energy.values() if one.finding.verdict is Verdict.SLOW)

    @property
    def is_open(self) -> bool:
        """Whether a kernel that counts could be slower, for all that is known."""
        return any(one.is_open for one in self.kernels.values())


def compared(rounds: Sequence[Round], floors: Floors | None = None) -> Comparison:
    """The first round's verdicts, confirmed by the second where there is one.

    Raises: `ValueError` without a run of each side.
    """
    floors = floors if floors is not None else Floors()
    first, *later = rounds
    if not first.pairs:
        raise ValueError("there is no pair of runs")
    counters, unsteady = compared_counters(
        [one.counters for each in rounds for one in each.base],
        [one.counters for each in rounds for one in each.head],
    )
    works = _works(rounds)
    base, head = works.values()
    sides = [{one for run in side for one in run.devices} for side in (first.base, first.head)]
    return Comparison(
        counters=counters,
        unsteady=unsteady,
        work=work_differences(base, head) if base and head else (),
        not_counted={**base.refused, **head.refused} if base and head else {},
        sides_not_counted=tuple(side for side, one in works.items() if one is None),
        kernels=_kernels(first, later, floors),
        energy=dict(_energies(first, later, floors)),
        other_devices=tuple(sorted(sides[0] ^ sides[1])),
        pairs=first.pairs,
    )


def pardoned(found: Comparison, globs: Sequence[str]) -> Comparison:
    """The same, but more of what fits one of `globs` fails nothing: `launches*`, `operations saxpy*`."""

    def fits(kind: str, subject: object) -> bool:
        return any(fnmatchcase(f"{kind} {subject}".strip(), glob) for glob in globs)

    counters = [
        replace(one, pardon="allowed") if fits(one.key.kind, one.key.subject) else one
        for one in found.counters
    ]
    meant = sum(
        one.head - one.base
        for one in counters
        if one.pardon == "allowed" and one.key.kind is CounterKind.LAUNCHES and one.key.subject
    )
    counters = [
        replace(one, pardon="allowed")
        if one.key == ALL_LAUNCHES and one.head - meant <= one.base
        else one
        for one in counters
    ]
    work = tuple(
        replace(one, doubt="allowed") if fits(one.kind, one.key) else one for one in found.work
    )
    return replace(found, counters=tuple(counters), work=work)


def _works(rounds: Sequence[Round]) -> dict[str, RunWork | None]:
    """What kernels of base and of head had to do, None where it was counted of no run."""
    sides = {
        "base": [run for one in rounds for run in one.base],
        "head": [run for one in rounds for run in one.head],
    }
    return {
        side: steady_work([run.work for run in runs if run.work is not None])
        for side, runs in sides.items()
    }


def _kernels(
    first: Round, later: Sequence[Round], floors: Floors
) -> dict[KernelKey, KernelComparison]:
    """What is known of each kernel that any run has; where sides have others, of all together, too."""
    shares = _shares([*first.base, *first.head])
    found = _tested(first, later, _times, floors.of, lambda key: shares.get(key, 1.0) >= _SHARE)
    known = {
        key: KernelComparison(
            _median(first.base, _times, key),
            _median(first.head, _times, key),
            found[key].finding if key in found else None,
            share >= _SHARE,
            key in found and found[key].is_confirmed,
        )
        for key, share in shares.items()
    }
    lacking = [one for one in known.values() if None in {one.base_ns, one.head_ns}]
    if any(one.is_gated for one in lacking):
        known.update(_all_kernels(first, later, floors))
    return known


def _all_kernels(
    first: Round, later: Sequence[Round], floors: Floors
) -> Iterator[tuple[KernelKey, KernelComparison]]:
    """The time of all kernels of a run: what tells where a kernel has another name or size."""
    for key, one in _tested(first, later, _total, floors.of, lambda _: True).items():
        base, head = _median(first.base, _total, key), _median(first.head, _total, key)
        yield (
            key,
            KernelComparison(base, head, one.finding, is_gated=True, is_confirmed=one.is_confirmed),
        )


def _energies(
    first: Round, later: Sequence[Round], floors: Floors
) -> Iterator[tuple[WorkKey, EnergyComparison]]:
    floor = floors.usual if floors.energy is None else floors.energy
    for key, one in _tested(first, later, _joules, lambda _: floor, lambda _: True).items():
        base, head = _median(first.base, _joules, key), _median(first.head, _joules, key)
        if base is not None and head is not None:
            yield key, EnergyComparison(base, head, one.finding, one.is_confirmed)


def _times(run: RunSample) -> Mapping[KernelKey, float]:
    return {key: one.median_ns for key, one in run.kernels.items()}


def _joules(run: RunSample) -> Mapping[WorkKey, float]:
    return run.energy_j


def _total(run: RunSample) -> Mapping[KernelKey, float]:
    whole = sum(one.total_ns for one in run.kernels.values())
    return {ALL_KERNELS: whole} if whole else {}


Measure = Callable[[RunSample], Mapping[K, float]]


@dataclass(frozen=True, slots=True)
class _Tested:
    """What pairs of the first round say, and whether those of a second were asked, too."""

    finding: Finding
    is_confirmed: bool


def _tested(
    first: Round, later: Sequence[Round], measure: Measure[K], floor_of: Callable[[str], float],
    is_gated: Callable[[K], bool],
) -> dict[K, _Tested]:  # fmt: skip
    found = _verdicts(first, measure, floor_of, is_gated)
    second = _verdicts(later[0], measure, floor_of, is_gated) if later else {}
    return {
        key: _Tested(confirmed(one, second[key]) if key in second else one, key in second)
        for key, one in found.items()
    }


def _verdicts(
    one: Round, measure: Measure[K], floor_of: Callable[[str], float],
    is_gated: Callable[[K], bool],
) -> dict[K, Finding]:  # fmt: skip
    """Verdicts of what enough pairs of a round have."""
    pairs = [(measure(base), measure(head)) for base, head in zip(one.base, one.head, strict=False)]
    keys = sorted({key for before, after in pairs for key in before if key in after})
    ratios = {key: _log_ratios(pairs, key) for key in keys}
    # What fails nothing is not tested with what does: every test makes the others weaker.
    found: dict[K, Finding] = {}
    for side in (True, False):
        mine = {
            key: d for key, d in ratios.items() if len(d) >= FEWEST_PAIRS and is_gated(key) is side
        }
        found.update(findings(mine, {key: floor_of(key.kernel) for key in mine}))
    return found


def _log_ratios(pairs: Sequence[tuple[Mapping[K, float], Mapping[K, float]]], key: K) -> Floats:
    """The log ratios of the pairs that have the key on both sides."""
    both = [(before[key], after[key]) for before, after in pairs if key in before and key in after]
    base, head = np.array(both).T
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


def _median(runs: Sequence[RunSample], measure: Measure[K], key: K) -> float | None:
    values = [mine[key] for mine in map(measure, runs) if key in mine]
    return float(np.median(values)) if values else None
