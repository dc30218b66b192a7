"""Images and samplers as values of `--arg`."""

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import UsageError
from cltrace.kernels import ImageArgument, KernelParameter, SamplerArgument

SAMPLER_TYPE: Final = "sampler_t"
_IMAGE_TYPE: Final = re.compile(r"image(?P<dimensions>[123])d_(?P<array>array_)?t")
_SIZES: Final = re.compile(r"\d+(?:x\d+){0,2}")
_ADDRESSING: Final = ("none", "clamp", "edge", "repeat", "mirrored")
_OTHER_WORDS: Final = ("normalised", "unnormalised", "linear", "nearest")
_MAX_TEXELS: Final = 1 << 28
_DTYPES: Final = ("float32", "float16", "uint8", "uint16", "uint32", "int8", "int16", "int32")
_NORMALISED: Final = ",normalised"
_NORMALISED_BYTES: Final = 2
"""Bytes of the largest integers that may stand for 0 to 1."""


def is_image(parameter: KernelParameter) -> bool:
    """Return True for a parameter that is an image."""
    return parameter.type.startswith("image")


def parse_sampler(parameter: KernelParameter, text: str) -> SamplerArgument:
    """Return a sampler from words such as `normalised,repeat,linear`. Raises: `UsageError`."""
    words = text.split(",")
    wrong = [word for word in words if word not in {*_ADDRESSING, *_OTHER_WORDS}]
    if wrong:
        raise UsageError(
            f"--arg {parameter.name}={text}: {wrong[0]!r} is no setting of a sampler: give some of "
            f"{', '.join((*_ADDRESSING, *_OTHER_WORDS))}"
        )
    addressing = [word for word in words if word in _ADDRESSING]
    return SamplerArgument(
        normalised="normalised" in words,
        addressing=addressing[-1] if addressing else "clamp",
        linear="linear" in words,
    )


def image_of_size(parameter: KernelParameter, text: str) -> ImageArgument:
    """Return an image of RGBA floats of a size such as `640x480`. Raises: `UsageError`."""
    if _SIZES.fullmatch(text) is None:
        raise UsageError(
            f"--arg {parameter.name}={text} is neither the size of an image, such as 640x480, nor "
            "@FILE.npy"
        )
    sides = [int(side) for side in text.split("x")]
    return ImageArgument(*_extents(parameter, text, sides))


def image_of_contents(
    parameter: KernelParameter, text: str, array: NDArray[Any], *, is_normalised: bool
) -> ImageArgument:
    """Return an image of an array of shape ([depth,] height, width[, channels]). Raises: `UsageError`."""
    extents = _num_extents(parameter)
    name = array.dtype.name
    if name not in _DTYPES or array.ndim not in {extents, extents + 1}:
        raise UsageError(
            f"--arg {parameter.name}={text}: an array of {name} with {array.ndim} axes is no "
            f"{parameter.type}: it has {extents}, and one of 1 to 4 channels, of {', '.join(_DTYPES)}"
        )
    channels = array.shape[-1] if array.ndim > extents else 1
    if not 1 <= channels <= 4:
        raise UsageError(f"--arg {parameter.name}={text}: {channels} channels are not 1 to 4")
    if is_normalised and (array.dtype.kind == "f" or array.itemsize > _NORMALISED_BYTES):
        raise UsageError(f"--arg {parameter.name}={text}: only 8 and 16 bits are normalised")
    sides = _extents(parameter, text, array.shape[:extents][::-1])
    return ImageArgument(
        *sides,
        channels=channels,
        channel_dtype=name,
        is_normalised=is_normalised,
        contents=np.ascontiguousarray(array).reshape(*sides[::-1], channels),
    )


def split_normalised(text: str) -> tuple[str, bool]:
    """Return a value without the word that its integers are normalised, and whether it was there."""
    return text.removesuffix(_NORMALISED), text.endswith(_NORMALISED)


def _num_extents(parameter: KernelParameter) -> int:
    """Return the number of sides of an image, layers included. Raises: `UsageError`."""
    kind = _IMAGE_TYPE.fullmatch(parameter.type)
    if kind is None:
        raise UsageError(f"{parameter.name} is an {parameter.type}, which cannot be given")
    return int(kind["dimensions"]) + bool(kind["array"])


def _extents(parameter: KernelParameter, text: str, sides: Sequence[int]) -> tuple[int, int, int]:
    """Return width, height and depth; layers of an array are its depth. Raises: `UsageError`."""
    extents = _num_extents(parameter)
    if len(sides) != extents or not all(sides) or np.prod(sides, dtype=object) > _MAX_TEXELS:
        raise UsageError(
            f"--arg {parameter.name}={text}: an {parameter.type} has {extents} sizes from 1 on, and "
            f"at most {_MAX_TEXELS:,} texels"
        )
    layers = sides[-1] if "array" in parameter.type else 1
    width, height, depth = (*sides, 1, 1)[:3]
    if parameter.type == "image1d_array_t":
        return width, 1, layers
    return width, height, depth
