"""Access sites of a launch, from what was counted of them in samples."""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.counts.bounds import Extremes
from cltrace.kernels.counts.footprints import distinct, footprint
from cltrace.kernels.counts.observer import UNEVEN, SiteColumn
from cltrace.kernels.counts.records import AccessSite, Estimate, Footprint, Pattern
from cltrace.kernels.counts.sampling import Run
from cltrace.kernels.counts.scaling import Scaled
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.types import LOCAL, PRIVATE, SPACE_NAMES

_USED: Final = 0.5
"""Where so much of each sector is used, lanes that are at various distances lie in runs."""


def access_sites(
    sample: Scaled, near: Run | None, wave_groups: int, extremes: Extremes | None
) -> tuple[AccessSite, ...]:
    """The sites that were met, in the order of the code. `near` is a sample of neighbouring groups.

    `extremes` bound what is counted; None where nothing is assumed.
    """
    sites = sample.task.prepared.sites
    return tuple(
        _site(sample, sites[number], near, wave_groups, extremes) for number in site_order(sample)
    )


def site_order(sample: Scaled) -> Mapping[int, int]:
    """The positions of the sites that were met, by number."""
    recorder = sample.run.recorder
    met = [
        site.number
        for site in sample.task.prepared.sites
        if recorder.site(site.number)[SiteColumn.ACCESSES].any()
    ]
    return {number: position for position, number in enumerate(met)}


def _site(
    sample: Scaled, site: Site, near: Run | None, wave_groups: int, extremes: Extremes | None
) -> AccessSite:
    estimates: Mapping[SiteColumn, Estimate] = {
        column: _estimate(sample, site, column, extremes) for column in SiteColumn
    }
    names, space, size = _objects(sample.run, site)
    whole = _footprint(sample, site, near, wave_groups, size, is_local=space in {LOCAL, PRIVATE})
    stride = sample.run.recorder.strides[site.number]
    requests = estimates[SiteColumn.REQUESTS].value
    sectors = estimates[SiteColumn.SECTORS].value
    even = stride if isinstance(stride, int) else None
    return AccessSite(
        place=site.place,
        memory=names,
        space=SPACE_NAMES[space],
        access=site.access,
        element=site.element,
        access_bytes=site.access_bytes,
        accesses=estimates[SiteColumn.ACCESSES],
        requests=estimates[SiteColumn.REQUESTS],
        sectors=estimates[SiteColumn.SECTORS],
        lines=estimates[SiteColumn.LINES],
        bank_cycles=estimates[SiteColumn.BANK_CYCLES],
        partial_sectors=estimates[SiteColumn.PARTIAL_SECTORS].value,
        pattern=_pattern(stride, site, estimates, sample.task.machine.sector_bytes),
        stride_bytes=even,
        contention=estimates[SiteColumn.CONTENTION].value / requests if requests else 0.0,
        footprint=whole,
        reuse=sectors / whole.launch_sectors if whole.launch_sectors else 0.0,
        is_assumed=site.number in sample.task.unknown_sites,
    )


def _estimate(
    sample: Scaled, site: Site, column: SiteColumn, extremes: Extremes | None
) -> Estimate:
    def total(of: Scaled) -> float:
        return of.total(of.run.recorder.site(site.number)[column])

    estimate = sample.estimate(sample.run.recorder.site(site.number)[column])
    return estimate if extremes is None else extremes.around(estimate, total)


def _pattern(
    stride: object, site: Site, counted: Mapping[SiteColumn, Estimate], sector_bytes: int
) -> Pattern:
    if stride is UNEVEN or not isinstance(stride, int):
        asked = counted[SiteColumn.ACCESSES].value * site.access_bytes
        moved = counted[SiteColumn.SECTORS].value * sector_bytes
        return Pattern.RUNS if moved and asked >= _USED * moved else Pattern.SCATTERED
    if stride == 0:
        return Pattern.UNIFORM
    return Pattern.CONTIGUOUS if abs(stride) == site.access_bytes else Pattern.STRIDED


def _objects(run: Run, site: Site) -> tuple[str, int, int]:
    """The names of what a site accesses, its address space, and the size of it all in bytes."""
    objects = run.launch.memory.objects
    found = [
        objects[number]
        for number in sorted(run.recorder.objects[site.number])
        if number < len(objects)
    ]
    names = dict.fromkeys(item.name for item in found)
    space = found[0].space if found else site.space
    return ", ".join(names), space, sum(item.size_bytes for item in found)


def _footprint(
    sample: Scaled, site: Site, near: Run | None, wave_groups: int, size: int, *, is_local: bool
) -> Footprint:
    machine = sample.task.machine
    spread = distinct(sample.run.recorder.touched[site.number], sample.run.grid.groups)
    if is_local:
        return Footprint(spread.group_mean, 0.0, 0.0, 0.0)
    cap = size / machine.sector_bytes + 1
    beside = spread
    if near is not None:
        beside = distinct(near.recorder.touched[site.number], near.grid.groups)
    return footprint(spread, beside, sample.groups, wave_groups, cap)
