"""From which size on a launch is faster on another device than on the one that it was traced on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.events.workloads import HostMemory, Transfer
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.traces import (
    PredictedLaunch,
    PredictedTrace,
    PredictedTransfers,
    predicted_trace,
)
from cltrace.predict.transfers import Transfers
from cltrace.profile import DeviceProfile
from cltrace.trace.reader import Trace

_EXPONENTS: Final = 20
"""Sizes are looked at from so many halvings of what was traced to as many doublings."""
_BISECTIONS: Final = 12


@dataclass(frozen=True, slots=True)
class BreakEven:
    """A kernel, or the whole program: on which device it is faster at which size.

    `own_ns` and `other_ns` are what it takes at the size that was traced. `from_factor` and `to_factor`
    are between how many times that size the other device wins; None for no end, both if it always wins,
    or never.
    """

    name: str
    work_items: int
    own_ns: float
    other_ns: float
    from_factor: float | None
    to_factor: float | None

    @property
    def other_wins(self) -> bool:
        """Whether the other device is faster at the size that was traced."""
        return self.other_ns < self.own_ns


def break_evens(trace: Trace, own: DeviceProfile, other: PredictedTrace) -> Iterator[BreakEven]:
    """For each kernel alone, and for the whole program with its transfers.

    Launches of other sizes are taken to have as many times the work-groups, and arrays to be as many
    times as large. Raises: `ProfileError` if a profile lacks what is needed.
    """
    here = predicted_trace(trace, own)
    mine, theirs = OVERLAP.fitted(own), OVERLAP.fitted(other.profile)
    by_launch = {number: there for there in other.launches for number in there.launch_ids}
    pairs = [
        (one, by_launch[one.launch.launch_id])
        for one in here.launches
        if one.launch.launch_id in by_launch
    ]
    for one, there in pairs:
        yield break_even(
            one.launch.kernel,
            one.counts.work_items,
            lambda factor, counts=one.counts: mine.scaled_ns(counts, factor),  # type: ignore[misc]
            lambda factor, counts=there.counts: theirs.scaled_ns(counts, factor),  # type: ignore[misc]
        )
    if pairs:
        most = max(one.counts.work_items for one, _ in pairs)
        yield break_even(
            "the whole program",
            most,
            _whole(own, here.transfers, [one for one, _ in pairs]),
            _whole(other.profile, here.transfers, [there for _, there in pairs]),
        )


def _whole(
    profile: DeviceProfile,
    transfers: Sequence[PredictedTransfers],
    launches: Sequence[PredictedLaunch],
) -> Callable[[float], float]:
    """What all launches and transfers take on a device, by how many times as large they are."""
    model, moves = OVERLAP.fitted(profile), Transfers.of(profile)

    def total_ns(factor: float) -> float:
        taken = sum(one.launch.calls * model.scaled_ns(one.counts, factor) for one in launches)
        for one in transfers:
            size = max(int(one.size_bytes * factor), 1)
            transfer = Transfer(one.direction, HostMemory.PAGEABLE, size)
            taken += one.calls * moves.predict(transfer).duration_ns
        return taken

    return total_ns


def break_even(
    name: str, items: int, own: Callable[[float], float], other: Callable[[float], float]
) -> BreakEven:
    """Where one of two functions of a factor is the smaller."""
    factors = [2.0**exponent for exponent in range(-_EXPONENTS, _EXPONENTS + 1)]
    wins = [number for number, factor in enumerate(factors) if other(factor) < own(factor)]
    first, last = (wins[0], wins[-1]) if wins else (0, len(factors) - 1)

    def between(loses: int, wins_at: int) -> float:
        low, high = factors[loses], factors[wins_at]
        for _ in range(_BISECTIONS):
            middle = (low * high) ** 0.5
            if other(middle) < own(middle):
                high = middle
            else:
                low = middle
        return high

    return BreakEven(
        name=name,
        work_items=items,
        own_ns=own(1.0),
        other_ns=other(1.0),
        from_factor=between(first - 1, first) if first else None,
        to_factor=between(last + 1, last) if last < len(factors) - 1 else None,
    )
