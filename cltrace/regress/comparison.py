"""Runs of head held against runs of base: counters exactly, kernels by what pairs of runs say."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final, TypeVar

import numpy as np

from cltrace.regress.counters import CounterKey, Difference, compared_counters
from cltrace.regress.floors import Floors
from cltrace.regress.runs import DeviceIdentity, KernelKey, Round, RunSample
from cltrace.regress.statistics import FEWEST_PAIRS, Floats
from cltrace.regress.verdicts import Finding, Verdict, confirmed, findings
from cltrace.regress.work import WorkDifference, WorkKey, steady_work, work_differences

K = TypeVar("K", KernelKey, WorkKey)
_SHARE: Final = 0.01
"""Kernels with less of the time of all are listed, and fail nothing."""


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
    """The energy of a run, or of a launch of a kernel: medians over runs in J, and what pairs say."""

    base_j: float
    head_j: float
    finding: Finding


@dataclass(frozen=True, slots=True)
class Comparison:
    """Head by base. `unsteady` are counters that differ among the runs of one side: they tell nothing.

    `other_devices` are those that only one side ran on: with any, times are not comparable. `not_counted`
    are kernels of which the work is not known, and why.
    """

    counters: tuple[Difference, ...]
    unsteady: tuple[CounterKey, ...]
    work: tuple[WorkDifference, ...]
    not_counted: Mapping[WorkKey, str]
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
    def is_worse(self) -> bool:
        """Whether there is more of what has no noise, or a kernel is slower beyond doubt."""
        return self.has_more or self.is_slower

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
    work, not_counted = _work(rounds)
    sides = [{one for run in side for one in run.devices} for side in (first.base, first.head)]
    return Comparison(
        counters=counters,
        unsteady=unsteady,
        work=work,
        not_counted=not_counted,
        kernels=_kernels(first, later, floors),
        energy=dict(_energies(first, later, floors)),
        other_devices=tuple(sorted(sides[0] ^ sides[1])),
        pairs=first.pairs,
    )


def pardoned(found: Comparison, globs: Sequence[str]) -> Comparison:
    """The same, but more of what fits one of `globs` fails nothing: `launches*`, `operations saxpy*`."""

    def fits(kind: str, subject: object) -> bool:
        return any(fnmatchcase(f"{kind} {subject}".strip(), glob) for glob in globs)

    counters = tuple(
        replace(one, pardon="allowed") if fits(one.key.kind, one.key.subject) else one
        for one in found.counters
    )
    work = tuple(
        replace(one, doubt="allowed") if fits(one.kind, one.key) else one for one in found.work
    )
    return replace(found, counters=counters, work=work)


def _work(
    rounds: Sequence[Round],
) -> tuple[tuple[WorkDifference, ...], Mapping[WorkKey, str]]:
    base, head = (
        steady_work([run.work for run in side if run.work is not None])
        for side in (
            [run for one in rounds for run in one.base],
            [run for one in rounds for run in one.head],
        )
    )
    if base is None or head is None:
        return (), {}
    return work_differences(base, head), {**base.refused, **head.refused}


def _kernels(
    first: Round, later: Sequence[Round], floors: Floors
) -> dict[KernelKey, KernelComparison]:
    """What is known of each kernel that any run has."""
    shares = _shares([*first.base, *first.head])
    found = _confirmed(first, later, _times, floors, lambda key: shares.get(key, 0.0) >= _SHARE)
    return {
        key: KernelComparison(
            _median(first.base, _times, key),
            _median(first.head, _times, key),
            found.get(key),
            share >= _SHARE,
            bool(later),
        )
        for key, share in shares.items()
    }


def _energies(
    first: Round, later: Sequence[Round], floors: Floors
) -> Iterator[tuple[WorkKey, EnergyComparison]]:
    for key, one in _confirmed(first, later, _joules, floors, lambda _: True).items():
        base, head = _median(first.base, _joules, key), _median(first.head, _joules, key)
        if base is not None and head is not None:
            yield key, EnergyComparison(base, head, one)


def _times(run: RunSample) -> Mapping[KernelKey, float]:
    return {key: one.median_ns for key, one in run.kernels.items()}


def _joules(run: RunSample) -> Mapping[WorkKey, float]:
    return run.energy_j


Measure = Callable[[RunSample], Mapping[K, float]]


def _confirmed(
    first: Round, later: Sequence[Round], measure: Measure[K], floors: Floors,
    is_gated: Callable[[K], bool],
) -> dict[K, Finding]:  # fmt: skip
    found = _verdicts(first, measure, floors, is_gated)
    if not later:
        return found
    second = _verdicts(later[0], measure, floors, is_gated)
    return {
        key: confirmed(one, second[key]) if key in second else one for key, one in found.items()
    }


def _verdicts(
    one: Round, measure: Measure[K], floors: Floors, is_gated: Callable[[K], bool]
) -> dict[K, Finding]:
    """Verdicts of what all runs of a round have."""
    if one.pairs < FEWEST_PAIRS:
        return {}
    bases = [measure(run) for run in one.base[: one.pairs]]
    heads = [measure(run) for run in one.head[: one.pairs]]
    common = sorted(set(bases[0]).intersection(*bases[1:], *heads))
    # What fails nothing is not tested with what does: every test makes the others weaker.
    found: dict[K, Finding] = {}
    for side in (True, False):
        ratios = {key: _log_ratios(bases, heads, key) for key in common if is_gated(key) is side}
        found.update(findings(ratios, {key: floors.of(key.kernel) for key in ratios}))
    return found


def _log_ratios(
    bases: Sequence[Mapping[K, float]], heads: Sequence[Mapping[K, float]], key: K
) -> Floats:
    base, head = (np.array([one[key] for one in side]) for side in (bases, heads))
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
