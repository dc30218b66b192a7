"""Access sites of a launch, from the counts of its samples."""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.counts.access_batch import VARYING_STRIDE, SiteColumn
from cltrace.kernels.counts.bounds import ScenarioBounds
from cltrace.kernels.counts.footprints import count_distinct, estimate_footprint
from cltrace.kernels.counts.group_sampling import GroupExecution
from cltrace.kernels.counts.records import AccessSite, Estimate, Footprint, Pattern
from cltrace.kernels.counts.scaling import ScaledSample
from cltrace.kernels.execute.state import Site
from cltrace.kernels.fold import FoldedKernel
from cltrace.kernels.ir.types import LOCAL, PRIVATE, SPACE_NAMES
from cltrace.kernels.machine import Machine

_MIN_USED_SHARE: Final = 0.5
"""Minimum used share of the moved sectors for the pattern `RUNS`."""

_Wave = tuple[GroupExecution | None, int]
"""A sample of the groups of one wave, None without one, and their number."""
_Bounds = ScenarioBounds | None
"""The bounds of what depends on unknown contents, None if nothing does."""


def build_access_sites(
    sample: ScaledSample,
    wave_run: GroupExecution | None,
    wave_groups: int,
    bounds: ScenarioBounds | None,
) -> tuple[AccessSite, ...]:
    """Build the record of each executed access site, in code order.

    `wave_run` is a sample of groups of one wave, if there is one. `bounds` is None if nothing is
    assumed.
    """
    sites = sample.task.sliced_kernel.sites
    return tuple(
        _build_site(sample, sites[number], (wave_run, wave_groups), bounds)
        for number in site_positions(sample)
    )


def site_positions(sample: ScaledSample) -> Mapping[int, int]:
    """Return the position of each executed site, by site number."""
    observer = sample.run.observer
    executed = [
        site.number
        for site in sample.task.sliced_kernel.sites
        if observer.site(site.number)[SiteColumn.ACCESSES].any()
    ]
    return {number: position for position, number in enumerate(executed)}


def _build_site(sample: ScaledSample, site: Site, wave: _Wave, bounds: _Bounds) -> AccessSite:
    estimates = _estimate_columns(sample, site, bounds)
    (memory, space, size), observer = _accessed_memory(sample.run, site), sample.run.observer
    footprint = _site_footprint(sample, site, *wave, size, space)
    stride, touched = observer.strides[site.number], observer.step_sectors(site.number)
    return AccessSite(
        place=site.place,
        memory=memory,
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
        moving_requests=estimates[SiteColumn.MOVING_REQUESTS].value,
        step_share=touched.share,
        fresh_shares=touched.fresh_shares,
        arriving_share=touched.arriving_share,
        jumping_requests=estimates[SiteColumn.JUMPING_REQUESTS].value,
        jump_bytes=observer.jump_bytes(site.number),
        lane_share=sample.item_steps.lane_share(site.block),
        pattern=_classify_pattern(stride, site, estimates, sample.task.machine),
        stride_bytes=stride if isinstance(stride, int) else None,
        contention=_contention(sample, site, estimates),
        footprint=footprint,
        reuse=_reuse(estimates[SiteColumn.SECTORS], footprint),
        is_assumed=site.number in sample.task.assumed.sites,
        loop=sample.task.sliced_kernel.graph.loop_of[site.block],
        texel_passes=sample.run.state.texel_passes.get(site.number, 0.0),
        is_gathered=sample.item_steps.is_gathered(site.pointer),
        is_masked=sample.item_steps.is_masked(site.block),
        texels=sample.run.state.texels.get(site.number, 0),
        is_register=_is_register(site.number, space, sample.folded_kernel),
        is_summable=site.number in sample.folded_kernel.summable_atomics,
        copies=sample.folded_kernel.repeated_copies.get(site.number, 1),
    )


def _is_register(site: int, space: int, folded: FoldedKernel) -> bool:
    is_kept = site in folded.private_memory
    return site in folded.literal_sites or (space == PRIVATE and not is_kept)


def _contention(
    sample: ScaledSample, site: Site, estimates: Mapping[SiteColumn, Estimate]
) -> float:
    """Return the lanes of a warp per address; 1 where a warp makes one operation."""
    if site.number in sample.folded_kernel.shared_atomics:
        return 1.0
    requests = estimates[SiteColumn.REQUESTS].value
    return estimates[SiteColumn.CONTENTION].value / requests if requests else 0.0


def _reuse(sectors: Estimate, footprint: Footprint) -> float:
    return sectors.value / footprint.launch_sectors if footprint.launch_sectors else 0.0


def _estimate_columns(
    sample: ScaledSample, site: Site, bounds: ScenarioBounds | None
) -> Mapping[SiteColumn, Estimate]:
    estimates = sample.site_estimates(site.number)
    if bounds is None:
        return estimates

    def bound(column: SiteColumn, estimate: Estimate) -> Estimate:
        return bounds.bound(estimate, lambda other: other.site_totals(site.number)[column])

    return {column: bound(column, estimate) for column, estimate in estimates.items()}


def _classify_pattern(
    stride: object, site: Site, estimates: Mapping[SiteColumn, Estimate], machine: Machine
) -> Pattern:
    if stride is VARYING_STRIDE or not isinstance(stride, int):
        accessed_bytes = estimates[SiteColumn.ACCESSES].value * site.access_bytes
        moved_bytes = estimates[SiteColumn.SECTORS].value * machine.sector_bytes
        # Lanes that leave some of their neighbours out touch no more lines than all of them would.
        lines = 1 + machine.warp_width * site.access_bytes / machine.line_bytes
        most = 0.0 if machine.has_item_loops else lines * estimates[SiteColumn.REQUESTS].value
        is_dense = 0.0 < estimates[SiteColumn.LINES].value <= most
        is_run = is_dense or accessed_bytes >= _MIN_USED_SHARE * moved_bytes
        return Pattern.RUNS if moved_bytes and is_run else Pattern.SCATTERED
    if stride == 0:
        return Pattern.UNIFORM
    return Pattern.CONTIGUOUS if abs(stride) == site.access_bytes else Pattern.STRIDED


def _accessed_memory(run: GroupExecution, site: Site) -> tuple[str, int, int]:
    """Return the names of the objects that a site accesses, their space and their total bytes."""
    objects = run.launch.memory.objects
    accessed = [
        objects[number]
        for number in sorted(run.observer.objects[site.number])
        if number < len(objects)
    ]
    names = dict.fromkeys(item.name for item in accessed)
    space = accessed[0].space if accessed else site.space
    return ", ".join(names), space, sum(item.size_bytes for item in accessed)


def _site_footprint(
    sample: ScaledSample,
    site: Site,
    wave_run: GroupExecution | None,
    wave_groups: int,
    size: int,
    space: int,
) -> Footprint:
    machine = sample.task.machine
    launch_distinct = count_distinct(
        sample.run.observer.touched[site.number], sample.run.grid.groups
    )
    if space in {LOCAL, PRIVATE}:
        return Footprint(launch_distinct.group_mean, 0.0, 0.0, 0.0)
    cap = size / machine.sector_bytes + 1
    wave_distinct = launch_distinct
    if wave_run is not None:
        wave_distinct = count_distinct(wave_run.observer.touched[site.number], wave_run.grid.groups)
    return estimate_footprint(launch_distinct, wave_distinct, sample.groups, wave_groups, cap)
