"""Constants, from the text of LLVM IR: numbers, aggregates, addresses and what is folded of them."""

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
MOST_CONSTANT_BYTES: Final = 1 << 20
"""The largest constant that is read; what holds nothing but zeros may be larger."""
_FLAGS: Final = frozenset({"inbounds", "nuw", "nsw", "nusw", "inrange"})
_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "xor": lambda left, right: left ^ right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "mul": lambda left, right: left * right,
}


def read_constant(tokens: Tokens, kind: Type, named: Mapping[str, Type]) -> ConstantValue:
    """The constant of type `kind` that comes next."""
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
        return _aggregate(tokens, word, named)
    if word == "splat":
        return _splat(tokens, kind, named)
    if word == "c":
        return tuple(_unescaped(tokens.take()))
    return _expression(word, tokens, named)


def zero_of(kind: Type) -> ConstantValue:
    """The zero of a type, also taken for what is undefined."""
    if size_bytes(kind) > MOST_CONSTANT_BYTES:
        raise UnreadableError(f"a constant of more than {MOST_CONSTANT_BYTES >> 20} MiB")
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
            return _float_of_bits(int(word[3:], 16), kind.bits)
        if word.startswith("0xH"):
            return _float_of_bits(int(word[3:], 16), 16)
        if word.startswith("0x"):
            return _float_of_bits(int(word, 16), 64)
        return float(word)
    return int(word, 0)


def _float_of_bits(bits: int, width: int) -> float:
    code, size = {16: ("e", 2), 32: ("f", 4), 64: ("d", 8)}[width]
    value: float = struct.unpack(f"<{code}", bits.to_bytes(size, "little"))[0]
    return value


def _aggregate(tokens: Tokens, opening: str, named: Mapping[str, Type]) -> ConstantValue:
    closing = {"<": ">", "[": "]", "{": "}"}[opening]
    if opening == "<" and tokens.skip("{"):
        value = _aggregate(tokens, "{", named)
        tokens.expect(">")
        return value
    elements = []
    while not tokens.skip(closing):
        kind = read_type(tokens, named)
        elements.append(read_constant(tokens, kind, named))
        tokens.skip(",")
    return tuple(elements)


def _splat(tokens: Tokens, kind: Type, named: Mapping[str, Type]) -> ConstantValue:
    tokens.expect("(")
    element = read_constant(tokens, read_type(tokens, named), named)
    tokens.expect(")")
    if not isinstance(kind, VectorType):
        raise UnreadableError(f"a splat that is no vector: {tokens.line.strip()}")
    return (element,) * kind.count


def _unescaped(text: str) -> list[int]:
    plain = re.sub(r"\\([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text[1:-1])
    return [code - 256 if code > 127 else code for code in map(ord, plain)]


def _expression(word: str, tokens: Tokens, named: Mapping[str, Type]) -> ConstantValue:
    """A constant expression: an address computed from others."""
    if word == "getelementptr":
        return _element_address(tokens, named)
    if word in _CASTS:
        tokens.expect("(")
        value = read_constant(tokens, read_type(tokens, named), named)
        tokens.expect("to")
        read_type(tokens, named)
        tokens.expect(")")
        return value
    if word in _ARITHMETIC:
        return _arithmetic(word, tokens, named)
    raise UnreadableError(f"the constant {word!r} is not known: {tokens.line.strip()}")


def _arithmetic(word: str, tokens: Tokens, named: Mapping[str, Type]) -> ConstantValue:
    tokens.skip_words(_FLAGS)
    tokens.expect("(")
    left = read_constant(tokens, read_type(tokens, named), named)
    tokens.expect(",")
    right = read_constant(tokens, read_type(tokens, named), named)
    tokens.expect(")")
    if isinstance(left, SymbolAddress) and isinstance(right, int) and word in {"add", "sub"}:
        return moved(left, right if word == "add" else -right)
    if isinstance(left, SymbolAddress) and isinstance(right, SymbolAddress):
        if word == "sub" and left.symbol == right.symbol:
            return left.offset_bytes - right.offset_bytes
    elif isinstance(left, int) and isinstance(right, int):
        return _ARITHMETIC[word](left, right)
    raise UnreadableError(f"a constant {word} of addresses: {tokens.line.strip()}")


def moved(address: ConstantValue, offset_bytes: int) -> ConstantValue:
    """An address that is `offset_bytes` further on."""
    if isinstance(address, SymbolAddress):
        return SymbolAddress(address.symbol, address.offset_bytes + offset_bytes)
    if isinstance(address, int):
        return address + offset_bytes
    raise UnreadableError("an offset from what is no address")


def _element_address(tokens: Tokens, named: Mapping[str, Type]) -> ConstantValue:
    tokens.skip_words(_FLAGS - {"inrange"})
    tokens.skip_any(frozenset({"inrange"}))
    tokens.expect("(")
    base_type = read_type(tokens, named)
    tokens.expect(",")
    base = read_constant(tokens, read_type(tokens, named), named)
    indices = []
    while tokens.skip(","):
        tokens.skip_any(_FLAGS)
        index = read_constant(tokens, read_type(tokens, named), named)
        if not isinstance(index, int):
            raise UnreadableError(f"an index that is no number: {tokens.line.strip()}")
        indices.append(index)
    tokens.expect(")")
    offset, _ = strides(base_type, list(indices))
    return moved(base, offset)


def strides(base_type: Type, indices: list[int | None]) -> tuple[int, list[int]]:
    """How indices move an address: the bytes of the constant ones, the strides of the others (None)."""
    constant = 0
    steps = []
    kind = base_type
    for depth, index in enumerate(indices):
        if depth and isinstance(kind, StructType):
            if index is None:
                raise UnreadableError("a member of a structure by a number that is not constant")
            constant += member_offsets(kind)[index]
            kind = kind.members[index]
            continue
        if depth:
            if not isinstance(kind, ArrayType | VectorType):
                raise UnreadableError("an index into what has no elements")
            kind = kind.element
        if index is None:
            steps.append(size_bytes(kind))
        else:
            constant += index * size_bytes(kind)
    return constant, steps


def wrapped(value: int, kind: Type) -> int:
    """An integer constant as the signed number of its width."""
    if isinstance(kind, IntegerType) and kind.bits > 1:
        half = 1 << (kind.bits - 1)
        return (value + half) % (2 * half) - half
    return value
