"""Break-even sizes: the problem sizes at which another device is faster than the traced one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cltrace.events.workloads import HostMemory, Transfer
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.traced_transfers import PredictedTransfers
from cltrace.predict.traces import (
    PredictedLaunch,
    PredictedTrace,
    predict_trace,
)
from cltrace.predict.transfers import TransferModel
from cltrace.profile import DeviceProfile
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.reader import Trace

_EXPONENTS: Final = 20
"""Sizes range from this many halvings of the traced size to as many doublings."""
_BISECTIONS: Final = 12


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The sizes at which a kernel, or the whole program, is faster on the other device.

    `own_ns` and `other_ns` are the times at the traced size. The other device is faster from
    `from_factor` to `to_factor` times that size. None is no bound; both are None if it is always faster,
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
        """True if the other device is faster at the traced size."""
        return self.other_ns < self.own_ns


def find_break_evens(
    trace: Trace,
    own: DeviceProfile,
    other: PredictedTrace,
    *,
    settings: CountingSettings | None = None,
    progress: Progress = no_progress,
) -> Iterator[BreakEven]:
    """Yield the break-even sizes of each kernel, and of the whole program with its transfers.

    A launch of another size has proportionally more or fewer work-groups, on proportional arrays.
    `settings` are those of counting.
    Raises: `ProfileError` if a profile is not fitted, or lacks transfers.
    """
    own_trace = predict_trace(trace, own, settings=settings, progress=progress)
    own_model, other_model = OVERLAP.for_device(own), OVERLAP.for_device(other.profile)
    by_id = {launch_id: launch for launch in other.launches for launch_id in launch.launch_ids}
    pairs = [
        (launch, by_id[launch.launch.launch_id])
        for launch in own_trace.launches
        if launch.launch.launch_id in by_id
    ]
    for on_own, on_other in pairs:
        yield find_break_even(
            on_own.launch.kernel,
            on_own.counts.work_items,
            partial(own_model.scaled_ns, on_own.counts),
            partial(other_model.scaled_ns, on_other.counts),
        )
    if pairs:
        yield find_break_even(
            "the whole program",
            max(on_own.counts.work_items for on_own, _ in pairs),
            _whole_program(own, own_trace.transfers, [on_own for on_own, _ in pairs]),
            _whole_program(other.profile, own_trace.transfers, [on_other for _, on_other in pairs]),
        )


def _whole_program(
    profile: DeviceProfile,
    transfers: Sequence[PredictedTransfers],
    launches: Sequence[PredictedLaunch],
) -> Callable[[float], float]:
    """Return the time of all launches and transfers on a device as a function of their size factor."""
    launch_model, transfer_model = OVERLAP.for_device(profile), TransferModel.of(profile)

    def total_ns(factor: float) -> float:
        total = sum(
            launch.launch.calls * launch_model.scaled_ns(launch.counts, factor)
            for launch in launches
        )
        for group in transfers:
            size = max(int(group.size_bytes * factor), 1)
            transfer = Transfer(group.direction, HostMemory.PAGEABLE, size)
            total += group.calls * transfer_model.predict(transfer).duration_ns
        return total

    return total_ns


def find_break_even(
    name: str, items: int, own: Callable[[float], float], other: Callable[[float], float]
) -> BreakEven:
    """Return the factors between which `other` is smaller than `own`. Both are functions of a factor."""
    factors = [2.0**exponent for exponent in range(-_EXPONENTS, _EXPONENTS + 1)]
    faster = [number for number, factor in enumerate(factors) if other(factor) < own(factor)]
    first, last = (faster[0], faster[-1]) if faster else (0, len(factors) - 1)

    def bisect(slower_at: int, faster_at: int) -> float:
        low, high = factors[slower_at], factors[faster_at]
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
        from_factor=bisect(first - 1, first) if first else None,
        to_factor=bisect(last + 1, last) if last < len(factors) - 1 else None,
    )
