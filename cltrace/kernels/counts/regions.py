"""What access sites share: sites of one memory whose sectors are the same ones are counted together.

Neighbours of a stencil touch the same sectors; what they move is not the sum of what each moves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.footprints import Distinct, distinct, extrapolated, footprint, growth
from cltrace.kernels.counts.observer import Recorder, SiteColumn, Touched
from cltrace.kernels.counts.records import Region
from cltrace.kernels.counts.sampling import Run, Sampling, beside_each_other, within_window
from cltrace.kernels.counts.scaling import Scaled
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.types import LOCAL, PRIVATE

_SHARED: Final = 0.1
"""Sites that share such a part of their sectors are of one region."""
_MOST_COMPARED: Final = 20_000
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)
_MORE: Final = 1.1
_SHORTER: Final = 0.7
"""The part of a window by which its end is compared with what comes before."""
_TRIES: Final = 3
_REUSED: Final = 1.2
"""Where groups ask so many times for what a launch touches, it matters how far apart they do."""
_MOST_GROWTH: Final = 8.0


@dataclass(slots=True)
class _Cluster:
    objects: frozenset[int]
    access: Access
    sites: list[Site]
    sectors: NDArray[np.int64]


def regions(
    sample: Scaled, near: Run | None, wave_groups: int, order: Mapping[int, int], sampling: Sampling
) -> tuple[Region, ...]:
    """The regions of a launch. `order` are the positions of sites among the launch's, by number."""
    clusters = _clusters(sample, order)
    found = [_region(sample, near, wave_groups, order, cluster) for cluster in clusters]
    crowded = _crowded(clusters, found)
    if crowded:
        clusters = _merged(clusters, crowded)
        found = [_region(sample, near, wave_groups, order, cluster) for cluster in clusters]
    windows = _windows(sample, clusters, found, sampling)
    return tuple(
        region if window is None else _with_window(region, window, sample.groups)
        for region, window in zip(found, windows, strict=True)
    )


def _clusters(sample: Scaled, order: Mapping[int, int]) -> Sequence[_Cluster]:
    recorder = sample.run.recorder
    found: list[_Cluster] = []
    for site in sample.task.prepared.sites:
        objects = frozenset(recorder.objects[site.number])
        if site.number not in order or _is_near(sample.run, objects, site):
            continue
        sectors = _compared(recorder.touched[site.number])
        same = [
            one
            for one in found
            if one.access is site.access and one.objects == objects and _share(one.sectors, sectors)
        ]
        merged = _Cluster(objects, site.access, [site], sectors)
        for one in same:
            merged.sites = one.sites + merged.sites
            merged.sectors = np.union1d(one.sectors, merged.sectors)
            found.remove(one)
        found.append(merged)
    return found


def _crowded(
    clusters: Sequence[_Cluster], found: Sequence[Region]
) -> frozenset[tuple[frozenset[int], Access]]:
    """Memories in which regions touch more together than there is: they overlap somewhere."""
    touched: dict[tuple[frozenset[int], Access], float] = {}
    sizes: dict[tuple[frozenset[int], Access], float] = {}
    for cluster, region in zip(clusters, found, strict=True):
        key = (cluster.objects, cluster.access)
        touched[key] = touched.get(key, 0.0) + region.footprint.launch_sectors
        sizes[key] = region.memory_sectors
    return frozenset(key for key, sectors in touched.items() if sectors > _MORE * sizes[key])


def _merged(
    clusters: Sequence[_Cluster], crowded: frozenset[tuple[frozenset[int], Access]]
) -> Sequence[_Cluster]:
    found: dict[tuple[frozenset[int], Access], _Cluster] = {}
    others = []
    for one in clusters:
        key = (one.objects, one.access)
        if key not in crowded:
            others.append(one)
        elif key in found:
            found[key].sites += one.sites
        else:
            found[key] = one
    return [*others, *found.values()]


def _is_near(run: Run, objects: frozenset[int], site: Site) -> bool:
    """Whether a site's memory is a work-group's or a work-item's own."""
    known = run.launch.memory.objects
    spaces = {known[number].space for number in objects if number < len(known)} or {site.space}
    return bool(spaces & {LOCAL, PRIVATE})


def _compared(touched: Touched) -> NDArray[np.int64]:
    """The different sectors of a site, or a share of them that is the same for all sites."""
    if not touched.sectors:
        return np.zeros(0, np.int64)
    sectors = np.unique(np.concatenate(touched.sectors))
    if len(sectors) <= _MOST_COMPARED:
        return sectors
    some: NDArray[np.int64] = sectors[(sectors.astype(np.uint64) * _HASH) >> np.uint64(60) == 0]
    return some


