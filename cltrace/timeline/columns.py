"""Types of numpy columns, the value of a time that never came, and the median of a column."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEVER: Final = np.int64(2**62)
"""A host time later than any: no call proved that the command is complete."""


def median_of(values: Float64s) -> float:
    """Return the median of at least one finite value.

    `np.median` returns it too, but imports `numpy.ma` at its first call, which takes 10 ms.
    """
    middle = [(len(values) - 1) // 2, len(values) // 2]
    low, high = np.partition(values, middle)[middle].tolist()
    return float((low + high) / 2)
