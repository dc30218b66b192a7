"""Recording of a launch's events by executing whole work-groups."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.counts.assumed_begins import assume_begins
from cltrace.kernels.counts.assumption_texts import describe_assumptions
from cltrace.kernels.counts.assumptions import ScenarioRedirection
from cltrace.kernels.counts.group_sampling import begin_execution, spread_groups
from cltrace.kernels.counts.scenarios import TYPICAL_SCENARIO
from cltrace.kernels.counts.unknowns import Unknowns, find_unknowns
from cltrace.kernels.events.launch_code import (
    LaunchCode,
    check_watched,
    event_memories,
    event_sites,
)
from cltrace.kernels.events.named_lines import named_lines
from cltrace.kernels.events.observer import EventObserver
from cltrace.kernels.events.recording_request import ALL_EVENTS, EventSelection, KernelLaunch
from cltrace.kernels.events.records import DroppedEvents, ItemTable, LaunchEvents
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.scheduler import Runner, cost_in_lanes
from cltrace.kernels.execute.work_items import work_item_value
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.machine import NVIDIA, Machine

_PILOT_GROUPS: Final = 2
"""Work-groups that are executed before the others are chosen."""
_PILOT_SHARE: Final = 4
"""Part of the budget of steps that these may take."""
_CAUTION: Final = 0.9
"""Share of the expected number of work-groups that is tried after too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    """Limits of a recording.

    Attributes:
        max_events: events of memory, and bits of streams.
        max_steps: instructions, summed over work-items.
    """

    max_events: int = 2_000_000
    max_steps: int = 1_500_000_000


DEFAULT_LIMITS: Final = EventLimits()
"""The limits where none are given."""


def record_events(
    launch: KernelLaunch,
    selection: EventSelection = ALL_EVENTS,
    *,
    machine: Machine = NVIDIA,
    limits: EventLimits = DEFAULT_LIMITS,
) -> LaunchEvents:
    """Record the events of a launch, of all work-groups or of as many as `limits` allow.

    Values that depend on contents that are not given are assumed; `notes` lists them.

    Raises: `ValueError` for invalid sizes, an unknown kernel or a watched name that the kernel lacks;
    `UnsupportedKernelError` and `KernelExecutionError` as `count` does.
    """
    recorded = _Launch(launch, selection, machine)
    return recorded.events(_run_groups(recorded, limits))


def _run_groups(launch: "_Launch", limits: EventLimits) -> "_Execution":
    """Execute as many work-groups as the limits allow; fewer, if they have more events than expected."""
    groups = _choose_groups(launch, limits)
    run = launch.run(groups, limits)
    if run.observer.dropped_accesses and len(groups) > 1:
        kept = run.observer.num_accesses / (
            run.observer.num_accesses + run.observer.dropped_accesses
        )
        fewer = max(int(len(groups) * kept * _CAUTION), 1)
        run = launch.run(spread_groups(launch.ndrange.groups, fewer), limits)
    return run


