"""Cache hits: the share of a footprint that a cache keeps, and the sectors that miss it."""

import math
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.counts.step_sectors import FRESH_DISTANCES
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access

_MIN_READS: Final = 2.0
"""Reads of a sector by its work-group from which resident work-groups share it."""
_IN_TURN_SIZE: Final = 0.9
_IN_TURN_SHARPNESS: Final = 3.0
"""Size and sharpness of a near cache for lines in turn, by those for lines in random order.

On an H200, work-items that read a row each and write to a column hit it with 164 KB of lines between two
reads of a line, by half with 246 KB, and hardly ever with 270 KB.
"""

_PRIVATE_SIZE: Final = 1.25
"""Size of the shared cache for private variables, by that for what all compute units read.

On an H200, 47 MB of the private variables of resident work-items miss it by 0.4 when they are read, and
69 MB by 0.7, as its counters show.
"""


@dataclass(frozen=True, slots=True)
class CacheSize:
    """Effective size of a cache as measured: a footprint of that size stays in it by half.

    `sharpness` is how fast that share falls with the footprint.
    """

    size_bytes: float
    sharpness: float

    def kept_share(self, footprint_bytes: float) -> float:
        """Return the share of a footprint that stays in the cache, from 0 to 1."""
        ratio = footprint_bytes / self.size_bytes
        return 1.0 / (1.0 + ratio**self.sharpness) if ratio > 0 else 1.0

    @property
    def in_turn(self) -> "CacheSize":
        """The size for lines that are used in turn: of these, a cache that is too small keeps none."""
        return CacheSize(self.size_bytes * _IN_TURN_SIZE, self.sharpness * _IN_TURN_SHARPNESS)


def shared_sectors(traffic: Traffic, demand: Demand, near: CacheSize) -> float:
    """Return the sectors that a region requests from the shared cache.

    Writes go through the near cache; reads may hit it. If it holds what the resident work-groups come
    back to, each of them fetches a sector once. If not, it fetches these sectors again. Sectors that
    several resident work-groups read again and again are fetched by the first of them.
    """
    if traffic.access is not Access.READ:
        return traffic.sectors
    kept = near.kept_share(demand.reused_bytes)
    again = max(traffic.step_sectors * _unkept_share(traffic, demand, near), traffic.group_sectors)
    requested = kept * traffic.group_sectors + (1.0 - kept) * again
    requested += lost_share(traffic, demand, near) * _revisited_sectors(traffic)
    requested *= _resident_share(traffic, demand)
    compulsory = traffic.launch_sectors * demand.units
    if compulsory < requested:
        hit = near.kept_share(traffic.launch_sectors * demand.sector_bytes)
        requested = hit * compulsory + (1.0 - hit) * requested
    return requested


def _unkept_share(traffic: Traffic, demand: Demand, near: CacheSize) -> float:
    """Return the share of the sectors of a site's requests that the ones shortly before did not touch.

    Or they did, and the near cache does not hold what all resident warps have touched since: a window
    that moves along a row reads most of its sectors again and again, although not all of the image fits.
    """
    first, *others = traffic.fresh_shares
    passing_bytes = demand.passing_bytes(traffic) * _resident_share(traffic, demand)
    together = _accesses_together(traffic)
    # Of the requests in between, those that touch what the one before did take no more room.
    unkept, earlier = others[-1], first
    for distance, share in zip(FRESH_DISTANCES[1:], others, strict=True):
        since_bytes = passing_bytes * max((1.0 + (distance - 1) * first) / together, 1.0)
        unkept += (earlier - share) * (1.0 - near.in_turn.kept_share(since_bytes))
        earlier = share
    moving = min(traffic.moving_share, 1.0)
    return min(unkept / moving, 1.0) if moving else 1.0


def private_missing_share(demand: Demand, shared: CacheSize) -> float:
    """Return the share of the private variables of resident work-groups that the shared cache lacks."""
    resident = min(demand.wave_groups, demand.groups) / max(demand.groups, 1)
    sectors = [region.group_sectors for region in demand.traffic if region.memory == PRIVATE_MEMORY]
    size = CacheSize(shared.size_bytes * _PRIVATE_SIZE, shared.sharpness)
    return 1.0 - size.kept_share(max(sectors, default=0.0) * resident * demand.sector_bytes)


def _accesses_together(traffic: Traffic) -> float:
    """Return the accesses of a warp to private variables between which other warps make none.

    A warp that does not wait goes on with what is in the near cache: on an H200, 64 reads of 256 B of
    private variables hit it by 0.9 although it has room for half of those of the resident warps, and
    by 0.08 where each read is changed and written.
    """
    if traffic.memory != PRIVATE_MEMORY:
        return 1.0
    return max(traffic.reads_per_wait * traffic.steps / max(traffic.requests, 1e-9), 1.0)


def lost_share(traffic: Traffic, demand: Demand, near: CacheSize) -> float:
    """Return the share of a warp's repeated reads of a line that miss the near cache.

    They do where it does not hold the lines of one access of all resident warps; lines that work-groups
    have in common count once. Warps that read only once have none.
    """
    repeated = 1.0 - min(demand.warps / max(traffic.steps, 1e-9), 1.0)
    if not repeated:
        return 0.0
    passing_bytes = demand.passing_bytes(traffic) * _resident_share(traffic, demand)
    return repeated * (1.0 - near.in_turn.kept_share(passing_bytes))


def _revisited_sectors(traffic: Traffic) -> float:
    """Return the sectors that warps read at one wait after another."""
    return traffic.sectors / traffic.reads_per_wait * (1.0 - min(traffic.moving_share, 1.0))


def _resident_share(traffic: Traffic, demand: Demand) -> float:
    """Return the different sectors of a unit's resident work-groups, by the sum of those of each.

    Work-groups that read their sectors several times, at different accesses, run side by side, as the
    first to read one waits for it; the counters of an H200 show hardly any sharing by others. Resident
    work-groups are drawn at random from the launch, so those that touch a sector are missing among them
    with the probability of a hypergeometric distribution.
    """
    if traffic.sectors / traffic.reads_together < _MIN_READS * traffic.group_sectors:
        return 1.0
    groups, launch = float(max(demand.groups, 1)), max(traffic.launch_sectors, 1.0)
    resident = max(min(groups, demand.wave_groups) / demand.units, 1.0)
    touching = min(max(traffic.group_sectors / launch, 1.0), groups)
    others = groups - touching - resident
    if others <= -1.0:
        return groups / (touching * resident)
    missing = math.exp(
        math.lgamma(groups - touching + 1.0)
        + math.lgamma(groups - resident + 1.0)
        - math.lgamma(others + 1.0)
        - math.lgamma(groups + 1.0)
    )
    return (1.0 - missing) * groups / (touching * resident)
