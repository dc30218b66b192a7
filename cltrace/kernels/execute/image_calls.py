"""Calls of OpenCL's image functions (OpenCL C 3.0, section 6.15.15)."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.errors import KernelExecutionError
from cltrace.kernels.builtins.mangling import Signature
from cltrace.kernels.execute.images import Image, offsets, read_texels, samplings, write_texels
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import SHIFT
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Accessed, Frame, State, Step
from cltrace.kernels.ir.instructions import Access, Call
from cltrace.kernels.ir.types import GLOBAL, IntegerType, VectorType, element_of
from cltrace.kernels.values import Value, dtype_of, spread

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
    call: Call, signature: Signature, block: int, sites: SiteTable, accessed: Accessed
) -> Step | None:
    """An image function as a step, or None for one of another kind."""
    if _READ.fullmatch(signature.name):
        return _read(call, signature, block, sites, accessed)
    if _WRITE.fullmatch(signature.name):
        return _write(call, signature, block, sites, accessed)
    if signature.name in _QUERIES:
        return _query(call, signature.name)
    return None


def _image(state: State, handle: Value, call: Call) -> Image:
    number = int(np.asarray(handle).flat[0]) >> SHIFT
    if number not in state.images:
        raise KernelExecutionError(f"{call.place}: the launch has no image for an argument")
    return state.images[number]


def _is_layered(signature: Signature) -> bool:
    return "array" in signature.parameters[0].code


def _axes(signature: Signature) -> int:
    """How many coordinates say where: of an image of two dimensions in layers, three."""
    name = signature.parameters[0].code
    dimensions = 3 if "3d" in name else 2 if "2d" in name else 1
    return dimensions + ("array" in name)


def _coordinates(value: Value, signature: Signature) -> tuple[Value, ...]:
    """Coordinates by axis, the layer of one-dimensional images put where depth is."""
    found = value if type(value) is tuple else (value,)
    found = found[: _axes(signature)]
    if len(found) == 2 and "1d" in signature.parameters[0].code:
        return (found[0], np.zeros_like(found[0]), found[1])
    return found


def _read(
    call: Call, signature: Signature, block: int, sites: SiteTable, accessed: Accessed
) -> Step:
    handle = call.arguments[0]
    has_sampler = len(call.arguments) > 2 or "sampler" in signature.parameters[1].code
    sampler_slot = call.arguments[1] if has_sampler else -1
    position = call.arguments[2 if has_sampler else 1]
    kind, result = call.type, call.result
    dtype = dtype_of(element_of(kind))
    site = sites.add(call, block, Access.READ, GLOBAL, kind, handle, position)
    layered = _is_layered(signature)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        image = _image(state, frame[handle], call)
        sampler = int(np.asarray(frame[sampler_slot]).flat[0]) if has_sampler else 0
        where = _coordinates(frame[position], signature)
        looked = samplings(image, where, sampler, layered)
        first = spread(np.int64(0), lanes.count) + offsets(image, looked[0].positions)
        accessed(site, frame[handle] + first, lanes, state)
        channels = read_texels(image, looked)
        if channels is None:
            found: tuple[Value, ...] = (dtype.type(1),) * 4
        else:
            found = tuple(_fitted(channel, lanes.count).astype(dtype) for channel in channels)
        frame[result] = found if isinstance(kind, VectorType) else found[0]

    return step


def _fitted(channel: Value, count: int) -> Value:
    return np.broadcast_to(channel, count) if len(channel) != count else channel


def _write(
    call: Call, signature: Signature, block: int, sites: SiteTable, accessed: Accessed
) -> Step:
    handle, position, colour = call.arguments[0], call.arguments[1], call.arguments[-1]
    site = sites.add(call, block, Access.WRITE, GLOBAL, call.argument_types[-1], handle, position)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        image = _image(state, frame[handle], call)
        where = tuple(
            np.atleast_1d(np.asarray(c)).astype(np.int64)
            for c in _coordinates(frame[position], signature)
        )
        address = frame[handle] + offsets(image, where)
        accessed(site, spread(np.int64(0), lanes.count) + address, lanes, state)
        value = frame[colour]
        whole = tuple(np.broadcast_to(c, lanes.count) for c in where)
        write_texels(image, whole, value if type(value) is tuple else (value,))

    return step


def _query(call: Call, name: str) -> Step:
    handle, result = call.arguments[0], call.result
    ask = _QUERIES[name]
    is_long = call.type == IntegerType(64)
    three = isinstance(call.type, VectorType) and call.type.count == 4

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        image = _image(state, frame[handle], call)
        if three:
            sizes = (image.width, image.height, image.depth, 0)
            frame[result] = tuple(np.int32(size) for size in sizes)
            return
        value = ask(image)
        frame[result] = np.int64(value) if is_long else value

    return step
