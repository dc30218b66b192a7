"""A launch as if it had so many times as many work-groups, each doing what one does now."""

from dataclasses import replace

from cltrace.kernels.demand.launch import Demand, Traffic


def scaled(demand: Demand, factor: float, compute_units: int) -> Demand:
    """What a launch of `factor` times the work-items asks for. Memory grows with the work-items.

    That is what programs do whose arrays have an element for each work-item. Loops keep their trips.
    """
    groups = max(round(demand.groups * factor), 1)
    share = groups / demand.groups
    return replace(
        demand,
        groups=groups,
        warps=demand.warps * share,
        units=min(compute_units, groups),
        barriers=demand.barriers * share,
        work=tuple(replace(one, warp_total=one.warp_total * share) for one in demand.work),
        requests=demand.requests * share,
        bank_cycles=demand.bank_cycles * share,
        lines=demand.lines * share,
        local_cycles=demand.local_cycles * share,
        local_requests=demand.local_requests * share,
        traffic=tuple(_traffic(one, share) for one in demand.traffic),
        footprint_bytes=demand.footprint_bytes * share,
    )


def _traffic(one: Traffic, share: float) -> Traffic:
    names = (
        "sectors", "lines", "group_sectors", "window_sectors", "launch_sectors", "granule_bytes",
        "scattered_sectors", "partial_sectors", "accesses",
    )  # fmt: skip
    return replace(one, **{name: getattr(one, name) * share for name in names})
