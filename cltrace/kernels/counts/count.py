"""Counting what a launch has to do, by lock-step execution of a sample of its work-groups."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cltrace.errors import KernelExecutionError, UnsupportedKernelError
from cltrace.kernels.arguments import Argument, BufferArgument, ImageArgument, LocalArgument
from cltrace.kernels.compiler import Form
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.access_sites import access_sites, site_order
from cltrace.kernels.counts.assumptions import LEAST, MOST, Scenario, described
from cltrace.kernels.counts.bounds import Extremes
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis, analysis_of
from cltrace.kernels.counts.observer import Depth
from cltrace.kernels.counts.records import Assumption, KernelCounts, OperationCount, Sample
from cltrace.kernels.counts.regions import regions
from cltrace.kernels.counts.sampling import (
    Run,
    Sampling,
    Task,
    relative_error,
    sampled,
    within_wave,
)
from cltrace.kernels.counts.scaling import Scaled
from cltrace.kernels.execute.lanes import NDRange
from cltrace.kernels.flow.dependencies import ANYWHERE, Root
from cltrace.kernels.ir.types import LOCAL, size_bytes
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.machine import NVIDIA, Machine
from cltrace.kernels.program import Program

_WRITTEN: Final = Sampling(
    fewest_groups=2,
    most_groups=8,
    steps=300_000,
    most_steps=80_000_000,
    depth=Depth.ACCESSES,
)
"""How much is executed of the code as it is written, which is only counted by operations and sites."""
_EXTREMES: Final = Sampling(fewest_groups=2, most_groups=32, steps=300_000, most_steps=80_000_000)


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
) -> KernelCounts:
    """What a launch of `kernel` has to do on a device of the shape of `machine`.

    `arguments` are the kernel's, in order: numbers, `BufferArgument`, `LocalArgument` and their like.
    What depends on contents that are not given is assumed, and named in `assumptions`.

    Raises: `ValueError` for sizes or a kernel that do not exist; `UnsupportedKernelError` for what is
    not supported, with its line; `KernelExecutionError` for arguments that do not fit, and for kernels
    that take too long.
    """
    sampling = sample if sample is not None else Sampling()
    space = nd_range(global_size, local_size, global_offset)
    analysis = analysis_of(program, kernel, Form.OPTIMISED)
    task, assumptions = _task(analysis, space, arguments, machine)
    run = sampled(task, sampling)
    near = None
    wave = _wave_groups(task)
    if run.grid.groups < space.groups and wave < space.groups:
        near = within_wave(task, sampling, run, wave)
    extremes = None
    if assumptions:
        extremes = Extremes(_extreme(task, LEAST), _extreme(task, MOST))
    written, notes = _written(program, kernel, space, arguments, machine)
    return _assembled(Scaled(task, run), near, extremes, written, assumptions, notes, sampling)


def _extreme(task: Task, scenario: Scenario) -> Scaled | None:
    """A sample under other assumptions, or None if it takes too long."""
    try:
        return Scaled(task, sampled(task, _EXTREMES, scenario))
    except (KernelExecutionError, UnsupportedKernelError):
        return None


def _task(
    analysis: KernelAnalysis, space: NDRange, arguments: Sequence[Argument], machine: Machine
) -> tuple[Task, tuple[Assumption, ...]]:
    prepared = analysis.prepared
    tainted = analysis.tainted(frozenset(_unknown(arguments)))
    sites = frozenset(
        site.number
        for site in prepared.sites
        if tainted.reaches((site.pointer, *site.indices), site.block)
    )
    task = Task(analysis, space, arguments, machine, sites, tainted.blocks)
    return task, described(prepared, tainted, sites) if sites or tainted.blocks else ()


def _unknown(arguments: Sequence[Argument]) -> list[Root]:
    """The roots whose contents the launch does not give."""
    found: list[Root] = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, BufferArgument | ImageArgument) and argument.contents is None:
            found.append(index)
    if any(isinstance(argument, BufferArgument) for argument in arguments) and found:
        found.append(ANYWHERE)
    return found


def _written(
    program: Program,
    kernel: str,
    space: NDRange,
    arguments: Sequence[Argument],
    machine: Machine,
) -> tuple[Scaled | None, tuple[str, ...]]:
    """A small sample of the code as it is written, or a note of why there is none."""
    try:
        task, _ = _task(analysis_of(program, kernel, Form.WRITTEN), space, arguments, machine)
        return Scaled(task, sampled(task, _WRITTEN)), ()
    except (UnsupportedKernelError, KernelExecutionError) as error:
        return None, (f"not counted as written: {error}",)


def _assembled(
    sample: Scaled,
    near: Run | None,
    extremes: Extremes | None,
    written: Scaled | None,
    assumptions: tuple[Assumption, ...],
    notes: tuple[str, ...],
    sampling: Sampling,
) -> KernelCounts:
    task, run = sample.task, sample.run
    operations = _with_bounds(sample, extremes)
    as_written, order = written.operations() if written else (), site_order(sample)
    return KernelCounts(
        kernel=task.prepared.function.name,
        global_size=task.space.global_size,
        local_size=task.space.local_size,
        machine=task.machine,
        work_items=task.space.work_items,
        groups=task.space.groups,
        warps=run.grid.warps * task.space.groups / run.grid.groups,
        local_bytes=_local_bytes(task),
        sample=_sample(run, near, task.space.groups),
        operations=operations,
        written=as_written,
        folded=sample.folded(),
        sites=access_sites(sample, near, _wave_groups(task), extremes),
        regions=regions(sample, near, _wave_groups(task), order, sampling),
        rounds=sample.rounds(order),
        written_operators=written.operators() if written else (),
        private_accesses=_private_accesses(as_written),
        branches=sample.branches(),
        loops=sample.loops(),
        private=sample.private(),
        lines=sample.lines(),
        barriers=sum(row.per_item for row in operations if row.cost is CostClass.BARRIER),
        active_lanes=sample.active_lanes(),
        paths=float(run.recorder.warp_paths().mean()) if run.grid.warps else 1.0,
        assumptions=assumptions,
        notes=(*_notes(run), *_open(extremes), *notes),
    )


def _wave_groups(task: Task) -> int:
    """How many groups are resident at a time."""
    return task.machine.wave_groups(task.space.group_items, _local_bytes(task))


def _with_bounds(sample: Scaled, extremes: Extremes | None) -> tuple[OperationCount, ...]:
    rows = sample.operations()
    if extremes is None:
        return rows

    def bounded(row: OperationCount) -> OperationCount:
        def total(of: Scaled) -> float:
            return of.operation_totals.get((row.type, row.cost), 0.0)

        return replace(row, total=extremes.around(row.total, total))

    return tuple(map(bounded, rows))


def _open(extremes: Extremes | None) -> tuple[str, ...]:
    if extremes is None or (extremes.least is not None and extremes.most is not None):
        return ()
    return ("what is assumed at most takes too long to be counted: counts have no bound there",)


def _sample(run: Run, near: Run | None, groups: int) -> Sample:
    return Sample(
        groups=run.grid.groups,
        wave_groups=near.grid.groups if near is not None else 0,
        relative_error=relative_error(run, groups),
        is_whole=run.grid.groups == groups,
    )


def _private_accesses(rows: Sequence[OperationCount]) -> float:
    """How often a work-item reads or writes a private variable."""
    costs = {CostClass.LOAD, CostClass.STORE}
    return sum(
        row.per_item for row in rows if row.cost in costs and row.type.startswith("private ")
    )


def _local_bytes(task: Task) -> int:
    """The local memory of a work-group."""
    variables = sum(size_bytes(v.type) for v in task.prepared.variables if v.space == LOCAL)
    passed = sum(item.size_bytes for item in task.arguments if isinstance(item, LocalArgument))
    return variables + passed


def _notes(run: Run) -> tuple[str, ...]:
    found = set(run.state.notes)
    for item in run.launch.memory.objects:
        if item.outside:
            found.add(f"{item.name}: {item.outside} accesses out of bounds in the sample")
    if run.recorder.is_full:
        found.add("footprints rest on the first part of the sample: more was touched than is kept")
    return tuple(sorted(found))
