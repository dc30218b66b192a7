"""What is in the buffers of the score's benchmarks before a run."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def numbers(count: int, seed: int) -> Callable[[], NDArray[np.float32]]:
    """Floats from 0 to 1, the same each time."""
    return lambda: np.random.default_rng(seed).random(count, np.float32)


def zeros(count: int) -> Callable[[], NDArray[np.uint32]]:
    """Zeros."""
    return lambda: np.zeros(count, np.uint32)
