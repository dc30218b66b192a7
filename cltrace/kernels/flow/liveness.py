"""Which values a block needs from those before it."""

from collections.abc import Iterable, Mapping

from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import operands_of, result_of


def needed_at(function: Function, graph: Graph) -> Mapping[int, tuple[int, ...]]:
    """The slots that each block needs when it begins, its phis' results among them, constants not.

    Sets of slots are the bits of integers.
    """
    constants = 0
    for constant in function.constants:
        constants |= 1 << constant.slot
    sets = {number: _block_sets(function, number) for number in graph.order}
    phis = {
        number: _bits(phi.result for phi in function.blocks[number].phis) for number in graph.order
    }
    from_edges = _from_edges(function, graph)
    begin = dict.fromkeys(graph.order, 0)
    changed = True
    while changed:
        changed = False
        for number in reversed(graph.order):
            end = from_edges[number]
            for target in graph.successors[number]:
                end |= begin[target] & ~phis[target]
            used, defined = sets[number]
            new = (used | (end & ~defined)) & ~constants
            new |= phis[number] & (used | end)
            if new != begin[number]:
                begin[number] = new
                changed = True
    return {number: _slots(begin[number]) for number in graph.order}


def _from_edges(function: Function, graph: Graph) -> dict[int, int]:
    """By block: what the phis of those after it take from it."""
    found = dict.fromkeys(graph.order, 0)
    for number in graph.order:
        for phi in function.blocks[number].phis:
            for source, value in phi.incoming:
                if source in found:
                    found[source] |= 1 << value
    return found


def _block_sets(function: Function, number: int) -> tuple[int, int]:
    """What a block uses before it defines it, and what it defines."""
    block = function.blocks[number]
    used = defined = 0
    for instruction in block.instructions:
        for slot in operands_of(instruction):
            if not defined >> slot & 1:
                used |= 1 << slot
        result = result_of(instruction)
        if result >= 0:
            defined |= 1 << result
    for slot in operands_of(block.terminator):
        if not defined >> slot & 1:
            used |= 1 << slot
    return used, defined


def _bits(slots: Iterable[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


def _slots(bits: int) -> tuple[int, ...]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)
