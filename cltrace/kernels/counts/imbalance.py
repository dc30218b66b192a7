"""Imbalance of a launch: how much longer the longest warp and work-group run than the mean ones.

A launch ends with its slowest warp. Warps differ where their lanes leave loops or branches at different
times: triangular loops, or a single work-item that does all the work.
"""

import numpy as np

from cltrace.kernels.counts.records import Imbalance
from cltrace.kernels.counts.scaling import ScaledSample


def find_imbalance(sample: ScaledSample) -> Imbalance:
    """Return the imbalance of a sample, from the operations and waits of the blocks that warps ran."""
    runs = sample.run.observer.warp_runs
    lengths = np.zeros(len(runs))
    for number, block in sample.folded_kernel.blocks.items():
        lengths[number] = block.chain.length + sum(block.operations.values())
    by_warp = lengths @ runs
    if not by_warp.any():
        return Imbalance(1.0, 1.0)
    by_group = np.add.reduceat(by_warp, sample.run.grid.first_warp)
    return Imbalance(float(by_warp.max() / by_warp.mean()), float(by_group.max() / by_group.mean()))
