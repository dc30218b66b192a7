"""Loops whose trips need what the trip before has computed."""

from cltrace.kernels.flow.paths import reached_from
from cltrace.kernels.fold.loop_evolution import LoopEvolution
from cltrace.kernels.ir.instructions import Store
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of


def has_sequential_trips(function: Function, evolution: LoopEvolution) -> bool:
    """Return True if a trip may need a value of the one before, directly or in a private variable.

    Counters, and values that a trip only takes over from the one before, are none of these.
    """
    if any(isinstance(item, Store) and item.space == PRIVATE for item in evolution.instructions()):
        return True
    loop, blocks = evolution.loop, evolution.blocks
    operands = {result_of(item): operands_of(item) for item in evolution.instructions()}
    for number in blocks - {loop.header}:
        for phi in function.blocks[number].phis:
            operands[phi.result] = tuple(slot for _, slot in phi.incoming)
    return any(
        phi.result in reached_from([slot], operands)
        for phi in function.blocks[loop.header].phis
        for block, slot in phi.incoming
        if block in blocks and phi.result in loop.non_affine
    )
