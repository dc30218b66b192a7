"""Memory of an execution: buffers, local and private variables, and their addresses.

An address is the number of an object, shifted, plus an offset in bytes, so arithmetic and comparisons
of addresses are those of integers. An object's bytes are one array. A local variable has one stretch
of it per work-group, a private variable one per lane. Accesses out of bounds are counted, read zeros
and write nothing.
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
from cltrace.kernels.values import (
    Array,
    Value,
    broadcast,
    dtype_of,
    from_bytes,
    select_lanes,
    to_bytes,
)

SHIFT: Final = 40
"""The lowest bit of the object number in an address; offsets are below 2**40 bytes."""
_MASK: Final = np.int64((1 << SHIFT) - 1)


class Sharing(Enum):
    """The set of lanes that share an object's bytes."""

    ALL = auto()
    GROUP = auto()
    LANE = auto()


class MemoryObject:
    """A buffer or a variable of `size_bytes`. `name` is its name in the source.

    If `contents` is None, the contents are unknown: reads return ones and writes are dropped.
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
        self.out_of_bounds = 0
        """The number of lane accesses out of bounds."""

    @property
    def contents(self) -> NDArray[np.uint8] | None:
        """The bytes, or None if they are unknown."""
        return self._bytes

    @classmethod
    def for_lanes(
        cls, name: str, space: int, size_bytes: int, sharing: Sharing, copies: int
    ) -> "MemoryObject":
        """Return a zeroed variable with `copies` instances, one per group or lane."""
        contents = np.zeros(_stride(size_bytes) * copies, np.uint8)
        return cls(name, space, size_bytes, sharing, contents)

    def load(self, kind: Type, offset: Value, lanes: Lanes) -> Value:
        """Return the values at an offset, which is a scalar or has one entry per lane."""
        in_bounds = self._in_bounds(kind, offset, lanes)
        if self._bytes is None:
            return _unknown_value(kind)
        if in_bounds is not None:
            offset = np.where(in_bounds, offset, 0)
            if self.size_bytes < stored_bytes(kind):
                return from_bytes(np.zeros((1, stored_bytes(kind)), np.uint8), kind)
        positions = self.position(offset, lanes)
        if isinstance(kind, VectorType) and isinstance(kind.element, IntegerType | FloatType):
            parts = self._elements(kind, positions)
            if parts is not None:
                return parts
        dtype = dtype_of(kind)
        if _is_stored_natively(kind) and not (positions & (dtype.itemsize - 1)).any():
            loaded = self._view(dtype)[positions >> (dtype.itemsize.bit_length() - 1)]
            return loaded if in_bounds is None else np.where(in_bounds, loaded, dtype.type(0))
        raw = self._bytes[np.atleast_1d(positions)[:, None] + np.arange(stored_bytes(kind))]
        return from_bytes(raw, kind)

    def touch(self, kind: Type, offset: Value, lanes: Lanes) -> None:
        """Count the lanes that are out of bounds."""
        self._in_bounds(kind, offset, lanes)

    def store(self, value: Value, kind: Type, offset: Value, lanes: Lanes) -> None:
        """Write the values of lanes, in lane order."""
        in_bounds = self._in_bounds(kind, offset, lanes)
        if self._bytes is None:
            return
        offset = broadcast(offset, lanes.count)
        positions = self.position(offset, lanes)
        if in_bounds is not None:
            is_stored = np.broadcast_to(in_bounds, lanes.count)
            positions, value = positions[is_stored], select_lanes(value, is_stored)
        dtype = dtype_of(kind)
        if _is_stored_natively(kind) and not (positions & (dtype.itemsize - 1)).any():
            self._view(dtype)[positions >> (dtype.itemsize.bit_length() - 1)] = value
            return
        raw = to_bytes(value, kind)
        self._bytes[positions[:, None] + np.arange(raw.shape[1])] = raw

    def _elements(self, kind: VectorType, positions: Value) -> Value | None:
        """Return a vector's elements if they are stored as native, aligned numbers."""
        element = kind.element
        dtype = dtype_of(element)
        if not _is_stored_natively(element) or (positions & (dtype.itemsize - 1)).any():
            return None
        first = positions >> (dtype.itemsize.bit_length() - 1)
        view = self._view(dtype)
        return tuple([view[first + index] for index in range(kind.count)])

    def _view(self, dtype: np.dtype[Any]) -> Array:
        view = self._views.get(dtype)
        if view is None:
            if self._bytes is None:
                raise KernelExecutionError(f"the contents of {self.name} are not known")
            usable_bytes = len(self._bytes) // dtype.itemsize * dtype.itemsize
            view = self._views[dtype] = self._bytes[:usable_bytes].view(dtype)
        return view

    def position(self, offset: Value, lanes: Lanes) -> Value:
        """Return the position of an offset in the bytes of all groups or lanes."""
        match self.sharing:
            case Sharing.ALL:
                return offset
            case Sharing.GROUP:
                if lanes.grid.groups == 1:
                    return offset
                return lanes.group * self._stride + offset
            case Sharing.LANE:
                return lanes.index * self._stride + offset

    def _in_bounds(self, kind: Type, offset: Value, lanes: Lanes) -> Value | None:
        """Return a mask of the lanes within the object; None if all are."""
        last = self.size_bytes - stored_bytes(kind)
        if type(offset) is np.ndarray:
            if offset.size == 0 or (int(offset.min()) >= 0 and int(offset.max()) <= last):
                return None
            in_bounds = (offset >= 0) & (offset <= last)
            self.out_of_bounds += int(lanes.count - np.count_nonzero(in_bounds))
            return in_bounds
        if 0 <= offset <= last:
            return None
        self.out_of_bounds += lanes.count
        return np.zeros(lanes.count, np.bool_)


