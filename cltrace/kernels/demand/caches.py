"""How far sectors come: what caches of a device keep, and what is asked of the next one."""

from dataclasses import dataclass

from cltrace.kernels.demand.launch import Demand, Traffic
from cltrace.kernels.ir.instructions import Access


@dataclass(frozen=True, slots=True)
class CacheSize:
    """A cache as measurements show it: half of something as large as it stays in it.

    `sharpness` is how fast that changes with the size.
    """

    size_bytes: float
    sharpness: float

    def kept(self, footprint_bytes: float) -> float:
        """The share of a footprint that it keeps."""
        ratio = footprint_bytes / self.size_bytes
        return 1.0 / (1.0 + ratio**self.sharpness) if ratio > 0 else 1.0


def shared_sectors(one: Traffic, demand: Demand, near: CacheSize) -> float:
    """The sectors that a site asks of the shared cache: writes pass the near one, reads may hit it."""
    if one.access is not Access.READ:
        return one.sectors
    asked = one.group_sectors
    kept = one.launch_sectors * demand.units
    if kept < asked:
        hit = near.kept(one.launch_sectors * demand.sector_bytes)
        asked = hit * kept + (1.0 - hit) * asked
    return asked
