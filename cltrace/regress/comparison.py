"""Comparison of head with base: counters exactly, times and energy by pairs of runs."""

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
    compare_counters,
)
from cltrace.regress.floors import Floors
from cltrace.regress.run_records import DeviceIdentity, KernelKey, Round, RunSample
from cltrace.regress.statistics import MIN_PAIRS, Floats
from cltrace.regress.verdicts import Finding, Verdict, compute_findings, confirm
from cltrace.regress.work import RunWork, SizedKernel, WorkDifference, combine_work, compare_work

K = TypeVar("K", KernelKey, SizedKernel)
_MIN_SHARE: Final = 0.01
"""Kernels with a smaller share of the time of all kernels are listed, and cannot fail a check."""
ALL_KERNELS: Final = KernelKey("", "", "")
"""The key of the time of all kernels of a run."""
_ALLOWED: Final = "allowed"


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """Comparison of the times of a kernel.

    Attributes:
        base_ns: the median over base's runs, None where base lacks the kernel.
        head_ns: the same of head.
        finding: the result of the test; None with too few pairs, or where a side lacks the kernel.
        is_gated: True if a slower kernel fails a check.
        is_confirmed: True if a second round of pairs tested the kernel, too.
    """

    base_ns: float | None
    head_ns: float | None
    finding: Finding | None
    is_gated: bool
    is_confirmed: bool

    @property
    def is_slower(self) -> bool:
        """True if this kernel alone is a regression."""
        slow = self.finding is not None and self.finding.verdict is Verdict.SLOW
        return slow and self.is_gated and self.is_confirmed

    @property
    def is_open(self) -> bool:
        """True if the kernel is gated and the pairs do not exclude that it is slower."""
        if not self.is_gated or self.is_slower:
            return False
        if self.finding is None:
            return self.base_ns is not None and self.head_ns is not None
        return self.finding.verdict in {Verdict.AMBIGUOUS, Verdict.SLOW}


