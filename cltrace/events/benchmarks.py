"""Benchmarks of the score, as data: the steps of a run, its expected results and its reference.

After Barba and others, A benchmark for OpenCL (2016): runs as a program would see them, checked results,
and times of a sequential program for comparison.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Sequence[NDArray[np.generic]]
"""Contents of a benchmark's buffers before a run, in order."""
Reference: TypeAlias = Callable[[Arrays], Mapping[int, NDArray[np.generic]]]
"""Function from the contents before a run to the contents of each output after it, by buffer index."""


class BenchmarkKind(StrEnum):
    """Main bottleneck of a benchmark."""

    COMPUTE = "compute"
    BANDWIDTH = "bandwidth"
    LATENCY = "latency"
    DIVERGENCE = "divergence"
    ATOMICS = "atomics"
    LOCAL = "local memory"
    TRANSFERS = "transfers"
    LAUNCHES = "launches"


class RateLimit(StrEnum):
    """Kind of work whose peak rate per second is measured on the device in the same session."""

    FLOPS = "float operations"
    INTEGER_OPS = "integer operations"
    MEMORY_BYTES = "bytes of memory"
    LAUNCHES = "launches"
    TRANSFERRED_BYTES = "bytes transferred"


@dataclass(frozen=True, slots=True)
class BenchmarkBuffer:
    """A buffer and its contents before a run. `is_output` is true if a run changes it."""

    contents: Callable[[], NDArray[np.generic]]
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkLaunch:
    """A kernel launched `times` times. Its arguments are buffers, by index, and then scalars."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    buffers: tuple[int, ...]
    scalars: tuple[np.generic, ...] = ()
    times: int = 1


@dataclass(frozen=True, slots=True)
class BenchmarkCopy:
    """A transfer of a buffer, given by index, between the host's copy of it and the device."""

    buffer: int
    to_host: bool


Step: TypeAlias = BenchmarkLaunch | BenchmarkCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark of the score.

    A run executes `steps` in order, `repeats` times; repeating them does not change the results. The host
    times a run from before the first step to the end of the last. `reference` executes the steps once in
    numpy. `c_source` executes them once on one thread and defines `void run(void **buffers, long items)`;
    to time them, both are repeated equally often. `tolerance` is relative to the largest value; 0
    requires the same bits. `amounts` is the least work that the steps need, executed once, by rate limit.
    """

    name: str
    kind: BenchmarkKind
    about: str
    source: str
    buffers: tuple[BenchmarkBuffer, ...]
    steps: tuple[Step, ...]
    items: int
    reference: Reference
    c_source: str
    repeats: int = 1
    tolerance: float = 0.0
    amounts: Mapping[RateLimit, float] = field(default_factory=dict)

    @property
    def run_steps(self) -> tuple[Step, ...]:
        """All steps of a run."""
        return self.steps * self.repeats


@dataclass(frozen=True, slots=True)
class LimitProbe:
    """Steps whose shortest time gives a rate limit: they do `amount` of the limit's work."""

    limit: RateLimit
    source: str
    buffers: tuple[BenchmarkBuffer, ...]
    steps: tuple[Step, ...]
    amount: float
