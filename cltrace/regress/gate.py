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
class Policy:
    """What is asked of a comparison. `energy_floor` is None where energy only informs."""

    on_ambiguous: OnAmbiguous = OnAmbiguous.PASS
    energy_floor: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """An outcome, and why it is not `PASSED`."""

    outcome: Outcome
    why: str


def judged(found: Comparison, basis: Basis, policy: Policy | None = None) -> Judgement:
    """What a comparison comes to."""
    policy = policy if policy is not None else Policy()
    regression = _regression(found, basis, policy)
    if regression:
        return Judgement(Outcome.REGRESSION, regression)
    undecided = _undecided(found, policy) if basis is not Basis.TRACES else ""
    return Judgement(Outcome.UNDECIDED if undecided else Outcome.PASSED, undecided)


def _regression(found: Comparison, basis: Basis, policy: Policy) -> str:
    """What is worse beyond doubt; "" where nothing is."""
    if found.has_more:
        return "there is more of what has no noise"
    if basis is Basis.TRACES or found.other_devices:
        return ""
    if found.is_slower:
        return "a kernel is slower, and was again in a second round"
    return "more energy is drawn" if _draws_more(found, policy) else ""


def _undecided(found: Comparison, policy: Policy) -> str:
    """Why nothing can be said of times; "" where it can."""
    if found.other_devices:
        return "base and head ran on different devices or drivers"
    if found.pairs < FEWEST_PAIRS:
        return f"{found.pairs} runs of each side are too few: {FEWEST_PAIRS} at least"
    slow = [
        one for one in found.kernels.values()
        if one.is_gated and one.finding is not None and one.finding.verdict is Verdict.SLOW
    ]  # fmt: skip
    if slow:  # a confirmed one was told before
        return "a kernel is slower, and there is no second round to confirm it"
    if found.is_open and policy.on_ambiguous is OnAmbiguous.FAIL:
        return "a kernel may be slower: more pairs would tell"
    return ""


def _draws_more(found: Comparison, policy: Policy) -> bool:
    if policy.energy_floor is None:
        return False
    return any(
        one.finding.verdict is Verdict.SLOW and one.finding.ratio > 1 + policy.energy_floor
        for one in found.energy.values()
    )
