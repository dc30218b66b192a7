"""Columns of emitted values."""

import numpy as np
from numpy.typing import NDArray


def count_earlier(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each entry, the number of earlier ones that equal it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(is_first)
    earlier = np.empty(len(keys), np.int64)
    earlier[order] = np.arange(len(keys)) - np.repeat(begins, np.diff(begins, append=len(keys)))
    return earlier
