"""The overlap model, the default: each part of a device takes time for a launch, and the times overlap.

    T = launch + ‖ dispatch, ‖ ‖ pipes, chains ‖, ‖ local, ‖ ‖ L1, L2, memory, atomics ‖, waiting ‖ ‖ ‖ ‖

Nested p-norms: 1 is the sum of the thesis, infinity the roofline. The demand of a launch on the parts is
derived from its counts as the device's compiler leaves them (`cltrace.kernels.demand`). The time follows
from costs that a calibration isolates, and costs that are fitted together (`fit`).
"""

from cltrace.predict.models.overlap.model import OVERLAP, Overlap

__all__ = ["OVERLAP", "Overlap"]
