"""Contents of buffers that a bench fills, computed by numpy for references."""

import numpy as np
from numpy.typing import NDArray


def fill_values(count: int) -> NDArray[np.float32]:
    """Return `count` floats from 1 to 2, as `cltrace.measure.Bench` fills buffers with them."""
    mixed = np.arange(count, dtype=np.uint32) * np.uint32(2654435761)
    mixed ^= mixed >> np.uint32(15)
    mixed *= np.uint32(2246822519)
    mixed ^= mixed >> np.uint32(13)
    return (np.uint32(0x3F800000) | (mixed >> np.uint32(9))).view(np.float32)
