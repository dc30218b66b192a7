"""The times of a launch's parts, and how they overlap."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.demand.caches import CacheSize, shared_sectors
from cltrace.kernels.demand.launch import Demand, Traffic
from cltrace.kernels.demand.operations import Pipe
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.prediction import Cache

Costs = Mapping[str, float]
"""By name: what each thing costs, in ns unless its unit says otherwise."""
_FEW_GROUPS: Final = 2.0
"""So many work-groups of a unit are as one: what each does, the other does at the same time."""


def overlapped(times: Iterable[float], exponent: float) -> float:
    """The p-norm of times: their sum for 1, the longest of them for infinity."""
    known = [time for time in times if time > 0.0]
    longest = max(known, default=0.0)
    if not longest:
        return 0.0
    total: float = sum((time / longest) ** exponent for time in known)
    return float(longest * total ** (1.0 / exponent))


@dataclass(frozen=True, slots=True)
class Times:
    """What each part of a device would take for a launch by itself, in ns; `total_ns` together."""

    launch: float
    dispatch: float
    pipes: Mapping[Pipe, float]
    chains: float
    local: float
    l1: float
    l2: float
    memory: float
    latency: float
    atomics: float
    total_ns: float

    def parts(self) -> Mapping[str, float]:
        """The parts by name."""
        return {
            "launch": self.launch,
            "dispatch": self.dispatch,
            **{str(pipe): time for pipe, time in self.pipes.items()},
            "chains of operations": self.chains,
            "local memory and barriers": self.local,
            "L1": self.l1,
            "L2": self.l2,
            "memory": self.memory,
            "latency": self.latency,
            "atomics": self.atomics,
        }


def times_of(demand: Demand, costs: Costs, cache: Cache = Cache.WARM) -> Times:
    """The times of a launch's parts."""
    pipes = _pipes(demand, costs)
    missing = 1.0
    if cache is Cache.WARM:
        missing = _missing_share(demand.footprint_bytes, costs)
    local = _local(demand, costs)
    l1 = _l1(demand, costs)
    l2 = sum(_l2(one, demand, costs) for one in demand.traffic)
    memory = sum(_memory(one, costs, missing) for one in demand.traffic)
    latency = _latency(demand, costs, missing)
    atomics = sum(
        _atomics(one, demand, costs) for one in demand.traffic if one.access is Access.ATOMIC
    )
    dispatch = _dispatch(demand, costs)
    apart = _apart(demand, costs["phases"])
    levels = overlapped((l1, l2, memory, atomics), costs["p levels"])
    moving = overlapped((levels, latency), _norm(costs["p waiting"], apart))
    chains = _chains(demand, costs)
    working = overlapped((*pipes.values(), chains), costs["p pipes"])
    data = overlapped((local, moving), costs["p body"])
    body = overlapped((working, data), _norm(costs["p body"], _in_step(demand, costs["steps"])))
    launch = costs["launch"] + costs["first"] * min(demand.accesses, 1.0)
    total = launch + overlapped((dispatch, body), costs["p dispatch"])
    return Times(launch, dispatch, pipes, chains, local, l1, l2, memory, latency, atomics, total)


def _dispatch(demand: Demand, costs: Costs) -> float:
    """What handing out work-groups takes."""
    each = max(costs["group"], costs["warp"] * demand.group_warps)
    return demand.groups * each + math.log2(max(demand.groups, 1)) * costs["doubling"]


def _apart(demand: Demand, phases: float) -> float:
    """How little the parts of a work-group's life overlap, from 0 to 1.

    Who waits for memory or at a barrier does so with its neighbours: groups begin together, wait and
    write together. Who does not wait, or does more than `phases` accesses, is elsewhere than they are.
    """
    waits = demand.rounds + demand.barriers / demand.warps
    return min(waits, 1.0) * min(1.0, phases / max(demand.accesses, 1.0))


def _in_step(demand: Demand, steps: float) -> float:
    """How little computing overlaps with moving data, from 0 to 1.

    The few work-groups that a unit holds begin together, and compute together before they read or
    write together. Warps that do more than `steps` operations drift apart, and so do many groups.
    """
    held = min(demand.wave_groups, demand.groups) / demand.units
    return min(1.0, steps / max(demand.operations, 1.0)) * min(1.0, _FEW_GROUPS / max(held, 1.0))


def _norm(many: float, apart: float) -> float:
    """The exponent between `many`, where parts overlap, and 1, where they follow each other."""
    return many + (1.0 - many) * apart


def _pipes(demand: Demand, costs: Costs) -> Mapping[Pipe, float]:
    found = dict.fromkeys(Pipe, 0.0)
    slot = costs["slot"]
    for work in demand.work:
        each = costs.get(f"{work.name}", slot)
        if work.name == "access":
            each = 0.0 if demand.has_item_loops else slot
        if work.pipe is Pipe.ISSUE:
            found[Pipe.ISSUE] += work.warp_total * each
        else:
            if not demand.has_item_loops:
                found[Pipe.ISSUE] += work.warp_total * min(slot, each)
            found[work.pipe] += work.warp_total * each
    return {pipe: time / demand.units for pipe, time in found.items()}


