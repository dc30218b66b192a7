"""Which work-groups are executed, and how many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.arguments import Argument
from cltrace.kernels.counts.assumptions import USUAL, Assumed, Scenario
from cltrace.kernels.counts.extrapolation import Extrapolation
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.counts.observer import Depth, Recorder, SiteColumn
from cltrace.kernels.counts.skippable_loops import AssumedTrips, EvenTrips, Skippable
from cltrace.kernels.execute.lanes import Grid, NDRange
from cltrace.kernels.execute.launch import Launch
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.execute.scheduler import Runner
from cltrace.kernels.execute.state import State
from cltrace.kernels.machine import Machine

_FEW_ITEMS: Final = 4096
"""Launches of no more work-items are run as a whole."""
_MORE_STEPS: Final = 4
"""How many times as much as another sample is executed of a window, and of groups that follow."""
_WINDOW: Final = 256
_GOLDEN: Final = 0.6180339887498949


class Trips(Enum):
    """What is run of long loops whose values move evenly."""

    SAMPLED = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much is executed: at most so many groups and, about, instructions of lanes.

    `steps` is what a sample should take; where groups differ by more than `relative_error`, up to
    eight times as much. `most_steps` ends an execution with an error.
    """

    fewest_groups: int = 16
    most_groups: int = 256
    wave_groups: int = 64
    steps: int = 1_500_000
    most_steps: int = 200_000_000
    relative_error: float = 0.02
    depth: Depth = Depth.TRANSACTIONS
    trips: Trips = Trips.SAMPLED


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be executed: a kernel's launch on a machine, and what of it is not known."""

    analysis: KernelAnalysis
    space: NDRange
    arguments: Sequence[Argument]
    machine: Machine
    unknown_sites: frozenset[int]
    unknown_blocks: frozenset[int]

    @property
    def prepared(self) -> Prepared:
        """The kernel as it is executed."""
        return self.analysis.prepared


@dataclass(frozen=True, slots=True)
class Run:
    """An execution that ended."""

    grid: Grid
    recorder: Recorder
    extrapolation: Extrapolation
    state: State
    launch: Launch
    lane_steps: int


def run_groups(
    task: Task, groups: NDArray[np.int64], sampling: Sampling, scenario: Scenario = USUAL
) -> Run:
    """Execute some groups. Raises: `KernelExecutionError`."""
    grid = Grid(task.space, groups, task.machine.warp_width)
    launch = Launch(task.prepared, task.arguments, grid)
    recorder = Recorder(task.prepared, grid, task.machine, sampling.depth)
    assumed = Assumed(task.prepared, scenario, task.space.group_items, task.unknown_blocks)
    state = State(
        grid,
        launch.memory,
        launch.images,
        recorder,
        assumed,
        task.unknown_sites,
        task.unknown_blocks,
    )
    watch = Extrapolation(
        task.prepared,
        _skippable(task, assumed) if sampling.trips is Trips.SAMPLED else {},
        task.analysis.inexact,
        state,
        recorder,
        task.machine.sector_bytes,
    )
    runner = Runner(task.prepared, state, sampling.most_steps, watch)
    runner.run(launch.frame)
    return Run(grid, recorder, watch, state, launch, runner.lane_steps)


def _skippable(task: Task, assumed: Assumed) -> Mapping[int, Skippable]:
    """The loops whose trips need not all be run, by their headers."""
    graph = task.prepared.graph
    even = task.analysis.loops
    found: dict[int, Skippable] = {header: EvenTrips(loop) for header, loop in even.items()}
    for number, loop in enumerate(graph.loops):
        leaving = {
            block for block in loop.blocks if not loop.blocks.issuperset(graph.successors[block])
        }
        if len(leaving) == 1 and leaving <= task.unknown_blocks:
            (block,) = leaving
            if graph.loop_of[block] == number and assumed.leaves_loops(block):
                moving = EvenTrips(even[loop.header]) if loop.header in even else None
                found[loop.header] = AssumedTrips(number, block, assumed, moving)
    return found


def sampled(task: Task, sampling: Sampling, scenario: Scenario = USUAL) -> Run:
    """Execute a sample of the launch's groups, as many as it takes. Raises: `KernelExecutionError`."""
    groups = task.space.groups
    if groups <= sampling.most_groups and task.space.work_items <= _FEW_ITEMS:
        whole = _tried(task, groups, sampling, scenario)
        if whole is not None:
            return whole
    return _grown(task, sampling, scenario)


