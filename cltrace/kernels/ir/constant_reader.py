"""Reader of constants in LLVM IR text: numbers, aggregates, addresses and constant expressions."""

import re
import struct
from collections.abc import Callable, Mapping
from typing import Final

from cltrace.kernels.ir.module import ConstantValue, SymbolAddress
from cltrace.kernels.ir.tokens import Tokens, UnreadableError, symbol_name
from cltrace.kernels.ir.type_reader import read_type
from cltrace.kernels.ir.types import (
    ArrayType,
    FloatType,
    IntegerType,
    StructType,
    Type,
    VectorType,
    member_offsets,
    size_bytes,
)

_CASTS: Final = frozenset(
    {"addrspacecast", "bitcast", "ptrtoint", "inttoptr", "trunc", "ptrtoaddr"}
)
MAX_CONSTANT_BYTES: Final = 1 << 20
"""The size limit of constants that are read; `zeroinitializer` variables may be larger."""
_FLAGS: Final = frozenset({"inbounds", "nuw", "nsw", "nusw", "inrange"})
_FLOAT_CODES: Final = {16: "e", 32: "f", 64: "d"}
_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "xor": lambda left, right: left ^ right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "mul": lambda left, right: left * right,
}


def read_constant(tokens: Tokens, kind: Type, structures: Mapping[str, Type]) -> ConstantValue:
    """Read the next constant, which is of type `kind`."""
    word = tokens.take()
    if word[0] in "-0123456789f" and (word[0] != "f" or word[1:3] == "0x"):
        return _number(word, kind)
    if word in {"undef", "poison", "zeroinitializer", "null", "none", "false"}:
        return zero_of(kind)
    if word == "true":
        return 1
    if word.startswith("@"):
        return SymbolAddress(symbol_name(word))
    if word in "<[{":
        return _aggregate(tokens, word, structures)
    if word == "splat":
        return _splat(tokens, kind, structures)
    if word == "c":
        return tuple(_read_bytes(tokens.take()))
    return _expression(word, tokens, structures)


def zero_of(kind: Type) -> ConstantValue:
    """Return the zero of a type, which also stands for undefined values.

    Raises: `UnreadableError` for types larger than `MAX_CONSTANT_BYTES`.
    """
    if size_bytes(kind) > MAX_CONSTANT_BYTES:
        raise UnreadableError(f"a constant of more than {MAX_CONSTANT_BYTES >> 20} MiB")
    match kind:
        case FloatType():
            return 0.0
        case VectorType(count, element) | ArrayType(count, element):
            return (zero_of(element),) * count
        case StructType(members):
            return tuple(zero_of(member) for member in members)
        case _:
            return 0


def _number(word: str, kind: Type) -> ConstantValue:
    if isinstance(kind, FloatType):
        if word.startswith("f0x"):
            return _float_from_bits(int(word[3:], 16), kind.bits)
        if word.startswith("0xH"):
            return _float_from_bits(int(word[3:], 16), 16)
        if word.startswith("0x"):
            return _float_from_bits(int(word, 16), 64)
        return float(word)
    return int(word, 0)


