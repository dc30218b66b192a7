"""Memory regions: access sites of one memory that touch the same sectors are counted together.

Neighbouring accesses of a stencil touch the same sectors, so their traffic is less than the sum of
that of each access.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.access_batch import SiteColumn
from cltrace.kernels.counts.apart_reads import ApartReads
from cltrace.kernels.counts.footprints import (
    count_distinct,
    estimate_footprint,
    extrapolate_distinct,
    fit_growth,
)
from cltrace.kernels.counts.group_sampling import (
    GroupExecution,
    Sampling,
    sample_consecutive,
    sample_window,
)
from cltrace.kernels.counts.observer import CountObserver
from cltrace.kernels.counts.records import SharedSectors
from cltrace.kernels.counts.scaling import ScaledSample
from cltrace.kernels.counts.sorted_numbers import is_first
from cltrace.kernels.counts.touched_sectors import DistinctSectors, TouchedSectors
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.types import LOCAL, PRIVATE
from cltrace.kernels.limits import check_cpu_limit

_MIN_SHARED: Final = 0.1
"""Minimum share of common sectors of sites in the same region."""
_MAX_COMPARED: Final = 20_000
"""Number of sectors beyond which a hashed subset is compared."""
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)
_OVERLAP_FACTOR: Final = 1.1
"""Ratio of touched to existing sectors from which regions of a memory must overlap."""
_SHORTER_SHARE: Final = 0.7
"""Size of the shorter window for the slope at the end of a window, as a share of it."""
_SCATTERED_SHARE: Final = 0.7
"""Share of a GPU's shared cache for what work-groups come back to at random places.

