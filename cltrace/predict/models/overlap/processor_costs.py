"""Costs that a CPU alone has: of calls for images, mispredictions, masks, and single work-items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from cltrace.kernels.demand.launch import Demand
from cltrace.predict.models.overlap.probes import MeasuredProbe, by_series
from cltrace.profile import Parameter

_Count = Callable[[Demand], float]
PROCESSOR_COSTS: Final[Mapping[str, Mapping[str, _Count]]] = {
    "images": {
        "image read": lambda demand: demand.processor.image_reads,
        "image blend": lambda demand: demand.processor.image_blends,
        "image write": lambda demand: demand.processor.image_writes,
    },
    "items": {"item operation": lambda demand: sum(work.warp_total for work in demand.work)},
    "guards": {"masked store": lambda demand: demand.processor.masked_stores},
    "branches": {"misprediction": lambda demand: demand.processor.mispredictions},
}
"""Costs by family, each with the number of what it is the cost of. A series has the name of its cost."""


def processor_costs(
    probes: Sequence[MeasuredProbe], family: str
) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs of a family: of one more, by a series' first and last point.

    Nothing is yielded for a calibration without the family.
    """
    for points in by_series(probes, family):
        name = points[0].series
        count = PROCESSOR_COSTS[family][name]
        least, most = (choose(points, key=lambda probe: probe.x) for choose in (min, max))
        more = count(most.demand) - count(least.demand)
        if more > 0.0:
            cost = max(most.time_ns - least.time_ns, 0.0) * most.demand.units / more
            yield name, Parameter(cost, "ns", 0.0, family)