@dataclass(frozen=True, slots=True)
class EnergyComparison:
    """Comparison of the energy of a run, or of a launch of a kernel.

    Attributes:
        base_j: the median over base's runs.
        head_j: the same of head.
        finding: the result of the test.
        is_gated: True if more energy fails a check: there is a floor for energy.
        is_confirmed: True if a second round of pairs tested the energy, too.
    """

    base_j: float
    head_j: float
    finding: Finding
    is_gated: bool
    is_confirmed: bool

    @property
    def is_higher(self) -> bool:
        """True if more energy is drawn."""
        return self.finding.verdict is Verdict.SLOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Comparison of head with base.

    Attributes:
        counters: the counters that differ.
        unsteady: counters that vary among the runs of one side, which are not compared.
        work: the differences in work per launch.
        not_counted: kernels without counted work, with the reason.
        sides_not_counted: the sides of which no run's work was counted, for want of a compiler.
        kernels: the comparison of each kernel's time.
        energy: the comparison of energies.
        other_devices: the devices that only one side ran on; with any, times are not comparable.
        num_pairs: the pairs of the first round.
    """

    counters: tuple[Difference, ...]
    unsteady: tuple[CounterKey, ...]
    work: tuple[WorkDifference, ...]
    not_counted: Mapping[SizedKernel, str]
    sides_not_counted: tuple[str, ...]
    kernels: Mapping[KernelKey, KernelComparison]
    energy: Mapping[SizedKernel, EnergyComparison]
    other_devices: tuple[DeviceIdentity, ...]
    num_pairs: int

    @property
    def has_more(self) -> bool:
        """True if a counter or the work of a kernel is higher: these have no noise."""
        counted = any(difference.is_worse for difference in self.counters)
        return counted or any(difference.is_worse for difference in self.work)

    @property
    def is_slower(self) -> bool:
        """True if a kernel is slower beyond doubt, on the same device."""
        return not self.other_devices and any(kernel.is_slower for kernel in self.kernels.values())

    @property
    def higher_energies(self) -> tuple[EnergyComparison, ...]:
        """The energies that are higher in the first round, and not contradicted by a second one."""
        return tuple(energy for energy in self.energy.values() if energy.is_higher)

    @property
    def is_open(self) -> bool:
        """True if the pairs do not exclude that a gated kernel is slower."""
        return any(kernel.is_open for kernel in self.kernels.values())


def compare_rounds(rounds: Sequence[Round], floors: Floors | None = None) -> Comparison:
    """Compare head with base by the first round, confirmed by the second where there is one.

    Raises: `ValueError` without a run of each side.
    """
    floors = floors if floors is not None else Floors()
    first, *later = rounds
    if not first.num_pairs:
        raise ValueError("there is no pair of runs")
    counters, unsteady = compare_counters(
        [run.counters for one_round in rounds for run in one_round.base],
        [run.counters for one_round in rounds for run in one_round.head],
    )
    works = _combine_sides(rounds)
    base, head = works.values()
    sides = [
        {device for run in side for device in run.devices} for side in (first.base, first.head)
    ]
    return Comparison(
        counters=counters,
        unsteady=unsteady,
        work=compare_work(base, head) if base and head else (),
        not_counted={**base.refused, **head.refused} if base and head else {},
        sides_not_counted=tuple(side for side, work in works.items() if work is None),
        kernels=_compare_kernels(first, later, floors),
        energy=dict(_compare_energies(first, later, floors)),
        other_devices=tuple(sorted(sides[0] ^ sides[1])),
        num_pairs=first.num_pairs,
    )


def allow_increases(comparison: Comparison, patterns: Sequence[str]) -> Comparison:
    """Return the comparison with the increases exempt that fit one of `patterns`.

    A pattern is a glob of a counter or of work: `launches*`, `operations saxpy*`.
    """

    def fits(name: str) -> bool:
        return any(fnmatchcase(name.strip(), pattern) for pattern in patterns)

    counters = [
        replace(difference, exemption=_ALLOWED) if fits(str(difference.key)) else difference
        for difference in comparison.counters
    ]
    allowed_launches = sum(
        difference.head - difference.base
        for difference in counters
        if difference.exemption == _ALLOWED
        and difference.key.kind is CounterKind.LAUNCHES
        and difference.key.subject is not None
    )
    counters = [
        replace(difference, exemption=_ALLOWED)
        if difference.key == ALL_LAUNCHES and difference.head - allowed_launches <= difference.base
        else difference
        for difference in counters
    ]
    work = tuple(
        replace(difference, doubt=_ALLOWED)
        if fits(f"{difference.kind} {difference.key}")
        else difference
        for difference in comparison.work
    )
    return replace(comparison, counters=tuple(counters), work=work)


def _combine_sides(rounds: Sequence[Round]) -> dict[str, RunWork | None]:
    """Return the work of base and of head, None where no run's work was counted."""
    sides = {
        "base": [run for one_round in rounds for run in one_round.base],
        "head": [run for one_round in rounds for run in one_round.head],
    }
    return {
        side: combine_work([run.work for run in runs if run.work is not None])
        for side, runs in sides.items()
    }


def _compare_kernels(
    first: Round, later: Sequence[Round], floors: Floors
) -> dict[KernelKey, KernelComparison]:
    """Compare each kernel of any run; where a side lacks some, the time of all together, too."""
    shares = _max_shares([*first.base, *first.head])
    tests = _test(first, later, _times, floors.of, lambda key: shares.get(key, 1.0) >= _MIN_SHARE)
    comparisons = {
        key: KernelComparison(
            _median(first.base, _times, key),
            _median(first.head, _times, key),
            tests[key].finding if key in tests else None,
            share >= _MIN_SHARE,
            key in tests and tests[key].is_confirmed,
        )
        for key, share in shares.items()
    }
    of_one_side = [
        comparison
        for comparison in comparisons.values()
        if None in {comparison.base_ns, comparison.head_ns}
    ]
    if any(comparison.is_gated for comparison in of_one_side):
        comparisons.update(_compare_all_kernels(first, later, floors))
    return comparisons


