"""Misses of a GPU's near caches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.demand.caches import CacheSize, lost_share, shared_sectors
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts

_AWAITED_COST: Final = 0.6
"""Cost of a line that an earlier read in flight has asked for, by that of one that is missed.

Measured on an H200: 0.26 ns of a compute unit, where one that is missed takes 0.44 and one that hits
0.12. Eight reads of the members of a structure at a random place, all in one sector, took 269 us, one
read 113, and 12 reads of 3.5 sectors 551.
"""


@dataclass(frozen=True, slots=True)
class NearMisses:
    """Misses of the near cache, per region of a launch's traffic.

    `sectors` are those requested from the shared cache, `lost_shares` the shares of a warp's repeated
    reads of a line that miss.
    """

    sectors: Sequence[float]
    lost_shares: Sequence[float]

    @classmethod
    def of(cls, demand: Demand, near: CacheSize) -> "NearMisses":
        """Return the misses of a launch in a cache."""
        return cls(
            [shared_sectors(region, demand, near) for region in demand.traffic],
            [lost_share(region, demand, near) for region in demand.traffic],
        )


def near_misses(kept: KeptParts, costs: Constants) -> NearMisses:
    """Return the misses of a launch."""
    return NearMisses.of(kept.demand, CacheSize(costs["l1 size"], costs["l1 sharpness"]))


def awaited_lines(region: Traffic, requested: float) -> float:
    """Return the lines of requests that the near cache lacks when they are made, as lines that miss it.

    A line that an earlier read in flight has asked for is not asked for again, but waits as well, and
    its request is served when it arrives. Of coalesced requests, the first line has its cycle anyway.
    """
    missed = missed_lines(region, requested)
    if region.reads_together <= 1.0:
        return missed
    further = max(region.lines - region.requests, 0.0) / max(region.lines, 1e-9)
    awaited = min(missed * region.reads_together, region.lines)
    return missed + _AWAITED_COST * further * (awaited - missed)


def missed_lines(region: Traffic, requested: float) -> float:
    """Return the lines that are read from the shared cache, which sees `requested` sectors.

    Lines that atomic operations change count as well.
    """
    if region.access is Access.ATOMIC:
        return region.lines
    if region.access is Access.WRITE or not region.sectors:
        return 0.0
    return region.lines * min(requested / region.sectors, 1.0)
