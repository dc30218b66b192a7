"""The demand of a launch with more or fewer work-groups, each doing the same work."""

from dataclasses import replace
from typing import Final

from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.traffic import Traffic

_SCALED: Final = (
    "requests",
    "sectors",
    "lines",
    "group_sectors",
    "window_sectors",
    "launch_sectors",
    "granule_bytes",
    "fetched_bytes",
    "scattered_sectors",
    "partial_sectors",
    "step_sectors",
    "first_sectors",
    "arriving_sectors",
    "repeated_lines",
    "accesses",
    "steps",
)
"""Fields of traffic that are in proportion to the number of work-groups."""


def scale_demand(demand: Demand, factor: float, compute_units: int) -> Demand:
    """Return the demand of a launch with `factor` times the work-items.

    Memory grows with the work-items, as in programs whose arrays have an element per work-item. Trip
    counts of loops stay.
    """
    groups = max(round(demand.groups * factor), 1)
    share = groups / demand.groups
    return replace(
        demand,
        groups=groups,
        warps=demand.warps * share,
        steps=demand.steps * share,
        units=min(compute_units, groups),
        barriers=demand.barriers * share,
        work=tuple(replace(work, warp_total=work.warp_total * share) for work in demand.work),
        requests=demand.requests * share,
        bank_cycles=demand.bank_cycles * share,
        lines=demand.lines * share,
        texels=demand.texels * share,
        texel_requests=demand.texel_requests * share,
        local_cycles=demand.local_cycles * share,
        local_requests=demand.local_requests * share,
        traffic=tuple(_scale_traffic(region, share) for region in demand.traffic),
        footprint_bytes=demand.footprint_bytes * share,
        processor=demand.processor.scaled(share),
    )


def _scale_traffic(region: Traffic, share: float) -> Traffic:
    return replace(region, **{name: getattr(region, name) * share for name in _SCALED})
