"""Selection and execution of a sample of work-groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.arguments import Argument
from cltrace.kernels.counts.access_batch import SiteColumn
from cltrace.kernels.counts.assumptions import ScenarioRedirection
from cltrace.kernels.counts.extrapolation import LoopExtrapolation
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.counts.observer import AccessDetail, CountObserver
from cltrace.kernels.counts.scenarios import TYPICAL_SCENARIO, Scenario
from cltrace.kernels.counts.skippable_loops import AffineLoop, AssumedLoop, SkippableLoop
from cltrace.kernels.counts.unknowns import Unknowns
from cltrace.kernels.execute.lanes import Grid, NDRange
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.scheduler import Runner, cost_in_lanes
from cltrace.kernels.execute.state import ExecutionState, Observer
from cltrace.kernels.machine import Machine

_MAX_FULL_ITEMS: Final = 4096
"""Launches with at most this number of work-items are executed in full."""
_EARLY_SHARE: Final = 16
"""Share of the steps within which a launch is executed in full without knowing that it will end."""
_WINDOW_STEPS_FACTOR: Final = 4
"""Factor on the steps of samples of a window and of consecutive groups."""
_MAX_WINDOW_GROUPS: Final = 256
_GOLDEN_RATIO: Final = 0.6180339887498949


class Trips(Enum):
    """The trips of long, uniform loops that are executed."""

    SAMPLED = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Limits of a sample.

    A sample has `min_groups` to `max_groups` work-groups and about `target_steps` instructions,
    summed over work-items; eight times as many if groups differ by more than `relative_error`. No
    execution has more than `max_steps` instructions, but for the first one, of two groups, which ends
    with an error after `pilot_factor` times as many, as do others of so few groups. `wave_groups` limits
    the groups of the sample of one wave.
    """

    min_groups: int = 16
    max_groups: int = 256
    wave_groups: int = 64
    target_steps: int = 1_500_000
    max_steps: int = 200_000_000
    pilot_factor: int = 5
    relative_error: float = 0.02
    depth: AccessDetail = AccessDetail.TRANSACTIONS
    trips: Trips = Trips.SAMPLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A launch to execute on a machine.

    `unknowns` are assumed while it runs. `assumed` are they, and what depends on contents that were made
    up before.
    """

    analysis: KernelAnalysis
    ndrange: NDRange
    arguments: Sequence[Argument]
    machine: Machine
    unknowns: Unknowns
    assumed: Unknowns

    @property
    def sliced_kernel(self) -> PreparedKernel:
        """The kernel to execute."""
        return self.analysis.sliced_kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExecution:
    """A finished execution of a sample."""

    grid: Grid
    observer: CountObserver
    extrapolation: LoopExtrapolation
    state: ExecutionState
    launch: LaunchMemory
    lane_steps: int
    steps: int

    def steps_of(self, groups: int) -> float:
        """Return the steps that a sample of `groups` is expected to take if it runs the same blocks.

        It runs more of them if lanes of other groups diverge.
        """
        lanes = self.grid.count * groups / self.grid.groups
        return self.steps * cost_in_lanes(lanes) / cost_in_lanes(self.grid.count)


def run_groups(
    task: Task, groups: NDArray[np.int64], sampling: Sampling, scenario: Scenario = TYPICAL_SCENARIO
) -> GroupExecution:
    """Execute some groups and count their work. Raises: `KernelExecutionError`."""
    execution = _execute_groups(task, groups, sampling, scenario)
    execution.observer.finish()
    return execution


def _execute_groups(
    task: Task, groups: NDArray[np.int64], sampling: Sampling, scenario: Scenario
) -> GroupExecution:
    """Execute some groups, whose observer is not finished. Raises: `KernelExecutionError`."""
    grid = Grid(task.ndrange, groups, task.machine.warp_width)
    launch = LaunchMemory(task.sliced_kernel, task.arguments, grid)
    launch.memory.checks_touches = sampling.depth is AccessDetail.TRANSACTIONS
    observer = CountObserver(
        task.sliced_kernel, grid, task.machine, sampling.depth, task.analysis.mixed_sites
    )
    redirection = ScenarioRedirection(
        task.sliced_kernel, scenario, task.ndrange.group_items, task.unknowns
    )
    state = begin_execution(task.unknowns, grid, launch, observer, redirection)
    extrapolation = LoopExtrapolation(
        task.sliced_kernel,
        _skippable_loops(task, redirection) if sampling.trips is Trips.SAMPLED else {},
        task.analysis.non_uniform_loops,
        state,
        observer,
        task.machine.sector_bytes,
    )
    runner = Runner(task.sliced_kernel, state, sampling.max_steps, extrapolation)
    runner.run(launch.frame)
    return GroupExecution(
        grid=grid,
        observer=observer,
        extrapolation=extrapolation,
        state=state,
        launch=launch,
        lane_steps=runner.lane_steps,
        steps=runner.steps,
    )


def begin_execution(
    unknowns: Unknowns,
    grid: Grid,
    launch: LaunchMemory,
    observer: Observer,
    redirection: ScenarioRedirection,
) -> ExecutionState:
    """Return the state at the begin of an execution."""
    return ExecutionState(
        grid=grid,
        memory=launch.memory,
        images=launch.images,
        observer=observer,
        redirection=redirection,
        redirected_sites=unknowns.sites | unknowns.sites_beside,
        redirected_blocks=unknowns.blocks,
        redirected_selects=unknowns.selects,
    )


def _skippable_loops(task: Task, redirection: ScenarioRedirection) -> Mapping[int, SkippableLoop]:
    """Return the loops of which some trips can be skipped, by header."""
    graph = task.sliced_kernel.graph
    canonical = task.analysis.loops
    skippable: dict[int, SkippableLoop] = {
        header: AffineLoop(loop) for header, loop in canonical.items()
    }
    for number, loop in enumerate(graph.loops):
        exits = {
            block for block in loop.blocks if not loop.blocks.issuperset(graph.successors[block])
        }
        if len(exits) == 1 and exits <= task.unknowns.blocks - task.unknowns.known_parts.keys():
            (block,) = exits
            if graph.loop_of[block] == number and redirection.leaves_loops(block):
                affine_loop = (
                    AffineLoop(canonical[loop.header]) if loop.header in canonical else None
                )
                skippable[loop.header] = AssumedLoop(number, block, redirection, affine_loop)
    return skippable


def sample_launch(
    task: Task, sampling: Sampling, scenario: Scenario = TYPICAL_SCENARIO
) -> GroupExecution:
    """Execute as large a sample of the launch as needed. Raises: `KernelExecutionError`."""
    groups = task.ndrange.groups
    is_small = groups <= sampling.max_groups and task.ndrange.work_items <= _MAX_FULL_ITEMS
    # Most small launches end early. The others are tried again if a pilot shows that they can end.
    if is_small:
        early = replace(sampling, max_steps=sampling.max_steps // _EARLY_SHARE)
        whole = _try_sample(task, groups, early, scenario)
        if whole is not None:
            return whole
    # Most pilots only show how many steps a group takes: their transactions need not be counted.
    pair = spread_groups(groups, min(2, groups))
    pilot = _execute_groups(task, pair, _longest(sampling), scenario)
    max_groups = groups
    if is_small and groups > 2:
        whole = _try_expected(pilot, task, groups, sampling, scenario)
        if whole is not None:
            return whole
        max_groups = groups - 1
    sample = _grow_sample(pilot, task, sampling, scenario, max_groups)
    sample.observer.finish()
    return sample


def _grow_sample(
    pilot: GroupExecution, task: Task, sampling: Sampling, scenario: Scenario, max_groups: int
) -> GroupExecution:
    """Grow a sample from a pilot of two groups until the error of the mean is small enough.

    More than `max_groups` groups take too long.
    """
    groups = task.ndrange.groups
    if groups <= 2 or _has_even_groups(pilot, sampling, groups):
        return pilot
    size = _choose_size(task, sampling, pilot)
    if size <= 2:
        return pilot
    limit = size * 8
    while size <= max_groups:
        run = _try_expected(pilot, task, size, sampling, scenario)
        if run is None:
            return pilot
        if size >= min(groups, sampling.max_groups * 8, limit):
            return run
        if max_relative_error(run, groups) <= sampling.relative_error:
            return run
        pilot, size = run, min(size * 2, groups)
    return pilot


def _has_even_groups(pilot: GroupExecution, sampling: Sampling, groups: int) -> bool:
    """Return True if only accesses are counted, and the groups of a pilot do the same work."""
    if sampling.depth is not AccessDetail.ACCESSES:
        return False
    pilot.observer.finish()
    return max_relative_error(pilot, groups) == 0.0


def _try_sample(
    task: Task, size: int, sampling: Sampling, scenario: Scenario
) -> GroupExecution | None:
    """Execute a sample of some size; None if it takes too much memory or time."""
    try:
        return run_groups(task, spread_groups(task.ndrange.groups, size), sampling, scenario)
    except (KernelExecutionError, MemoryError):
        return None


def _try_expected(
    pilot: GroupExecution, task: Task, size: int, sampling: Sampling, scenario: Scenario
) -> GroupExecution | None:
    """Execute a sample of some size; None if it takes too much, or if a pilot shows that it would."""
    if pilot.steps_of(size) > sampling.max_steps:
        return None
    return _try_sample(task, size, sampling, scenario)


def _choose_size(task: Task, sampling: Sampling, pilot: GroupExecution) -> int:
    """Return the number of groups that the steps allow; all groups of a small launch."""
    per_group = max(pilot.lane_steps / pilot.grid.groups, 1.0)
    affordable = int(sampling.target_steps / per_group)
    return min(max(affordable, sampling.min_groups), sampling.max_groups, task.ndrange.groups)


def sample_wave(
    task: Task, sampling: Sampling, sample: GroupExecution, wave_groups: int
) -> GroupExecution:
    """Execute groups spread over one wave."""
    return _sample_span(
        task, sampling, sample, wave_groups, sampling.wave_groups, sampling.target_steps
    )


def sample_window(
    task: Task, sampling: Sampling, sample: GroupExecution, window_groups: int
) -> GroupExecution:
    """Execute groups spread over a window. More of them are needed, as few groups share little."""
    return _sample_span(
        task,
        sampling,
        sample,
        window_groups,
        _MAX_WINDOW_GROUPS,
        _WINDOW_STEPS_FACTOR * sampling.target_steps,
    )


def _sample_span(
    task: Task, sampling: Sampling, sample: GroupExecution, span: int, max_groups: int, steps: int
) -> GroupExecution:
    """Execute at most `max_groups` groups, spread over `span` groups inside the launch.

    Of their work, only the touched sectors are counted.
    """
    per_group = max(sample.lane_steps / sample.grid.groups, 1.0)
    affordable = max(int(steps / per_group), sampling.min_groups)
    size = _allowed_size(sample, sampling, min(max_groups, span, affordable))
    begin = _span_begin(task.ndrange.groups - span)
    sectors = replace(_longest(sampling), depth=AccessDetail.SECTORS)
    return run_groups(task, begin + _draw_groups(span, size), sectors)


def _longest(sampling: Sampling) -> Sampling:
    """Return limits for as few groups as there can be."""
    return replace(sampling, max_steps=sampling.max_steps * sampling.pilot_factor, pilot_factor=1)


def _allowed_size(sample: GroupExecution, sampling: Sampling, size: int) -> int:
    """Return a number of groups that do not take too long: at most `size`, and no fewer than two."""
    while size > 2 and sample.steps_of(size) > sampling.max_steps:
        size -= size // 2
    return size


def spread_groups(groups: int, size: int) -> NDArray[np.int64]:
    """Return groups spread aperiodically over the launch: multiples of the golden ratio."""
    if size >= groups:
        return np.arange(groups, dtype=np.int64)
    chosen = np.unique((np.arange(size) * _GOLDEN_RATIO % 1.0 * groups).astype(np.int64))
    if len(chosen) < size:
        others = np.setdiff1d(np.arange(min(groups, 8 * size)), chosen)
        chosen = np.sort(np.concatenate([chosen, others[: size - len(chosen)]]))
    return chosen


def sample_consecutive(task: Task, sampling: Sampling, sample: GroupExecution) -> GroupExecution:
    """Execute consecutive groups, of whose work only the touched sectors are counted."""
    groups = task.ndrange.groups
    per_group = max(sample.lane_steps / sample.grid.groups, 1.0)
    size = min(
        max(int(_WINDOW_STEPS_FACTOR * sampling.target_steps / per_group), sampling.min_groups),
        groups,
    )
    size = _allowed_size(sample, sampling, size)
    begin = _span_begin(groups - size)
    sectors = replace(_longest(sampling), depth=AccessDetail.SECTORS)
    return run_groups(task, np.arange(begin, begin + size, dtype=np.int64), sectors)


def _span_begin(free_groups: int) -> int:
    """Return the first group of a span, placed asymmetrically among the free groups."""
    return int(free_groups * (1.0 - _GOLDEN_RATIO))


def _draw_groups(span: int, size: int) -> NDArray[np.int64]:
    """Return groups drawn at random with a fixed seed, some of which are near each other."""
    if size >= span:
        return np.arange(span, dtype=np.int64)
    return np.sort(np.random.default_rng(span).choice(span, size, replace=False)).astype(np.int64)


def max_relative_error(run: GroupExecution, groups: int) -> float:
    """Return the larger relative standard error of the mean, of the warps' work and of sectors."""
    work = run.observer.block_warps().sum(axis=0)
    sectors = np.zeros(run.grid.groups)
    for number in range(len(run.observer.touched)):
        sectors += run.observer.site(number)[SiteColumn.SECTORS]
    return max(mean_and_error(work, groups)[1], mean_and_error(sectors, groups)[1])


def mean_and_error(values: NDArray[np.float64], groups: int) -> tuple[float, float]:
    """Return the mean over sampled groups and its relative standard error for `groups` in total."""
    means, errors = means_and_errors(values[None], groups)
    return float(means[0]), float(errors[0])


def means_and_errors(
    values: NDArray[np.float64], groups: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means over sampled groups, and their relative standard errors for `groups` in total.

    `values` has the sampled groups as its last axis, which the results lack.
    """
    sampled = values.shape[-1]
    means = values.mean(axis=-1) if sampled else np.zeros(values.shape[:-1])
    errors = np.zeros_like(means)
    if 2 <= sampled < groups:
        standard_errors = values.std(axis=-1, ddof=1) / np.sqrt(sampled)
        reduced = standard_errors * np.sqrt(1.0 - sampled / groups)
        np.divide(reduced, np.abs(means), out=errors, where=means != 0.0)
    return means, errors
