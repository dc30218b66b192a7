"""Accesses of images that a device logged by coordinates: the texels that the executor would name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.builtins.mangling import Signature, demangle
from cltrace.kernels.events.device_log import LogEntries
from cltrace.kernels.execute.image_calls import (
    ImageCall,
    axis_coordinates,
    is_layered,
    read_image_call,
)
from cltrace.kernels.execute.images import Image, locate_texels, offsets
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.memory import SHIFT
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.ir.instructions import Access, Call, Copy
from cltrace.kernels.ir.types import OpaqueType, element_of, is_float


@dataclass(frozen=True, slots=True, kw_only=True)
class _TexelSite:
    """A site that reads or writes an image. `memory` is the image's number among the objects, from 0."""

    memory: int
    image: Image
    call: ImageCall
    signature: Signature
    sampler: int
    has_float_coordinates: bool

    def offsets(self, coordinates: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the offsets of texels from the bits of coordinates: shape (axes, accesses)."""
        kind = np.float32 if self.has_float_coordinates else np.int32
        axes = axis_coordinates(tuple(coordinates.view(kind)), self.signature)
        if self.call.access is Access.WRITE:
            positions = tuple(axis.astype(np.int64) for axis in axes)
        else:
            taps = locate_texels(self.image, axes, self.sampler, is_layered(self.signature))
            positions = taps[0].positions
        count = coordinates.shape[1]
        found: NDArray[np.int64] = np.broadcast_to(offsets(self.image, positions), count)
        return found


class DeviceTexels:
    """The sites of a kernel that access images, by which a log of coordinates is read."""

    def __init__(self, kernel: PreparedKernel, memory: LaunchMemory) -> None:
        self._kernel = kernel
        self._memory = memory
        self._values = _handle_values(kernel, memory)
        self._sites = dict(self._find_sites())

    def _find_sites(self) -> Iterator[tuple[int, _TexelSite]]:
        calls = {
            (number, item.arguments[0], item.place): item
            for number in self._kernel.graph.order
            for item in self._kernel.function.blocks[number].instructions
            if isinstance(item, Call) and item.arguments
        }
        types = self._kernel.function.types
        for site in self._kernel.sites:
            call = calls.get((site.block, site.pointer, site.place))
            if call is None or not isinstance(types[site.pointer], OpaqueType):
                continue
            signature = demangle(call.callee)
            parts = read_image_call(call, signature)
            if parts is None:
                continue
            coordinate_type = types[parts.position]
            number = self._values[site.pointer] >> SHIFT
            yield (
                site.number,
                _TexelSite(
                    memory=number - 1,
                    image=self._memory.images[number],
                    call=parts,
                    signature=signature,
                    sampler=self._values.get(parts.sampler, 0),
                    has_float_coordinates=coordinate_type is not None
                    and is_float(element_of(coordinate_type)),
                ),
            )

    def place(
        self,
        entries: LogEntries,
        chosen: NDArray[np.int64],
        memory: NDArray[np.int64],
        offset: NDArray[np.int64],
    ) -> None:
        """Set the objects and offsets of those of the `chosen` entries that access images."""
        code = entries.code[chosen]
        for number, site in self._sites.items():
            here = np.flatnonzero(code == number)
            coordinates = entries.coordinates(chosen[here], site.call.coordinates)
            found = site.offsets(coordinates)
            is_inside = (found >= 0) & (found < site.image.size_bytes)
            memory[here] = np.where(is_inside, site.memory, -1)
            offset[here] = np.where(is_inside, found, 0)


def _handle_values(kernel: PreparedKernel, memory: LaunchMemory) -> Mapping[int, int]:
    """Return the addresses of images and the bits of samplers, by slot."""
    function = kernel.function
    constants = {item.slot: item.value for item in function.constants}
    values = {
        parameter.slot: int(np.asarray(memory.frame[parameter.slot]).flat[0])
        for parameter in kernel.parameters
        if isinstance(parameter.type, OpaqueType)
    }
    for number in kernel.graph.order:
        for item in function.blocks[number].instructions:
            match item:
                case Copy() if item.operand in values:
                    values[item.result] = values[item.operand]
                case Call(callee="__translate_sampler_initializer"):
                    bits = constants.get(item.arguments[0])
                    values[item.result] = bits if isinstance(bits, int) else 0
                case _:
                    pass
    return values
