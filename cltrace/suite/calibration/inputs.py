"""Contents of buffers that decide where kernels go."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def ring(length: int, step: int = 1) -> Callable[[], NDArray[np.int32]]:
    """Indices that lead through every `step`-th of `length` places once, at random, and back.

    What is between is 0. A walk along it has a new address each time, which depends on the last one.
    """

    def made() -> NDArray[np.int32]:
        places = np.arange(0, length, step, dtype=np.int32)
        order = np.random.default_rng(7).permutation(places)
        order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
        found = np.zeros(length, np.int32)
        found[order] = np.roll(order, -1)
        return found

    return made
