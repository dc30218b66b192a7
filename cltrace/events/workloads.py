"""What is to be launched or transferred, as data: what measuring runs and what prediction counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BufferInput:
    """A buffer. Without `contents` it is filled on the device with numbers that are all different.

    Those numbers are floats from 1 to 2 as well as integers, so that neither arithmetic nor memory is
    faster for them than for others. `contents` makes an array that is at most as long as the buffer;
    what depends on it is counted with it.
    """

    size_bytes: int
    contents: Callable[[], NDArray[np.generic]] | None = None


@dataclass(frozen=True, slots=True)
class LocalInput:
    """Local memory of a work-group."""

    size_bytes: int


WorkloadInput: TypeAlias = BufferInput | LocalInput | np.generic


@dataclass(frozen=True, slots=True)
class Workload:
    """A launch: a kernel of a source, with sizes and arguments in order."""

    source: str
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    inputs: Sequence[WorkloadInput]
    options: str = ""

    @property
    def work_items(self) -> int:
        """How many work-items are launched."""
        return int(np.prod(self.global_size, dtype=np.int64))

    @property
    def group_items(self) -> int:
        """How many work-items a work-group has."""
        return int(np.prod(self.local_size, dtype=np.int64))

    @property
    def buffer_bytes(self) -> int:
        """What all buffers take."""
        return sum(one.size_bytes for one in self.inputs if isinstance(one, BufferInput))


class Direction(StrEnum):
    """Which way bytes go between host and device."""

    TO_DEVICE = "to device"
    FROM_DEVICE = "from device"


DIRECTION_OF: Final[Mapping[str, Direction]] = {
    "write": Direction.TO_DEVICE, "read": Direction.FROM_DEVICE,
}  # fmt: skip
"""By the kind of a traced command: which way it moves bytes."""


class HostMemory(StrEnum):
    """What the host's side of a transfer is."""

    PAGEABLE = "pageable"
    """Memory as programs usually have it."""
    PINNED = "pinned"
    """Memory that the driver allocated and the device can reach by itself."""
    MAPPED = "mapped"
    """A buffer that is mapped, read or written by the host, and unmapped."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer between host and device."""

    direction: Direction
    memory: HostMemory
    size_bytes: int
