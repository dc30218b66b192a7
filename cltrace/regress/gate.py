"""What a comparison means for whoever waits for it: it passes, it fails, or nothing can be said."""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.regress.comparison import Comparison
from cltrace.regress.statistics import FEWEST_PAIRS
from cltrace.regress.verdicts import Verdict


class Basis(StrEnum):
    """What was compared, as far as it matters for how far to trust it."""

    TURNS = "runs in turns"
    APART = "runs at different times"
    """What drifted between them counts as a change."""
    TRACES = "counters only"
    """Single runs: times of one process decide nothing."""


class OnAmbiguous(StrEnum):
    """What a kernel means that could be slower, for all that is known."""

    PASS = "pass"
    FAIL = "fail"


class Outcome(StrEnum):
    """What a check comes to."""

    PASSED = "passed"
    REGRESSION = "regression"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Judgement:
    """An outcome, and why it is not `PASSED`."""

    outcome: Outcome
    why: str


def judged(
    found: Comparison, basis: Basis, on_ambiguous: OnAmbiguous = OnAmbiguous.PASS, *,
    has_energy_floor: bool = False,
) -> Judgement:  # fmt: skip
    """What a comparison comes to. With a floor for energy more of it counts."""
    if found.other_devices:
        return Judgement(Outcome.UNDECIDED, "base and head ran on different devices or drivers")
    draws_more = found.draws_more if has_energy_floor else ()
    if found.has_more:
        return Judgement(Outcome.REGRESSION, "there is more of what has no noise")
    if basis is Basis.TRACES:
        return Judgement(Outcome.PASSED, "")
    if found.is_slower:
        return Judgement(Outcome.REGRESSION, "a kernel is slower, and was again in a second round")
    if any(one.is_confirmed for one in draws_more):
        return Judgement(Outcome.REGRESSION, "more energy is drawn, and was in a second round")
    undecided = _undecided(found, on_ambiguous)
    if draws_more and not undecided:
        undecided = "more energy is drawn, and there is no second round to confirm it"
    return Judgement(Outcome.UNDECIDED if undecided else Outcome.PASSED, undecided)


def _undecided(found: Comparison, on_ambiguous: OnAmbiguous) -> str:
    """Why nothing can be said of times; "" where it can."""
    if found.pairs < FEWEST_PAIRS:
        return f"{found.pairs} runs of each side are too few: {FEWEST_PAIRS} at least"
    slow = [
        one for one in found.kernels.values()
        if one.is_gated and one.finding is not None and one.finding.verdict is Verdict.SLOW
    ]  # fmt: skip
    if slow:  # a confirmed one was told before
        return "a kernel is slower, and there is no second round to confirm it"
    if found.is_open and on_ambiguous is OnAmbiguous.FAIL:
        return "a kernel may be slower: more pairs would tell"
    return ""