def _choose_groups(launch: "_Launch", limits: EventLimits) -> NDArray[np.int64]:
    """Return the work-groups to record: all of them, or as many as the limits allow, spread evenly."""
    groups = launch.ndrange.groups
    if groups <= _PILOT_GROUPS:
        return spread_groups(groups, groups)
    try:
        pilot = launch.run(
            spread_groups(groups, _PILOT_GROUPS),
            replace(limits, max_steps=limits.max_steps // _PILOT_SHARE),
        )
    except KernelExecutionError:  # one group may still be affordable
        return spread_groups(groups, 1)
    return spread_groups(groups, max(int(_affordable_groups(pilot, limits)), 1))


def _affordable_groups(pilot: "_Execution", limits: EventLimits) -> float:
    """Return the number of groups that the limits allow, from an execution of `_PILOT_GROUPS`."""
    lanes = pilot.grid.count
    # Instructions have a fixed cost beside that of their lanes.
    affordable_cost = cost_in_lanes(lanes) * limits.max_steps / max(pilot.steps, 1)
    by_steps = (affordable_cost - cost_in_lanes(0)) / lanes
    return _PILOT_GROUPS * min(by_steps, limits.max_events / max(pilot.num_events, 1))


def _is_any(_: int) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Execution:
    """A finished execution of some work-groups."""

    grid: Grid
    memory: LaunchMemory
    observer: EventObserver
    notes: frozenset[str]
    steps: int

    @property
    def num_events(self) -> int:
        """The larger of the numbers of bits and of events of memory."""
        streams = self.observer.streams
        num_bits = int(streams.table().length[streams.ends].sum())
        return max(num_bits, self.observer.num_accesses + self.observer.dropped_accesses)


class _Launch:
    def __init__(self, launch: KernelLaunch, selection: EventSelection, machine: Machine) -> None:
        code = LaunchCode(launch, selection)
        self._code = code
        self._kernel = code.analysis.sliced_kernel
        self.ndrange = nd_range(launch.global_size, launch.local_size, launch.global_offset)
        self._arguments = assume_begins(code.analysis, launch.arguments).arguments
        self._machine = machine
        self._watched = frozenset(selection.watched)
        self._own_sites = frozenset(
            site.number for site in self._kernel.sites if not code.annotated.is_added(site.place)
        )
        self._unknowns: Unknowns = find_unknowns(code.analysis, self._arguments, self.ndrange)

    def run(self, groups: NDArray[np.int64], limits: EventLimits) -> _Execution:
        """Execute some work-groups."""
        grid = Grid(self.ndrange, groups, self._machine.warp_width)
        memory = LaunchMemory(self._kernel, self._arguments, grid)
        observer = EventObserver(
            self._kernel,
            self._code.model,
            grid,
            self._code.operations,
            self._recorded_objects(memory),
            self._own_sites,
            max_accesses=limits.max_events,
            max_nodes=limits.max_events,
        )
        redirection = ScenarioRedirection(
            self._kernel, TYPICAL_SCENARIO, self.ndrange.group_items, self._unknowns
        )
        state = begin_execution(self._unknowns, grid, memory, observer, redirection)
        runner = Runner(self._kernel, state, limits.max_steps)
        runner.run(memory.frame)
        return _Execution(
            grid=grid,
            memory=memory,
            observer=observer,
            notes=frozenset(state.notes),
            steps=runner.steps,
        )

    def _recorded_objects(self, memory: LaunchMemory) -> Callable[[int], bool]:
        """Return a test of the numbers of objects whose accesses are recorded."""
        objects = memory.memory.objects
        names = {item.name for item in objects[1:] if item.size_bytes}
        check_watched(self._watched, names)
        watched = self._watched | (names & {*self._code.annotated.watched})
        if not watched:
            return _is_any
        return lambda number: 0 < number < len(objects) and objects[number].name in watched

    def events(self, run: _Execution) -> LaunchEvents:
        """Return the events of an execution."""
        observer, grid = run.observer, run.grid
        return LaunchEvents(
            kernel=self._code.kernel,
            source=self._code.source,
            form=self._code.form,
            global_size=self.ndrange.global_size,
            local_size=self.ndrange.local_size,
            machine=self._machine,
            begin=self._code.model.begin,
            decisions=self._code.model.decisions,
            sites=event_sites(self._kernel, self._unknowns.sites),
            memories=event_memories(run.memory),
            items=ItemTable(
                work_item_value("get_global_linear_id", None, grid.all),
                grid.group_numbers[grid.group],
                grid.warp,
                observer.streams.ends,
                observer.item_operations,
            ),
            warp_operations=observer.warp_operations,
            streams=observer.streams.table(),
            accesses=observer.accesses(
                np.asarray([part.size_bytes for part in run.memory.memory.objects[1:]], np.int64)
            ),
            emissions=self._code.annotated.emissions,
            bindings=self._code.annotated.bindings,
            values=observer.values(self._code.annotated.emissions),
            dropped=DroppedEvents(
                observer.streams.dropped_bits, observer.dropped_accesses, observer.dropped_values
            ),
            notes=self._notes(run),
        )

    def _notes(self, run: _Execution) -> tuple[str, ...]:
        assumptions = describe_assumptions(self._kernel, self._unknowns, self.ndrange.group_items)
        lines = named_lines(self._code.source)
        texts = (
            f"{lines.text(row.place)}: {row.what} is assumed: {row.meaning}" for row in assumptions
        )
        ignored = self._code.notes(event_memories(run.memory))
        return (*texts, *ignored, *sorted(run.notes | run.memory.memory.faults()))
