"""How many pairs of runs are taken: more until it is decided, and new ones for what looks slower."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cltrace.regress.comparison import Comparison, compared
from cltrace.regress.floors import Floors
from cltrace.regress.runs import Round, RunSample
from cltrace.regress.statistics import FEWEST_PAIRS
from cltrace.regress.verdicts import Verdict, fewest_pairs


@dataclass(frozen=True, slots=True)
class Budget:
    """How many pairs to begin with, and how many at most in a round."""

    pairs: int
    most_pairs: int


def taken(
    take: Callable[[int], Round], budget: Budget, floors: Floors | None = None
) -> tuple[Round, ...]:
    """Rounds of pairs from `take`, which makes as many as it is asked for.

    The first is doubled while something that counts is not decided; where a kernel that counts is slower,
    a second one of as many new pairs confirms or contradicts it.
    """
    first = take(budget.pairs)
    found = compared([first], floors)
    while first.pairs < budget.most_pairs and Verdict.AMBIGUOUS in _gated(found):
        more = take(min(first.pairs, budget.most_pairs - first.pairs))
        first = Round(first.base + more.base, first.head + more.head)
        found = compared([first], floors)
    has_energy = floors is not None and floors.energy is not None
    if Verdict.SLOW not in _gated(found) and not (has_energy and found.draws_more):
        return (first,)
    return first, take(first.pairs)


def parted(base: Sequence[RunSample], head: Sequence[RunSample]) -> tuple[Round, ...]:
    """Runs that did not take turns, as rounds: the later ones confirm the earlier.

    The first has half of them, or as many as a change needs to be told at all. With too few runs for
    two rounds there is one.
    """
    count = min(len(base), len(head))
    whole = Round(tuple(base[:count]), tuple(head[:count]))
    if not count:
        return (whole,)
    tests = sum(one.is_gated for one in compared([whole]).kernels.values())
    first = max(count // 2, fewest_pairs(tests))
    if count - first < FEWEST_PAIRS:
        return (whole,)
    parts = (slice(first), slice(first, count))
    return tuple(Round(tuple(base[part]), tuple(head[part])) for part in parts)


def resolution(found: Comparison) -> float | None:
    """The smallest change that so many pairs tell from none, for every kernel that counts.

    It is how far the widest interval reaches from its estimate; None where no such kernel was tested.
    """
    edges = [
        max(
            one.finding.interval.high / one.finding.ratio,
            one.finding.ratio / one.finding.interval.low,
        )
        - 1
        for one in found.kernels.values()
        if one.finding is not None and one.is_gated and one.finding.interval.low > 0
    ]
    return max(edges) if edges else None


def _gated(found: Comparison) -> set[Verdict]:
    """The verdicts of kernels that count."""
    return {one.finding.verdict for one in found.kernels.values() if one.finding and one.is_gated}
