"""Live-in sets: the values that a block needs from those before it."""

from collections.abc import Iterable, Mapping

from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit


def find_live_in(function: Function, graph: Graph) -> Mapping[int, tuple[int, ...]]:
    """Return the slots that are live where each block begins, its phis' results included.

    Constants are not among them. Sets of slots are held as the bits of integers.
    """
    constants = 0
    for constant in function.constants:
        constants |= 1 << constant.slot
    sets = {number: _uses_and_definitions(function, number) for number in graph.order}
    phis = {
        number: _to_bits(phi.result for phi in function.blocks[number].phis)
        for number in graph.order
    }
    used_by_phis = _uses_by_phis(function, graph)
    live_in = dict.fromkeys(graph.order, 0)
    changed = True
    while changed:
        check_cpu_limit()
        changed = False
        for number in reversed(graph.order):
            live_out = used_by_phis[number]
            for target in graph.successors[number]:
                live_out |= live_in[target] & ~phis[target]
            used, defined = sets[number]
            new = (used | (live_out & ~defined)) & ~constants
            new |= phis[number] & (used | live_out)
            if new != live_in[number]:
                live_in[number] = new
                changed = True
    return {number: _to_slots(live_in[number]) for number in graph.order}


def _uses_by_phis(function: Function, graph: Graph) -> dict[int, int]:
    """Return by block the slots that the phis of its successors take from it."""
    uses = dict.fromkeys(graph.order, 0)
    for number in graph.order:
        for phi in function.blocks[number].phis:
            for source, value in phi.incoming:
                if source in uses:
                    uses[source] |= 1 << value
    return uses


def _uses_and_definitions(function: Function, number: int) -> tuple[int, int]:
    """Return the slots that a block uses before it defines them, and those that it defines."""
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


def _to_bits(slots: Iterable[int]) -> int:
    bits = 0
    for slot in slots:
        bits |= 1 << slot
    return bits


def _to_slots(bits: int) -> tuple[int, ...]:
    slots = []
    while bits:
        lowest = bits & -bits
        slots.append(lowest.bit_length() - 1)
        bits ^= lowest
    return tuple(slots)
