"""The times of a launch's parts on a CPU, whose work-items are trips of a loop.

A thread runs the work-items of its work-groups one after another, as vectors where the compiler made
them, and moves cache lines while it computes. All threads share the last cache and the memory.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.demand.caches import CacheSize
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.operations import ACCESS, Pipe
from cltrace.kernels.demand.reads import Reads
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.arrivals import ArrivalTimes
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.parts import Times, overlap
from cltrace.predict.models.prediction import Cache

_SHARPNESS: Final = 4.0
"""Steepness with which the share of a footprint that a private cache keeps falls with its size."""
_SHARED_PASSES: Final = 1.5
"""Passes of all work-groups over a region from which they share its lines."""
_LINE_BYTES: Final = 64
_FIRST_PERIOD_BYTES: Final = 4 << 10
"""Distance of lines in the same set of a first cache: a page, as it is indexed beside translation."""
_SECOND_PERIOD_BYTES: Final = 64 << 10
"""The same of a second cache: 1,024 sets or more."""
_CORES_OF_LINE: Final = 4.0
"""Cores per line from which all atomic operations wait for another core."""
_RANDOM: Final = 0.9
"""Share of jumping accesses from which a region is read at random places."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of a region that come from the second cache, the shared cache and memory."""

    second: float
    shared: float
    memory: float


@dataclass(frozen=True, slots=True)
class _WorkingSets:
    """Bytes that a core touches before it comes back to a line, by what runs in between.

    Attributes:
        step: those of a work-item or vector, between two accesses of a place.
        group: those of a work-group.
        launch: those of all its work-groups.
    """

    step: float
    group: float
    launch: float

    @classmethod
    def of(cls, demand: Demand) -> "_WorkingSets":
        """Return the working sets of a launch."""
        lines = sum(region.repeated_lines for region in demand.traffic) / demand.steps
        return cls(
            step=lines * demand.sector_bytes,
            group=demand.reused_bytes,
            launch=demand.footprint_bytes / demand.units,
        )


def processor_times(demand: Demand, costs: Costs, cache: Cache) -> Times:
    """Return the times of a launch's parts on a CPU for a state of the caches."""
    sets = _WorkingSets.of(demand)
    lines = [_lines(region, demand, sets, costs, cache) for region in demand.traffic]
    in_flight = _items_in_flight(demand, costs)
    computing = _computing(demand, costs)
    accessing = _accessing(demand, costs)
    images, branches = _image_calls(demand, costs), _mispredictions(demand, costs)
    barriers = demand.barriers * costs["barrier"]
    per_unit = demand.busiest_share / demand.units
    chains = demand.serial_warps * _waits(demand, costs) / in_flight
    latency = demand.serial_warps * _latency(demand, lines, costs) / in_flight
    moved = _moved(demand, lines)
    private = sum((_private_ns(region, each, costs) for region, each in moved), 0.0) * per_unit
    memory = sum((_memory_ns(region, each, costs) for region, each in moved), 0.0)
    atomics = _atomics(demand, costs)
    issued = (computing + branches + accessing + images + barriers) * per_unit
    working = overlap((issued, chains + latency), costs["p waiting"])
    moving = overlap((private, memory), costs["p levels"])
    body = overlap((working, moving), costs["p body"]) + atomics
    dispatch = demand.groups * costs["group"]
    dispatch += math.log2(max(demand.groups, 1)) * costs["doubling"]
    woken = demand.units / demand.compute_units
    launch = costs["launch"] + costs["first"] * min(demand.accesses, 1.0) * woken
    return Times(
        launch=launch,
        delay=ArrivalTimes(),
        dispatch=dispatch,
        pipes={Pipe.ISSUE: (computing + branches) * per_unit},
        chains=chains,
        local=barriers * per_unit,
        l1=(accessing + images) * per_unit,
        l2=private,
        memory=memory,
        latency=latency,
        atomics=atomics,
        total_ns=launch + overlap((dispatch, body), costs["p dispatch"]),
    )


def _moved(demand: Demand, lines: Sequence[_Lines]) -> list[tuple[Traffic, _Lines]]:
    """Return the regions that are read or written, each with its lines."""
    return [
        (region, each)
        for region, each in zip(demand.traffic, lines, strict=True)
        if region.access is not Access.ATOMIC
    ]


def _atomics(demand: Demand, costs: Costs) -> float:
    """Return the time of atomic operations: those in local memory are those of one core alone."""
    total = demand.processor.local_atomics * costs["atomic alone"]
    for region in demand.traffic:
        if region.access is Access.ATOMIC:
            shared = _contended_share(region, demand)
            cost = (1.0 - shared) * costs["atomic alone"] + shared * costs["atomic"]
            total += region.accesses * cost
    return total / demand.units


def _contended_share(region: Traffic, demand: Demand) -> float:
    """Return the share of atomic operations that wait for another core, which has the line at the time.

    Of 16 cores that add to 1, 4, 16, 64, 256, 1,024 and 4,096 lines, these were all, all, 43, 32, 21, 16
    and 6 %.
    """
    if demand.units <= 1.0:
        return 0.0
    cores_of_line = demand.units / max(region.launch_sectors, 1.0)
    return min(math.sqrt(cores_of_line / _CORES_OF_LINE), 1.0)


def _computing(demand: Demand, costs: Costs) -> float:
    """Return the time of operations: of vectors, or of work-items one after another.

    The latter take a place in the processor's queue each, however little there is to do.
    """
    single, each = demand.item_share, costs["item operation"]
    total = 0.0
    for work in demand.work:
        if work.name != ACCESS:
            cost = costs.operations.get(work.name, 0.0)
            total += work.warp_total * ((1.0 - single) * cost + single * max(cost, each))
    return total