def _compare_all_kernels(
    first: Round, later: Sequence[Round], floors: Floors
) -> Iterator[tuple[KernelKey, KernelComparison]]:
    """Yield the comparison of the time of all kernels, which a kernel's new name or size leaves valid."""
    for key, test in _test(first, later, _total, floors.of, lambda _: True).items():
        base, head = _median(first.base, _total, key), _median(first.head, _total, key)
        yield (
            key,
            KernelComparison(
                base, head, test.finding, is_gated=True, is_confirmed=test.is_confirmed
            ),
        )


def _compare_energies(
    first: Round, later: Sequence[Round], floors: Floors
) -> Iterator[tuple[SizedKernel, EnergyComparison]]:
    floor = floors.usual if floors.energy is None else floors.energy
    is_gated = floors.energy is not None
    for key, test in _test(first, later, _energies, lambda _: floor, lambda _: True).items():
        base, head = _median(first.base, _energies, key), _median(first.head, _energies, key)
        if base is not None and head is not None:
            yield key, EnergyComparison(base, head, test.finding, is_gated, test.is_confirmed)


def _times(run: RunSample) -> Mapping[KernelKey, float]:
    return {key: time.median_ns for key, time in run.kernels.items()}


def _energies(run: RunSample) -> Mapping[SizedKernel, float]:
    return run.energy_j


def _total(run: RunSample) -> Mapping[KernelKey, float]:
    total_ns = sum(time.total_ns for time in run.kernels.values())
    return {ALL_KERNELS: total_ns} if total_ns else {}


Measure = Callable[[RunSample], Mapping[K, float]]


@dataclass(frozen=True, slots=True)
class _Test:
    """Result of the first round's pairs. `is_confirmed` is True if a second round tested it, too."""

    finding: Finding
    is_confirmed: bool


def _test(
    first: Round,
    later: Sequence[Round],
    measure: Measure[K],
    floor_of: Callable[[str], float],
    is_gated: Callable[[K], bool],
) -> dict[K, _Test]:
    findings = _test_round(first, measure, floor_of, is_gated)
    second = _test_round(later[0], measure, floor_of, is_gated) if later else {}
    return {
        key: _Test(confirm(finding, second[key]) if key in second else finding, key in second)
        for key, finding in findings.items()
    }


def _test_round(
    one_round: Round,
    measure: Measure[K],
    floor_of: Callable[[str], float],
    is_gated: Callable[[K], bool],
) -> dict[K, Finding]:
    """Return the findings of the keys that enough pairs of a round have."""
    pairs = [
        (measure(base), measure(head))
        for base, head in zip(one_round.base, one_round.head, strict=False)
    ]
    keys = sorted({key for before, after in pairs for key in before if key in after})
    ratios = {key: _log_ratios(pairs, key) for key in keys}
    # Keys that cannot fail are tested apart: every further test weakens the others.
    findings: dict[K, Finding] = {}
    for side in (True, False):
        tested = {
            key: d for key, d in ratios.items() if len(d) >= MIN_PAIRS and is_gated(key) is side
        }
        findings.update(compute_findings(tested, {key: floor_of(key.kernel) for key in tested}))
    return findings


def _log_ratios(pairs: Sequence[tuple[Mapping[K, float], Mapping[K, float]]], key: K) -> Floats:
    """Return the log ratios of the pairs that have the key on both sides."""
    both = [(before[key], after[key]) for before, after in pairs if key in before and key in after]
    base, head = np.array(both).T
    ratios: Floats = np.log(head / base)
    return ratios


def _max_shares(runs: Sequence[RunSample]) -> dict[KernelKey, float]:
    """Return each kernel's largest share of the kernel time of any run."""
    shares: dict[KernelKey, float] = {}
    for run in runs:
        total_ns = sum(time.total_ns for time in run.kernels.values())
        for key, time in run.kernels.items():
            shares[key] = max(shares.get(key, 0.0), time.total_ns / total_ns)
    return dict(sorted(shares.items()))


def _median(runs: Sequence[RunSample], measure: Measure[K], key: K) -> float | None:
    values = [measured[key] for measured in map(measure, runs) if key in measured]
    return float(np.median(values)) if values else None
