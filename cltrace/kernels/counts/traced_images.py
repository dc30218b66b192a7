"""Images of traced launches: their formats and contents where a trace has them."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.image_contents import HEADER_BYTES, read_image_format
from cltrace.kernels.arguments import ImageArgument

_CHANNELS: Final[Mapping[int, int]] = {
    0x10B0: 1,  # CL_R
    0x10B1: 1,  # CL_A
    0x10B2: 2,  # CL_RG
    0x10B3: 2,  # CL_RA
    0x10B4: 3,  # CL_RGB
    0x10B5: 4,  # CL_RGBA
    0x10B6: 4,  # CL_BGRA
    0x10B7: 4,  # CL_ARGB
    0x10B8: 1,  # CL_INTENSITY
    0x10B9: 1,  # CL_LUMINANCE
    0x10C3: 4,  # CL_ABGR
}
"""Channels in memory, by channel order."""
_TYPES: Final[Mapping[int, tuple[str, bool]]] = {
    0x10D0: ("int8", True),  # CL_SNORM_INT8
    0x10D1: ("int16", True),  # CL_SNORM_INT16
    0x10D2: ("uint8", True),  # CL_UNORM_INT8
    0x10D3: ("uint16", True),  # CL_UNORM_INT16
    0x10D7: ("int8", False),  # CL_SIGNED_INT8
    0x10D8: ("int16", False),  # CL_SIGNED_INT16
    0x10D9: ("int32", False),  # CL_SIGNED_INT32
    0x10DA: ("uint8", False),  # CL_UNSIGNED_INT8
    0x10DB: ("uint16", False),  # CL_UNSIGNED_INT16
    0x10DC: ("uint32", False),  # CL_UNSIGNED_INT32
    0x10DD: ("float16", False),  # CL_HALF_FLOAT
    0x10DE: ("float32", False),  # CL_FLOAT
}
"""Numpy type of a channel and whether it is normalised, by channel type."""


def captured_image(contents: bytes) -> ImageArgument | None:
    """Return an image from its captured contents; None for a format that is not supported."""
    image = read_image_format(contents)
    if image is None or image.channel_order not in _CHANNELS or image.channel_type not in _TYPES:
        return None
    channels = _CHANNELS[image.channel_order]
    dtype, is_normalised = _TYPES[image.channel_type]
    sides = (image.width, image.height, image.depth)
    size_bytes = math.prod(sides) * channels * np.dtype(dtype).itemsize
    if not size_bytes or len(contents) != HEADER_BYTES + size_bytes:
        return None
    texels = np.frombuffer(contents, dtype, offset=HEADER_BYTES)
    return ImageArgument(
        *sides,
        channels=channels,
        channel_dtype=dtype,
        is_normalised=is_normalised,
        channel_order=image.channel_order,
        channel_type=image.channel_type,
        contents=texels.reshape(*sides[::-1], channels),
    )


def image_of_size(sides: tuple[int, int, int], memory_bytes: int) -> ImageArgument:
    """Return an image of floats with texels as large as the traced ones, but of at least 4 bytes."""
    texel_bytes = memory_bytes // max(math.prod(sides), 1)
    channels = min(max(texel_bytes // 4, 1), 4) if texel_bytes else 4
    return ImageArgument(*sides, channels=channels)