def _image_calls(demand: Demand, costs: Costs) -> float:
    """Return the time of the functions that read and write images."""
    work = demand.processor
    reads = work.image_reads * costs["image read"] + work.image_blends * costs["image blend"]
    return reads + work.image_writes * costs["image write"]


def _mispredictions(demand: Demand, costs: Costs) -> float:
    return demand.processor.mispredictions * costs["misprediction"]


def _accessing(demand: Demand, costs: Costs) -> float:
    """Return the time of access instructions: of vectors, some with masks, and of single work-items."""
    work, by_items = demand.processor, demand.item_share
    vectors = max(demand.requests + demand.local_requests - work.item_accesses, 0.0)
    vectors += (1.0 - by_items) * work.kept_values
    single = work.item_accesses + work.private_accesses + by_items * work.kept_values
    masked = work.masked_stores * costs["masked store"]
    return vectors * costs["bank"] + masked + single * costs["item access"]


def _waits(demand: Demand, costs: Costs) -> float:
    """Return the time for which a vector waits for results; an operation takes at least its own time."""
    return sum(
        wait.per_warp * max(costs.waits.get(wait.name, 0.0), costs.operations.get(wait.name, 0.0))
        for wait in demand.waits
    )


def _items_in_flight(demand: Demand, costs: Costs) -> float:
    """Return the vectors or work-items whose operations a core has in flight together, at least 1."""
    per_step = demand.operations * demand.warps / demand.steps
    return max(costs["window"] / max(per_step, 1.0), 1.0)


def _lines(
    region: Traffic, demand: Demand, sets: _WorkingSets, costs: Costs, cache: Cache
) -> _Lines:
    first_size = costs["l1 size"] * _set_share(region, _FIRST_PERIOD_BYTES)
    second_size = costs["l2 size"] * _set_share(region, _SECOND_PERIOD_BYTES)
    second = _requested(region, demand, sets, first_size)
    shared = min(_requested(region, demand, sets, second_size), second)
    missing = 1.0
    if cache is Cache.WARM:
        size = CacheSize(costs["l3 size"], costs["l3 sharpness"])
        missing = 1.0 - size.kept_share(demand.footprint_bytes)
    return _Lines(second, shared, missing * min(shared, region.launch_sectors))


def _set_share(region: Traffic, period_bytes: int) -> float:
    """Return the share of a cache's sets that lines at equal distances use."""
    distance = math.gcd(region.lattice_bytes, period_bytes)
    return min(_LINE_BYTES / distance, 1.0) if region.lattice_bytes else 1.0


def _requested(region: Traffic, demand: Demand, sets: _WorkingSets, size_bytes: float) -> float:
    """Return the lines that a region requests from beyond a private cache of a size.

    The cache may hold what a work-group touches, or at least what one work-item or vector does between
    two accesses of a place: then the next one finds the line that they share.
    """
    private = CacheSize(size_bytes, _SHARPNESS)
    of_group, of_step = private.kept_share(sets.group), private.kept_share(sets.step)
    again = region.group_sectors
    if region.access is Access.READ:
        again = max(region.step_sectors, again)
    every = max(region.repeated_lines, again)
    requested = of_group * region.group_sectors
    requested += (1.0 - of_group) * (of_step * again + (1.0 - of_step) * every)
    region_bytes = region.launch_sectors * demand.sector_bytes
    return (1.0 - _hit_share(region, region_bytes, sets, private)) * requested


def _hit_share(
    region: Traffic, region_bytes: float, sets: _WorkingSets, private: CacheSize
) -> float:
    """Return the share of a region that a core still has from the work-groups or launches before."""
    if region.access is Access.READ and region.jumping_share > _RANDOM:
        return min(private.size_bytes / max(region_bytes, 1.0), 1.0)
    if region.group_sectors > _SHARED_PASSES * region.launch_sectors:
        return private.kept_share(region_bytes)
    return private.kept_share(sets.launch)


def _private_ns(region: Traffic, lines: _Lines, costs: Costs) -> float:
    """Return the time for which cores wait for lines of the second and the shared cache."""
    jumping = region.jumping_share
    second = (1.0 - jumping) * costs["line l2"] + jumping * costs["jump l2"]
    shared = (1.0 - jumping) * costs["line l3"] + jumping * costs["jump l3"]
    return _direction(region, costs) * (lines.second * second + lines.shared * shared)


def _memory_ns(region: Traffic, lines: _Lines, costs: Costs) -> float:
    jumping = region.jumping_share
    line = (1.0 - jumping) * costs["line memory"] + jumping * costs["jump memory"]
    return _direction(region, costs) * lines.memory * line


def _direction(region: Traffic, costs: Costs) -> float:
    return 1.0 if region.access is Access.READ else costs["writing"]


def _latency(demand: Demand, lines: Sequence[_Lines], costs: Costs) -> float:
    """Return the time for which a vector waits for reads that depend on each other."""
    return sum(
        reads.per_warp * _read_latency(reads, demand, lines, costs) for reads in demand.reads
    )


def _read_latency(reads: Reads, demand: Demand, lines: Sequence[_Lines], costs: Costs) -> float:
    slowest = costs["wait local"] if reads.has_local else 0.0
    for position in reads.traffic:
        region, by_items = demand.traffic[position], demand.item_share
        read = max((1.0 - by_items) * region.sectors + by_items * region.accesses, 1.0)
        second, shared, memory = (
            min(number / read, 1.0)
            for number in (lines[position].second, lines[position].shared, lines[position].memory)
        )
        latency = costs["wait l1"] + second * (costs["wait l2"] - costs["wait l1"])
        latency += shared * (costs["wait l3"] - costs["wait l2"]) + memory * costs["wait memory"]
        slowest = max(slowest, latency)
    return slowest
