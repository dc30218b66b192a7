"""What benchmarks of the score have in common: the work-group, what buffers hold, work done again."""

from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

GROUP: Final = 256
"""Work-items of a work-group: every GPU takes them, and starting groups of so many is not the work."""
_Found = TypeVar("_Found")


def numbers(count: int, seed: int) -> Callable[[], NDArray[np.float32]]:
    """Floats from 0 to 1, the same each time."""
    return lambda: np.random.default_rng(seed).random(count, np.float32)


def zeros(count: int) -> Callable[[], NDArray[np.uint32]]:
    """Zeros."""
    return lambda: np.zeros(count, np.uint32)


def repeated(times: int, work: Callable[[], _Found]) -> _Found:
    """What `work` returns, done as often as a run launches its kernel: numpy does no less."""
    for _ in range(times - 1):
        work()
    return work()
