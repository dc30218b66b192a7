"""The time for which the warps of a GPU wait."""

import math
from collections.abc import Sequence
from typing import Final

from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.demand.reads import Reads
from cltrace.kernels.demand.traffic import Traffic
from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts
from cltrace.predict.models.overlap.level_times import (
    missing_share,
    private_share,
    returning_share,
)
from cltrace.predict.models.overlap.near_misses import near_misses

_BARRIER_WARPS: Final = 8.0
_FURTHER_READ: Final = 0.04
"""Share by which a warp waits longer for each further read in flight with the first.

Measured on an H200, for up to 32 reads: 163 ns for one from the shared cache, 183 for 4, 265 for 16, 510
for 32; 370, 460, 620 and 1,180 from memory.
"""
_IN_FLIGHT: Final = 20.0
"""Reads of a warp that are in flight together at most: further ones take the registers of others.

On an H200, two warps per compute unit took 39 ns for each number of a column in loops that were unrolled
16 times, and 35 where it was 64 times: 20 of the reads had registers at a time.
"""


def latency(kept: KeptParts, costs: Constants) -> float:
    """Return the time for which warps wait for memory and for each other, where nothing else does."""
    demand = kept.demand
    waits = demand.barriers / demand.warps * _barrier_wait(demand, costs)
    latencies = kept.part(_read_latencies, costs)
    for reads in demand.reads:
        nearest = costs["wait local"] if reads.has_local else 0.0
        waits += reads.per_warp * max(nearest, _wait(reads, demand, latencies))
    turnover = (demand.waves - 1.0) * demand.group_warps * costs["turnover"]
    return demand.serial_warps * waits + turnover


def far_latency(kept: KeptParts, costs: Constants) -> float:
    """Return the time for which warps wait for reads beyond their near cache."""
    demand, near = kept.demand, costs["wait l1"]
    latencies = kept.part(_read_latencies, costs)
    waits = sum(
        reads.per_warp * (max(near, _wait(reads, demand, latencies)) - near)
        for reads in demand.reads
    )
    return demand.serial_warps * waits


def _barrier_wait(demand: Demand, costs: Constants) -> float:
    """Return the wait of a warp at a barrier, in ns: longer for more warps. The cost is that of eight."""
    return costs["wait barrier"] * math.sqrt(demand.group_warps / _BARRIER_WARPS)


def _read_latencies(kept: KeptParts, costs: Constants) -> Sequence[float]:
    """Return the latency of a read of each region, in ns; 0 for regions that no warp waits for."""
    demand, misses = kept.demand, kept.part(near_misses, costs)
    missing, lost_again = kept.part(missing_share, costs), kept.part(returning_share, costs)
    private = kept.part(private_share, costs)
    rounds = [0.0] * len(demand.traffic)
    for reads in demand.reads:
        for position in reads.traffic:
            rounds[position] += reads.per_warp
    return [
        _read_latency(
            _shared_share(region, count, demand, sectors, lost),
            private
            if region.memory == PRIVATE_MEMORY
            else _memory_share(region, sectors, missing, lost_again),
            costs,
        )
        if count
        else 0.0
        for region, count, sectors, lost in zip(
            demand.traffic, rounds, misses.sectors, misses.lost_shares, strict=True
        )
    ]


def _wait(reads: Reads, demand: Demand, latencies: Sequence[float]) -> float:
    """Return the wait of a warp for reads that do not wait for one another, in ns.

    Those of one memory add to it. As many as can be in flight follow one another.
    """
    together: dict[str, float] = {}
    for position in reads.traffic:
        region = demand.traffic[position]
        together[region.memory] = together.get(region.memory, 0.0) + region.reads_per_wait
    turns = max(sum(together.values()) / _IN_FLIGHT, 1.0)
    return turns * max(
        (
            latencies[position] * _spread(together[demand.traffic[position].memory])
            for position in reads.traffic
        ),
        default=0.0,
    )


def _spread(together: float) -> float:
    """Return how much longer a warp waits for so many reads in flight than for one."""
    return 1.0 + _FURTHER_READ * (min(max(together, 1.0), _IN_FLIGHT) - 1.0)


def _read_latency(shared: float, missing: float, costs: Constants) -> float:
    """Return the latency of a read, in ns.

    `shared` is the share of waits for the shared cache, `missing` that of these which are for memory.
    """
    return (
        costs["wait l1"]
        + shared * (costs["wait l2"] - costs["wait l1"])
        + shared * missing * (costs["wait memory"] - costs["wait l2"])
    )


def _memory_share(region: Traffic, requested: float, missing: float, lost_again: float) -> float:
    """Return the share of `requested` sectors of a region that come from memory.

    In a filter, work-groups come to the rows that others have read some trips before. Of what they
    touch first, the shared cache does not have `missing`, of what they come back to not `lost_again`.
    """
    again = max(region.returns * requested / max(region.sectors, 1e-9), 1.0)
    return (missing * region.new_share + (again - 1.0) * lost_again) / again


def _shared_share(
    region: Traffic, rounds: float, demand: Demand, requested: float, lost: float
) -> float:
    """Return the share of a warp's waits for a region in which it waits for the shared cache.

    At first, it waits for all sectors that the near cache does not hold. Of the reads of a later wait,
    one has to move on to other sectors, and the near cache must not hold these. All of a group wait for
    the first of its warps to touch them. Where lanes walk along sectors side by side, they come to new
    ones at the same time; where their rows begin at different places of a sector, one by one. `rounds`
    are the waits of a warp for the region, `requested` and `lost` its near misses.
    """
    reads = region.requests / demand.warps / rounds
    moves = min(region.moving_share * max(reads, 1.0), 1.0)
    moves = max(moves, lost)
    first = min(requested / max(region.first_sectors, 1e-9), 1.0)
    later = max(requested - region.first_sectors, 0.0) / max(region.arriving_sectors, 1e-9)
    waits = max(rounds, 1.0)
    return (first + (waits - 1.0) * moves * min(later, 1.0)) / waits
