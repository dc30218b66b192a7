"""Branches that depend on unknown contents: the loops that they leave or guard, and their code."""

import numpy as np

from cltrace.kernels.counts.scenarios import TYPICAL_TRIPS
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.paths import blocks_on_paths
from cltrace.kernels.ir.instructions import Branch, Switch
from cltrace.kernels.values import Array


def find_exits(sliced_kernel: PreparedKernel, block: int) -> Array | None:
    """Return a mask of the branch targets that leave the loop of a block; None if none or all do.

    The targets of a `Branch` are in the order not taken, taken.
    """
    loop = sliced_kernel.graph.loop_of[block]
    terminator = sliced_kernel.blocks[block].terminator
    if loop < 0:
        return None
    blocks = sliced_kernel.graph.loops[loop].blocks
    match terminator:
        case Branch(_, then, otherwise):
            targets = [otherwise, then]
        case Switch(_, _, default, cases):
            targets = [default, *(target for _, target in cases)]
        case _:
            return None
    is_exit = np.asarray([target not in blocks for target in targets])
    return is_exit if is_exit.any() and not is_exit.all() else None


def code_size(sliced_kernel: PreparedKernel, block: int, other: int) -> float:
    """Return the size of code reachable from `block`, not from `other`, weighted by loop depth."""
    graph = sliced_kernel.graph
    exclusive = blocks_on_paths(graph, block) - blocks_on_paths(graph, other)
    return sum(
        float(TYPICAL_TRIPS) ** min(graph.depth(graph.loop_of[number]), 4)
        * (1 + len(sliced_kernel.blocks[number].steps))
        for number in exclusive
    )


def find_entry_condition(
    sliced_kernel: PreparedKernel, block: int, unknown: frozenset[int]
) -> bool | None:
    """Return the condition value with which a guard enters a loop of unknown trips.

    The result is None for a block that is not such a guard. Compilers place a first test before the
    loop: one target leads to the loop, the other to its exit.
    """
    terminator = sliced_kernel.blocks[block].terminator
    if not isinstance(terminator, Branch):
        return None
    for target, other_target, is_taken in (
        (terminator.then, terminator.otherwise, True),
        (terminator.otherwise, terminator.then, False),
    ):
        header = next(
            (
                number
                for number in _straight_line(sliced_kernel, target)
                if _is_header(sliced_kernel, number)
            ),
            None,
        )
        if header is None:
            continue
        blocks = next(item.blocks for item in sliced_kernel.graph.loops if item.header == header)
        exits = {
            target for inside in blocks for target in sliced_kernel.graph.successors[inside]
        } - blocks
        exit_blocks = {number for end in exits for number in _straight_line(sliced_kernel, end)}
        is_unknown = not unknown.isdisjoint(blocks)
        if (
            is_unknown
            and block not in blocks
            and not exit_blocks.isdisjoint(_straight_line(sliced_kernel, other_target))
        ):
            return is_taken
    return None


def _is_header(sliced_kernel: PreparedKernel, block: int) -> bool:
    return any(loop.header == block for loop in sliced_kernel.graph.loops)


def _straight_line(sliced_kernel: PreparedKernel, block: int) -> list[int]:
    """Return `block` and its successors up to the first block with several successors."""
    chain = [block]
    while len(sliced_kernel.graph.successors[chain[-1]]) == 1:
        (following,) = sliced_kernel.graph.successors[chain[-1]]
        if following in chain:
            break
        chain.append(following)
    return chain
