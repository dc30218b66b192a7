"""A launch: arguments become memory, and lanes run."""

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
from cltrace.kernels.execute.prepared_kernel import Prepared
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
    name_of,
    size_bytes,
    stored_bytes,
)
from cltrace.kernels.values import Value, dtype_of, from_bytes, wrapped

_ADDRESSING: Final = {"none": 0, "edge": 2, "clamp": 4, "repeat": 6, "mirrored": 8}
MOST_CONTENTS_BYTES: Final = 1 << 34
MOST_PRIVATE_BYTES: Final = 1 << 29
"""The most that private and local variables of all lanes may take."""


class Launch:
    """The memory and the first frame of an execution."""

    def __init__(self, prepared: Prepared, arguments: Sequence[Argument], grid: Grid) -> None:
        """Raises: `KernelExecutionError` for arguments that do not fit the kernel."""
        self._prepared = prepared
        self._grid = grid
        self.memory = Memory()
        self.images: dict[int, Image] = {}
        self.frame = list(prepared.blank)
        if len(arguments) != len(prepared.parameters):
            raise KernelExecutionError(
                f"the kernel {prepared.function.name} has {len(prepared.parameters)} arguments, "
                f"not {len(arguments)}"
            )
        self._check_size()
        for variable in prepared.variables:
            self._add_variable(variable.name)
        names = _names(prepared)
        for index, parameter in enumerate(prepared.parameters):
            argument = arguments[index]
            self.frame[parameter.slot] = self._value(index, names[index], parameter, argument)
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
        needed = sum(map(private_bytes, self._prepared.private)) * self._grid.count
        if needed > MOST_PRIVATE_BYTES:
            raise KernelExecutionError(
                f"private variables of {self._grid.count} work-items take {needed >> 20} MiB"
            )

    def _add_variable(self, name: str) -> None:
        variable = next(item for item in self._prepared.variables if item.name == name)
        size = size_bytes(variable.type)
        if variable.space == LOCAL:
            if size * self._grid.groups > MOST_PRIVATE_BYTES:
                raise KernelExecutionError(f"the local variable {name} takes {size >> 10} KiB")
            label = name.rpartition(".")[2]
            added = MemoryObject.for_lanes(label, LOCAL, size, Sharing.GROUP, self._grid.groups)
        else:
            if size > MOST_PRIVATE_BYTES:
                raise KernelExecutionError(f"the variable {name} takes {size >> 20} MiB")
            contents = np.zeros(-(-max(size, 1) // 16) * 16, np.uint8)
            initial = self._prepared.initial_bytes(variable)
            if initial is not None:
                contents[: len(initial)] = initial
            space = CONSTANT if variable.space == CONSTANT else GLOBAL
            added = MemoryObject(name, space, size, Sharing.ALL, contents)
        self.memory.add(added)

    def _value(self, index: int, name: str, parameter: Parameter, argument: Argument) -> Value:
        """The value of a parameter; what it points to is added to memory."""
        address = self._prepared.parameter_address(index)
        if isinstance(parameter.type, PointerType) and parameter.pointee is None:
            added = self._pointed(name, parameter.type, argument)
            self.memory.add(added)
            return np.int64(0) if argument is None else address
        if isinstance(parameter.type, OpaqueType):
            return self._opaque(name, address, argument)
        none = MemoryObject(name, GLOBAL, 0, Sharing.ALL, None)
        match argument:
            case StructArgument(contents):
                value, none = self._by_value(name, parameter, contents, address)
            case np.generic() | int() | float() if isinstance(
                parameter.type, IntegerType | FloatType
            ):
                value = _number(parameter.type, argument)
            case np.generic():
                value, none = self._by_value(name, parameter, argument.tobytes(), address)
            case _:
                raise self._misfit(name, argument)
        self.memory.add(none)
        return value

    def _pointed(self, name: str, kind: PointerType, argument: Argument) -> MemoryObject:
        """What a pointer points to."""
        match argument:
            case BufferArgument():
                return _buffer(name, kind.space, argument)
            case LocalArgument(size):
                if size * self._grid.groups > MOST_PRIVATE_BYTES:
                    raise KernelExecutionError(f"the local argument {name} takes {size >> 10} KiB")
                return MemoryObject.for_lanes(name, LOCAL, size, Sharing.GROUP, self._grid.groups)
            case None:
                return MemoryObject(name, GLOBAL, 0, Sharing.ALL, None)
            case _:
                raise self._misfit(name, argument)

    def _opaque(self, name: str, address: np.int64, argument: Argument) -> Value:
        """An image, whose value is an address, or a sampler, whose value is its bits."""
        match argument:
            case ImageArgument():
                image = image_of(argument)
                self.images[int(address) >> SHIFT] = image
                self.memory.add(MemoryObject(name, GLOBAL, image.size_bytes, Sharing.ALL, None))
                return address
            case SamplerArgument():
                self.memory.add(MemoryObject(name, GLOBAL, 0, Sharing.ALL, None))
                return np.int64(_sampler_bits(argument))
            case _:
                raise self._misfit(name, argument)

    def _misfit(self, name: str, argument: Argument) -> KernelExecutionError:
        kernel = self._prepared.function.name
        return KernelExecutionError(
            f"the argument {name} of {kernel} cannot be {type(argument).__name__}"
        )

    def _by_value(
        self, name: str, parameter: Parameter, contents: bytes, address: np.int64
    ) -> tuple[Value, MemoryObject]:
        """A structure or vector: bytes of which each lane has the same."""
        kind = parameter.pointee or parameter.type
        needed = stored_bytes(kind)
        if len(contents) < needed:
            raise KernelExecutionError(
                f"the argument {name} has {len(contents)} bytes, and needs {needed}"
            )
        raw = np.frombuffer(contents[: size_bytes(kind)], np.uint8)
        none = MemoryObject(name, GLOBAL, 0, Sharing.ALL, None)
        if parameter.pointee is None:
            return from_bytes(raw[None, :needed], kind), none
        held = np.zeros(-(-max(size_bytes(kind), 1) // 16) * 16, np.uint8)
        held[: len(raw)] = raw
        return address, MemoryObject(name, PRIVATE, size_bytes(kind), Sharing.ALL, held)

    def outputs(self) -> Mapping[int, NDArray[np.uint8]]:
        """What buffers with known contents hold, by the number of the argument."""
        first = len(self._prepared.variables) + 1
        found = {}
        for index, parameter in enumerate(self._prepared.parameters):
            item = self.memory.objects[first + index]
            if isinstance(parameter.type, PointerType) and item.contents is not None:
                found[index] = item.contents[: item.size_bytes]
        return found


def _number(kind: IntegerType | FloatType, argument: np.generic | float) -> Value:
    """A number of a parameter's type: integers wrap, as they do in C."""
    dtype = dtype_of(kind)
    if isinstance(argument, np.generic):
        with np.errstate(all="ignore"):
            return argument.astype(dtype)
    if isinstance(kind, IntegerType) and isinstance(argument, int):
        return dtype.type(wrapped(argument, kind.bits)) if kind.bits > 1 else np.bool_(argument)
    try:
        return dtype.type(argument)
    except (OverflowError, ValueError) as error:
        raise KernelExecutionError(f"{argument} is no {name_of(kind)}") from error


def _names(prepared: Prepared) -> Sequence[str]:
    facts = prepared.function.kernel
    count = len(prepared.parameters)
    if facts is not None and len(facts.names) == count:
        return facts.names
    return tuple(f"argument {index}" for index in range(count))


def _buffer(name: str, space: int, argument: BufferArgument) -> MemoryObject:
    kept = CONSTANT if space == CONSTANT else GLOBAL
    if not 0 <= argument.size_bytes < 1 << SHIFT:
        raise KernelExecutionError(f"the buffer {name} cannot have {argument.size_bytes:,} bytes")
    if argument.contents is not None and argument.size_bytes > MOST_CONTENTS_BYTES:
        raise KernelExecutionError(f"the contents of {name} are more than can be held")
    if argument.contents is None:
        return MemoryObject(name, kept, argument.size_bytes, Sharing.ALL, None)
    raw = np.ascontiguousarray(argument.contents).reshape(-1).view(np.uint8)
    contents = np.zeros(-(-max(argument.size_bytes, 1) // 16) * 16, np.uint8)
    whole = min(len(raw), argument.size_bytes)
    contents[:whole] = raw[:whole]
    return MemoryObject(name, kept, argument.size_bytes, Sharing.ALL, contents)


def _sampler_bits(sampler: SamplerArgument) -> int:
    if sampler.addressing not in _ADDRESSING:
        raise KernelExecutionError(f"no addressing of samplers is called {sampler.addressing!r}")
    return (
        int(sampler.normalised)
        | _ADDRESSING[sampler.addressing]
        | (0x20 if sampler.linear else 0x10)
    )


def image_of(argument: ImageArgument) -> Image:
    """An image as a kernel sees it: four channels, missing ones 0 and alpha 1."""
    texels = None
    if argument.contents is not None:
        shape = (argument.depth, argument.height, argument.width, argument.channels)
        held = np.asarray(argument.contents, argument.channel_dtype).reshape(shape)
        if argument.is_normalised:
            held = held.astype(np.float64) / np.iinfo(argument.channel_dtype).max
        wide = np.float64 if held.dtype.kind == "f" else np.int64
        texels = np.zeros((*shape[:3], 4), wide)
        texels[..., : argument.channels] = held
        if argument.channels < 4:
            texels[..., 3] = 1
    return Image(
        argument.width,
        argument.height,
        argument.depth,
        argument.channels,
        argument.channel_dtype,
        argument.is_normalised,
        texels,
        argument.channel_type,
        argument.channel_order,
    )
