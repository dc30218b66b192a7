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
    memory_time,
    near_time,
    shared_time,
)
from cltrace.predict.models.overlap.parts import Times, overlap
from cltrace.predict.models.overlap.processor_times import processor_times
from cltrace.predict.models.prediction import Cache

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
    levels = overlap((near, shared, memory, atomics), constants["p levels"])
    moving = _moving(kept, constants, levels, waits + chains)
    data = overlap((local, moving), constants["p body"])
    body_norm = _norm(constants["p body"], kept.part(_lock_step, constants))
    body = overlap((_working(demand, all_pipes, chains), data), body_norm)
    delay = arrival_times(arrivals, constants)
    launch = constants["launch"]
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


def _moving(kept: KeptParts, costs: Constants, levels: float, waiting: float) -> float:
    """Return the time of the caches and memory, `levels` by themselves, with that of waiting for them.

    Where memory is the limit, reads wait longer, the more of them there are. Near caches are not slower
    if they have more to do. A warp does not use the caches while it waits: alone on its unit, it takes
    both times.
    """
    share = (kept.part(memory_time, costs) / levels) ** 2 if levels else 0.0
    overlapping = costs["p near"] + (costs["p waiting"] - costs["p near"]) * share
    norm = _norm(overlapping, kept.part(_phase_separation, costs))
    return overlap((levels, waiting + levels / kept.demand.unit_warps), norm)


def _dispatch(kept: KeptParts, costs: Constants) -> float:
    """Return the time of handing out work-groups."""
    per_group = max(costs["group"], costs["warp"] * kept.demand.group_warps)
    return kept.demand.groups * per_group


def _phase_separation(kept: KeptParts, costs: Constants) -> float:
    """Return the separation of the phases of a work-group's life, from 0 (they overlap) to 1.

    Work-groups that wait for memory or at a barrier do so with their neighbours: they begin together,
    wait together and write together. Work-groups that never wait, or that make more than `phases`
    accesses, drift apart.
    """
    demand = kept.demand
    waits = demand.rounds + demand.barriers / demand.warps
    return min(waits, 1.0) * min(1.0, costs["phases"] / max(demand.accesses, 1.0))


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


def _local(kept: KeptParts, costs: Constants) -> float:
    """Return the time of local memory, or of barriers, which work-groups pass while others access it."""
    demand = kept.demand
    busy = max(demand.local_cycles * costs["local"], demand.barriers * costs["barrier"])
    return busy * demand.busiest_share / demand.units
