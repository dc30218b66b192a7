"""Chains that a trip of a loop leaves to the next, through all blocks that every trip runs."""

from collections.abc import Mapping
from dataclasses import replace

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.loops import Loop
from cltrace.kernels.fold.chains import EMPTY_CHAIN, Chain, ChainSearch, IsFused, OperationOf
from cltrace.kernels.fold.memory_order import MemoryOrder
from cltrace.kernels.fold.predicated_blocks import PredicatedGroup
from cltrace.kernels.limits import check_cpu_limit


def find_trip_chains(
    kernel: PreparedKernel,
    carried: Mapping[int, frozenset[int]],
    is_fused: IsFused,
    order: MemoryOrder,
    operation_of: OperationOf,
) -> Mapping[int, Chain]:
    """Return the longest chain that each trip of a loop leaves to the next, by the loop's last block.

    It may lead through all blocks that every trip runs, and through what other blocks choose between.
    `carried` are the values of the header that a loop carries, by its number.
    """
    chains: dict[int, Chain] = {}
    for number, phis in carried.items():
        loop = kernel.graph.loops[number]
        latches = [each for each in kernel.graph.predecessors[loop.header] if each in loop.blocks]
        if len(latches) != 1 or kernel.graph.loop_of[latches[0]] != number:
            continue
        group = PredicatedGroup(_blocks_of_each_trip(kernel, number, latches[0]), {})
        longest = EMPTY_CHAIN
        for phi in kernel.function.blocks[loop.header].phis:
            check_cpu_limit()
            following = dict(phi.incoming).get(latches[0])
            if phi.result not in phis or following is None:
                continue
            search = ChainSearch(kernel, group, is_fused, order, operation_of, from_slot=phi.result)
            found = replace(search.chain_to(following), rounds=search.rounds_to(following))
            longest = max(longest, found, key=lambda chain: chain.length)
        chains[latches[0]] = longest
    return chains


def _blocks_of_each_trip(kernel: PreparedKernel, number: int, latch: int) -> tuple[int, ...]:
    """Return the blocks that every trip of a loop runs, in the order of running."""
    graph = kernel.graph
    loop = graph.loops[number]
    own = [block for block in graph.order if block in loop.blocks]
    return tuple(
        block
        for block in own
        if graph.loop_of[block] == number
        and (block in {loop.header, latch} or not _reaches(kernel, loop, latch, without=block))
    )


def _reaches(kernel: PreparedKernel, loop: Loop, latch: int, *, without: int) -> bool:
    """Return True if a trip can come from the header of a loop to its last block without a block."""
    check_cpu_limit()
    seen, waiting = {loop.header, without}, [loop.header]
    while waiting:
        for target in kernel.graph.successors[waiting.pop()]:
            if target == latch:
                return True
            if target in loop.blocks and target not in seen:
                seen.add(target)
                waiting.append(target)
    return False