def _local(demand: Demand, costs: Costs) -> float:
    rounds = demand.local_cycles * costs["local"]
    return (rounds + demand.barriers * costs["barrier"]) / demand.units


def _l1(demand: Demand, costs: Costs) -> float:
    """Each request takes a round of banks; further ones, further lines and misses go on together."""
    missed = sum(_missed_lines(one, demand, costs) for one in demand.traffic)
    further = max(
        demand.bank_cycles * costs["bank"],
        demand.lines * costs["line"],
        missed * costs["line missed"],
    )
    return (demand.requests * costs["bank"] + further) / demand.units


def _l2_sectors(one: Traffic, demand: Demand, costs: Costs) -> float:
    """The sectors that a site asks of the shared cache."""
    return shared_sectors(one, demand, CacheSize(costs["l1 size"], costs["l1 sharpness"]))


def _missed_lines(one: Traffic, demand: Demand, costs: Costs) -> float:
    """How often a line is read of which the near cache has not what is wanted."""
    if one.access is not Access.READ or not one.sectors:
        return 0.0
    return one.lines * min(_l2_sectors(one, demand, costs) / one.sectors, 1.0)


def _l2(one: Traffic, demand: Demand, costs: Costs) -> float:
    sectors = _l2_sectors(one, demand, costs)
    if one.access is Access.READ:
        return sectors * costs["sector read"]
    return (sectors - one.partial_sectors) * costs["sector written"] + one.partial_sectors * costs[
        "sector part written"
    ]


def _missing_share(footprint_bytes: float, costs: Costs) -> float:
    """The share of a footprint that the shared cache does not keep from run to run."""
    return 1.0 - CacheSize(costs["l2 size"], costs["l2 sharpness"]).kept(footprint_bytes)


def _memory(one: Traffic, costs: Costs, missing: float) -> float:
    is_read = one.access is Access.READ
    kind = "read" if is_read else "written"
    again = max(one.window_sectors - one.launch_sectors, 0.0)
    share = one.scattered_sectors / one.launch_sectors if one.launch_sectors else 0.0
    in_order = one.granule_bytes * (1.0 - share) * costs[f"byte {kind}"]
    at_random = one.scattered_sectors * costs[f"scattered {kind}"]
    moved = in_order + at_random
    return moved * missing + again * moved / max(one.launch_sectors, 1.0)


def _chains(demand: Demand, costs: Costs) -> float:
    """What operations take that wait for each other."""
    waits = sum(wait.per_warp * costs.get(f"wait {wait.name}", 0.0) for wait in demand.waits)
    if demand.has_item_loops:
        waits *= 1.0 - min(costs["window"] / max(demand.operations, 1.0), 1.0)
    return demand.turns * waits


def _latency(demand: Demand, costs: Costs, missing: float) -> float:
    """What warps wait for memory and for each other."""
    waits = demand.barriers / demand.warps * costs["wait barrier"]
    rounds = [0.0] * len(demand.traffic)
    for reads in demand.reads:
        for position in reads.traffic:
            rounds[position] += reads.per_warp
    known = [
        _distance_ns(one, many, demand, costs, missing) if many else 0.0
        for one, many in zip(demand.traffic, rounds, strict=True)
    ]
    for reads in demand.reads:
        nearest = costs["wait local"] if reads.has_local else 0.0
        waits += reads.per_warp * max(nearest, *(known[at] for at in reads.traffic), 0.0)
    between = (demand.waves - 1.0) * demand.group_warps * costs["turnover"]
    return demand.turns * waits + between


def _distance_ns(
    one: Traffic, rounds: float, demand: Demand, costs: Costs, missing: float
) -> float:
    """How long a read of a region takes to come."""
    far = _far_share(one, rounds, demand, costs)
    farthest = far * missing * one.new_share
    return (
        costs["wait l1"]
        + far * (costs["wait l2"] - costs["wait l1"])
        + farthest * (costs["wait memory"] - costs["wait l2"])
    )


def _far_share(one: Traffic, rounds: float, demand: Demand, costs: Costs) -> float:
    """How much of its waiting for a region a warp waits for the shared cache.

    It does when any warp of its group is the first to touch something, as all then wait for it.
    """
    asked = max(one.group_sectors, 1e-9)
    is_new = min(asked / demand.groups / rounds, 1.0)
    return is_new * min(_l2_sectors(one, demand, costs) / asked, 1.0)


def _atomics(one: Traffic, demand: Demand, costs: Costs) -> float:
    if demand.has_item_loops:
        return one.accesses * costs["atomic"] / demand.units
    ways = max(one.launch_sectors * costs["atomic ways"], 1.0)
    serial = one.sectors * one.contention * costs["atomic"] / ways
    return max(serial, one.sectors * costs["sector part written"])
