"""The times of a launch's parts, and their overlap."""

from collections.abc import Sequence
from typing import Final

from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels.demand.launch import Demand
from cltrace.predict.models.overlap.arrivals import arrival_times
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts
from cltrace.predict.models.overlap.latency import latency
from cltrace.predict.models.overlap.level_times import (
    atomics_time,
    local_access_time,
    memory_time,
    near_time,
    shared_time,
)
from cltrace.predict.models.overlap.moving import local_share, moving_time, texel_share
from cltrace.predict.models.overlap.parts import Times, overlap
from cltrace.predict.models.overlap.processor_times import processor_times
from cltrace.predict.models.prediction import Cache

_MAX_SAVED: Final = 0.5
"""Share of the time of a launch that waiting in the queue saves at most: 0.47 on an H200."""
_SCHEDULERS: Final = 4.0
"""Schedulers of a compute unit, each of which issues for its own warps."""


def times_of(
    demand: Demand,
    costs: Costs,
    cache: Cache = Cache.WARM,
    arrivals: Sequence[Arrival] = (STEADY,),
) -> Times:
    """Return the times of a launch's parts for a state of the caches and of the device."""
    if demand.has_item_loops:
        return processor_times(demand, costs, cache)
    return _gpu_times(KeptParts(demand, cache), costs, arrivals)


def times_again(kept: KeptParts, costs: Costs) -> Times:
    """Return the times of a launch's parts on a device at work, where few costs changed since."""
    if kept.demand.has_item_loops:
        return processor_times(kept.demand, costs, kept.cache)
    return _gpu_times(kept, costs, (STEADY,))


def _gpu_times(kept: KeptParts, costs: Costs, arrivals: Sequence[Arrival]) -> Times:
    demand, constants = kept.demand, costs.constants
    pipes, all_pipes = kept.pipes(costs)
    chains = kept.chains(costs)
    local = kept.part(_local, constants)
    dispatch = kept.part(_dispatch, constants)
    near, shared, memory, atomics = (
        kept.part(part, constants) for part in (near_time, shared_time, memory_time, atomics_time)
    )
    waits = kept.part(latency, constants)
    moving = moving_time(kept, constants, chains)
    working = _working(demand, all_pipes, chains)
    separation = kept.part(_lock_step, constants)
    inside = overlap(
        (working, kept.part(_barriers, constants)), _norm(constants["p local"], separation)
    )
    body = overlap((inside, moving), _norm(kept.part(_body_norm, constants), separation))
    delay = arrival_times(arrivals, constants)
    launch = constants["launch"]
    launch -= min(delay.queued_ns, _MAX_SAVED * launch)
    return Times(
        launch=launch,
        delay=delay,
        dispatch=dispatch,
        pipes=pipes,
        chains=chains,
        local=local,
        l1=near,
        l2=shared,
        memory=memory,
        latency=waits,
        atomics=atomics,
        total_ns=launch + delay.total_ns + overlap((dispatch, body), constants["p dispatch"]),
    )


def _dispatch(kept: KeptParts, costs: Constants) -> float:
    """Return the time of handing out work-groups."""
    per_group = max(costs["group"], costs["warp"] * kept.demand.group_warps)
    return kept.demand.groups * per_group


def _solitude(demand: Demand) -> float:
    """Return 1 for a single warp on each scheduler of a compute unit, falling to 0 for many."""
    return min(1.0, _SCHEDULERS / demand.unit_warps)


def _working(demand: Demand, pipes: float, chains: float) -> float:
    """Return the time of the pipes beside that of the chains of a warp that is alone.

    It waits for the operations of its chains while they take their issue slots.
    """
    alone = _solitude(demand)
    return pipes - alone * min(alone * pipes, chains)


def _lock_step(kept: KeptParts, costs: Constants) -> float:
    """Return the separation of computing and moving data, from 0 (they overlap) to 1.

    The first work-groups of a unit begin together, and compute together before they read or write
    together. Warps with more than `steps` operations drift apart. So do work-groups: half of them where
    there are `lock step groups` beside the first.
    """
    demand = kept.demand
    resident = min(demand.wave_groups, demand.groups) / demand.units
    others, groups = max(resident - 1.0, 0.0), costs["lock step groups"]
    few_groups = 1.0 / (1.0 + (others / groups) ** 2) if groups else float(others == 0.0)
    together = min(1.0, costs["steps"] / max(demand.operations, 1.0)) * few_groups
    return max(together, _solitude(demand))


def _norm(overlapping: float, separation: float) -> float:
    """Return an exponent from `overlapping`, for parts that overlap, to 1, for one after another."""
    return overlapping + (1.0 - overlapping) * separation


def _body_norm(kept: KeptParts, costs: Constants) -> float:
    """Return the exponent of computing and moving data.

    Local memory, and units that read images, serve warps as others compute.
    """
    body, local = costs["p body"], costs["p local"]
    served = max(kept.part(local_share, costs), kept.part(texel_share, costs))
    return body + (local - body) * served


def _local(kept: KeptParts, costs: Constants) -> float:
    """Return the time of local memory, or of barriers, which work-groups pass while others access it."""
    return max(kept.part(local_access_time, costs), kept.part(_barriers, costs))


def _barriers(kept: KeptParts, costs: Constants) -> float:
    """Return the time in which a compute unit lets work-groups pass barriers."""
    demand = kept.demand
    return demand.barriers * costs["barrier"] * demand.busiest_share / demand.units
