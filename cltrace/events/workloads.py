"""Workloads: descriptions of launches and transfers, for measurement and for prediction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BufferInput:
    """A buffer argument. Without `contents`, the device fills it with distinct numbers.

    Read as floats, these numbers lie between 1 and 2, so that neither arithmetic nor memory is faster for
    them than for others. `contents` returns an array that is at most as long as the buffer; control flow
    and addresses that depend on it are counted with it.
    """

    size_bytes: int
    contents: Callable[[], NDArray[np.generic]] | None = None


@dataclass(frozen=True, slots=True)
class LocalInput:
    """Local memory of a work-group."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class ImageInput:
    """An image of floats, of one or four channels; with a `depth`, it is three-dimensional.

    Without `contents`, it has the numbers of a buffer. `contents` returns an array of its texels.
    """

    width: int
    height: int
    depth: int = 0
    channels: int = 1
    contents: Callable[[], NDArray[np.float32]] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Width, height, and depth if there is one."""
        return (self.width, self.height, self.depth)[: 3 if self.depth else 2]

    @property
    def size_bytes(self) -> int:
        """Size of all texels."""
        return 4 * self.channels * self.width * self.height * max(self.depth, 1)


WorkloadInput: TypeAlias = BufferInput | ImageInput | LocalInput | np.generic


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
        """Number of work-items in the NDRange."""
        return int(np.prod(self.global_size, dtype=np.int64))

    @property
    def group_items(self) -> int:
        """Number of work-items in a work-group."""
        return int(np.prod(self.local_size, dtype=np.int64))

    @property
    def buffer_bytes(self) -> int:
        """Total size of all buffers and images."""
        return sum(
            item.size_bytes for item in self.inputs if isinstance(item, BufferInput | ImageInput)
        )


@dataclass(frozen=True, slots=True)
class Arrival:
    """State of a device when a launch begins.

    `idle_ns` is the time since its compute units had work. `first_share` is 1 for the first launch of a
    kernel of a program, 0 for later ones, and between them for launches that are taken together.
    `changed_images` is the number of image arguments that are other images than at the kernel's last
    launch. `is_queued` is True for a launch that waited in the queue while the device worked, and that
    began when that had ended.
    """

    idle_ns: float = 0.0
    first_share: float = 0.0
    changed_images: float = 0.0
    is_queued: bool = False


STEADY: Final = Arrival()
"""The device has just run the same kernel."""


@dataclass(frozen=True, slots=True)
class ArrivingLaunch:
    """A launch that begins in a state of the device."""

    work: Workload
    arrival: Arrival


@dataclass(frozen=True, slots=True)
class LaunchBeside:
    """A launch that is repeated while each of its `neighbours` is repeated in a queue of its own.

    Without neighbours it is alone. The device is divided into `parts` of equal size, and each launch runs
    on one of them; with 1, all run on the whole device. A GPU's launches have a part each if they have so
    few work-groups. Where `is_memory_shared`, all have the same buffers.
    """

    work: Workload
    neighbours: tuple[Workload, ...]
    parts: int
    is_memory_shared: bool

    @property
    def members(self) -> tuple[Workload, ...]:
        """The launch and its neighbours."""
        return (self.work, *self.neighbours)


class Direction(StrEnum):
    """Direction of a transfer between host and device."""

    TO_DEVICE = "to device"
    FROM_DEVICE = "from device"


DIRECTION_OF: Final[Mapping[str, Direction]] = {
    "write": Direction.TO_DEVICE,
    "read": Direction.FROM_DEVICE,
}
"""Directions of traced transfers, by command kind."""


class HostMemory(StrEnum):
    """Kind of host memory in a transfer."""

    PAGEABLE = "pageable"
    """Ordinary memory of the program."""
    PINNED = "pinned"
    """Memory that the driver allocated and that the device can access directly."""
    MAPPED = "mapped"
    """A buffer that the host maps, reads or writes, and unmaps."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer between host and device."""

    direction: Direction
    memory: HostMemory
    size_bytes: int
