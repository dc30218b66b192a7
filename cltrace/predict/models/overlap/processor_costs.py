"""Costs that a CPU alone has: of calls for images, mispredictions, and single work-items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from cltrace.kernels.demand.launch import Demand
from cltrace.predict.models.overlap.probes import MeasuredProbe, by_series
from cltrace.profile import Parameter

CALL_COSTS: Final = ("image read", "image blend", "image write")
"""Costs of calling a function that reads a texel, interpolates within a plane, or writes a texel."""
ITEM_COSTS: Final = ("item operation",)
GUARD_COSTS: Final = ("masked store",)
BRANCH_COSTS: Final = ("misprediction",)
_COUNTS: Final[Mapping[str, Callable[[Demand], float]]] = {
    "image read": lambda demand: demand.processor.image_reads,
    "image blend": lambda demand: demand.processor.image_blends,
    "image write": lambda demand: demand.processor.image_writes,
    "branches": lambda demand: demand.processor.mispredictions,
    "guards": lambda demand: demand.processor.masked_stores,
    "items": lambda demand: sum(work.warp_total for work in demand.work),
}
"""Numbers of what the cost of a series is one of."""


def image_call_costs(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs of the calls; none for a calibration without images."""
    for points in by_series(probes, "images"):
        yield from _cost(points[0].series, points, points[0].series)


def misprediction_cost(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the cost of a mispredicted branch; none for a calibration without branches."""
    for points in by_series(probes, "branches"):
        yield from _cost("misprediction", points, points[0].series)


def masked_store_cost(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the cost of a vector's store with a mask; none for a calibration without guards."""
    for points in by_series(probes, "guards"):
        yield from _cost("masked store", points, points[0].series)


def item_operation_cost(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the cost of an operation of a single work-item; none for a calibration without items."""
    for points in by_series(probes, "items"):
        yield from _cost("item operation", points, points[0].series)


def _cost(
    name: str, points: Sequence[MeasuredProbe], series: str
) -> Iterator[tuple[str, Parameter]]:
    """Yield the cost of one more, by the difference of a series' first and last point."""
    count = _COUNTS.get(series)
    if count is None:
        return
    least, most = (choose(points, key=lambda probe: probe.x) for choose in (min, max))
    more = count(most.demand) - count(least.demand)
    if more > 0.0:
        cost = max(most.time_ns - least.time_ns, 0.0) * most.demand.units / more
        yield name, Parameter(cost, "ns", 0.0, points[0].family)