It has two halves, and each keeps what the compute units next to it read. On an H200 (48 MiB), 1,048,576
work-items that read 16 numbers each at random places of 28, 36, 44, 60 and 100 MiB took 115, 145, 167,
221 and 305 us: as long as 26 MB of them are cached. Work-groups that go through a matrix side by side
read it in step, so little of it is needed at a time.
"""
_MAX_TRIES: Final = 3
_MIN_REUSE: Final = 1.2
"""Minimum ratio of the sectors that groups request to the distinct ones, for reuse to matter."""
_MANY_LINES: Final = 8.0
"""Lines per request from which accesses are at random places."""
_MAX_GROWTH: Final = 8.0
"""Limit on the growth of the window from one try to the next."""


@dataclass(slots=True)
class _Cluster:
    """Access sites of one memory with common sectors."""

    objects: frozenset[int]
    access: Access
    sites: list[Site]
    sectors: NDArray[np.int64]


def find_regions(
    sample: ScaledSample,
    wave_run: GroupExecution | None,
    wave_groups: int,
    positions: Mapping[int, int],
    sampling: Sampling,
) -> tuple[SharedSectors, ...]:
    """Find the memory regions of a launch.

    `positions` has the position of each site in `KernelCounts.sites`, by site number.
    """
    clusters = _cluster_sites(sample, positions)
    memory_regions = [
        _build_region(sample, wave_run, wave_groups, positions, cluster) for cluster in clusters
    ]
    overlapping = _find_overlapping(clusters, memory_regions)
    if overlapping:
        clusters = _merge_overlapping(clusters, overlapping)
        memory_regions = [
            _build_region(sample, wave_run, wave_groups, positions, cluster) for cluster in clusters
        ]
    windows = _measure_windows(sample, clusters, memory_regions, sampling)
    return tuple(
        region if window is None else _with_window(region, window, sample.groups)
        for region, window in zip(memory_regions, windows, strict=True)
    )


def _cluster_sites(sample: ScaledSample, positions: Mapping[int, int]) -> Sequence[_Cluster]:
    observer = sample.run.observer
    clusters: list[_Cluster] = []
    for site in sample.task.sliced_kernel.sites:
        check_cpu_limit()
        objects = frozenset(observer.objects[site.number])
        if site.number not in positions or _is_private_or_local(sample.run, objects, site):
            continue
        sectors = _comparable_sectors(observer.touched[site.number])
        overlapping = [
            cluster
            for cluster in clusters
            if cluster.access is site.access
            and cluster.objects == objects
            and _have_common_sectors(cluster.sectors, sectors)
        ]
        merged = _Cluster(objects, site.access, [site], sectors)
        for cluster in overlapping:
            merged.sites = cluster.sites + merged.sites
            merged.sectors = np.union1d(cluster.sectors, merged.sectors)
            clusters.remove(cluster)
        clusters.append(merged)
    return clusters


def _find_overlapping(
    clusters: Sequence[_Cluster], regions: Sequence[SharedSectors]
) -> frozenset[tuple[frozenset[int], Access]]:
    """Return the memories whose regions together touch more sectors than exist."""
    touched: dict[tuple[frozenset[int], Access], float] = {}
    sizes: dict[tuple[frozenset[int], Access], float] = {}
    for cluster, region in zip(clusters, regions, strict=True):
        key = (cluster.objects, cluster.access)
        touched[key] = touched.get(key, 0.0) + region.footprint.launch_sectors
        sizes[key] = region.memory_sectors
    return frozenset(
        key for key, sectors in touched.items() if sectors > _OVERLAP_FACTOR * sizes[key]
    )


def _merge_overlapping(
    clusters: Sequence[_Cluster], overlapping: frozenset[tuple[frozenset[int], Access]]
) -> Sequence[_Cluster]:
    by_memory: dict[tuple[frozenset[int], Access], _Cluster] = {}
    others = []
    for cluster in clusters:
        key = (cluster.objects, cluster.access)
        if key not in overlapping:
            others.append(cluster)
        elif key in by_memory:
            by_memory[key].sites += cluster.sites
        else:
            by_memory[key] = cluster
    return [*others, *by_memory.values()]


def _is_private_or_local(run: GroupExecution, objects: frozenset[int], site: Site) -> bool:
    """Return True if a site accesses a work-group's or a work-item's own memory."""
    memory_objects = run.launch.memory.objects
    spaces = {
        memory_objects[number].space for number in objects if number < len(memory_objects)
    } or {site.space}
    return bool(spaces & {LOCAL, PRIVATE})


def _comparable_sectors(touched: TouchedSectors) -> NDArray[np.int64]:
    """Return the distinct sectors of a site, or a hashed subset that is the same for all sites."""
    if not touched.sectors:
        return np.zeros(0, np.int64)
    sectors = np.sort(np.concatenate(touched.sectors))
    sectors = sectors[is_first(sectors)]
    if len(sectors) <= _MAX_COMPARED:
        return sectors
    subset: NDArray[np.int64] = sectors[(sectors.astype(np.uint64) * _HASH) >> np.uint64(60) == 0]
    return subset


def _have_common_sectors(first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    fewer = min(len(first), len(second))
    if not fewer or first[-1] < second[0] or second[-1] < first[0]:
        return False
    return len(np.intersect1d(first, second, assume_unique=True)) > _MIN_SHARED * fewer


def _merge_touched(observer: CountObserver, sites: Sequence[Site]) -> TouchedSectors:
    """Merge the records of touched sectors of several sites."""
    if len(sites) == 1:
        return observer.touched[sites[0].number]
    merged = TouchedSectors()
    for site in sites:
        merged.merge(observer.touched[site.number])
    return merged


def _count_cluster(run: GroupExecution, cluster: _Cluster) -> DistinctSectors:
    return count_distinct(_merge_touched(run.observer, cluster.sites), run.grid.groups)


def _build_region(
    sample: ScaledSample,
    wave_run: GroupExecution | None,
    wave_groups: int,
    positions: Mapping[int, int],
    cluster: _Cluster,
) -> SharedSectors:
    run = sample.run
    objects = [run.launch.memory.objects[number] for number in sorted(cluster.objects)]
    size = sum(item.size_bytes for item in objects)
    launch_distinct = _count_cluster(run, cluster)
    wave_distinct = launch_distinct if wave_run is None else _count_cluster(wave_run, cluster)
    cap = size / sample.task.machine.sector_bytes + 1
    region_footprint = estimate_footprint(
        launch_distinct, wave_distinct, sample.groups, wave_groups, cap
    )
    totals = [run.observer.site(site.number) for site in cluster.sites]
    return SharedSectors(
        memory=", ".join(dict.fromkeys(item.name for item in objects)),
        access=cluster.access,
        sites=tuple(positions[site.number] for site in cluster.sites),
        memory_sectors=cap,
        sectors=sum(sample.total(counts[SiteColumn.SECTORS]) for counts in totals),
        footprint=region_footprint,
        window_sectors=region_footprint.launch_sectors,
        **_order_facts(sample, wave_run or run, cluster, wave_distinct, wave_groups),
    )


class _OrderFacts(TypedDict, total=False):
    """The facts of a region that depend on the order of its reads."""

    returns: float
    reads_together: float
    paired_share: float


def _order_facts(
    sample: ScaledSample,
    run: GroupExecution,
    cluster: _Cluster,
    distinct: DistinctSectors,
    wave_groups: int,
) -> _OrderFacts:
    """Return the facts of the reads of a GPU. `distinct` are the sectors of the wave that `run` is of."""
    if sample.task.machine.has_item_loops or cluster.access is not Access.READ:
        return {}
    apart = ApartReads.of(
        [run.observer.touched[site.number] for site in cluster.sites], cluster.sites
    )
    if apart is None:
        return {}
    groups = run.grid.groups
    facts = _OrderFacts(returns=apart.returns(distinct, groups, min(wave_groups, sample.groups)))
    if len(cluster.sites) > 1 and _are_scattered(sample, [cluster]):
        facts["reads_together"] = apart.reads_together(groups)
        facts["paired_share"] = apart.paired_share(groups)
    return facts


def _are_scattered(sample: ScaledSample, clusters: Sequence[_Cluster]) -> bool:
    """Return True for requests that touch many lines at unequal distances, on average."""
    observer = sample.run.observer
    sites = [site.number for cluster in clusters for site in cluster.sites]
    apart = [number for number in sites if not isinstance(observer.strides[number], int)]
    lines = sum(float(observer.site(number)[SiteColumn.LINES].sum()) for number in apart)
    requests = sum(float(observer.site(number)[SiteColumn.REQUESTS].sum()) for number in sites)
    return lines >= _MANY_LINES * max(requests, 1.0)


def _with_window(region: SharedSectors, sectors_per_group: float, groups: int) -> SharedSectors:
    """Return a region whose window sectors follow from the fetched sectors per group."""
    max_sectors = region.footprint.group_sectors * groups
    total = min(max(sectors_per_group * groups, region.footprint.launch_sectors), max_sectors)
    return replace(region, window_sectors=total)


def _measure_windows(
    sample: ScaledSample,
    clusters: Sequence[_Cluster],
    regions: Sequence[SharedSectors],
    sampling: Sampling,
) -> Sequence[float | None]:
    """Return the sectors that the shared cache fetches per group, by region.

    The cache holds the sectors of a window of recent groups. Each further group fetches the sectors
    it adds to the window (Denning 1968). Consecutive groups show the sharing of neighbours, drawn
    groups that of others. None if the cache holds all sectors, or if none is reused.
    """
    machine, groups = sample.task.machine, sample.groups
    cached = _cached_share(sample, clusters) * machine.shared_cache_bytes / machine.sector_bytes
    launch = sum(region.footprint.launch_sectors for region in regions)
    requested = sum(region.footprint.group_sectors for region in regions) * groups
    size = int(cached / max(requested / groups, 1.0))
    none: Sequence[float | None] = [None] * len(regions)
    if launch < cached or requested < _MIN_REUSE * launch or not size:
        return none
    consecutive = sample_consecutive(sample.task, sampling, sample.run)
    growths = [
        fit_growth(_merge_touched(consecutive.observer, cluster.sites), consecutive.grid.groups)
        for cluster in clusters
    ]
    fetched: list[float] = []
    for _ in range(_MAX_TRIES):
        if size >= groups:
            return none
        run = sample_window(sample.task, sampling, sample.run, size)
        windows = [
            _WindowGrowth.estimate(growth, _count_cluster(run, cluster), region, size)
            for growth, cluster, region in zip(growths, clusters, regions, strict=True)
        ]
        fetched = [window.slope for window in windows]
        touched = sum(window.sectors for window in windows)
        if touched >= 0.8 * cached:
            break
        size = int(size * min(cached / max(touched, 1.0), _MAX_GROWTH))
    return fetched


def _cached_share(sample: ScaledSample, clusters: Sequence[_Cluster]) -> float:
    """Return the share of the shared cache for what work-groups come back to."""
    if sample.task.machine.has_item_loops:
        return 1.0
    reading = [cluster for cluster in clusters if cluster.access is Access.READ]
    return _SCATTERED_SHARE if _are_scattered(sample, reading) else 1.0


@dataclass(frozen=True, slots=True)
class _WindowGrowth:
    """Distinct sectors of a window of groups, and the sectors that each further group adds."""

    sectors: float
    slope: float

    @classmethod
    def estimate(
        cls,
        neighbour_growth: Callable[[float], float],
        drawn_groups: DistinctSectors,
        region: SharedSectors,
        size: int,
    ) -> "_WindowGrowth":
        """Take the smaller sectors and the smaller slope of consecutive groups and of drawn ones."""
        shorter_size = max(size * _SHORTER_SHARE, 1.0)
        max_sectors = region.footprint.launch_sectors
        sectors = extrapolate_distinct(drawn_groups, size, max_sectors)[0]
        shorter_sectors = min(
            extrapolate_distinct(drawn_groups, shorter_size, max_sectors)[0], sectors
        )
        neighbour_slope = (neighbour_growth(size) - neighbour_growth(shorter_size)) / (
            size - shorter_size + 1e-9
        )
        drawn_slope = (sectors - shorter_sectors) / (size - shorter_size + 1e-9)
        return cls(
            min(neighbour_growth(size), sectors), max(min(neighbour_slope, drawn_slope), 0.0)
        )
