"""The times of a launch's parts, and their overlap."""

import math
from collections.abc import Sequence
from typing import Final

from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels.demand.caches import CacheSize
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.arrivals import arrival_times
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.kept_parts import KeptParts, NearMisses
from cltrace.predict.models.overlap.parts import Times, overlap
from cltrace.predict.models.overlap.processor_times import processor_times
from cltrace.predict.models.prediction import Cache

_BARRIER_WARPS: Final = 8.0
_SCHEDULERS: Final = 4.0
"""Schedulers of a compute unit, each of which issues for its own warps."""
_FURTHER_READ: Final = 0.04
"""Share by which a warp waits longer for each further read in flight with the first.

Measured on an H200, for up to 32 reads: 163 ns for one from the shared cache, 183 for 4, 265 for 16, 510
for 32; 370, 460, 620 and 1,180 from memory.
"""
_MAX_TOGETHER: Final = 32.0
"""Reads in flight together up to which that is known."""


def times_of(
    demand: Demand,
    costs: Costs,
    cache: Cache = Cache.WARM,
    arrivals: Sequence[Arrival] = (STEADY,),
    kept: KeptParts | None = None,
) -> Times:
    """Return the times of a launch's parts for a state of the caches and of the device.

    `kept` has the parts of an earlier evaluation of the same launch.
    """
    if demand.has_item_loops:
        return processor_times(demand, costs, cache)
    return _gpu_times(demand, costs, cache, arrivals, KeptParts(demand) if kept is None else kept)


def _gpu_times(
    demand: Demand, costs: Costs, cache: Cache, arrivals: Sequence[Arrival], kept: KeptParts
) -> Times:
    pipes, misses = kept.pipes(costs), kept.near_misses(costs)
    missing = _missing_share(demand.footprint_bytes, costs) if cache is Cache.WARM else 1.0
    local = _local(demand, costs)
    l1 = _l1(demand, costs, misses)
    l2 = sum(
        _l2(*requested, costs) for requested in zip(demand.traffic, misses.sectors, strict=True)
    )
    memory = sum(_memory(region, costs, missing) for region in demand.traffic)
    latency = _latency(demand, costs, missing, misses)
    atomics = sum(_atomics(region, costs) for region in demand.traffic)
    dispatch = _dispatch(demand, costs)
    body_norm = _norm(costs["p body"], _lock_step(demand, costs))
    levels = overlap((l1, l2, memory, atomics), costs["p levels"])
    chains = _chains(demand, costs)
    # A warp does not use the caches while it waits: alone on its unit, it takes both times.
    waiting = latency + chains + levels / demand.unit_warps
    moving = overlap((levels, waiting), _waiting_norm(demand, costs, memory, levels))
    working = _working(demand, overlap(pipes.values(), costs["p pipes"]), chains)
    data = overlap((local, moving), costs["p body"])
    body = overlap((working, data), body_norm)
    delay = arrival_times(arrivals, costs.constants)
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


def _waiting_norm(demand: Demand, costs: Costs, memory: float, levels: float) -> float:
    """Return the exponent with which waiting overlaps with the caches and memory.

    Where memory is the limit, reads wait longer, the more of them there are. Near caches are not slower
    if they have more to do.
    """
    share = (memory / levels) ** 2 if levels else 0.0
    overlapping = costs["p near"] + (costs["p waiting"] - costs["p near"]) * share
    return _norm(overlapping, _phase_separation(demand, costs["phases"]))


def _phase_separation(demand: Demand, phases: float) -> float:
    """Return the separation of the phases of a work-group's life, from 0 (they overlap) to 1.

    Work-groups that wait for memory or at a barrier do so with their neighbours: they begin together,
    wait together and write together. Work-groups that never wait, or that make more than `phases`
    accesses, drift apart.
    """
    waits = demand.rounds + demand.barriers / demand.warps
    return min(waits, 1.0) * min(1.0, phases / max(demand.accesses, 1.0))


def _solitude(demand: Demand) -> float:
    """Return 1 for a single warp on each scheduler of a compute unit, falling to 0 for many."""
    return min(1.0, _SCHEDULERS / demand.unit_warps)


def _working(demand: Demand, pipes: float, chains: float) -> float:
    """Return the time of the pipes beside that of the chains of a warp that is alone.

    It waits for the operations of its chains while they take their issue slots.
    """
    alone = _solitude(demand)
    return pipes - alone * min(alone * pipes, chains)


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


def _local(demand: Demand, costs: Costs) -> float:
    """Return the time of local memory, or of barriers, which work-groups pass while others access it."""
    busy = max(demand.local_cycles * costs["local"], demand.barriers * costs["barrier"])
    return busy * demand.busiest_share / demand.units


