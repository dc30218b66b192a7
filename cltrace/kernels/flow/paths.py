"""Paths through a control-flow graph: what they lead to, and where all of them come together."""

from collections.abc import Container, Iterable, Mapping

from cltrace.kernels.flow.loops import Graph


def reached_from(begins: Iterable[int], following: Mapping[int, Iterable[int]]) -> set[int]:
    """Return the blocks or values that others lead to, these included, in any number of steps."""
    reached: set[int] = set()
    waiting = list(begins)
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += following.get(current, ())
    return reached


def blocks_on_paths(graph: Graph, begin: int, ends: Container[int] = ()) -> frozenset[int]:
    """Return the blocks that paths from block `begin` lead to, up to and including those in `ends`."""
    blocks: set[int] = set()
    waiting = [begin]
    while waiting:
        block = waiting.pop()
        if block not in blocks:
            blocks.add(block)
            if block not in ends:
                waiting.extend(graph.successors[block])
    return frozenset(blocks)


def immediate_post_dominators(graph: Graph) -> Mapping[int, int]:
    """Return by block the first block that all paths from it come to (its post-dominator), or -1."""
    position = {number: bit for bit, number in enumerate(graph.order)}
    everything = (1 << len(graph.order)) - 1
    dominators = dict.fromkeys(graph.order, everything)
    changed = True
    while changed:
        changed = False
        for number in reversed(graph.order):
            new = everything if graph.successors[number] else 0
            for target in graph.successors[number]:
                new &= dominators[target]
            new |= 1 << position[number]
            if new != dominators[number]:
                dominators[number] = new
                changed = True
    immediate = {}
    for number in graph.order:
        others = dominators[number] & ~(1 << position[number])
        candidates = [other for other in graph.order if others >> position[other] & 1]
        immediate[number] = max(candidates, key=lambda b: dominators[b].bit_count(), default=-1)
    return immediate
