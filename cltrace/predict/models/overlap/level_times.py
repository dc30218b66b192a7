"""The times of a GPU's caches, of memory, and of atomic operations, each by itself, in ns."""

from collections.abc import Sequence
from typing import Final

from cltrace.kernels.demand.caches import CacheSize, private_missing_share
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts
from cltrace.predict.models.overlap.near_misses import awaited_lines, missed_lines, near_misses
from cltrace.predict.models.prediction import Cache

_GRANULE_BYTES: Final = 64
_PAIRED_SAVING: Final = 0.25
"""Share of memory's time for two sectors of a granule at a random place that their reads together save.

Measured on an H200: reads of four members of structures of 64 B, two in each half, took 364, 484 and 703
us in 100, 300 and 1,000 MiB, of one number 308, 403 and 436.
"""


def near_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of the near caches.

    Each request takes a bank cycle. Further bank cycles, further lines, and lines that go to the shared
    cache overlap. Units that read images work meanwhile.
    """
    demand, misses = kept.demand, kept.part(near_misses, costs)
    missed = sum(map(awaited_lines, demand.traffic, misses.sectors))
    written = sum(region.lines for region in demand.traffic if region.access is Access.WRITE)
    further = max(
        demand.bank_cycles * costs["bank"],
        demand.lines * costs["line"],
        missed * costs["line missed"] + written * costs["line written"],
    )
    requests = (demand.requests * costs["bank"] + further) * demand.busiest_share / demand.units
    return max(requests, kept.part(texel_time, costs))


def texel_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of the units that read images."""
    demand = kept.demand
    if not demand.texels:
        return 0.0
    return demand.texels * costs["texel"] * demand.busiest_share / demand.units


def local_access_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of accesses to local memory."""
    demand = kept.demand
    return demand.local_cycles * costs["local"] * demand.busiest_share / demand.units


def shared_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time in which the shared cache serves all compute units."""
    return sum(kept.part(_shared_times, costs))


def shared_read_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of the shared cache for reads."""
    return _read_time(kept.demand.traffic, kept.part(_shared_times, costs))


def _shared_times(kept: KeptParts, costs: Constants) -> Sequence[float]:
    """Return the times of the shared cache, by region."""
    misses = kept.part(near_misses, costs)
    return [
        _shared_time(region, sectors, costs)
        for region, sectors in zip(kept.demand.traffic, misses.sectors, strict=True)
    ]


def _read_time(traffic: Sequence[Traffic], times: Sequence[float]) -> float:
    """Return the time of the regions that are read."""
    return sum(
        time for region, time in zip(traffic, times, strict=True) if region.access is Access.READ
    )


def _shared_time(region: Traffic, sectors: float, costs: Constants) -> float:
    """Return the time of a region. A read of a line takes as long for one sector as for the first two."""
    if region.access is Access.READ:
        lines = missed_lines(region, sectors)
        return max(sectors * costs["sector read"], lines * costs["line read"])
    partial = region.partial_sectors
    return (sectors - partial) * costs["sector written"] + partial * costs["sector part written"]


def missing_share(kept: KeptParts, costs: Constants) -> float:
    """Return the share of a footprint that the shared cache does not have when a launch begins."""
    if kept.cache is Cache.COLD:
        return 1.0
    size = CacheSize(costs["l2 size"], costs["l2 sharpness"])
    return 1.0 - size.kept_share(kept.demand.footprint_bytes)


def returning_share(kept: KeptParts, costs: Constants) -> float:
    """Return the share of what a wave of work-groups comes back to that the shared cache has lost.

    The cache holds what other launches touch at the same time as well.
    """
    traffic = [region for region in kept.demand.traffic if region.granule_bytes]
    launch = sum(region.launch_sectors for region in traffic)
    wave = sum(min(region.wave_sectors, region.launch_sectors) for region in traffic)
    size = CacheSize(costs["l2 size"], costs["l2 sharpness"])
    return 1.0 - size.kept_share(kept.demand.footprint_bytes * wave / launch if launch else 0.0)


def memory_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of memory."""
    return sum(kept.part(_memory_times, costs))


def memory_read_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of memory for reads."""
    return _read_time(kept.demand.traffic, kept.part(_memory_times, costs))


def _memory_times(kept: KeptParts, costs: Constants) -> Sequence[float]:
    """Return the times of memory, by region."""
    missing = kept.part(missing_share, costs)
    misses = kept.part(near_misses, costs)
    private = kept.part(private_share, costs)
    return [
        private * _private_memory_time(region, sectors, kept.demand.sector_bytes, costs)
        if region.memory == PRIVATE_MEMORY
        else _memory_time(region, costs, missing)
        for region, sectors in zip(kept.demand.traffic, misses.sectors, strict=True)
    ]


def private_share(kept: KeptParts, costs: Constants) -> float:
    """Return the share of the private variables of resident work-groups that the shared cache lacks."""
    shared = CacheSize(costs["l2 size"], costs["l2 sharpness"])
    return private_missing_share(kept.demand, shared)


def _private_memory_time(
    region: Traffic, requested: float, sector_bytes: int, costs: Constants
) -> float:
    """Return the time of memory for private variables of which the shared cache has none.

    `requested` are the sectors that go to the shared cache. Those without a neighbour cost a granule when
    they are read, and a read when they are written.
    """
    kind = "read" if region.access is Access.READ else "written"
    alone = region.scattered_sectors / max(region.sectors, 1e-9)
    cost_in_order = sector_bytes * costs[f"byte {kind}"]
    cost_alone = (
        _GRANULE_BYTES * costs["byte read"] if kind == "read" else costs["scattered written"]
    )
    return requested * ((1.0 - alone) * cost_in_order + alone * cost_alone)


def _memory_time(region: Traffic, costs: Constants, missing: float) -> float:
    kind = "read" if region.access is Access.READ else "written"
    refetched = max(region.window_sectors - region.launch_sectors, 0.0)
    share = region.scattered_sectors / region.launch_sectors if region.launch_sectors else 0.0
    in_order = region.granule_bytes * (1.0 - share) * costs[f"byte {kind}"]
    alone = 1.0 - _PAIRED_SAVING * region.paired_share
    at_random = alone * region.scattered_sectors * costs[f"scattered {kind}"]
    once = in_order + at_random + region.fetched_bytes * costs["byte read"]
    return once * missing + refetched * once / max(region.launch_sectors, 1.0)


def atomics_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of atomic operations."""
    return sum(
        _atomics_time(region, costs)
        for region in kept.demand.traffic
        if region.access is Access.ATOMIC
    )


def _atomics_time(region: Traffic, costs: Constants) -> float:
    ways = max(region.launch_sectors * costs["atomic ways"], 1.0)
    serial = region.sectors * region.contention * costs["atomic"] / ways
    return max(serial, region.sectors * costs["sector part written"])
