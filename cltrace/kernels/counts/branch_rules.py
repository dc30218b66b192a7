"""Accesses by a rule for all branches, instead of the direction that they take.

A compiler pass that does not execute a program takes the branch with the most accesses, or the mean of
all branches (Büsser, Memory access collisions, 2018, 3.2.1). Loops have the trips that were counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from cltrace.kernels.counts.records import GLOBAL_SPACES, AccessSite, RuledAccesses
from cltrace.kernels.counts.scaling import ScaledSample
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.loops import Loop
from cltrace.kernels.ir.source_places import NOWHERE
from cltrace.kernels.ir.types import SPACE_NAMES
from cltrace.kernels.limits import check_cpu_limit


class BranchRule(StrEnum):
    """Rule for the accesses of a branch."""

    EXACT = "exact"
    """Those of the directions that are taken."""
    WORST = "worst"
    """Those of the direction with the most."""
    MEAN = "mean"
    """The mean of its directions."""


def ruled_accesses(
    sample: ScaledSample,
    sites: Sequence[AccessSite],
    positions: Mapping[int, int],
    work_items: int,
) -> tuple[RuledAccesses, ...]:
    """Return the accesses of global memory by each rule, over the whole launch.

    `positions` has the position of each executed site in `sites`. Where none was executed, an access
    counts as one of neighbours in a warp.
    """
    kernel = sample.task.sliced_kernel
    accesses: dict[int, float] = {}
    sectors: dict[int, float] = {}
    sector_bytes = sample.task.machine.sector_bytes
    for site in kernel.sites:
        position = positions.get(site.number)
        if position is None:
            space, per_access = SPACE_NAMES[site.space], site.access_bytes / sector_bytes
        else:
            counted = sites[position]
            space, per_access = counted.space, counted.sectors.value / counted.accesses.value
        if space in GLOBAL_SPACES:
            accesses[site.block] = accesses.get(site.block, 0.0) + 1.0
            sectors[site.block] = sectors.get(site.block, 0.0) + per_access
    runs = _runs_by_loop(sample)
    return tuple(
        RuledAccesses(
            str(rule),
            work_items * accesses_of(kernel, accesses, runs, rule),
            work_items * accesses_of(kernel, sectors, runs, rule),
        )
        for rule in (BranchRule.WORST, BranchRule.MEAN)
    )


class LoopRuns(NamedTuple):
    """How often a loop's header and its body run per entry: a test at the top runs once more."""

    header: float
    body: float


_ONCE: Final = LoopRuns(1.0, 1.0)


def _runs_by_loop(sample: ScaledSample) -> Mapping[int, LoopRuns]:
    observer, graph = sample.run.observer, sample.task.sliced_kernel.graph
    lanes = observer.block_lanes()
    runs = {}
    for number, trips in sample.waits.trips.items():
        header = graph.loops[number].header
        entries = float(observer.entries(header).sum())
        runs[number] = LoopRuns(float(lanes[header].sum()) / entries, trips)
    return runs


def accesses_of(
    kernel: PreparedKernel,
    by_block: Mapping[int, float],
    runs: Mapping[int, LoopRuns],
    rule: BranchRule,
) -> float:
    """Return the accesses of a work-item by a rule, from those of blocks and the runs of loops.

    Loops that were not entered run once. The test before a loop's first trip is no branch: the trips
    say how often it is passed.
    """
    graph, weights = kernel.graph, dict(by_block)
    position = {block: at for at, block in enumerate(graph.order)}
    targets: dict[int, frozenset[int]] = {
        block: frozenset(following) for block, following in graph.successors.items()
    }
    inside: set[int] = set()
    # Inner loops come after outer ones: each becomes a block, its header, for the loop around it.
    for number in reversed(range(len(graph.loops))):
        check_cpu_limit()
        loop = graph.loops[number]
        nodes = sorted(loop.blocks - inside, key=position.__getitem__)
        own, run = weights.get(loop.header, 0.0), runs.get(number, _ONCE)
        body = _on_paths(nodes, loop.header, weights, targets, rule) - own
        weights[loop.header] = run.header * own + run.body * body
        targets[loop.header] = frozenset(
            target for block in nodes for target in targets[block] - loop.blocks
        )
        inside |= loop.blocks - {loop.header}
        for block in _first_tests(kernel, loop):
            entering = frozenset(each for each in targets[block] if _leads_to(each, loop, targets))
            targets[block] = entering or targets[block]
    nodes = [block for block in graph.order if block not in inside]
    return _on_paths(nodes, graph.order[0], weights, targets, rule)


def _first_tests(kernel: PreparedKernel, loop: Loop) -> Iterator[int]:
    """Yield the blocks before a loop that test whether it begins, as its own branches do in each trip.

    Compilers repeat the test of a loop before it, at the same place of the source.
    """
    graph = kernel.graph
    tests = {
        kernel.blocks[block].terminator.place
        for block in loop.blocks
        if any(target not in loop.blocks for target in graph.successors[block])
    }
    passed: set[int] = set()
    waiting = [*graph.entering(loop)]
    while waiting:
        block = waiting.pop()
        if len(graph.successors[block]) > 1:
            if kernel.blocks[block].terminator.place in tests - {NOWHERE}:
                yield block
        elif block not in passed:
            passed.add(block)
            waiting += graph.predecessors[block]


def _leads_to(block: int, loop: Loop, targets: Mapping[int, frozenset[int]]) -> bool:
    """Return True if a block leads to a loop without a branch or another loop between."""
    passed: set[int] = set()
    while block != loop.header and len(targets[block]) == 1 and block not in passed:
        passed.add(block)
        (block,) = targets[block]
    return block == loop.header


def _on_paths(
    nodes: Sequence[int],
    begin: int,
    weights: Mapping[int, float],
    targets: Mapping[int, frozenset[int]],
    rule: BranchRule,
) -> float:
    """Return what the paths from a block to the end of a trip add up to, by a rule.

    `nodes` are in the order in which they run.
    """
    onward: dict[int, float] = {}
    for block in reversed(nodes):
        further = [onward[each] for each in targets[block] if each in onward]
        rest = 0.0
        if further:
            is_worst = rule is BranchRule.WORST
            rest = max(further) if is_worst else sum(further) / len(further)
        onward[block] = weights.get(block, 0.0) + rest
    return onward[begin]