def _float_from_bits(bits: int, width: int) -> float:
    data = bits.to_bytes(width // 8, "little")
    value: float = struct.unpack(f"<{_FLOAT_CODES[width]}", data)[0]
    return value


def _aggregate(tokens: Tokens, opening: str, structures: Mapping[str, Type]) -> ConstantValue:
    closing = {"<": ">", "[": "]", "{": "}"}[opening]
    if opening == "<" and tokens.skip("{"):
        value = _aggregate(tokens, "{", structures)
        tokens.expect(">")
        return value
    elements = []
    while not tokens.skip(closing):
        kind = read_type(tokens, structures)
        elements.append(read_constant(tokens, kind, structures))
        tokens.skip(",")
    return tuple(elements)


def _splat(tokens: Tokens, kind: Type, structures: Mapping[str, Type]) -> ConstantValue:
    tokens.expect("(")
    element = read_constant(tokens, read_type(tokens, structures), structures)
    tokens.expect(")")
    if not isinstance(kind, VectorType):
        raise UnreadableError(f"splat of a type that is not a vector: {tokens.line.strip()}")
    return (element,) * kind.count


def _read_bytes(text: str) -> list[int]:
    """Return the signed bytes of a quoted string."""
    plain = re.sub(r"\\([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text[1:-1])
    return [code - 256 if code > 127 else code for code in map(ord, plain)]


def _expression(word: str, tokens: Tokens, structures: Mapping[str, Type]) -> ConstantValue:
    """Read the rest of a constant expression whose operator is `word`."""
    if word == "getelementptr":
        return _element_address(tokens, structures)
    if word in _CASTS:
        tokens.expect("(")
        kind = read_type(tokens, structures)
        value = read_constant(tokens, kind, structures)
        tokens.expect("to")
        target = read_type(tokens, structures)
        tokens.expect(")")
        return _with_bits_of(value, kind, target) if word == "bitcast" else value
    if word in _ARITHMETIC:
        return _arithmetic(word, tokens, structures)
    raise UnreadableError(f"unknown constant {word!r}: {tokens.line.strip()}")


def _with_bits_of(value: ConstantValue, kind: Type, target: Type) -> ConstantValue:
    """Return the value of type `target` that has the bits of a value of type `kind`."""
    scalar, count = _elements_of(kind)
    target_scalar, target_count = _elements_of(target)
    is_number = isinstance(scalar, IntegerType | FloatType)
    if not is_number or (scalar, count) == (target_scalar, target_count):
        return value
    elements = value if isinstance(value, tuple) else (value,)
    data = b"".join(_bytes_of(element, scalar) for element in elements)
    size = size_bytes(target_scalar)
    if len(data) != size * target_count:
        raise UnreadableError("a constant of another type with another size")
    parts = tuple(
        _from_bytes(data[begin : begin + size], target_scalar)
        for begin in range(0, len(data), size)
    )
    return parts if isinstance(target, VectorType) else parts[0]


def _elements_of(kind: Type) -> tuple[Type, int]:
    """Return the type and the number of a vector's elements; of another type, itself and 1."""
    return (kind.element, kind.count) if isinstance(kind, VectorType) else (kind, 1)


def _bytes_of(value: ConstantValue, kind: Type) -> bytes:
    if isinstance(value, int) and isinstance(kind, IntegerType):
        mask = (1 << kind.bits) - 1
        return (value & mask).to_bytes(size_bytes(kind), "little")
    if isinstance(value, int | float) and isinstance(kind, FloatType):
        return struct.pack(f"<{_FLOAT_CODES[kind.bits]}", value)
    raise UnreadableError("the bits of a constant that is not a number")


def _from_bytes(data: bytes, kind: Type) -> ConstantValue:
    if isinstance(kind, FloatType):
        return _float_from_bits(int.from_bytes(data, "little"), kind.bits)
    return wrap_integer(int.from_bytes(data, "little"), kind)


def _arithmetic(word: str, tokens: Tokens, structures: Mapping[str, Type]) -> ConstantValue:
    tokens.skip_words(_FLAGS)
    tokens.expect("(")
    left = read_constant(tokens, read_type(tokens, structures), structures)
    tokens.expect(",")
    right = read_constant(tokens, read_type(tokens, structures), structures)
    tokens.expect(")")
    if isinstance(left, SymbolAddress) and isinstance(right, int) and word in {"add", "sub"}:
        return offset_address(left, right if word == "add" else -right)
    if isinstance(left, SymbolAddress) and isinstance(right, SymbolAddress):
        if word == "sub" and left.symbol == right.symbol:
            return left.offset_bytes - right.offset_bytes
    elif isinstance(left, int) and isinstance(right, int):
        return _ARITHMETIC[word](left, right)
    raise UnreadableError(f"unsupported constant {word} of addresses: {tokens.line.strip()}")


def offset_address(address: ConstantValue, offset_bytes: int) -> ConstantValue:
    """Return a constant address plus `offset_bytes`."""
    if isinstance(address, SymbolAddress):
        return SymbolAddress(address.symbol, address.offset_bytes + offset_bytes)
    if isinstance(address, int):
        return address + offset_bytes
    raise UnreadableError("an offset from a constant that is not an address")


def _element_address(tokens: Tokens, structures: Mapping[str, Type]) -> ConstantValue:
    tokens.skip_words(_FLAGS - {"inrange"})
    tokens.skip_any(frozenset({"inrange"}))
    tokens.expect("(")
    base_type = read_type(tokens, structures)
    tokens.expect(",")
    base = read_constant(tokens, read_type(tokens, structures), structures)
    indices = []
    while tokens.skip(","):
        tokens.skip_any(_FLAGS)
        index = read_constant(tokens, read_type(tokens, structures), structures)
        if not isinstance(index, int):
            raise UnreadableError(f"a constant index that is not an integer: {tokens.line.strip()}")
        indices.append(index)
    tokens.expect(")")
    offset, _ = split_indices(base_type, list(indices))
    return offset_address(base, offset)


def split_indices(base_type: Type, indices: list[int | None]) -> tuple[int, list[int]]:
    """Split the indices of a `getelementptr` into a constant offset and strides, both in bytes.

    `indices` are the constant ones' values, and None for the others, each of which gets a stride.
    """
    constant_bytes = 0
    strides = []
    kind = base_type
    for depth, index in enumerate(indices):
        if depth and isinstance(kind, StructType):
            if index is None:
                raise UnreadableError("a structure member at an index that is not constant")
            constant_bytes += member_offsets(kind)[index]
            kind = kind.members[index]
            continue
        if depth:
            if not isinstance(kind, ArrayType | VectorType):
                raise UnreadableError("an index into a type without elements")
            kind = kind.element
        if index is None:
            strides.append(size_bytes(kind))
        else:
            constant_bytes += index * size_bytes(kind)
    return constant_bytes, strides


def wrap_integer(value: int, kind: Type) -> int:
    """Return an integer constant as a signed number of its type's width."""
    if isinstance(kind, IntegerType) and kind.bits > 1:
        half = 1 << (kind.bits - 1)
        return (value + half) % (2 * half) - half
    return value
