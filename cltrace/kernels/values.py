"""Values of lanes.

A number is a numpy scalar if it is the same for all lanes, else an array with one entry per lane.
Integers are stored as signed, also those that are read as unsigned; a truth value is a bool; an
address is an int64. A vector, array or structure is a tuple of values. Integers of widths that numpy
lacks are stored in the next wider type; above 64 bits they are Python integers.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.ir.module import ConstantValue, SymbolAddress
from cltrace.kernels.ir.types import (
    ArrayType,
    FloatType,
    IntegerType,
    StructType,
    Type,
    VectorType,
    VoidType,
    member_offsets,
    size_bytes,
    stored_bytes,
)

Value: TypeAlias = Any
"""A numpy scalar, an array with one entry per lane, or a tuple of values."""
Array: TypeAlias = NDArray[Any]

_WIDE: Final = np.dtype(object)


@cache
def dtype_of(kind: Type) -> np.dtype[Any]:
    """Return the numpy type in which numbers of a type are stored."""
    match kind:
        case IntegerType(1):
            return np.dtype(np.bool_)
        case IntegerType(bits) if bits > 64:
            return _WIDE
        case IntegerType(bits):
            return np.dtype(
                f"i{1 << max(bits - 1, 0).bit_length() >> 3 or 1}" if bits > 8 else "i1"
            )
        case FloatType(bits):
            return np.dtype(f"f{bits // 8}")
        case _:
            return np.dtype(np.int64)


def is_native(kind: Type) -> bool:
    """Return True if numpy's arithmetic wraps as the type does."""
    return not isinstance(kind, IntegerType) or kind.bits in {1, 8, 16, 32, 64}


def as_unsigned(value: Value) -> Value:
    """Return the same bits as an unsigned integer."""
    return value.view(f"u{value.dtype.itemsize}")


def is_wide(value: Value) -> bool:
    """Return True if a number is stored as a Python integer because it is wider than 64 bits."""
    return getattr(value, "dtype", _WIDE) == _WIDE


def wrap(value: Value, bits: int) -> Value:
    """Reduce a value computed in a wider type to a signed number of `bits` bits."""
    if is_wide(value):
        half = 1 << (bits - 1)
        return (value + half) % (2 * half) - half
    spare = value.dtype.itemsize * 8 - bits
    return (value << spare) >> spare


def constant_value(
    kind: Type, value: ConstantValue, address: Callable[[SymbolAddress], int]
) -> Value:
    """Return a constant as a value. `address` returns the address of a symbol."""
    if isinstance(value, tuple):
        return tuple(
            constant_value(member, element, address)
            for member, element in zip(member_types(kind), value, strict=True)
        )
    if isinstance(value, SymbolAddress):
        return np.int64(address(value))
    dtype = dtype_of(kind)
    if dtype == _WIDE:
        return np.array(value, dtype=object)[()]
    return dtype.type(value)


def plain_array_bytes(kind: Type, value: ConstantValue) -> Array | None:
    """Return the bytes of a constant array of numbers: shape (bytes,). None for another constant.

    A long text takes a second per 100,000 characters otherwise.
    """
    if not (
        isinstance(kind, ArrayType) and type(value) is tuple and set(map(type, value)) <= {int}
    ):
        return None
    if not (isinstance(kind.element, IntegerType) and kind.element.bits in {8, 16, 32, 64}):
        return None
    return np.array(value, dtype_of(kind.element)).view(np.uint8)


def member_types(kind: Type) -> tuple[Type, ...]:
    """Return the types of an aggregate's members."""
    match kind:
        case VectorType(count, element) | ArrayType(count, element):
            return (element,) * count
        case StructType(members):
            return members
        case _:
            raise ValueError(f"{kind} has no members")


def zero_value(kind: Type) -> Value:
    """Return the zero of a type."""
    match kind:
        case VectorType() | ArrayType() | StructType():
            return tuple(zero_value(member) for member in member_types(kind))
        case VoidType():
            return None
        case _:
            return dtype_of(kind).type(0) if dtype_of(kind) != _WIDE else 0


def select_lanes(value: Value, positions: Array) -> Value:
    """Return the value of some of the lanes. `positions` are indices or a mask."""
    if type(value) is np.ndarray:
        return value[positions]
    if type(value) is tuple:
        return tuple([select_lanes(element, positions) for element in value])
    return value


def broadcast(value: Value, count: int) -> Value:
    """Return a number as an array with one entry for each of `count` lanes."""
    if type(value) is np.ndarray:
        return value
    entries: Array = np.empty(count, dtype=getattr(value, "dtype", _WIDE))
    entries[...] = value
    return entries


