"""The default model: what each part of a device takes for a launch, and how far these times overlap.

    T = launch + ‖ dispatch, ‖ ‖ pipes, chains ‖, ‖ local, ‖ ‖ L1, L2, memory, atomics ‖, waiting ‖ ‖ ‖ ‖

Nested p-norms: 1 is the sum of the thesis, infinity the roofline. What a launch asks for is worked out
from its counts as the device's compiler leaves them (`demand`), what that takes from costs that a
calibration isolates one by one (`fit`), and what is left of them together.
"""

from cltrace.predict.models.overlap.model import OVERLAP, Overlap

__all__ = ["OVERLAP", "Overlap"]
