"""Accesses of global memory over the tenths of a launch, by the operations that come before them.

What a work-item does between loops comes in the order of its blocks; within a loop that is in no other,
accesses are spread evenly. So are those of launches of several waves, of which each tenth has some of
all phases.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.records import GLOBAL_SPACES, AccessSite
from cltrace.kernels.counts.scaling import ScaledSample
from cltrace.kernels.flow.loops import Graph

TENTHS: Final = 10


def access_density(
    sample: ScaledSample,
    sites: Sequence[AccessSite],
    positions: Mapping[int, int],
    waves: float,
) -> tuple[float, ...]:
    """Return the share of the accesses of global memory in each tenth of a launch.

    `positions` has the position of each executed site in `sites`, `waves` is the number of the launch's
    waves of work-groups. Empty without accesses.
    """
    kernel = sample.task.sliced_kernel
    lanes = sample.run.observer.block_lanes()
    operations = sample.task.analysis.block_operations
    work: dict[int, float] = {}
    accesses: dict[int, float] = {}
    for block in kernel.graph.order:
        part = _part_of(kernel.graph, block)
        own = sum(operations.get(block, {}).values())
        work[part] = work.get(part, 0.0) + float(lanes[block].sum()) * own
    for number, position in positions.items():
        if sites[position].space in GLOBAL_SPACES:
            part = _part_of(kernel.graph, kernel.sites[number].block)
            accesses[part] = accesses.get(part, 0.0) + sites[position].accesses.value
    total = sum(accesses.values())
    if not total or waves > 1.0:
        return (1.0 / TENTHS,) * TENTHS if total else ()
    return tuple(_by_tenths([(work[part], accesses.get(part, 0.0)) for part in work]).tolist())


def _part_of(graph: Graph, block: int) -> int:
    """Return the header of the outermost loop around a block, or the block."""
    loop, part = graph.loop_of[block], block
    while loop >= 0:
        part, loop = graph.loops[loop].header, graph.loops[loop].parent
    return part


def _by_tenths(parts: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """Return the shares of the tenths, from the work and the accesses of each part, in their order."""
    # A part without operations of its own, as a single access, takes as long as one.
    work, accesses = np.asarray([(max(own, 1e-9), count) for own, count in parts]).T
    ends = np.concatenate([[0.0], np.cumsum(work)]) / work.sum()
    until = np.concatenate([[0.0], np.cumsum(accesses)]) / accesses.sum()
    return np.diff(np.interp(np.linspace(0.0, 1.0, TENTHS + 1), ends, until))
