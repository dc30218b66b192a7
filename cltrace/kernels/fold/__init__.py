"""The code that a device's own compiler leaves of a kernel: its operations, and chains of waits.

Kernels are counted as clang optimises them, without unrolling. The driver's compiler continues: it
unrolls innermost loops, advances addresses by additions, and fuses operations. These steps determine the
time of loops more than any other.
"""

from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.fold.blocks import fold_kernel
from cltrace.kernels.fold.folded_kernel import FoldedKernel, ReadsAhead

__all__ = ["FoldedKernel", "Operation", "ReadsAhead", "fold_kernel"]