def _is_stored_natively(kind: Type) -> bool:
    """Return True if a value has the same bytes in memory as numpy's."""
    match kind:
        case IntegerType(bits):
            return bits in {8, 16, 32, 64}
        case FloatType() | PointerType():
            return True
        case _:
            return False


def _unknown_value(kind: Type) -> Value:
    """Return the value read from unknown memory: ones, safe as divisors and indices."""
    if isinstance(kind, VectorType):
        return tuple(_unknown_value(kind.element) for _ in range(kind.count))
    if isinstance(kind, IntegerType | FloatType):
        return dtype_of(kind).type(1)
    return from_bytes(np.zeros((1, stored_bytes(kind)), np.uint8), kind)


def _stride(size_bytes: int) -> int:
    return -(-max(size_bytes, 1) // 16) * 16


class Memory:
    """All memory objects of an execution, by number. Number 0 is the null pointer's."""

    def __init__(self) -> None:
        self.checks_touches = True
        """False if nobody asks whether accesses without a value are out of bounds."""
        self.objects: list[MemoryObject] = [MemoryObject("null", 0, 0, Sharing.ALL, None)]

    def add(self, added: MemoryObject) -> np.int64:
        """Add an object and return its address."""
        self.objects.append(added)
        return np.int64((len(self.objects) - 1) << SHIFT)

    def split_by_object(
        self, address: Value, lanes: Lanes
    ) -> Iterator[tuple[MemoryObject, Value, Lanes, Array | None]]:
        """Yield each object that addresses point into, with the offsets, the lanes and their mask.

        The mask is None if all lanes are in the same object, which is nearly always so.
        """
        if type(address) is not np.ndarray:
            yield self._object(int(address) >> SHIFT), address & _MASK, lanes, None
            return
        if address.size == 0:
            return
        first = int(address.min()) >> SHIFT
        if first == int(address.max()) >> SHIFT:
            yield self._object(first), address & _MASK, lanes, None
            return
        numbers = address >> SHIFT
        for object_number in np.unique(numbers):
            mask = numbers == object_number
            yield self._object(int(object_number)), address[mask] & _MASK, lanes.where(mask), mask

    def _object(self, number: int) -> MemoryObject:
        if 0 <= number < len(self.objects):
            return self.objects[number]
        return self.objects[0]

    def faults(self) -> frozenset[str]:
        """Return a message for each object that was accessed out of bounds."""
        return frozenset(
            f"{item.name}: {item.out_of_bounds} accesses out of bounds"
            for item in self.objects
            if item.out_of_bounds
        )

    def spaces(self, address: Value) -> Array:
        """Return the address space of each address."""
        spaces = np.asarray([item.space for item in self.objects])
        numbers = np.asarray(address >> SHIFT)
        is_valid = (numbers > 0) & (numbers < len(spaces))
        return np.where(is_valid, spaces[np.where(is_valid, numbers, 0)], -1)

    def location_keys(self, address: Value, lanes: Lanes) -> Array:
        """Return a key per lane, which is equal for lanes that access the same location."""
        keys = np.empty(lanes.count, np.int64)
        for part, offset, subset, mask in self.split_by_object(address, lanes):
            high = np.int64(self.objects.index(part) << SHIFT)
            keys[slice(None) if mask is None else mask] = high + part.position(offset, subset)
        return keys

    def touch(self, kind: Type, address: Value, lanes: Lanes) -> None:
        """Count the lanes that are out of bounds."""
        if not self.checks_touches:
            return
        if type(address) is np.ndarray and address.size:
            begin, end = int(address.min()), int(address.max()) + stored_bytes(kind)
            touched = self._object(begin >> SHIFT)
            if end <= (begin >> SHIFT << SHIFT) + touched.size_bytes:
                return
        for part, offset, subset, _ in self.split_by_object(address, lanes):
            part.touch(kind, offset, subset)

    def load(self, kind: Type, address: Value, lanes: Lanes) -> Value:
        """Return the values at the addresses of lanes."""
        loaded: list[tuple[Value, Array]] = []
        for part, offset, subset, mask in self.split_by_object(address, lanes):
            value = part.load(kind, offset, subset)
            if mask is None:
                return value
            loaded.append((value, mask))
        return _merge_parts(loaded, lanes.count)

    def store(self, value: Value, kind: Type, address: Value, lanes: Lanes) -> None:
        """Write the values of lanes at their addresses."""
        for part, offset, subset, mask in self.split_by_object(address, lanes):
            part.store(value if mask is None else select_lanes(value, mask), kind, offset, subset)


def _merge_parts(parts: list[tuple[Value, Array]], count: int) -> Value:
    """Merge values, each with the mask of its lanes, into one value."""
    if not parts:
        raise KernelExecutionError("no work-item takes part in a read")
    first = parts[0][0]
    if type(first) is tuple:
        return tuple(
            _merge_parts([(value[index], mask) for value, mask in parts], count)
            for index in range(len(first))
        )
    merged = np.empty(count, getattr(first, "dtype", object))
    for value, mask in parts:
        merged[mask] = value
    return merged
