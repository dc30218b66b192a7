"""The times of a launch's parts, and their overlap."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels.demand.caches import CacheSize, lost_share, shared_sectors
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.operations import ACCESS, Pipe, is_conversion
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.arrivals import arrival_times
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.parts import Times, overlap
from cltrace.predict.models.overlap.processor_times import processor_times
from cltrace.predict.models.prediction import Cache

_SCHEDULERS: Final = 4.0
"""Schedulers of a compute unit, each of which issues for its own warps."""
_LONGER: Final = 1.05
"""Cost of a function, by that of an instruction of its pipe, from which more instructions show."""


def times_of(
    demand: Demand, costs: Costs, cache: Cache = Cache.WARM, arrival: Arrival = STEADY
) -> Times:
    """Return the times of a launch's parts for a state of the caches and of the device."""
    if demand.has_item_loops:
        return processor_times(demand, costs, cache)
    pipes = pipe_times(demand, costs)
    missing = 1.0
    if cache is Cache.WARM:
        missing = _missing_share(demand.footprint_bytes, costs)
    local = _local(demand, costs)
    l1 = _l1(demand, costs)
    l2 = sum(_l2(region, demand, costs) for region in demand.traffic)
    memory = sum(_memory(region, costs, missing) for region in demand.traffic)
    latency = _latency(demand, costs, missing)
    atomics = sum(_atomics(region, costs) for region in demand.traffic)
    dispatch = _dispatch(demand, costs)
    waiting_norm = _norm(costs["p waiting"], _phase_separation(demand, costs["phases"]))
    body_norm = _norm(costs["p body"], _lock_step(demand, costs))
    levels = overlap((l1, l2, memory, atomics), costs["p levels"])
    chains = _chains(demand, costs)
    moving = overlap((levels, latency + chains), waiting_norm)
    working = overlap(pipes.values(), costs["p pipes"])
    data = overlap((local, moving), costs["p body"])
    body = overlap((working, data), body_norm)
    delay = arrival_times(arrival, costs.constants)
    return Times(
        launch=costs["launch"],
        delay=delay,
        dispatch=dispatch,
        pipes=pipes,
        chains=chains,
        local=local,
        l1=l1,
        l2=l2,
        memory=memory,
        latency=latency,
        atomics=atomics,
        total_ns=costs["launch"] + delay.total_ns + overlap((dispatch, body), costs["p dispatch"]),
    )


def _dispatch(demand: Demand, costs: Costs) -> float:
    """Return the time of handing out work-groups."""
    per_group = max(costs["group"], costs["warp"] * demand.group_warps)
    return demand.groups * per_group


def _phase_separation(demand: Demand, phases: float) -> float:
    """Return the separation of the phases of a work-group's life, from 0 (they overlap) to 1.

    Work-groups that wait for memory or at a barrier do so with their neighbours: they begin together,
    wait together and write together. Work-groups that never wait, or that make more than `phases`
    accesses, drift apart. A warp alone on its compute unit has nobody to overlap with.
    """
    waits = demand.rounds + demand.barriers / demand.warps
    drifting = min(waits, 1.0) * min(1.0, phases / max(demand.accesses, 1.0))
    return max(drifting, _solitude(demand))


def _solitude(demand: Demand) -> float:
    """Return 1 for a single warp on each scheduler of a compute unit, falling to 0 for many."""
    return min(1.0, _SCHEDULERS / demand.unit_warps)


def _lock_step(demand: Demand, costs: Costs) -> float:
    """Return the separation of computing and moving data, from 0 (they overlap) to 1.

    The first work-groups of a unit begin together, and compute together before they read or write
    together. Warps with more than `steps` operations drift apart. So do work-groups: half of them where
    there are `lock step groups` beside the first.
    """
    resident = min(demand.wave_groups, demand.groups) / demand.units
    others, groups = max(resident - 1.0, 0.0), costs["lock step groups"]
    few_groups = 1.0 / (1.0 + (others / groups) ** 2) if groups else float(others == 0.0)
    together = min(1.0, costs["steps"] / max(demand.operations, 1.0)) * few_groups
    return max(together, _solitude(demand))


def _norm(overlapping: float, separation: float) -> float:
    """Return an exponent from `overlapping`, for parts that overlap, to 1, for one after another."""
    return overlapping + (1.0 - overlapping) * separation


def pipe_times(demand: Demand, costs: Costs, exponent: float | None = None) -> Mapping[Pipe, float]:
    """Return the time of each pipe of a GPU's compute units by itself, in ns.

    `exponent` is that with which pipes overlap, by default the one among the costs.
    """
    exponent = costs["p pipes"] if exponent is None else exponent
    times = dict.fromkeys(Pipe, 0.0)
    slot = costs["slot"]
    instruction = costs.special_instruction
    for work in demand.work:
        cost = costs.operations.get(work.name, slot)
        if work.name == ACCESS:
            cost = slot
        issuing = cost
        if work.pipe is Pipe.SPECIAL and not is_conversion(work.name):
            issuing = _issuing(cost, instruction, slot, exponent)
            cost = min(cost, instruction)
        elif work.pipe is not Pipe.ISSUE:
            issuing = min(slot, cost)
        times[Pipe.ISSUE] += work.warp_total * issuing
        if work.pipe is not Pipe.ISSUE:
            times[work.pipe] += work.warp_total * cost
    return {pipe: time * demand.busiest_share / demand.units for pipe, time in times.items()}


def _issuing(cost: float, instruction: float, slot: float, exponent: float) -> float:
    """Return the time that a function takes of the issue slots, in ns.

    A function is one instruction of its pipe among others that scale its argument and result. What it
    takes longer than that instruction shows how many they are, as pipes overlap with the exponent. Where
    it takes as long, they are hidden, and count as one.
    """
    if cost < _LONGER * instruction:
        return slot
    return max(slot, math.pow(cost**exponent - instruction**exponent, 1.0 / exponent))


