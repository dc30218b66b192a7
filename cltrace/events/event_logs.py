"""Logs that work-items of an instrumented kernel write on a device."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """Log of the work-items of some work-groups.

    A row is a work-item of a recorded group. A group that is cut off at the end of the launch has rows
    behind its own that nobody writes.

    Attributes:
        groups: linear numbers of the recorded work-groups.
        bases: addresses of memory that all work-items share.
        counts: the number of words that each row has, whether or not there was room for them.
        begins: the first word of each row, and the end of the last one.
        words: the words.
        is_stopped: which rows are of work-items that were stopped before their end.
        outputs: the bytes of the buffers after the launch, by argument.
        device: the name of the device.
    """

    groups: NDArray[np.int64]
    bases: NDArray[np.uint64]
    counts: NDArray[np.int64]
    begins: NDArray[np.int64]
    words: NDArray[np.uint64]
    is_stopped: NDArray[np.bool_]
    outputs: Mapping[int, NDArray[np.uint8]]
    device: str