def _grown(task: Task, sampling: Sampling, scenario: Scenario) -> Run:
    """A sample that grows from two groups until groups differ little enough."""
    groups = task.space.groups
    pilot = run_groups(task, _spread(groups, min(2, groups)), sampling, scenario)
    if groups <= 2 or (sampling.depth is Depth.ACCESSES and relative_error(pilot, groups) == 0.0):
        return pilot
    size = _size(task, sampling, pilot)
    if size <= 2:
        return pilot
    limit = size * 8
    while True:
        found = _tried(task, size, sampling, scenario)
        if found is None:
            return pilot
        if size >= min(groups, sampling.most_groups * 8, limit):
            return found
        if relative_error(found, groups) <= sampling.relative_error:
            return found
        pilot, size = found, min(size * 2, groups)


def _tried(task: Task, size: int, sampling: Sampling, scenario: Scenario) -> Run | None:
    """A sample of some size, or None if it takes too much memory or time."""
    try:
        return run_groups(task, _spread(task.space.groups, size), sampling, scenario)
    except (KernelExecutionError, MemoryError):
        return None


def _size(task: Task, sampling: Sampling, pilot: Run) -> int:
    """How many groups: as many as the steps allow, and for small launches all."""
    per_group = max(pilot.lane_steps / pilot.grid.groups, 1.0)
    affordable = int(sampling.steps / per_group)
    return min(max(affordable, sampling.fewest_groups), sampling.most_groups, task.space.groups)


def within_wave(task: Task, sampling: Sampling, sample: Run, wave_groups: int) -> Run:
    """Execute groups spread over one wave."""
    return within(task, sampling, sample, wave_groups, sampling.wave_groups, sampling.steps)


def within_window(task: Task, sampling: Sampling, sample: Run, window_groups: int) -> Run:
    """Execute groups spread over a window, more of them: what they share is rare among few."""
    return within(task, sampling, sample, window_groups, _WINDOW, _MORE_STEPS * sampling.steps)


def within(
    task: Task, sampling: Sampling, sample: Run, span: int, most_groups: int, steps: int
) -> Run:
    """Execute at most so many groups, spread over `span` of them somewhere in the launch."""
    per_group = max(sample.lane_steps / sample.grid.groups, 1.0)
    affordable = max(int(steps / per_group), sampling.fewest_groups)
    size = min(most_groups, span, affordable)
    begin = _begin(task.space.groups - span)
    return run_groups(task, begin + _drawn(span, size), sampling)


def _spread(groups: int, size: int) -> NDArray[np.int64]:
    """Groups spread over the launch without a period: multiples of the golden ratio."""
    if size >= groups:
        return np.arange(groups, dtype=np.int64)
    chosen = np.unique((np.arange(size) * _GOLDEN % 1.0 * groups).astype(np.int64))
    if len(chosen) < size:
        others = np.setdiff1d(np.arange(min(groups, 8 * size)), chosen)
        chosen = np.sort(np.concatenate([chosen, others[: size - len(chosen)]]))
    return chosen


def beside_each_other(task: Task, sampling: Sampling, sample: Run) -> Run:
    """Execute groups that follow each other."""
    groups = task.space.groups
    per_group = max(sample.lane_steps / sample.grid.groups, 1.0)
    size = min(max(int(_MORE_STEPS * sampling.steps / per_group), sampling.fewest_groups), groups)
    begin = _begin(groups - size)
    return run_groups(task, np.arange(begin, begin + size, dtype=np.int64), sampling)


def _begin(room: int) -> int:
    """Where in a launch a span of groups begins: somewhere within, where nothing is symmetrical."""
    return int(room * (1.0 - _GOLDEN))


def _drawn(span: int, size: int) -> NDArray[np.int64]:
    """Groups drawn at random, the same each time: some lie near each other, as chance has it."""
    if size >= span:
        return np.arange(span, dtype=np.int64)
    return np.sort(np.random.default_rng(span).choice(span, size, replace=False)).astype(np.int64)


def relative_error(run: Run, groups: int) -> float:
    """The larger relative standard error of the mean: of the warps' work, and of sectors."""
    work = run.recorder.block_warps().sum(axis=0)
    sectors = np.zeros(run.grid.groups)
    for number in range(len(run.recorder.touched)):
        sectors += run.recorder.site(number)[SiteColumn.SECTORS]
    return max(mean_error(work, groups)[1], mean_error(sectors, groups)[1])


def mean_error(values: NDArray[np.float64], groups: int) -> tuple[float, float]:
    """The mean over sampled groups, and its relative standard error with so many groups in all."""
    mean = float(values.mean()) if len(values) else 0.0
    if len(values) < 2 or mean == 0.0 or len(values) >= groups:
        return mean, 0.0
    spread = float(values.std(ddof=1)) / np.sqrt(len(values))
    return mean, float(spread * np.sqrt(1.0 - len(values) / groups) / abs(mean))
