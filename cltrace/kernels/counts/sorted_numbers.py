"""Runs of equal numbers in sorted arrays."""

import numpy as np
from numpy.typing import NDArray


def is_first(ordered: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the first of each of equal numbers."""
    mask = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=mask[1:])
    return mask
