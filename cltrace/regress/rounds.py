"""Rounds of pairs of runs: more pairs while a result is ambiguous, a second round to confirm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cltrace.regress.comparison import Comparison, compare_rounds
from cltrace.regress.floors import Floors
from cltrace.regress.run_records import Round, RunSample
from cltrace.regress.statistics import MIN_PAIRS
from cltrace.regress.verdicts import Verdict, min_pairs


@dataclass(frozen=True, slots=True)
class Budget:
    """Number of pairs that a round begins with, and its maximum."""

    num_pairs: int
    max_pairs: int


def take_rounds(
    take: Callable[[int], Round], budget: Budget, floors: Floors | None = None
) -> tuple[Round, ...]:
    """Take rounds of pairs with `take`, which runs the number of pairs that it is given.

    The first round is doubled while a gated kernel is ambiguous. Where a gated kernel is slower, a second
    round with as many new pairs confirms or contradicts it.
    """
    first = take(budget.num_pairs)
    comparison = compare_rounds([first], floors)
    while first.num_pairs < budget.max_pairs and Verdict.AMBIGUOUS in _gated_verdicts(comparison):
        more = take(min(first.num_pairs, budget.max_pairs - first.num_pairs))
        first = Round(first.base + more.base, first.head + more.head)
        comparison = compare_rounds([first], floors)
    is_energy_higher = any(energy.is_gated for energy in comparison.higher_energies)
    if Verdict.SLOW not in _gated_verdicts(comparison) and not is_energy_higher:
        return (first,)
    return first, take(first.num_pairs)


def split_rounds(base: Sequence[RunSample], head: Sequence[RunSample]) -> tuple[Round, ...]:
    """Split runs that did not take turns into two rounds: the later runs confirm the earlier.

    The first round has half of the pairs, or the fewest with which a change is detectable. There is one
    round where the pairs are too few for two.
    """
    count = min(len(base), len(head))
    whole = Round(tuple(base[:count]), tuple(head[:count]))
    if not count:
        return (whole,)
    num_tests = sum(kernel.is_gated for kernel in compare_rounds([whole]).kernels.values())
    first = max(count // 2, min_pairs(num_tests))
    if count - first < MIN_PAIRS:
        return (whole,)
    parts = (slice(first), slice(first, count))
    return tuple(Round(tuple(base[part]), tuple(head[part])) for part in parts)


def resolution(comparison: Comparison) -> float | None:
    """Return the smallest change that is distinguishable from none for every gated kernel.

    It is the largest distance of an interval's bound from its estimate; None where no gated kernel was
    tested.
    """
    distances = [
        max(
            kernel.finding.interval.high / kernel.finding.ratio,
            kernel.finding.ratio / kernel.finding.interval.low,
        )
        - 1
        for kernel in comparison.kernels.values()
        if kernel.finding is not None and kernel.is_gated and kernel.finding.interval.low > 0
    ]
    return max(distances) if distances else None


def _gated_verdicts(comparison: Comparison) -> set[Verdict]:
    return {
        kernel.finding.verdict
        for kernel in comparison.kernels.values()
        if kernel.finding and kernel.is_gated
    }
