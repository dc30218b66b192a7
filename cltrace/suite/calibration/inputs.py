"""Contents of buffers that determine the addresses of kernels."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def ring(length: int, step: int = 1) -> Callable[[], NDArray[np.int32]]:
    """Return a maker of indices that form a random cycle through every `step`-th of `length` places.

    The places between are 0. Each address of a walk depends on the last one and is visited once.
    """

    def make() -> NDArray[np.int32]:
        places = np.arange(0, length, step, dtype=np.int32)
        order = np.random.default_rng(7).permutation(places)
        order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
        indices = np.zeros(length, np.int32)
        indices[order] = np.roll(order, -1)
        return indices

    return make
