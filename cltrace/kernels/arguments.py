"""Arguments of a kernel launch."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class BufferArgument:
    """A buffer of `size_bytes`.

    `contents` is an array of any type that holds its first bytes; None if they are unknown. The array
    is only read, never written.
    """

    size_bytes: int
    contents: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class LocalArgument:
    """Local memory of `size_bytes` per work-group."""

    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImageArgument:
    """An image or an array of images.

    `channels` is the number of channels per texel in memory, `channel_dtype` their numpy type. If
    `is_normalised`, integer channels stand for 0 to 1 (or -1 to 1). `contents` has shape ([depth,]
    [height,] width[, channels]); None if unknown.
    """

    width: int = field(kw_only=False)
    height: int = field(default=1, kw_only=False)
    depth: int = field(default=1, kw_only=False)
    channels: int = 4
    channel_dtype: str = "float32"
    is_normalised: bool = False
    contents: NDArray[Any] | None = None
    channel_type: int = 0
    channel_order: int = 0


@dataclass(frozen=True, slots=True)
class SamplerArgument:
    """A sampler. `addressing` is `none`, `clamp`, `edge`, `repeat` or `mirrored`."""

    normalised: bool = False
    addressing: str = "clamp"
    linear: bool = False


@dataclass(frozen=True, slots=True)
class StructArgument:
    """The bytes of a structure or vector passed by value."""

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
"""An argument of a launch. None is a null pointer; a number takes the type of the parameter."""


def integer_of(argument: Argument) -> int | None:
    """Return an argument that is passed as an integer, or as the bytes of one; None for another."""
    match argument:
        case StructArgument(contents) if len(contents) in (4, 8):
            return int.from_bytes(contents, "little", signed=True)
        case np.integer() | int():
            return int(argument)
        case _:
            return None
