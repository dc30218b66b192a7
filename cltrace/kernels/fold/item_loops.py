"""Blocks in which the compiler of a CPU runs work-items as lanes of vectors, not one after another."""

from collections.abc import Iterator
from typing import Final

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.inlining import is_synchronising
from cltrace.kernels.ir.instructions import (
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Store,
    Terminator,
)
from cltrace.kernels.ir.types import VectorType
from cltrace.kernels.machine import ItemLoops, Machine

_FREE_CALLS: Final = ("get_", "llvm.")
"""Beginnings of the names of functions that leave no call."""


def find_lane_blocks(kernel: PreparedKernel, machine: Machine) -> frozenset[int]:
    """Return the blocks in which work-items run as lanes of vectors; on a GPU, all of them.

    A vectoriser of loops works on the loop over the work-items of the first dimension. Barriers divide a
    kernel into regions with such a loop each. It is not vectorised where it contains another loop, calls
    a function or an atomic operation, or where each work-item has vectors of its own. A short loop is
    unrolled before, and made vectors of as well.
    """
    everything = frozenset(kernel.graph.order)
    if machine.item_loops is not ItemLoops.LOOPS:
        return everything
    if kernel.private:
        return frozenset()
    inner_loops = [
        loop.blocks
        for loop in kernel.graph.loops
        if not any(kernel.blocks[number].is_synchronising for number in loop.blocks)
    ]
    vectorised: set[int] = set()
    for region in regions_of(kernel):
        items = [item for number in region for item in kernel.function.blocks[number].instructions]
        has_loop = any(not region.isdisjoint(loop) for loop in inner_loops)
        if not has_loop and not any(map(_is_scalar, items)):
            vectorised |= region
    return frozenset(vectorised)


def is_function_call(item: Instruction | Terminator) -> bool:
    """Return True for a call that a CPU's compiler without inlining of built-in functions leaves."""
    return (
        isinstance(item, Call)
        and not is_synchronising(item.callee)
        and not demangle(item.callee).name.startswith(_FREE_CALLS)
    )


def regions_of(kernel: PreparedKernel) -> Iterator[frozenset[int]]:
    """Yield the blocks of a kernel between barriers, those that reach each other without one together."""
    left = set(kernel.graph.order)
    graph = kernel.graph
    while left:
        region: set[int] = set()
        waiting = [left.pop()]
        while waiting:
            number = waiting.pop()
            region.add(number)
            following = [
                target
                for target in graph.successors[number]
                if not kernel.blocks[target].is_synchronising
            ]
            preceding = () if kernel.blocks[number].is_synchronising else graph.predecessors[number]
            near = left.intersection((*following, *preceding))
            left -= near
            waiting.extend(near)
        yield frozenset(region)


def _is_scalar(item: Instruction) -> bool:
    """Return True for an instruction that is not vectorised over work-items."""
    match item:
        case AtomicUpdate() | AtomicExchange():
            return True
        case Load() | Store():
            return isinstance(item.type, VectorType)
        case _:
            return is_function_call(item)
