"""Images and samplers (OpenCL C 3.0, section 6.15.15).

Texels are laid out by rows; how a device tiles them is its own affair and not known here.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.values import Array, Value

NORMALISED: Final = 1
_REPEAT, _MIRRORED, _CLAMP, _EDGE = 6, 8, 4, 2
_LINEAR: Final = 0x20


@dataclass(frozen=True, slots=True)
class Image:
    """An image of `width` × `height` × `depth` texels, or of so many layers.

    `texels` has shape (depth, height, width, 4), as a read returns them: floats or integers. None is an
    image whose contents are not known. `channel_dtype` is that of a channel in memory.
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
        """What a texel takes in memory."""
        return self.channels * np.dtype(self.channel_dtype).itemsize

    @property
    def size_bytes(self) -> int:
        """What the image takes, laid out by rows."""
        return self.width * self.height * self.depth * self.texel_bytes


@dataclass(frozen=True, slots=True)
class Sampling:
    """Where a read looks: positions of texels by axis, x first, and how much each counts."""

    positions: tuple[NDArray[np.int64], ...]
    inside: Array
    weight: Array | None


def offsets(image: Image, positions: tuple[Value, ...]) -> Value:
    """Where texels are in memory, in bytes."""
    x, y, z = _three(positions, np.int64(0))
    return ((z * image.height + y) * image.width + x) * image.texel_bytes


def _three(positions: tuple[Value, ...], missing: Value) -> tuple[Value, Value, Value]:
    """Positions by three axes, those that an image does not have filled in."""
    found = [*positions, missing, missing]
    return found[0], found[1], found[2]


def samplings(
    image: Image,
    coordinates: tuple[Value, ...],
    sampler: int,
    layered: bool,  # noqa: FBT001
) -> list[Sampling]:
    """The texels that a read at `coordinates` looks at; with a `layered` image the last is a layer."""
    sizes = (image.width, image.height, image.depth)[: len(coordinates)]
    mode = sampler & 0xE
    axes = len(coordinates) - layered
    real = [np.atleast_1d(np.asarray(c)) for c in coordinates]
    if real[0].dtype.kind != "f" or not sampler & _LINEAR:
        whole = [
            _texel(c, size, sampler, mode) if axis < axes else _layer(c, size)
            for axis, (c, size) in enumerate(zip(real, sizes, strict=True))
        ]
        return [_addressed(whole, sizes, mode, axes, None)]
    return _linear(real, sizes, sampler, mode, axes)


def _scaled(coordinate: Array, size: int, sampler: int, mode: int) -> Array:
    value = coordinate.astype(np.float64)
    if sampler & NORMALISED:
        if mode == _REPEAT:
            value = value - np.floor(value)
        elif mode == _MIRRORED:
            value = np.abs(value - 2.0 * np.rint(0.5 * value))
        value = value * size
    return value


def _texel(coordinate: Array, size: int, sampler: int, mode: int) -> NDArray[np.int64]:
    if coordinate.dtype.kind != "f":
        return coordinate.astype(np.int64)
    found: NDArray[np.int64] = np.floor(
        np.nan_to_num(_scaled(coordinate, size, sampler, mode))
    ).astype(np.int64)
    return found


def _layer(coordinate: Array, size: int) -> NDArray[np.int64]:
    if coordinate.dtype.kind == "f":
        coordinate = np.rint(coordinate)
    found: NDArray[np.int64] = np.clip(coordinate.astype(np.int64), 0, size - 1)
    return found


def _linear(
    real: list[Array], sizes: tuple[int, ...], sampler: int, mode: int, axes: int
) -> list[Sampling]:
    """The neighbours of positions, with the weights of linear interpolation."""
    choices: list[list[tuple[NDArray[np.int64], Array]]] = []
    for axis, (coordinate, size) in enumerate(zip(real, sizes, strict=True)):
        if axis >= axes:
            choices.append([(_layer(coordinate, size), np.ones(1))])
            continue
        moved = np.nan_to_num(_scaled(coordinate, size, sampler, mode)) - 0.5
        low = np.floor(moved).astype(np.int64)
        part = moved - low
        choices.append([(low, 1.0 - part), (low + 1, part)])
    found: list[Sampling] = []
    combinations: list[tuple[list[NDArray[np.int64]], Array]] = [([], np.ones(1))]
    for options in choices:
        combinations = [
            ([*whole, position], weight * share)
            for whole, weight in combinations
            for position, share in options
        ]
    for whole, weight in combinations:
        found.append(_addressed(whole, sizes, mode, axes, weight))
    return found


def _addressed(
    whole: list[NDArray[np.int64]],
    sizes: tuple[int, ...],
    mode: int,
    axes: int,
    weight: Array | None,
) -> Sampling:
    """Positions brought into the image as the addressing mode says."""
    inside: Array = np.ones(1, np.bool_)
    found = []
    for axis, (position, size) in enumerate(zip(whole, sizes, strict=True)):
        if axis < axes and mode == _REPEAT:
            position = position % size
        elif axis < axes and mode == _MIRRORED:
            position = np.clip(position, 0, size - 1)
        within = (position >= 0) & (position < size)
        if mode not in {_EDGE, _REPEAT, _MIRRORED}:
            inside = inside & within
        found.append(np.clip(position, 0, size - 1))
    return Sampling(tuple(found), inside, weight)


def read_texels(image: Image, looked: list[Sampling]) -> list[Array] | None:
    """The four channels that a read returns, or None where the contents are not known."""
    if image.texels is None:
        return None
    total: list[Array] = []
    for look in looked:
        x, y, z = _three(look.positions, np.zeros(1, np.int64))
        texel = image.texels[z, y, x]
        texel = np.where(np.broadcast_to(look.inside, texel.shape[:1])[:, None], texel, 0)
        if look.weight is not None:
            texel = texel * np.broadcast_to(look.weight, texel.shape[:1])[:, None]
        channels = [texel[:, index] for index in range(4)]
        total = channels if not total else [a + b for a, b in zip(total, channels, strict=True)]
    return total


def write_texels(image: Image, positions: tuple[Value, ...], channels: tuple[Value, ...]) -> None:
    """Write texels that lie within the image; the rest are dropped."""
    if image.texels is None:
        return
    x, y, z = np.broadcast_arrays(*positions, *(np.zeros(1, np.int64),) * (3 - len(positions)))
    inside = (x >= 0) & (x < image.width) & (y >= 0) & (y < image.height)
    inside &= (z >= 0) & (z < image.depth)
    for index, channel in enumerate(channels):
        values = np.broadcast_to(channel, inside.shape)
        image.texels[z[inside], y[inside], x[inside], index] = values[inside]