def _local(demand: Demand, costs: Costs) -> float:
    cycles = demand.local_cycles * costs["local"]
    return (cycles + demand.barriers * costs["barrier"]) * demand.busiest_share / demand.units


def _l1(demand: Demand, costs: Costs) -> float:
    """Return the time of the near caches.

    Each request takes a bank cycle. Further bank cycles, further lines and misses overlap. Units
    that read images take longer.
    """
    missed = sum(_missed_lines(region, demand, costs) for region in demand.traffic)
    further = max(
        demand.bank_cycles * costs["bank"],
        demand.lines * costs["line"],
        missed * costs["line missed"],
    )
    requests = demand.requests * costs["bank"]
    if demand.texels:
        requests += demand.texels * costs["texel"]
    return (requests + further) * demand.busiest_share / demand.units


def _l2_sectors(region: Traffic, demand: Demand, costs: Costs) -> float:
    """Return the sectors that a region requests from the shared cache."""
    return shared_sectors(region, demand, _near_cache(costs))


def _near_cache(costs: Costs) -> CacheSize:
    return CacheSize(costs["l1 size"], costs["l1 sharpness"])


def _missed_lines(region: Traffic, demand: Demand, costs: Costs) -> float:
    """Return the line reads that miss the near cache."""
    if region.access is not Access.READ or not region.sectors:
        return 0.0
    return region.lines * min(_l2_sectors(region, demand, costs) / region.sectors, 1.0)


def _l2(region: Traffic, demand: Demand, costs: Costs) -> float:
    sectors = _l2_sectors(region, demand, costs)
    if region.access is Access.READ:
        return sectors * costs["sector read"]
    partial = region.partial_sectors
    return (sectors - partial) * costs["sector written"] + partial * costs["sector part written"]


def _missing_share(footprint_bytes: float, costs: Costs) -> float:
    """Return the share of a footprint that the shared cache does not keep from launch to launch."""
    return 1.0 - CacheSize(costs["l2 size"], costs["l2 sharpness"]).kept_share(footprint_bytes)


def _memory(region: Traffic, costs: Costs, missing: float) -> float:
    kind = "read" if region.access is Access.READ else "written"
    refetched = max(region.window_sectors - region.launch_sectors, 0.0)
    share = region.scattered_sectors / region.launch_sectors if region.launch_sectors else 0.0
    in_order = region.granule_bytes * (1.0 - share) * costs[f"byte {kind}"]
    at_random = region.scattered_sectors * costs[f"scattered {kind}"]
    once = in_order + at_random + region.fetched_bytes * costs["byte read"]
    return once * missing + refetched * once / max(region.launch_sectors, 1.0)


def _chains(demand: Demand, costs: Costs) -> float:
    """Return the time of operations that wait for each other's results."""
    waits = sum(wait.per_warp * costs.waits.get(wait.name, 0.0) for wait in demand.waits)
    return demand.serial_warps * waits


def _latency(demand: Demand, costs: Costs, missing: float) -> float:
    """Return the time for which warps wait for memory and for each other."""
    waits = demand.barriers / demand.warps * costs["wait barrier"]
    latencies = _read_latencies(demand, costs, missing)
    for reads in demand.reads:
        nearest = costs["wait local"] if reads.has_local else 0.0
        slowest = max(nearest, *(latencies[position] for position in reads.traffic), 0.0)
        waits += reads.per_warp * slowest
    turnover = (demand.waves - 1.0) * demand.group_warps * costs["turnover"]
    return demand.serial_warps * waits + turnover


def _read_latencies(demand: Demand, costs: Costs, missing: float) -> Sequence[float]:
    """Return the latency of a read of each region, in ns; 0 for regions that no warp waits for."""
    rounds = [0.0] * len(demand.traffic)
    for reads in demand.reads:
        for position in reads.traffic:
            rounds[position] += reads.per_warp
    return [
        _read_latency(region, count, demand, costs, missing) if count else 0.0
        for region, count in zip(demand.traffic, rounds, strict=True)
    ]


def _read_latency(
    region: Traffic, rounds: float, demand: Demand, costs: Costs, missing: float
) -> float:
    """Return the latency of a read of a region that a warp waits for `rounds` times, in ns."""
    shared = _shared_share(region, rounds, demand, costs)
    memory = shared * missing * region.new_share
    return (
        costs["wait l1"]
        + shared * (costs["wait l2"] - costs["wait l1"])
        + memory * (costs["wait memory"] - costs["wait l2"])
    )


def _shared_share(region: Traffic, rounds: float, demand: Demand, costs: Costs) -> float:
    """Return the share of a warp's waits for a region in which it waits for the shared cache.

    Of the reads that a wait is for, one has to move on to other sectors, and the near cache must not hold
    these. All of a group wait for the first of its warps to touch them. Where lanes walk along sectors
    side by side, they come to new ones at the same time.
    """
    reads = region.requests / demand.warps / rounds
    moves = min(region.moving_share * max(reads, 1.0), 1.0)
    moves = max(moves, lost_share(region, demand, _near_cache(costs)))
    fetched = _l2_sectors(region, demand, costs)
    return moves * min(fetched / max(region.step_sectors, 1e-9), 1.0)


def _atomics(region: Traffic, costs: Costs) -> float:
    if region.access is not Access.ATOMIC:
        return 0.0
    ways = max(region.launch_sectors * costs["atomic ways"], 1.0)
    serial = region.sectors * region.contention * costs["atomic"] / ways
    return max(serial, region.sectors * costs["sector part written"])
