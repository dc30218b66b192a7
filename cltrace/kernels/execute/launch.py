"""Setup of a launch: memory objects and the initial frame, from the arguments."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.arguments import (
    Argument,
    BufferArgument,
    ImageArgument,
    LocalArgument,
    SamplerArgument,
    StructArgument,
)
from cltrace.kernels.execute.images import Image
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.execute.memory import SHIFT, Memory, MemoryObject, Sharing
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.sites import private_bytes
from cltrace.kernels.ir.module import Parameter
from cltrace.kernels.ir.types import (
    CONSTANT,
    GLOBAL,
    LOCAL,
    PRIVATE,
    FloatType,
    IntegerType,
    OpaqueType,
    PointerType,
    size_bytes,
    stored_bytes,
    type_name,
)
from cltrace.kernels.values import Value, dtype_of, from_bytes, wrap

_POINTER_BYTES: Final = 8
_ADDRESSING: Final = {"none": 0, "edge": 2, "clamp": 4, "repeat": 6, "mirrored": 8}
_PLAIN_PLACES: Final = ((0,), (1,), (2,), (3,))
_CHANNEL_PLACES: Final[Mapping[int, tuple[tuple[int, ...], ...]]] = {
    0x10B1: ((3,),),  # CL_A
    0x10B3: ((0,), (3,)),  # CL_RA
    0x10B6: ((2,), (1,), (0,), (3,)),  # CL_BGRA
    0x10B7: ((3,), (0,), (1,), (2,)),  # CL_ARGB
    0x10B8: ((0, 1, 2, 3),),  # CL_INTENSITY
    0x10B9: ((0, 1, 2),),  # CL_LUMINANCE
    0x10C3: ((3,), (2,), (1,), (0,)),  # CL_ABGR
}
"""Channels that a read returns for each channel in memory, by channel order."""
MAX_CONTENTS_BYTES: Final = 1 << 34
"""Limit on the contents of a buffer."""
MAX_PRIVATE_BYTES: Final = 1 << 29
"""Limit on the private variables of all lanes, and on each variable's copies for all work-groups."""


