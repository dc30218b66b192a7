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
Reference: TypeAlias = Callable[[Arrays], Mapping[int, NDArray[np.generic]]]
"""From the contents before a run to those after it, of each output by the place of its buffer."""


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

    A run does `steps` in order, `repeats` times, which comes to the same as once; it is timed by the
    host from before the first to the end of the last. `reference` does them once by numpy, and so does
    `c_source` on one thread, which defines `void run(void **buffers, long items)`: who times them repeats
    them as often. `tolerance` is relative to the largest value; 0 asks for the same bits. `amounts` say
    how much it takes at least, done once, of what a device's limits are about.
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
    repeats: int = 1
    tolerance: float = 0.0
    amounts: Mapping[Limit, float] = field(default_factory=dict)

    @property
    def run_steps(self) -> tuple[Step, ...]:
        """All that a run does."""
        return self.steps * self.repeats


@dataclass(frozen=True, slots=True)
class LimitProbe:
    """Steps of which the shortest time tells a limit: `amount` is done in them."""

    limit: Limit
    source: str
    memories: tuple[Memory, ...]
    steps: tuple[Step, ...]
    amount: float
