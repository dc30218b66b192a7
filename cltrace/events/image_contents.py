"""Contents of an image as a trace stores them: its format and sides, then its texels row by row."""

import struct
from dataclasses import astuple, dataclass
from typing import Final

_HEADER: Final = struct.Struct("<5I")
HEADER_BYTES: Final = _HEADER.size


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """Format and sides of an image: its channel order and type as OpenCL's numbers.

    `depth` is the number of layers of an array, 1 for other images of one or two dimensions.
    """

    channel_order: int
    channel_type: int
    width: int
    height: int
    depth: int


def pack_image_format(image: ImageFormat) -> bytes:
    """Return what stands before the texels."""
    return _HEADER.pack(*astuple(image))


def read_image_format(contents: bytes) -> ImageFormat | None:
    """Return the format of stored contents; None for contents that are too short for one."""
    if len(contents) < HEADER_BYTES:
        return None
    return ImageFormat(*_HEADER.unpack_from(contents))
