"""Types of numpy columns, and the value of a time that never came."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEVER: Final = np.int64(2**62)
"""A host time later than any: no call proved that the command is complete."""
