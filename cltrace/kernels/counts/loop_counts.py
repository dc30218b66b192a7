"""Loops of a launch: entries, trips, and how they are known."""

from cltrace.kernels.counts.bounds import ScenarioBounds
from cltrace.kernels.counts.group_sampling import Task
from cltrace.kernels.counts.records import Estimate, LoopCount
from cltrace.kernels.counts.scaling import ScaledSample
from cltrace.kernels.flow.loops import Loop
from cltrace.kernels.ir.source_places import NOWHERE, Place


def count_loops(sample: ScaledSample, bounds: ScenarioBounds | None) -> tuple[LoopCount, ...]:
    """Return the loops, outer loops before inner ones. `bounds` is None if nothing is assumed."""
    return tuple(
        _count_loop(sample, number, trips, bounds) for number, trips in sample.waits.trips.items()
    )


def _count_loop(
    sample: ScaledSample, number: int, trips: float, bounds: ScenarioBounds | None
) -> LoopCount:
    task, observer = sample.task, sample.run.observer
    graph, extrapolation = task.sliced_kernel.graph, sample.run.extrapolation
    loop = graph.loops[number]
    exits = {
        block
        for block in loop.blocks
        if any(target not in loop.blocks for target in graph.successors[block])
    }
    estimate = Estimate(trips, 0.0, trips, trips)
    if bounds is not None:
        estimate = bounds.bound(estimate, lambda scenario: scenario.waits.trips.get(number, 0.0))
    lanes = float(observer.block_lanes()[loop.header].sum())
    entries = float(observer.entries(loop.header).sum())
    return LoopCount(
        place=_loop_place(task, loop),
        depth=graph.depth(number),
        entries=entries * sample.groups / sample.run.grid.groups,
        trips=estimate,
        extrapolated=min(extrapolation.skipped.get(loop.header, 0.0) / lanes, 1.0),
        is_exact=loop.header not in task.analysis.non_uniform_loops
        and loop.header not in extrapolation.coarse,
        is_assumed=not exits.isdisjoint(task.assumed.blocks),
    )


def _loop_place(task: Task, loop: Loop) -> Place:
    """Return the place of a loop in the source: the first line of its branches."""
    places = [
        task.sliced_kernel.blocks[block].terminator.place for block in (loop.header, *loop.blocks)
    ]
    own = [place for place in places if place.line and not place.is_merged]
    return min(own or places, key=lambda place: (place.file, place.line), default=NOWHERE)
