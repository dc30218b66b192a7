"""Places of private variables in the memory of a GPU, which interleaves the words of a warp's lanes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.values import Value

WORD_BYTES: Final = 4
"""Bytes of a lane's private variables between which those of other lanes lie."""
_MASK: Final = (1 << SHIFT) - 1


def find_private_places(
    address: Value, lanes: Lanes, grid: Grid, memory: Memory, *, is_mixed: bool
) -> NDArray[np.int64]:
    """Return the place of each lane's word. The next word of a lane is `warp_width` words further.

    Lanes that access the same word of their variables touch neighbouring places. If the access
    `is_mixed`, lanes may access different variables, whose places lie apart.
    """
    addresses = np.atleast_1d(np.asarray(address, np.int64))
    numbers = addresses >> SHIFT if is_mixed else addresses[:1] >> SHIFT
    sizes = np.array([memory.objects[number].size_bytes for number in numbers.tolist()])
    warp_bytes = -(-sizes // WORD_BYTES) * WORD_BYTES * grid.warp_width
    offset, index = addresses & _MASK, lanes.index
    lane = grid.linear_in_group[index] % grid.warp_width
    word, byte = offset // WORD_BYTES * WORD_BYTES, offset % WORD_BYTES
    base = numbers << SHIFT if is_mixed else 0
    place = base + grid.warp[index] * warp_bytes + word * grid.warp_width + lane * WORD_BYTES + byte
    return np.asarray(place, np.int64)
