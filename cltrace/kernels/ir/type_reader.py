"""Reader of types in LLVM IR text."""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.ir.tokens import Tokens, UnreadableError
from cltrace.kernels.ir.types import (
    VOID,
    ArrayType,
    FloatType,
    IntegerType,
    OpaqueType,
    PointerType,
    StructType,
    Type,
    VectorType,
)

_SIMPLE: Final[Mapping[str, Type]] = {
    "void": VOID,
    "half": FloatType(16),
    "float": FloatType(32),
    "double": FloatType(64),
    "token": VOID,
    "metadata": VOID,
    "label": VOID,
    **{f"i{bits}": IntegerType(bits) for bits in (1, 8, 16, 32, 64)},
}


def read_type(tokens: Tokens, structures: Mapping[str, Type]) -> Type:
    """Read the next type. `structures` are the named structure types, by name."""
    word = tokens.take()
    simple = _SIMPLE.get(word)
    if simple is not None:
        return simple
    if word == "ptr":
        return PointerType(_read_address_space(tokens))
    if word == "<":
        if tokens.peek() == "{":
            tokens.take()
            kind = _read_structure(tokens, structures, packed=True)
            tokens.expect(">")
            return kind
        return VectorType(*_read_element(tokens, structures, ">"))
    if word == "[":
        return ArrayType(*_read_element(tokens, structures, "]"))
    if word == "{":
        return _read_structure(tokens, structures, packed=False)
    if word == "target":
        return _read_target_type(tokens, structures)
    return _named_type(word, tokens, structures)


def _named_type(word: str, tokens: Tokens, structures: Mapping[str, Type]) -> Type:
    if word.startswith("%"):
        kind = structures.get(word)
        if kind is None:
            return OpaqueType(word[1:])
        return kind
    if word.startswith("i") and word[1:].isdigit():
        return IntegerType(int(word[1:]))
    raise UnreadableError(f"unknown type {word!r}: {tokens.line.strip()}")


def _read_address_space(tokens: Tokens) -> int:
    if not tokens.skip("addrspace"):
        return 0
    tokens.expect("(")
    number = int(tokens.take())
    tokens.expect(")")
    return number


def _read_element(tokens: Tokens, structures: Mapping[str, Type], end: str) -> tuple[int, Type]:
    """Read `count x element` up to the bracket `end`, and return both."""
    count = int(tokens.take())
    tokens.expect("x")
    element = read_type(tokens, structures)
    tokens.expect(end)
    return count, element


def _read_structure(tokens: Tokens, structures: Mapping[str, Type], *, packed: bool) -> StructType:
    members = []
    while not tokens.skip("}"):
        members.append(read_type(tokens, structures))
        tokens.skip(",")
    return StructType(tuple(members), packed)


def _read_target_type(tokens: Tokens, structures: Mapping[str, Type]) -> OpaqueType:
    tokens.expect("(")
    name = tokens.take().strip('"')
    numbers = []
    while not tokens.skip(")"):
        tokens.expect(",")
        if tokens.peek().isdigit():
            numbers.append(int(tokens.take()))
        else:
            read_type(tokens, structures)
    return OpaqueType(name, tuple(numbers))
