"""Images and samplers (OpenCL C 3.0, section 6.15.15).

Texels are assumed to be stored row by row; the tiling of a device is unknown here.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.values import Array, Value

NORMALISED: Final = 1
_REPEAT, _MIRRORED, _CLAMP, _EDGE = 6, 8, 4, 2
_LINEAR: Final = 0x20
_PASS_BYTES: Final = 4
"""Bytes of a texel that pass through a unit for images at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of `width` × `height` × `depth` texels.

    The depth of an image array is its number of layers. `texels` has shape (depth, height, width, 4)
    and holds floats or integers as a read returns them; None if the contents are unknown.
    `channel_dtype` is the type of a channel in memory.
    """

    width: int
    height: int
    depth: int
    channels: int
    channel_dtype: str
    is_normalised: bool
    texels: Array | None
    channel_type: int = 0
    channel_order: int = 0

    @property
    def texel_bytes(self) -> int:
        """The size of a texel in memory."""
        return self.channels * np.dtype(self.channel_dtype).itemsize

    @property
    def size_bytes(self) -> int:
        """The size of the image, stored row by row."""
        return self.width * self.height * self.depth * self.texel_bytes


@dataclass(frozen=True, slots=True)
class TexelTap:
    """Texels that lanes read: positions by axis, x first, and the interpolation weight."""

    positions: tuple[NDArray[np.int64], ...]
    inside: Array
    weight: Array | None


def offsets(image: Image, positions: tuple[Value, ...]) -> Value:
    """Return the offsets of texels in memory, in bytes."""
    x, y, z = _pad_to_three(positions, np.int64(0))
    return ((z * image.height + y) * image.width + x) * image.texel_bytes


def _pad_to_three(positions: tuple[Value, ...], missing: Value) -> tuple[Value, Value, Value]:
    """Return positions by three axes; `missing` stands for absent axes."""
    padded = [*positions, missing, missing]
    return padded[0], padded[1], padded[2]


def locate_texels(
    image: Image,
    coordinates: tuple[Value, ...],
    sampler: int,
    layered: bool,  # noqa: FBT001
) -> list[TexelTap]:
    """Return the texels that a read at `coordinates` uses. If `layered`, the last is a layer."""
    sizes = (image.width, image.height, image.depth)[: len(coordinates)]
    mode = sampler & 0xE
    axes = len(coordinates) - layered
    axis_coordinates = [np.atleast_1d(np.asarray(c)) for c in coordinates]
    if axis_coordinates[0].dtype.kind != "f" or not sampler & _LINEAR:
        positions = [
            _texel_index(c, size, sampler, mode) if axis < axes else _layer_index(c, size)
            for axis, (c, size) in enumerate(zip(axis_coordinates, sizes, strict=True))
        ]
        return [_apply_addressing(positions, sizes, mode, axes, None)]
    return _linear_taps(axis_coordinates, sizes, sampler, mode, axes)


def _scale(coordinate: Array, size: int, sampler: int, mode: int) -> Array:
    value = coordinate.astype(np.float64)
    if sampler & NORMALISED:
        if mode == _REPEAT:
            value = value - np.floor(value)
        elif mode == _MIRRORED:
            value = np.abs(value - 2.0 * np.rint(0.5 * value))
        value = value * size
    return value


def _texel_index(coordinate: Array, size: int, sampler: int, mode: int) -> NDArray[np.int64]:
    if coordinate.dtype.kind != "f":
        return coordinate.astype(np.int64)
    index: NDArray[np.int64] = np.floor(
        np.nan_to_num(_scale(coordinate, size, sampler, mode))
    ).astype(np.int64)
    return index


def _layer_index(coordinate: Array, size: int) -> NDArray[np.int64]:
    if coordinate.dtype.kind == "f":
        coordinate = np.rint(coordinate)
    index: NDArray[np.int64] = np.clip(coordinate.astype(np.int64), 0, size - 1)
    return index


def _linear_taps(
    axis_coordinates: list[Array], sizes: tuple[int, ...], sampler: int, mode: int, axes: int
) -> list[TexelTap]:
    """Return the neighbours of positions with the weights of linear interpolation."""
    choices: list[list[tuple[NDArray[np.int64], Array]]] = []
    for axis, (coordinate, size) in enumerate(zip(axis_coordinates, sizes, strict=True)):
        if axis >= axes:
            choices.append([(_layer_index(coordinate, size), np.ones(1))])
            continue
        centred = np.nan_to_num(_scale(coordinate, size, sampler, mode)) - 0.5
        low = np.floor(centred).astype(np.int64)
        fraction = centred - low
        choices.append([(low, 1.0 - fraction), (low + 1, fraction)])
    taps: list[TexelTap] = []
    combinations: list[tuple[list[NDArray[np.int64]], Array]] = [([], np.ones(1))]
    for options in choices:
        combinations = [
            ([*positions, position], weight * share)
            for positions, weight in combinations
            for position, share in options
        ]
    for positions, weight in combinations:
        taps.append(_apply_addressing(positions, sizes, mode, axes, weight))
    return taps


def _apply_addressing(
    positions: list[NDArray[np.int64]],
    sizes: tuple[int, ...],
    mode: int,
    axes: int,
    weight: Array | None,
) -> TexelTap:
    """Move positions into the image according to the addressing mode."""
    inside: Array = np.ones(1, np.bool_)
    clipped = []
    for axis, (position, size) in enumerate(zip(positions, sizes, strict=True)):
        if axis < axes and mode == _REPEAT:
            position = position % size
        elif axis < axes and mode == _MIRRORED:
            position = np.clip(position, 0, size - 1)
        within = (position >= 0) & (position < size)
        if mode not in {_EDGE, _REPEAT, _MIRRORED}:
            inside = inside & within
        clipped.append(np.clip(position, 0, size - 1))
    return TexelTap(tuple(clipped), inside, weight)


def texel_passes(image: Image, axes: int, taps: int) -> float:
    """Return the passes through a GPU's unit for images that a read takes.

    A pass interpolates within a plane; a read without interpolation takes half as long. A volume takes
    two planes. Channels of 32 bits pass one after the other, but for those of a volume's texel that is
    not interpolated: on an H200, reads of volumes of one and of four such channels took 4.1 and 4.4 ns a
    warp and compute unit, of planes 2.1 and 8.0.
    """
    if taps == 1 and axes == 3:
        return 1.0
    plane = 0.5 if taps == 1 else 1.0
    planes = 2.0 if axes == 3 else 1.0
    return plane * planes * max(image.texel_bytes / _PASS_BYTES, 1.0)


def read_texels(image: Image, taps: list[TexelTap]) -> list[Array] | None:
    """Return the four channels that a read returns, or None if the contents are unknown."""
    if image.texels is None:
        return None
    total: list[Array] = []
    for tap in taps:
        x, y, z = _pad_to_three(tap.positions, np.zeros(1, np.int64))
        texel = image.texels[z, y, x]
        texel = np.where(np.broadcast_to(tap.inside, texel.shape[:1])[:, None], texel, 0)
        if tap.weight is not None:
            texel = texel * np.broadcast_to(tap.weight, texel.shape[:1])[:, None]
        channels = [texel[:, index] for index in range(4)]
        total = channels if not total else [a + b for a, b in zip(total, channels, strict=True)]
    return total


def write_texels(image: Image, positions: tuple[Value, ...], channels: tuple[Value, ...]) -> None:
    """Write the texels that lie within the image; drop the others."""
    if image.texels is None:
        return
    x, y, z = np.broadcast_arrays(*positions, *(np.zeros(1, np.int64),) * (3 - len(positions)))
    inside = (x >= 0) & (x < image.width) & (y >= 0) & (y < image.height)
    inside &= (z >= 0) & (z < image.depth)
    for index, channel in enumerate(channels):
        values = np.broadcast_to(channel, inside.shape)
        image.texels[z[inside], y[inside], x[inside], index] = values[inside]
