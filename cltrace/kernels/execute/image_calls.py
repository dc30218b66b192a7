"""Lowering of OpenCL's image functions (OpenCL C 3.0, section 6.15.15)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import KernelExecutionError
from cltrace.kernels.builtins.mangling import Signature
from cltrace.kernels.execute.images import (
    Image,
    locate_texels,
    offsets,
    read_texels,
    texel_passes,
    write_texels,
)
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import SHIFT
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import ExecutionState, Frame, RecordAccess, Step
from cltrace.kernels.ir.instructions import Access, Call
from cltrace.kernels.ir.types import GLOBAL, IntegerType, VectorType, element_of
from cltrace.kernels.values import Value, broadcast, dtype_of

_READ: Final = re.compile(r"read_image(f|i|ui|h)")
_WRITE: Final = re.compile(r"write_image(f|i|ui|h)")
_QUERIES: Final[Mapping[str, Callable[[Image], Value]]] = {
    "get_image_width": lambda image: np.int32(image.width),
    "get_image_height": lambda image: np.int32(image.height),
    "get_image_depth": lambda image: np.int32(image.depth),
    "get_image_dim": lambda image: (np.int32(image.width), np.int32(image.height)),
    "get_image_array_size": lambda image: np.int64(image.depth),
    "get_image_channel_data_type": lambda image: np.int32(image.channel_type),
    "get_image_channel_order": lambda image: np.int32(image.channel_order),
}


def lower_image(
    call: Call, signature: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step | None:
    """Lower an image function to a step; None for another kind of function."""
    parts = read_image_call(call, signature)
    if parts is not None:
        lowering = _lower_read if parts.access is Access.READ else _lower_write
        return lowering(call, parts, signature, block, sites, record_access)
    if signature.name in _QUERIES:
        return _lower_query(call, signature.name)
    return None


def _find_image(state: ExecutionState, handle: Value, call: Call) -> Image:
    number = int(np.asarray(handle).flat[0]) >> SHIFT
    if number not in state.images:
        raise KernelExecutionError(
            f"{call.place}: the launch passes no image for an image argument"
        )
    return state.images[number]


@dataclass(frozen=True, slots=True)
class ImageCall:
    """A read or write of an image.

    `position` and `sampler` are slots, -1 for no sampler; `coordinates` is the number of coordinates.
    """

    access: Access
    position: int
    sampler: int
    coordinates: int


def read_image_call(call: Call, signature: Signature) -> ImageCall | None:
    """Return what a function accesses of an image; None for another kind of function."""
    if _WRITE.fullmatch(signature.name):
        return ImageCall(Access.WRITE, call.arguments[1], -1, _coordinate_count(signature))
    if not _READ.fullmatch(signature.name):
        return None
    has_sampler = len(call.arguments) > 2 or "sampler" in signature.parameters[1].code
    sampler = call.arguments[1] if has_sampler else -1
    position = call.arguments[2 if has_sampler else 1]
    return ImageCall(Access.READ, position, sampler, _coordinate_count(signature))


def is_layered(signature: Signature) -> bool:
    """Return True for an array of images."""
    return "array" in signature.parameters[0].code


def _coordinate_count(signature: Signature) -> int:
    """Return the number of coordinates: three for an array of two-dimensional images."""
    name = signature.parameters[0].code
    dimensions = 3 if "3d" in name else 2 if "2d" in name else 1
    return dimensions + ("array" in name)


def _coordinates(value: Value, signature: Signature) -> tuple[Value, ...]:
    """Return the coordinates of a position by axis."""
    coordinates = value if type(value) is tuple else (value,)
    return axis_coordinates(coordinates[: _coordinate_count(signature)], signature)


def axis_coordinates(coordinates: tuple[Value, ...], signature: Signature) -> tuple[Value, ...]:
    """Return coordinates by axis; the layer of a one-dimensional array becomes the depth."""
    if len(coordinates) == 2 and "1d" in signature.parameters[0].code:
        return (coordinates[0], np.zeros_like(coordinates[0]), coordinates[1])
    return coordinates


def _lower_read(
    call: Call,
    parts: ImageCall,
    signature: Signature,
    block: int,
    sites: SiteTable,
    record_access: RecordAccess,
) -> Step:
    handle, position, sampler_slot = call.arguments[0], parts.position, parts.sampler
    kind, result = call.type, call.result
    dtype = dtype_of(element_of(kind))
    # A texel lies within a sector, however many channels it has.
    site = sites.add(call, block, Access.READ, GLOBAL, element_of(kind), handle, position)
    has_layers = is_layered(signature)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        image = _find_image(state, frame[handle], call)
        sampler = int(np.asarray(frame[sampler_slot]).flat[0]) if sampler_slot >= 0 else 0
        coordinates = _coordinates(frame[position], signature)
        taps = locate_texels(image, coordinates, sampler, has_layers)
        state.texel_passes[site] = texel_passes(image, len(coordinates), len(taps))
        state.texels[site] = len(taps)
        first = broadcast(np.int64(0), lanes.count) + offsets(image, taps[0].positions)
        record_access(site, frame[handle] + first, lanes, state)
        channels = read_texels(image, taps)
        if channels is None:
            result_channels: tuple[Value, ...] = (dtype.type(1),) * 4
        else:
            result_channels = tuple(
                _fit_to_lanes(channel, lanes.count).astype(dtype) for channel in channels
            )
        frame[result] = result_channels if isinstance(kind, VectorType) else result_channels[0]

    return step


def _fit_to_lanes(channel: Value, count: int) -> Value:
    return np.broadcast_to(channel, count) if len(channel) != count else channel


def _lower_write(
    call: Call,
    parts: ImageCall,
    signature: Signature,
    block: int,
    sites: SiteTable,
    record_access: RecordAccess,
) -> Step:
    handle, position, colour = call.arguments[0], parts.position, call.arguments[-1]
    site = sites.add(call, block, Access.WRITE, GLOBAL, call.argument_types[-1], handle, position)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        image = _find_image(state, frame[handle], call)
        coordinates = tuple(
            np.atleast_1d(np.asarray(coordinate)).astype(np.int64)
            for coordinate in _coordinates(frame[position], signature)
        )
        address = frame[handle] + offsets(image, coordinates)
        state.texels[site] = 1
        record_access(site, broadcast(np.int64(0), lanes.count) + address, lanes, state)
        value = frame[colour]
        positions = tuple(np.broadcast_to(coordinate, lanes.count) for coordinate in coordinates)
        write_texels(image, positions, value if type(value) is tuple else (value,))

    return step


def _lower_query(call: Call, name: str) -> Step:
    handle, result = call.arguments[0], call.result
    query = _QUERIES[name]
    is_long = call.type == IntegerType(64)
    returns_all_sizes = isinstance(call.type, VectorType) and call.type.count == 4

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        image = _find_image(state, frame[handle], call)
        if returns_all_sizes:
            sizes = (image.width, image.height, image.depth, 0)
            frame[result] = tuple(np.int32(size) for size in sizes)
            return
        value = query(image)
        frame[result] = np.int64(value) if is_long else value

    return step