def _l1(demand: Demand, costs: Costs, misses: NearMisses) -> float:
    """Return the time of the near caches.

    Each request takes a bank cycle. Further bank cycles, further lines, and lines that go to the shared
    cache overlap. Units that read images take longer.
    """
    missed = sum(map(_missed_lines, demand.traffic, misses.sectors))
    written = sum(region.lines for region in demand.traffic if region.access is Access.WRITE)
    further = max(
        demand.bank_cycles * costs["bank"],
        demand.lines * costs["line"],
        missed * costs["line missed"] + written * costs["line written"],
    )
    requests = demand.requests * costs["bank"]
    if demand.texels:
        requests += demand.texels * costs["texel"]
    return (requests + further) * demand.busiest_share / demand.units


def _missed_lines(region: Traffic, requested: float) -> float:
    """Return the lines that are read from the shared cache, which sees `requested` sectors.

    Lines that atomic operations change count as well.
    """
    if region.access is Access.ATOMIC:
        return region.lines
    if region.access is Access.WRITE or not region.sectors:
        return 0.0
    return region.lines * min(requested / region.sectors, 1.0)


def _l2(region: Traffic, sectors: float, costs: Costs) -> float:
    """Return the time in which the shared cache serves `sectors` of a region to all compute units.

    A read of a line takes as long for one sector as for the first two.
    """
    if region.access is Access.READ:
        lines = _missed_lines(region, sectors)
        return max(sectors * costs["sector read"], lines * costs["line read"])
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


def _latency(demand: Demand, costs: Costs, missing: float, misses: NearMisses) -> float:
    """Return the time for which warps wait for memory and for each other."""
    waits = demand.barriers / demand.warps * _barrier_wait(demand, costs)
    latencies = _read_latencies(demand, costs, missing, misses)
    for reads in demand.reads:
        nearest = costs["wait local"] if reads.has_local else 0.0
        slowest = max(nearest, *(latencies[position] for position in reads.traffic), 0.0)
        waits += reads.per_warp * slowest
    turnover = (demand.waves - 1.0) * demand.group_warps * costs["turnover"]
    return demand.serial_warps * waits + turnover


def _barrier_wait(demand: Demand, costs: Costs) -> float:
    """Return the wait of a warp at a barrier, in ns: longer for more warps. The cost is that of eight."""
    return costs["wait barrier"] * math.sqrt(demand.group_warps / _BARRIER_WARPS)


def _read_latencies(
    demand: Demand, costs: Costs, missing: float, misses: NearMisses
) -> Sequence[float]:
    """Return the latency of a read of each region, in ns; 0 for regions that no warp waits for."""
    rounds = [0.0] * len(demand.traffic)
    for reads in demand.reads:
        for position in reads.traffic:
            rounds[position] += reads.per_warp
    shares = [
        _shared_share(region, count, demand, sectors, lost) if count else 0.0
        for region, count, sectors, lost in zip(
            demand.traffic, rounds, misses.sectors, misses.lost_shares, strict=True
        )
    ]
    return [
        _read_latency(region, share, costs, missing) * _spread(region) if count else 0.0
        for region, count, share in zip(demand.traffic, rounds, shares, strict=True)
    ]


def _spread(region: Traffic) -> float:
    """Return how much longer a warp waits for all reads of a region that are in flight than for one."""
    return 1.0 + _FURTHER_READ * (min(region.reads_per_wait, _MAX_TOGETHER) - 1.0)


def _read_latency(region: Traffic, shared: float, costs: Costs, missing: float) -> float:
    """Return the latency of a read of a region, in ns.

    `shared` is the share of its waits that are for the shared cache.
    """
    memory = shared * missing * region.new_share
    return (
        costs["wait l1"]
        + shared * (costs["wait l2"] - costs["wait l1"])
        + memory * (costs["wait memory"] - costs["wait l2"])
    )


def _shared_share(
    region: Traffic, rounds: float, demand: Demand, requested: float, lost: float
) -> float:
    """Return the share of a warp's waits for a region in which it waits for the shared cache.

    Of the reads that a wait is for, one has to move on to other sectors, and the near cache must not hold
    these. All of a group wait for the first of its warps to touch them. Where lanes walk along sectors
    side by side, they come to new ones at the same time. `rounds` are the waits of a warp for the region,
    `requested` and `lost` its near misses.
    """
    reads = region.requests / demand.warps / rounds
    moves = min(region.moving_share * max(reads, 1.0), 1.0)
    moves = max(moves, lost)
    return moves * min(requested / max(region.step_sectors, 1e-9), 1.0)


def _atomics(region: Traffic, costs: Costs) -> float:
    if region.access is not Access.ATOMIC:
        return 0.0
    ways = max(region.launch_sectors * costs["atomic ways"], 1.0)
    serial = region.sectors * region.contention * costs["atomic"] / ways
    return max(serial, region.sectors * costs["sector part written"])