def _share(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    fewer = min(len(one), len(other))
    if not fewer or one[-1] < other[0] or other[-1] < one[0]:
        return False
    return len(np.intersect1d(one, other, assume_unique=True)) > _SHARED * fewer


def _touched(recorder: Recorder, sites: Sequence[Site]) -> Touched:
    """What several sites touched."""
    found = Touched()
    for site in sites:
        one = recorder.touched[site.number]
        found.sectors += one.sectors
        found.groups += one.groups
        found.weights += one.weights
    return found


def _distinct(run: Run, cluster: _Cluster) -> Distinct:
    return distinct(_touched(run.recorder, cluster.sites), run.grid.groups)


def _region(
    sample: Scaled,
    near: Run | None,
    wave_groups: int,
    order: Mapping[int, int],
    cluster: _Cluster,
) -> Region:
    run = sample.run
    objects = [run.launch.memory.objects[number] for number in sorted(cluster.objects)]
    size = sum(item.size_bytes for item in objects)
    spread = _distinct(run, cluster)
    beside = spread if near is None else _distinct(near, cluster)
    cap = size / sample.task.machine.sector_bytes + 1
    whole = footprint(spread, beside, sample.groups, wave_groups, cap)
    totals = [run.recorder.site(site.number) for site in cluster.sites]
    return Region(
        memory=", ".join(dict.fromkeys(item.name for item in objects)),
        access=cluster.access,
        sites=tuple(order[site.number] for site in cluster.sites),
        memory_sectors=cap,
        sectors=sum(sample.total(one[SiteColumn.SECTORS]) for one in totals),
        footprint=whole,
        window_sectors=whole.launch_sectors,
    )


def _with_window(region: Region, each: float, groups: int) -> Region:
    """A region of which the shared cache fetches so many sectors for each group."""
    most = region.footprint.group_sectors * groups
    total = min(max(each * groups, region.footprint.launch_sectors), most)
    return replace(region, window_sectors=total)


def _windows(
    sample: Scaled, clusters: Sequence[_Cluster], found: Sequence[Region], sampling: Sampling
) -> Sequence[float | None]:
    """By region: the sectors that the shared cache fetches for each group.

    It holds what a window of groups touches, and has lost what was touched before. A further group
    fetches by how much it makes the window's sectors more (Denning 1968). None where all that the launch
    touches is held, or where nothing is touched again. Groups that follow each other say what neighbours
    share, groups drawn from the window what others do.
    """
    machine, groups = sample.task.machine, sample.groups
    held = machine.shared_cache_bytes / machine.sector_bytes
    launch = sum(region.footprint.launch_sectors for region in found)
    asked = sum(region.footprint.group_sectors for region in found) * groups
    size = int(held / max(asked / groups, 1.0))
    none: Sequence[float | None] = [None] * len(found)
    if launch < held or asked < _REUSED * launch or not size:
        return none
    beside = beside_each_other(sample.task, sampling, sample.run)
    growths = [growth(_touched(beside.recorder, one.sites), beside.grid.groups) for one in clusters]
    each: list[float] = []
    for _ in range(_TRIES):
        if size >= groups:
            return none
        drawn = within_window(sample.task, sampling, sample.run, size)
        windows = [
            _Window.of(by_neighbours, _distinct(drawn, one), region.footprint.launch_sectors, size)
            for by_neighbours, one, region in zip(growths, clusters, found, strict=True)
        ]
        each = [one.each for one in windows]
        touched = sum(one.sectors for one in windows)
        if touched >= 0.8 * held:
            break
        size = int(size * min(held / max(touched, 1.0), _MOST_GROWTH))
    return each


@dataclass(frozen=True, slots=True)
class _Window:
    """The different sectors of a window of groups, and by how many each further group makes them more."""

    sectors: float
    each: float

    @classmethod
    def of(
        cls, by_neighbours: Callable[[float], float], drawn: Distinct, most: float, size: int
    ) -> "_Window":
        """What neighbours or groups drawn from the window say, whichever share more."""
        less = max(size * _SHORTER, 1.0)
        inside = extrapolated(drawn, size, most)[0]
        before = min(extrapolated(drawn, less, most)[0], inside)
        beyond = (by_neighbours(size) - by_neighbours(less)) / (size - less + 1e-9)
        slope = (inside - before) / (size - less + 1e-9)
        return cls(min(by_neighbours(size), inside), max(min(beyond, slope), 0.0))