class LaunchMemory:
    """The memory objects, images and initial frame of an execution."""

    def __init__(self, prepared: PreparedKernel, arguments: Sequence[Argument], grid: Grid) -> None:
        """Raises: `KernelExecutionError` for arguments that do not fit the kernel."""
        self._prepared = prepared
        self._grid = grid
        self.memory = Memory()
        self.images: dict[int, Image] = {}
        self.frame = list(prepared.initial_frame)
        if len(arguments) != len(prepared.parameters):
            raise KernelExecutionError(
                f"the kernel {prepared.function.name} has {len(prepared.parameters)} arguments, "
                f"not {len(arguments)}"
            )
        self._check_size()
        for variable in prepared.variables:
            self._add_variable(variable.name)
        names = _parameter_names(prepared)
        for index, parameter in enumerate(prepared.parameters):
            argument = arguments[index]
            self.frame[parameter.slot] = self._bind(index, names[index], parameter, argument)
        for allocated in prepared.private:
            self.memory.add(
                MemoryObject.for_lanes(
                    str(allocated.place),
                    PRIVATE,
                    private_bytes(allocated),
                    Sharing.LANE,
                    grid.count,
                )
            )

    def _check_size(self) -> None:
        needed_bytes = sum(map(private_bytes, self._prepared.private)) * self._grid.count
        if needed_bytes > MAX_PRIVATE_BYTES:
            raise KernelExecutionError(
                f"the private variables of {self._grid.count} work-items take {needed_bytes >> 20} MiB, "
                f"more than {MAX_PRIVATE_BYTES >> 20} MiB"
            )

    def _add_variable(self, name: str) -> None:
        variable = next(item for item in self._prepared.variables if item.name == name)
        size = size_bytes(variable.type)
        if variable.space == LOCAL:
            if size * self._grid.groups > MAX_PRIVATE_BYTES:
                raise KernelExecutionError(
                    f"the local variable {name} takes {size >> 10} KiB per work-group, too much for "
                    f"{self._grid.groups} work-groups"
                )
            label = name.rpartition(".")[2]
            added = MemoryObject.for_lanes(label, LOCAL, size, Sharing.GROUP, self._grid.groups)
        else:
            if size > MAX_PRIVATE_BYTES:
                raise KernelExecutionError(
                    f"the variable {name} takes {size >> 20} MiB, "
                    f"more than {MAX_PRIVATE_BYTES >> 20} MiB"
                )
            contents = np.zeros(-(-max(size, 1) // 16) * 16, np.uint8)
            initial = self._prepared.initial_bytes(variable)
            if initial is not None:
                contents[: len(initial)] = initial
            space = CONSTANT if variable.space == CONSTANT else GLOBAL
            added = MemoryObject(name, space, size, Sharing.ALL, contents)
        self.memory.add(added)

    def _bind(self, index: int, name: str, parameter: Parameter, argument: Argument) -> Value:
        """Return the value of a parameter. Add the object that it points to to memory."""
        address = self._prepared.parameter_address(index)
        if isinstance(parameter.type, PointerType) and parameter.pointee is None:
            if _is_null(argument):
                argument = None
            added = self._pointee_object(name, parameter.type, argument)
            self.memory.add(added)
            return np.int64(0) if argument is None else address
        if isinstance(parameter.type, OpaqueType):
            return self._bind_opaque(name, address, argument)
        placeholder = MemoryObject(name, GLOBAL, 0, Sharing.ALL, None)
        match argument:
            case StructArgument(contents):
                value, placeholder = self._bind_by_value(name, parameter, contents, address)
            case np.generic() | int() | float() if isinstance(
                parameter.type, IntegerType | FloatType
            ):
                value = _convert_number(parameter.type, argument)
            case np.generic():
                value, placeholder = self._bind_by_value(
                    name, parameter, argument.tobytes(), address
                )
            case _:
                raise self._misfit_error(name, argument)
        self.memory.add(placeholder)
        return value

    def _pointee_object(self, name: str, kind: PointerType, argument: Argument) -> MemoryObject:
        """Return the memory object of a pointer argument."""
        match argument:
            case BufferArgument():
                return _buffer_object(name, kind.space, argument)
            case LocalArgument(size):
                if size * self._grid.groups > MAX_PRIVATE_BYTES:
                    raise KernelExecutionError(
                        f"the local argument {name} takes {size >> 10} KiB per work-group, too much for "
                        f"{self._grid.groups} work-groups"
                    )
                return MemoryObject.for_lanes(name, LOCAL, size, Sharing.GROUP, self._grid.groups)
            case None:
                return MemoryObject(name, GLOBAL, 0, Sharing.ALL, None)
            case _:
                raise self._misfit_error(name, argument)

    def _bind_opaque(self, name: str, address: np.int64, argument: Argument) -> Value:
        """Return the value of an image, which is an address, or of a sampler, which is its bits."""
        match argument:
            case ImageArgument():
                image = build_image(argument)
                self.images[int(address) >> SHIFT] = image
                self.memory.add(MemoryObject(name, GLOBAL, image.size_bytes, Sharing.ALL, None))
                return address
            case SamplerArgument():
                self.memory.add(MemoryObject(name, GLOBAL, 0, Sharing.ALL, None))
                return np.int64(_sampler_bits(argument))
            case _:
                raise self._misfit_error(name, argument)

    def _misfit_error(self, name: str, argument: Argument) -> KernelExecutionError:
        kernel = self._prepared.function.name
        return KernelExecutionError(
            f"the argument {name} of {kernel} cannot be {type(argument).__name__}"
        )

    def _bind_by_value(
        self, name: str, parameter: Parameter, contents: bytes, address: np.int64
    ) -> tuple[Value, MemoryObject]:
        """Return a structure or vector, the same for all lanes, and the object of its bytes."""
        kind = parameter.pointee or parameter.type
        needed_bytes = stored_bytes(kind)
        if len(contents) < needed_bytes:
            raise KernelExecutionError(
                f"the argument {name} has {len(contents)} bytes, and needs {needed_bytes}"
            )
        raw = np.frombuffer(contents[: size_bytes(kind)], np.uint8)
        placeholder = MemoryObject(name, GLOBAL, 0, Sharing.ALL, None)
        if parameter.pointee is None:
            return from_bytes(raw[None, :needed_bytes], kind), placeholder
        copied = np.zeros(-(-max(size_bytes(kind), 1) // 16) * 16, np.uint8)
        copied[: len(raw)] = raw
        return address, MemoryObject(name, PRIVATE, size_bytes(kind), Sharing.ALL, copied)

    def outputs(self) -> Mapping[int, NDArray[np.uint8]]:
        """Return the final bytes of buffers with known contents, by argument index."""
        first = len(self._prepared.variables) + 1
        contents = {}
        for index, parameter in enumerate(self._prepared.parameters):
            item = self.memory.objects[first + index]
            if isinstance(parameter.type, PointerType) and item.contents is not None:
                contents[index] = item.contents[: item.size_bytes]
        return contents


def _is_null(argument: Argument) -> bool:
    """Return True for a number 0 in place of a memory object, as `numpy.uintp(0)`."""
    match argument:
        case StructArgument(contents):
            return len(contents) == _POINTER_BYTES and not any(contents)
        case np.integer():
            return argument.itemsize == _POINTER_BYTES and not argument
        case _:
            return False


def _convert_number(kind: IntegerType | FloatType, argument: np.generic | float) -> Value:
    """Convert a number to a parameter's type; integers wrap as in C."""
    dtype = dtype_of(kind)
    if isinstance(argument, np.generic):
        with np.errstate(all="ignore"):
            return argument.astype(dtype)
    if isinstance(kind, IntegerType) and isinstance(argument, int):
        return dtype.type(wrap(argument, kind.bits)) if kind.bits > 1 else np.bool_(argument)
    try:
        return dtype.type(argument)
    except (OverflowError, ValueError) as error:
        raise KernelExecutionError(f"{argument} is no {type_name(kind)}") from error


def _parameter_names(prepared: PreparedKernel) -> Sequence[str]:
    facts = prepared.function.kernel
    count = len(prepared.parameters)
    if facts is not None and len(facts.names) == count:
        return facts.names
    return tuple(f"argument {index}" for index in range(count))


def _buffer_object(name: str, space: int, argument: BufferArgument) -> MemoryObject:
    target_space = CONSTANT if space == CONSTANT else GLOBAL
    if not 0 <= argument.size_bytes < 1 << SHIFT:
        raise KernelExecutionError(f"the buffer {name} cannot have {argument.size_bytes:,} bytes")
    if argument.contents is not None and argument.size_bytes > MAX_CONTENTS_BYTES:
        raise KernelExecutionError(
            f"the contents of {name} have {argument.size_bytes:,} bytes, "
            f"more than {MAX_CONTENTS_BYTES:,}"
        )
    if argument.contents is None:
        return MemoryObject(name, target_space, argument.size_bytes, Sharing.ALL, None)
    raw = np.ascontiguousarray(argument.contents).reshape(-1).view(np.uint8)
    contents = np.zeros(-(-max(argument.size_bytes, 1) // 16) * 16, np.uint8)
    copied_bytes = min(len(raw), argument.size_bytes)
    contents[:copied_bytes] = raw[:copied_bytes]
    return MemoryObject(name, target_space, argument.size_bytes, Sharing.ALL, contents)


def _sampler_bits(sampler: SamplerArgument) -> int:
    if sampler.addressing not in _ADDRESSING:
        raise KernelExecutionError(
            f"{sampler.addressing!r} is not an addressing mode. Use one of {', '.join(_ADDRESSING)}"
        )
    return (
        int(sampler.normalised)
        | _ADDRESSING[sampler.addressing]
        | (0x20 if sampler.linear else 0x10)
    )


def build_image(argument: ImageArgument) -> Image:
    """Build an image as a kernel reads it: four channels, absent ones 0 and alpha 1."""
    texels = None
    if argument.contents is not None:
        shape = (argument.depth, argument.height, argument.width, argument.channels)
        channels = np.asarray(argument.contents, argument.channel_dtype).reshape(shape)
        if argument.is_normalised:
            largest = np.iinfo(argument.channel_dtype).max
            channels = np.maximum(channels.astype(np.float64) / largest, -1.0)
        dtype = np.float64 if channels.dtype.kind == "f" else np.int64
        texels = np.zeros((*shape[:3], 4), dtype)
        texels[..., 3] = 1
        places = _CHANNEL_PLACES.get(argument.channel_order, _PLAIN_PLACES)
        for channel, read_places in enumerate(places[: argument.channels]):
            for place in read_places:
                texels[..., place] = channels[..., channel]
    return Image(
        width=argument.width,
        height=argument.height,
        depth=argument.depth,
        channels=argument.channels,
        channel_dtype=argument.channel_dtype,
        is_normalised=argument.is_normalised,
        texels=texels,
        channel_type=argument.channel_type,
        channel_order=argument.channel_order,
    )
