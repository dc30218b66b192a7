"""What a launch passes to a kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class BufferArgument:
    """A buffer of `size_bytes`. `contents`, an array of any type, are its first bytes; None if unknown.

    Contents are read and never written to.
    """

    size_bytes: int
    contents: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class LocalArgument:
    """Local memory of `size_bytes` for each work-group."""

    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class ImageArgument:
    """An image, or an array of images. `channels` are those in memory, of numpy's type `channel_dtype`.

    `is_normalised` says that integers stand for 0 to 1 (or -1 to 1). `contents` has shape
    ([depth,] [height,] width[, channels]); None if unknown.
    """

    width: int
    height: int = 1
    depth: int = 1
    channels: int = 4
    channel_dtype: str = "float32"
    is_normalised: bool = False
    contents: NDArray[Any] | None = None
    channel_type: int = 0
    channel_order: int = 0


@dataclass(frozen=True, slots=True)
class SamplerArgument:
    """A sampler. `addressing` is one of none, clamp, edge, repeat, mirrored."""

    normalised: bool = False
    addressing: str = "clamp"
    linear: bool = False


@dataclass(frozen=True, slots=True)
class StructArgument:
    """A structure or vector by value: its bytes."""

    contents: bytes


Argument = (
    BufferArgument
    | LocalArgument
    | ImageArgument
    | SamplerArgument
    | StructArgument
    | np.generic
    | int
    | float
    | None
)
"""One argument of a launch. None is a null pointer; a number is of the kernel's own type."""
