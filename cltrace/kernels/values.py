"""Values of lanes.

A number is a numpy scalar when it is the same for all lanes, else an array with one entry a lane.
Integers are signed, whatever reads them; a truth value is a bool; an address is an int64. A vector,
an array or a structure is a tuple of values. Integers of other widths than numpy's live in the next
wider type; above 64 bits they are Python's.
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
"""A numpy scalar, an array of one entry a lane, or a tuple of values."""
Array: TypeAlias = NDArray[Any]

_WIDE: Final = np.dtype(object)


@cache
def dtype_of(kind: Type) -> np.dtype[Any]:
    """The numpy type in which numbers of a type are kept."""
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
    """Whether numpy's arithmetic wraps as this type does."""
    return not isinstance(kind, IntegerType) or kind.bits in {1, 8, 16, 32, 64}


def unsigned(value: Value) -> Value:
    """The same bits, read as an integer without sign."""
    return value.view(f"u{value.dtype.itemsize}")


def is_wide(value: Value) -> bool:
    """Whether a number is kept as Python's, because it is wider than numpy's."""
    return getattr(value, "dtype", _WIDE) == _WIDE


def wrapped(value: Value, bits: int) -> Value:
    """A value computed in a wider type, as the signed number of `bits` bits."""
    if is_wide(value):
        half = 1 << (bits - 1)
        return (value + half) % (2 * half) - half
    spare = value.dtype.itemsize * 8 - bits
    return (value << spare) >> spare


def constant(kind: Type, value: ConstantValue, address: Callable[[SymbolAddress], int]) -> Value:
    """A constant as a value. `address` says where symbols are."""
    if isinstance(value, tuple):
        return tuple(
            constant(member, element, address)
            for member, element in zip(members_of(kind), value, strict=True)
        )
    if isinstance(value, SymbolAddress):
        return np.int64(address(value))
    dtype = dtype_of(kind)
    if dtype == _WIDE:
        return np.array(value, dtype=object)[()]
    return dtype.type(value)


def members_of(kind: Type) -> tuple[Type, ...]:
    """The types of what an aggregate holds."""
    match kind:
        case VectorType(count, element) | ArrayType(count, element):
            return (element,) * count
        case StructType(members):
            return members
        case _:
            raise ValueError(f"{kind} has no members")


def zero(kind: Type) -> Value:
    """The zero of a type."""
    match kind:
        case VectorType() | ArrayType() | StructType():
            return tuple(zero(member) for member in members_of(kind))
        case VoidType():
            return None
        case _:
            return dtype_of(kind).type(0) if dtype_of(kind) != _WIDE else 0


def taken(value: Value, positions: Array) -> Value:
    """The value of some of the lanes. `positions` are numbers or a mask."""
    if type(value) is np.ndarray:
        return value[positions]
    if type(value) is tuple:
        return tuple([taken(element, positions) for element in value])
    return value


def spread(value: Value, count: int) -> Value:
    """A number with one entry for each of `count` lanes."""
    if type(value) is np.ndarray:
        return value
    found: Array = np.empty(count, dtype=getattr(value, "dtype", _WIDE))
    found[...] = value
    return found


def merged(parts: Sequence[Value], counts: Sequence[int], order: Array | None) -> Value:
    """The values of several sets of lanes as that of all, in the order that `order` gives."""
    first = parts[0]
    if type(first) is tuple:
        return tuple([merged(group, counts, order) for group in zip(*parts, strict=True)])
    if first is None:
        return next((part for part in parts if part is not None), None)
    if type(first) is not np.ndarray and all(
        type(part) is type(first) and part == first for part in parts[1:]
    ):
        return first
    joined = np.concatenate(
        [spread(part, count) for part, count in zip(parts, counts, strict=True)]
    )
    return joined if order is None else joined[order]


def chosen(condition: Value, left: Value, right: Value) -> Value:
    """`left` where `condition` holds, else `right`; elementwise of vectors."""
    if type(condition) is tuple:
        return tuple(map(chosen, condition, left, right))
    if type(condition) is not np.ndarray:
        return left if condition else right
    if type(left) is tuple:
        return tuple([chosen(condition, a, b) for a, b in zip(left, right, strict=True)])
    return np.where(condition, left, right)


def leaves(kind: Type, offset: int = 0) -> list[tuple[int, Type]]:
    """The numbers that a type holds: their offsets in bytes and their types."""
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
            places = member_offsets(kind)
            return [
                leaf
                for place, member in zip(places, members, strict=True)
                for leaf in leaves(member, offset + place)
            ]
        case _:
            return [(offset, kind)]


def flat(value: Value) -> list[Value]:
    """The numbers of a value, in the order of `leaves`."""
    if type(value) is tuple:
        return [number for element in value for number in flat(element)]
    return [value]


def nested(kind: Type, numbers: list[Value]) -> Value:
    """The value of a type whose numbers are these. They are taken off the list."""
    match kind:
        case VectorType() | ArrayType() | StructType():
            return tuple([nested(member, numbers) for member in members_of(kind)])
        case _:
            return numbers.pop(0)


def to_bytes(value: Value, kind: Type) -> Array:
    """The bytes of a value in memory: shape (lanes or 1, bytes)."""
    numbers = flat(value)
    lanes = max((number.size for number in numbers if type(number) is np.ndarray), default=1)
    if isinstance(kind, VectorType) and kind.element == IntegerType(1):
        bits = np.stack([np.broadcast_to(number, lanes) for number in numbers], axis=-1)
        return np.packbits(bits, axis=-1, bitorder="little")
    found = np.zeros((lanes, stored_bytes(kind)), np.uint8)
    for (offset, leaf), number in zip(leaves(kind), numbers, strict=True):
        width = stored_bytes(leaf)
        raw = np.ascontiguousarray(np.broadcast_to(number, lanes)).view(np.uint8)
        found[:, offset : offset + width] = raw.reshape(lanes, -1)[:, :width]
    return found


def from_bytes(raw: Array, kind: Type) -> Value:
    """The value whose bytes in memory are `raw`, of shape (lanes or 1, bytes)."""
    if isinstance(kind, VectorType) and kind.element == IntegerType(1):
        bits = np.unpackbits(raw, axis=-1, count=kind.count, bitorder="little").astype(np.bool_)
        return tuple(_unspread(bits[:, index]) for index in range(kind.count))
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
            number = wrapped(number, leaf.bits)
        numbers.append(_unspread(number))
    return nested(kind, numbers)


def _unspread(number: Array) -> Value:
    return number[0] if number.shape[0] == 1 else number


def reinterpreted(value: Value, source: Type, kind: Type) -> Value:
    """The same bits as another type (`bitcast`, `as_float4` …)."""
    if isinstance(source, VectorType | ArrayType | StructType) or isinstance(kind, VectorType):
        return from_bytes(to_bytes(value, source), kind)
    return value.view(dtype_of(kind)) if dtype_of(source) != dtype_of(kind) else value
