"""What a device's own compiler makes of a kernel: what is left to do, and what waits for what.

Kernels are counted as clang optimises them, without unrolling. A driver's compiler goes on from there:
it unrolls innermost loops, moves addresses on by adding, and joins operations. What that leaves decides
the time of loops more than anything else.
"""

from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.fold.blocks import FoldedBlock, folded_blocks

__all__ = ["FoldedBlock", "Operation", "folded_blocks"]
