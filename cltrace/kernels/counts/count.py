"""Counting of a launch's work, by lock-step execution of a sample of its work-groups."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from cltrace.errors import KernelExecutionError, UnsupportedKernelError
from cltrace.kernels.arguments import Argument, LocalArgument
from cltrace.kernels.compiler import BOTH_FORMS, CodeForm
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import is_private_type
from cltrace.kernels.counts.access_density import access_density
from cltrace.kernels.counts.access_sites import build_access_sites, site_positions
from cltrace.kernels.counts.assumed_begins import assume_begins
from cltrace.kernels.counts.assumption_texts import describe_assumptions
from cltrace.kernels.counts.bounds import ScenarioBounds
from cltrace.kernels.counts.branch_rules import ruled_accesses
from cltrace.kernels.counts.group_sampling import (
    GroupExecution,
    Sampling,
    Task,
    max_relative_error,
    sample_launch,
    sample_wave,
)
from cltrace.kernels.counts.imbalance import find_imbalance
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis, analyse_kernel
from cltrace.kernels.counts.loop_counts import count_loops
from cltrace.kernels.counts.observer import AccessDetail
from cltrace.kernels.counts.records import (
    Assumption,
    GroupSample,
    KernelCounts,
    OperationCount,
    WrittenCounts,
)
from cltrace.kernels.counts.scaling import ScaledSample
from cltrace.kernels.counts.scenarios import MAX_SCENARIO, MIN_SCENARIO, Scenario
from cltrace.kernels.counts.shared_sectors import find_regions
from cltrace.kernels.counts.unknowns import find_unknowns
from cltrace.kernels.execute.lanes import NDRange
from cltrace.kernels.ir.types import LOCAL, size_bytes
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.machine import NVIDIA, Machine
from cltrace.kernels.program import Program

_WRITTEN_SAMPLING: Final = Sampling(
    min_groups=2,
    max_groups=8,
    target_steps=300_000,
    max_steps=80_000_000,
    pilot_factor=1,
    depth=AccessDetail.ACCESSES,
)
"""Sampling of the code as written, of which only operations and accesses are counted."""
_BOUNDS_SAMPLING: Final = Sampling(
    min_groups=2,
    max_groups=32,
    target_steps=300_000,
    max_steps=80_000_000,
    pilot_factor=1,
)
"""Sampling of the scenarios that bound the counts."""


def count(
    program: Program,
    kernel: str,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Argument],
    *,
    global_offset: Sequence[int] | None = None,
    sample: Sampling | None = None,
    machine: Machine = NVIDIA,
    forms: Collection[CodeForm] = BOTH_FORMS,
) -> KernelCounts:
    """Count the work of a launch of `kernel` on a device like `machine`.

    `arguments` are those of the kernel, in order: numbers, `BufferArgument`, `LocalArgument` and so
    on. Values that depend on contents that are not given are assumed, and listed in `assumptions`. The
    code as written is counted only if it is among `forms`.

    Raises: `ValueError` for invalid sizes or an unknown kernel; `UnsupportedKernelError` for an
    unsupported construct, with its line; `KernelExecutionError` for arguments that do not fit, and
    for kernels that take too long.
    """
    ndrange = nd_range(global_size, local_size, global_offset)
    analysis = analyse_kernel(program, kernel, CodeForm.OPTIMISED)
    bounding, assumptions = _build_task(analysis, ndrange, arguments, machine)
    task, begins = bounding, assume_begins(analysis, arguments)
    if begins.assumptions:
        made_up, assumptions = _build_task(analysis, ndrange, begins.arguments, machine)
        task = replace(made_up, assumed=bounding.unknowns)
        assumptions = tuple(sorted((*begins.assumptions, *assumptions), key=_place_of))
    counts = _count_task(task, bounding, assumptions, sample if sample is not None else Sampling())
    if CodeForm.WRITTEN not in forms:
        return counts
    launch = (program, kernel, global_size, local_size, arguments)
    written = count_written(*launch, global_offset=global_offset, machine=machine)
    return counts.with_written(written)


def count_written(
    program: Program,
    kernel: str,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Argument],
    *,
    global_offset: Sequence[int] | None = None,
    machine: Machine = NVIDIA,
) -> WrittenCounts:
    """Count the work of a launch in the code as written. Arguments and errors are those of `count`."""
    ndrange = nd_range(global_size, local_size, global_offset)
    try:
        analysis = analyse_kernel(program, kernel, CodeForm.WRITTEN)
        begins = assume_begins(analysis, arguments)
        task, _ = _build_task(analysis, ndrange, begins.arguments, machine)
        sample = ScaledSample(task, sample_launch(task, _WRITTEN_SAMPLING))
    except (UnsupportedKernelError, KernelExecutionError) as error:
        return WrittenCounts(notes=(f"not counted as written: {error}",))
    operations = sample.operations()
    return WrittenCounts(operations, sample.operators(), _private_accesses(operations))


def _place_of(assumption: Assumption) -> tuple[str, int]:
    return assumption.place.file, assumption.place.line


def _count_task(
    task: Task, bounding: Task, assumptions: tuple[Assumption, ...], sampling: Sampling
) -> KernelCounts:
    """Count the optimised code of a launch. `bounding` is the task without assumed contents."""
    run = sample_launch(task, sampling)
    wave_run = None
    wave = _wave_groups(task)
    if run.grid.groups < task.ndrange.groups and wave < task.ndrange.groups:
        wave_run = sample_wave(task, sampling, run, wave)
    bounds = None
    if assumptions:
        bounds = ScenarioBounds(
            _sample_scenario(bounding, MIN_SCENARIO), _sample_scenario(bounding, MAX_SCENARIO)
        )
    return _build_counts(ScaledSample(task, run), wave_run, bounds, assumptions, sampling)


def _sample_scenario(task: Task, scenario: Scenario) -> ScaledSample | None:
    """Sample a scenario; None if it takes too long."""
    try:
        return ScaledSample(task, sample_launch(task, _BOUNDS_SAMPLING, scenario))
    except (KernelExecutionError, UnsupportedKernelError):
        return None


def _build_task(
    analysis: KernelAnalysis, ndrange: NDRange, arguments: Sequence[Argument], machine: Machine
) -> tuple[Task, tuple[Assumption, ...]]:
    unknowns = find_unknowns(analysis, arguments, ndrange)
    task = Task(
        analysis=analysis,
        ndrange=ndrange,
        arguments=arguments,
        machine=machine,
        unknowns=unknowns,
        assumed=unknowns,
    )
    return task, describe_assumptions(analysis.sliced_kernel, unknowns, ndrange.group_items)


def _build_counts(
    sample: ScaledSample,
    wave_run: GroupExecution | None,
    bounds: ScenarioBounds | None,
    assumptions: tuple[Assumption, ...],
    sampling: Sampling,
) -> KernelCounts:
    task, run, operations = sample.task, sample.run, _bound_operations(sample, bounds)
    positions, wave_groups = site_positions(sample), _wave_groups(task)
    sites = build_access_sites(sample, wave_run, wave_groups, bounds)
    return KernelCounts(
        kernel=task.sliced_kernel.function.name,
        global_size=task.ndrange.global_size,
        local_size=task.ndrange.local_size,
        machine=task.machine,
        work_items=task.ndrange.work_items,
        groups=task.ndrange.groups,
        warps=run.grid.warps * task.ndrange.groups / run.grid.groups,
        steps=sample.item_steps.total,
        item_share=sample.item_steps.item_share,
        local_bytes=_local_bytes(task),
        sample=_describe_sample(run, wave_run, task.ndrange.groups),
        operations=operations,
        folded=sample.folded(),
        sites=sites,
        regions=find_regions(sample, wave_run, wave_groups, positions, sampling),
        rounds=sample.waits.rounds(positions),
        branches=sample.branches(),
        by_branch_rule=ruled_accesses(sample, sites, positions, task.ndrange.work_items),
        access_density=access_density(sample, sites, positions, task.ndrange.groups / wave_groups),
        loops=count_loops(sample, bounds),
        private=sample.private(),
        lines=sample.lines(),
        barriers=sum(row.per_item for row in operations if row.cost is CostClass.BARRIER),
        active_lanes=sample.active_lanes(),
        paths=float(run.observer.warp_paths().mean()) if run.grid.warps else 1.0,
        imbalance=find_imbalance(sample),
        assumptions=assumptions,
        notes=_notes(run, bounds),
    )


def _wave_groups(task: Task) -> int:
    """Return the number of work-groups resident at a time."""
    return task.machine.wave_groups(task.ndrange.group_items, _local_bytes(task))


def _bound_operations(
    sample: ScaledSample, bounds: ScenarioBounds | None
) -> tuple[OperationCount, ...]:
    rows = sample.operations()
    if bounds is None:
        return rows

    def with_bounds(row: OperationCount) -> OperationCount:
        def total(other: ScaledSample) -> float:
            return other.operation_totals.get((row.type, row.cost), 0.0)

        return replace(row, total=bounds.bound(row.total, total))

    return tuple(map(with_bounds, rows))


def _unbounded_notes(bounds: ScenarioBounds | None) -> tuple[str, ...]:
    if bounds is None or (bounds.lower is not None and bounds.upper is not None):
        return ()
    return ("an extreme assumption takes too long to count: counts are unbounded on that side",)


def _describe_sample(
    run: GroupExecution, wave_run: GroupExecution | None, groups: int
) -> GroupSample:
    return GroupSample(
        groups=run.grid.groups,
        wave_groups=wave_run.grid.groups if wave_run is not None else 0,
        relative_error=max_relative_error(run, groups),
        is_whole=run.grid.groups == groups,
    )


def _private_accesses(rows: Sequence[OperationCount]) -> float:
    """Return the mean number of accesses of private variables per work-item."""
    costs = {CostClass.LOAD, CostClass.STORE}
    return sum(row.per_item for row in rows if row.cost in costs and is_private_type(row.type))


def _local_bytes(task: Task) -> int:
    """Return the local memory per work-group."""
    variables = sum(size_bytes(v.type) for v in task.sliced_kernel.variables if v.space == LOCAL)
    passed = sum(item.size_bytes for item in task.arguments if isinstance(item, LocalArgument))
    return variables + passed


def _notes(run: GroupExecution, bounds: ScenarioBounds | None) -> tuple[str, ...]:
    notes = set(run.state.notes)
    for item in run.launch.memory.objects:
        if item.out_of_bounds:
            notes.add(f"{item.name}: {item.out_of_bounds} accesses out of bounds in the sample")
    if run.observer.has_dropped_sectors:
        notes.add(
            "footprints cover only the first part of the sample, which touches more sectors than are kept"
        )
    return (*sorted(notes), *_unbounded_notes(bounds))
