"""What a benchmark of the score is: what a run does, and what it has to come to.

After Barba and others, A benchmark for OpenCL (2016): runs as a program would see them, results that are
checked, and times of a sequential program beside them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Sequence[NDArray[np.generic]]
"""The contents of a benchmark's buffers before a run, in order."""
Items: TypeAlias = NDArray[np.int64]
Reference: TypeAlias = Callable[[Arrays, Items], Mapping[int, NDArray[np.generic]]]
"""From the contents before a run to those after it, by the place of the buffer.

Of outputs that have an element for each item only those of the given items are told, of others all.
"""


class Kind(StrEnum):
    """What a benchmark mostly asks of a machine."""

    COMPUTE = "compute"
    BANDWIDTH = "bandwidth"
    LATENCY = "latency"
    DIVERGENCE = "divergence"
    ATOMICS = "atomics"
    LOCAL = "local memory"
    TRANSFERS = "transfers"
    LAUNCHES = "launches"


class Limit(StrEnum):
    """What a device can do at most, as the same session measures it: an amount each second."""

    FLOPS = "float operations"
    INTEGER_OPS = "integer operations"
    MEMORY_BYTES = "bytes of memory"
    LAUNCHES = "launches"
    TRANSFERRED_BYTES = "bytes transferred"


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer: what is in it before a run. `is_output` says that a run changes it."""

    contents: Callable[[], NDArray[np.generic]]
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launched `times` times. Arguments are buffers by their place, or scalars as they are."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    buffers: tuple[int, ...]
    scalars: tuple[np.generic, ...] = ()
    times: int = 1


@dataclass(frozen=True, slots=True)
class Copy:
    """A buffer moved: from the host's copy of it to the device, or back."""

    buffer: int
    to_host: bool


Step: TypeAlias = Launch | Copy


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of the score.

    A run does `steps` in order, and is timed by the host from before the first to the end of the last.
    `items` are what it is about, of which the reference is asked for at most `checked`, spread over all.
    `by_item` are the outputs with an element for each item. `tolerance` is relative to the largest value;
    0 asks for the same bits. `c_source` defines `void run(void **buffers, long items)`, which does the
    same on one thread. `amounts` say how much a run needs at least of what a device's limits are about.
    """

    name: str
    kind: Kind
    about: str
    source: str
    memories: tuple[Memory, ...]
    steps: tuple[Step, ...]
    items: int
    reference: Reference
    c_source: str
    checked: int
    by_item: frozenset[int] = frozenset()
    tolerance: float = 0.0
    amounts: Mapping[Limit, float] = field(default_factory=dict)

    @property
    def checked_items(self) -> Items:
        """The items that are checked: all, or so many, spread over all, the last among them."""
        if self.checked >= self.items:
            return np.arange(self.items)
        return np.unique(np.linspace(0, self.items - 1, self.checked).astype(np.int64))


@dataclass(frozen=True, slots=True)
class LimitProbe:
    """Steps of which the shortest time tells a limit: `amount` is done in them."""

    limit: Limit
    source: str
    memories: tuple[Memory, ...]
    steps: tuple[Step, ...]
    amount: float
