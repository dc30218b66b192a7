"""Common parts of the score's benchmarks: work-group size, buffer contents, blocks for numpy."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

GROUP: Final = 256
"""Default work-items of a work-group: enough that dispatch does not dominate."""
_PART: Final = 1 << 16


def numbers(count: int, seed: int) -> Callable[[], NDArray[np.float32]]:
    """Return a maker of random floats from 0 to 1, the same each time."""
    return lambda: np.random.default_rng(seed).random(count, np.float32)


def zeros(count: int) -> Callable[[], NDArray[np.uint32]]:
    """Return a maker of zeros."""
    return lambda: np.zeros(count, np.uint32)


def parts(count: int) -> Iterator[slice]:
    """Return slices of `count` elements that fit into caches, where numpy is faster."""
    return (slice(at, min(at + _PART, count)) for at in range(0, count, _PART))