def merge_lanes(parts: Sequence[Value], counts: Sequence[int], order: Array | None) -> Value:
    """Concatenate the values of several sets of lanes and reorder them by `order`."""
    first = parts[0]
    if type(first) is tuple:
        return tuple([merge_lanes(group, counts, order) for group in zip(*parts, strict=True)])
    if first is None:
        return next((part for part in parts if part is not None), None)
    if type(first) is not np.ndarray and all(
        type(part) is type(first) and part == first for part in parts[1:]
    ):
        return first
    joined = np.concatenate(
        [broadcast(part, count) for part, count in zip(parts, counts, strict=True)]
    )
    return joined if order is None else joined[order]


def select(condition: Value, left: Value, right: Value) -> Value:
    """Return `left` where `condition` holds, else `right`; elementwise for vectors."""
    if type(condition) is tuple:
        return tuple(map(select, condition, left, right))
    if type(condition) is not np.ndarray:
        return left if condition else right
    if type(left) is tuple:
        return tuple([select(condition, a, b) for a, b in zip(left, right, strict=True)])
    return np.where(condition, left, right)


def leaves(kind: Type, offset: int = 0) -> list[tuple[int, Type]]:
    """Return the offset in bytes and the type of each number in a type."""
    match kind:
        case VectorType(count, element):
            step = stored_bytes(element)
            return [(offset + step * index, element) for index in range(count)]
        case ArrayType(count, element):
            step = size_bytes(element)
            return [
                leaf for index in range(count) for leaf in leaves(element, offset + step * index)
            ]
        case StructType(members):
            offsets = member_offsets(kind)
            return [
                leaf
                for start, member in zip(offsets, members, strict=True)
                for leaf in leaves(member, offset + start)
            ]
        case _:
            return [(offset, kind)]


def flatten(value: Value) -> list[Value]:
    """Return the numbers of a value, in the order of `leaves`."""
    if type(value) is tuple:
        return [number for element in value for number in flatten(element)]
    return [value]


def nest(kind: Type, numbers: list[Value]) -> Value:
    """Build the value of a type from its numbers, which are removed from the list."""
    match kind:
        case VectorType() | ArrayType() | StructType():
            return tuple([nest(member, numbers) for member in member_types(kind)])
        case _:
            return numbers.pop(0)


def to_bytes(value: Value, kind: Type) -> Array:
    """Return the bytes of a value in memory: shape (lanes or 1, bytes)."""
    numbers = flatten(value)
    lanes = max((number.size for number in numbers if type(number) is np.ndarray), default=1)
    if isinstance(kind, VectorType) and kind.element == IntegerType(1):
        bits = np.stack([np.broadcast_to(number, lanes) for number in numbers], axis=-1)
        return np.packbits(bits, axis=-1, bitorder="little")
    encoded = np.zeros((lanes, stored_bytes(kind)), np.uint8)
    for (offset, leaf), number in zip(leaves(kind), numbers, strict=True):
        width = stored_bytes(leaf)
        raw = np.ascontiguousarray(np.broadcast_to(number, lanes)).view(np.uint8)
        encoded[:, offset : offset + width] = raw.reshape(lanes, -1)[:, :width]
    return encoded


def from_bytes(raw: Array, kind: Type) -> Value:
    """Return the value stored in `raw`, bytes of shape (lanes or 1, bytes)."""
    if isinstance(kind, VectorType) and kind.element == IntegerType(1):
        bits = np.unpackbits(raw, axis=-1, count=kind.count, bitorder="little").astype(np.bool_)
        return tuple(_collapse(bits[:, index]) for index in range(kind.count))
    numbers = []
    for offset, leaf in leaves(kind):
        width = stored_bytes(leaf)
        dtype = dtype_of(leaf)
        part = np.zeros((raw.shape[0], dtype.itemsize), np.uint8)
        part[:, :width] = raw[:, offset : offset + width]
        number = part.view(np.uint8 if dtype == np.bool_ else dtype)[:, 0]
        if dtype == np.bool_:
            number = number != 0
        elif not is_native(leaf) and isinstance(leaf, IntegerType):
            number = wrap(number, leaf.bits)
        numbers.append(_collapse(number))
    return nest(kind, numbers)


def _collapse(number: Array) -> Value:
    return number[0] if number.shape[0] == 1 else number


def reinterpret(value: Value, source: Type, kind: Type) -> Value:
    """Return the same bits as another type (`bitcast`, `as_float4` …)."""
    if isinstance(source, VectorType | ArrayType | StructType) or isinstance(kind, VectorType):
        return from_bytes(to_bytes(value, source), kind)
    return value.view(dtype_of(kind)) if dtype_of(source) != dtype_of(kind) else value
