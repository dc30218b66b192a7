"""Memory as lanes see it: buffers, local and private variables, and addresses of them.

An address is the number of an object, shifted, plus an offset in bytes, so that arithmetic and
comparisons of addresses are those of integers. An object's bytes are one array: of a local variable
one stretch for each work-group, of a private one a stretch for each lane. Accesses outside of an object
are counted, read zeros and write nothing.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.ir.types import (
    FloatType,
    IntegerType,
    PointerType,
    Type,
    VectorType,
    stored_bytes,
)
from cltrace.kernels.values import Array, Value, dtype_of, from_bytes, spread, taken, to_bytes

SHIFT: Final = 40
"""Where an address has its object's number: offsets are below 2**40 bytes."""
_MASK: Final = np.int64((1 << SHIFT) - 1)


class Sharing(Enum):
    """Who sees an object's bytes."""

    ALL = auto()
    GROUP = auto()
    LANE = auto()


class MemoryObject:
    """A buffer or a variable of `size_bytes`. `name` is the source's.

    `contents` None is memory whose contents are not known: it reads as ones and keeps nothing.
    """

    def __init__(
        self,
        name: str,
        space: int,
        size_bytes: int,
        sharing: Sharing,
        contents: NDArray[np.uint8] | None,
    ) -> None:
        self.name = name
        self.space = space
        self.size_bytes = size_bytes
        self.sharing = sharing
        self._bytes = contents
        self._views: dict[np.dtype[Any], Array] = {}
        self._stride = _stride(size_bytes)
        self.outside = 0
        """How many accesses of lanes were outside of it."""

    @property
    def contents(self) -> NDArray[np.uint8] | None:
        """The bytes, or None."""
        return self._bytes

    @classmethod
    def for_lanes(
        cls, name: str, space: int, size_bytes: int, sharing: Sharing, copies: int
    ) -> "MemoryObject":
        """A variable of which there is one for each group or lane, `copies` in all. Holds zeros."""
        contents = np.zeros(_stride(size_bytes) * copies, np.uint8)
        return cls(name, space, size_bytes, sharing, contents)

    def load(self, kind: Type, offset: Value, lanes: Lanes) -> Value:
        """What is at an offset, which is a scalar or has one entry a lane."""
        inside = self._inside(kind, offset, lanes)
        if self._bytes is None:
            return _ones(kind)
        if inside is not None:
            offset = np.where(inside, offset, 0)
            if self.size_bytes < stored_bytes(kind):
                return from_bytes(np.zeros((1, stored_bytes(kind)), np.uint8), kind)
        where = self.position(offset, lanes)
        if isinstance(kind, VectorType) and isinstance(kind.element, IntegerType | FloatType):
            parts = self._elements(kind, where)
            if parts is not None:
                return parts
        dtype = dtype_of(kind)
        if _is_plain(kind) and not (where & (dtype.itemsize - 1)).any():
            found = self._view(dtype)[where >> (dtype.itemsize.bit_length() - 1)]
            return found if inside is None else np.where(inside, found, dtype.type(0))
        raw = self._bytes[np.atleast_1d(where)[:, None] + np.arange(stored_bytes(kind))]
        return from_bytes(raw, kind)

    def touch(self, kind: Type, offset: Value, lanes: Lanes) -> None:
        """Count the lanes that are outside."""
        self._inside(kind, offset, lanes)

    def store(self, value: Value, kind: Type, offset: Value, lanes: Lanes) -> None:
        """Write what lanes write, in their order."""
        inside = self._inside(kind, offset, lanes)
        if self._bytes is None:
            return
        offset = spread(offset, lanes.count)
        where = self.position(offset, lanes)
        if inside is not None:
            kept = np.broadcast_to(inside, lanes.count)
            where, value = where[kept], taken(value, kept)
        dtype = dtype_of(kind)
        if _is_plain(kind) and not (where & (dtype.itemsize - 1)).any():
            self._view(dtype)[where >> (dtype.itemsize.bit_length() - 1)] = value
            return
        raw = to_bytes(value, kind)
        self._bytes[where[:, None] + np.arange(raw.shape[1])] = raw

    def _elements(self, kind: VectorType, where: Value) -> Value | None:
        """A vector's elements, when they lie as numbers of their own."""
        element = kind.element
        dtype = dtype_of(element)
        if not _is_plain(element) or (where & (dtype.itemsize - 1)).any():
            return None
        first = where >> (dtype.itemsize.bit_length() - 1)
        view = self._view(dtype)
        return tuple([view[first + index] for index in range(kind.count)])

    def _view(self, dtype: np.dtype[Any]) -> Array:
        view = self._views.get(dtype)
        if view is None:
            if self._bytes is None:
                raise KernelExecutionError(f"the contents of {self.name} are not known")
            whole = len(self._bytes) // dtype.itemsize * dtype.itemsize
            view = self._views[dtype] = self._bytes[:whole].view(dtype)
        return view

    def position(self, offset: Value, lanes: Lanes) -> Value:
        """Where an offset is in the bytes of all groups or lanes."""
        match self.sharing:
            case Sharing.ALL:
                return offset
            case Sharing.GROUP:
                if lanes.grid.groups == 1:
                    return offset
                return lanes.group * self._stride + offset
            case Sharing.LANE:
                return lanes.index * self._stride + offset

    def _inside(self, kind: Type, offset: Value, lanes: Lanes) -> Value | None:
        """Which lanes are within the object, or None for all."""
        last = self.size_bytes - stored_bytes(kind)
        if type(offset) is np.ndarray:
            if offset.size == 0 or (int(offset.min()) >= 0 and int(offset.max()) <= last):
                return None
            inside = (offset >= 0) & (offset <= last)
            self.outside += int(lanes.count - np.count_nonzero(inside))
            return inside
        if 0 <= offset <= last:
            return None
        self.outside += lanes.count
        return np.zeros(lanes.count, np.bool_)


