"""What benchmarks of the score have in common: the work-group, what buffers hold, parts for numpy."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

GROUP: Final = 256
"""Work-items of a work-group where no kernel says another: enough that starting groups is not all."""
_PART: Final = 1 << 16


def numbers(count: int, seed: int) -> Callable[[], NDArray[np.float32]]:
    """Floats from 0 to 1, the same each time."""
    return lambda: np.random.default_rng(seed).random(count, np.float32)


def zeros(count: int) -> Callable[[], NDArray[np.uint32]]:
    """Zeros."""
    return lambda: np.zeros(count, np.uint32)


def parts(count: int) -> Iterator[slice]:
    """So many elements in parts that caches hold: numpy is a good deal faster so."""
    return (slice(at, min(at + _PART, count)) for at in range(0, count, _PART))
