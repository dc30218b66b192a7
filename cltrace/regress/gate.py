"""Judgement of a comparison: it passes, it fails, or it is undecided."""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.regress.comparison import Comparison
from cltrace.regress.statistics import MIN_PAIRS
from cltrace.regress.verdicts import Verdict


class Basis(StrEnum):
    """Basis of a comparison, which limits what it can decide."""

    INTERLEAVED = "runs in turns"
    SEPARATE = "runs at different times"
    """Drift between the two sides counts as a change."""
    SINGLE_TRACES = "counters only"
    """Single runs: times of one process decide nothing."""


class OnAmbiguous(StrEnum):
    """Policy for a kernel that may be slower."""

    PASS = "pass"
    FAIL = "fail"


class Outcome(StrEnum):
    """Outcome of a check."""

    PASSED = "passed"
    REGRESSION = "regression"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Judgement:
    """An outcome, and the reason where it is not `PASSED`."""

    outcome: Outcome
    why: str


def judge(
    comparison: Comparison, basis: Basis, on_ambiguous: OnAmbiguous = OnAmbiguous.PASS
) -> Judgement:
    """Judge a comparison: counters and work first, then times and gated energies."""
    if comparison.other_devices:
        return Judgement(Outcome.UNDECIDED, "base and head ran on different devices or drivers")
    if comparison.has_more:
        return Judgement(Outcome.REGRESSION, "a counter or the work of a kernel is higher")
    if basis is Basis.SINGLE_TRACES:
        return Judgement(Outcome.PASSED, "")
    if comparison.is_slower:
        return Judgement(Outcome.REGRESSION, "a kernel is slower, confirmed by a second round")
    higher = [energy for energy in comparison.higher_energies if energy.is_gated]
    if any(energy.is_confirmed for energy in higher):
        return Judgement(Outcome.REGRESSION, "an energy is higher, confirmed by a second round")
    why = _find_doubt(comparison, on_ambiguous)
    if higher and not why:
        why = "an energy is higher, and there is no second round to confirm it"
    return Judgement(Outcome.UNDECIDED if why else Outcome.PASSED, why)


def _find_doubt(comparison: Comparison, on_ambiguous: OnAmbiguous) -> str:
    """Return why the times are undecided, "" where they are decided."""
    if comparison.num_pairs < MIN_PAIRS:
        return f"{comparison.num_pairs} runs of each side are too few: {MIN_PAIRS} at least"
    slow = [
        kernel
        for kernel in comparison.kernels.values()
        if kernel.is_gated and kernel.finding is not None and kernel.finding.verdict is Verdict.SLOW
    ]
    if slow:  # a confirmed one is a regression already
        return "a kernel is slower, and there is no second round to confirm it"
    if comparison.is_open and on_ambiguous is OnAmbiguous.FAIL:
        return "a kernel may be slower: take more pairs"
    return ""