def _is_plain(kind: Type) -> bool:
    """Whether a value in memory is as numpy has it."""
    match kind:
        case IntegerType(bits):
            return bits in {8, 16, 32, 64}
        case FloatType() | PointerType():
            return True
        case _:
            return False


def _ones(kind: Type) -> Value:
    """What is read of memory that is not known: ones, which divide and index well."""
    if isinstance(kind, VectorType):
        return tuple(_ones(kind.element) for _ in range(kind.count))
    if isinstance(kind, IntegerType | FloatType):
        return dtype_of(kind).type(1)
    return from_bytes(np.zeros((1, stored_bytes(kind)), np.uint8), kind)


def _stride(size_bytes: int) -> int:
    return -(-max(size_bytes, 1) // 16) * 16


class Memory:
    """All objects of an execution, by number. Number 0 is none: the null pointer's."""

    def __init__(self) -> None:
        self.objects: list[MemoryObject] = [MemoryObject("null", 0, 0, Sharing.ALL, None)]

    def add(self, added: MemoryObject) -> np.int64:
        """Add an object. Returns its address."""
        self.objects.append(added)
        return np.int64((len(self.objects) - 1) << SHIFT)

    def parts(
        self, address: Value, lanes: Lanes
    ) -> Iterator[tuple[MemoryObject, Value, Lanes, Array | None]]:
        """The objects that addresses are in, each with the offsets and lanes and their mask.

        The mask is None when all lanes are in the same object, which is nearly always.
        """
        number = address >> SHIFT
        if type(number) is not np.ndarray:
            yield self._object(int(number)), address & _MASK, lanes, None
            return
        if number.size == 0:
            return
        first = int(number[0])
        if (number == first).all():
            yield self._object(first), address & _MASK, lanes, None
            return
        for found in np.unique(number):
            mask = number == found
            yield self._object(int(found)), address[mask] & _MASK, lanes.where(mask), mask

    def _object(self, number: int) -> MemoryObject:
        if 0 <= number < len(self.objects):
            return self.objects[number]
        return self.objects[0]

    def spaces(self, address: Value) -> Array:
        """The address space that each address is in."""
        known = np.asarray([item.space for item in self.objects])
        number = np.asarray(address >> SHIFT)
        inside = (number > 0) & (number < len(known))
        return np.where(inside, known[np.where(inside, number, 0)], -1)

    def identity(self, address: Value, lanes: Lanes) -> Array:
        """A number for each lane's piece of memory: the same for lanes that share it."""
        found = np.empty(lanes.count, np.int64)
        for part, offset, some, mask in self.parts(address, lanes):
            high = np.int64(self.objects.index(part) << SHIFT)
            found[slice(None) if mask is None else mask] = high + part.position(offset, some)
        return found

    def touch(self, kind: Type, address: Value, lanes: Lanes) -> None:
        """See whether lanes access what is there."""
        for part, offset, some, _ in self.parts(address, lanes):
            part.touch(kind, offset, some)

    def load(self, kind: Type, address: Value, lanes: Lanes) -> Value:
        """What lanes read at their addresses."""
        found: list[tuple[Value, Array]] = []
        for part, offset, some, mask in self.parts(address, lanes):
            value = part.load(kind, offset, some)
            if mask is None:
                return value
            found.append((value, mask))
        return _assembled(found, lanes.count)

    def store(self, value: Value, kind: Type, address: Value, lanes: Lanes) -> None:
        """Write what lanes write at their addresses."""
        for part, offset, some, mask in self.parts(address, lanes):
            part.store(value if mask is None else taken(value, mask), kind, offset, some)


def _assembled(found: list[tuple[Value, Array]], count: int) -> Value:
    """One value of parts, each for the lanes of its mask."""
    if not found:
        raise KernelExecutionError("a read by no work-item")
    first = found[0][0]
    if type(first) is tuple:
        return tuple(
            _assembled([(value[index], mask) for value, mask in found], count)
            for index in range(len(first))
        )
    whole = np.empty(count, getattr(first, "dtype", object))
    for value, mask in found:
        whole[mask] = value
    return whole
