"""Misses of a GPU's near caches."""

from collections.abc import Sequence
from dataclasses import dataclass

from cltrace.kernels.demand.caches import CacheSize, lost_share, shared_sectors
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts


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


def missed_lines(region: Traffic, requested: float) -> float:
    """Return the lines that are read from the shared cache, which sees `requested` sectors.

    Lines that atomic operations change count as well.
    """
    if region.access is Access.ATOMIC:
        return region.lines
    if region.access is Access.WRITE or not region.sectors:
        return 0.0
    return region.lines * min(requested / region.sectors, 1.0)
