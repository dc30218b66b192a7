"""Types, from the text of LLVM IR."""

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


def read_type(tokens: Tokens, named: Mapping[str, Type]) -> Type:
    """The type that comes next. `named` are the structures that have names."""
    word = tokens.take()
    known = _SIMPLE.get(word)
    if known is not None:
        return known
    if word == "ptr":
        return PointerType(_space(tokens))
    if word == "<":
        if tokens.peek() == "{":
            tokens.take()
            kind = _members(tokens, named, packed=True)
            tokens.expect(">")
            return kind
        return VectorType(*_counted(tokens, named, ">"))
    if word == "[":
        return ArrayType(*_counted(tokens, named, "]"))
    if word == "{":
        return _members(tokens, named, packed=False)
    if word == "target":
        return _target(tokens, named)
    return _other(word, tokens, named)


def _other(word: str, tokens: Tokens, named: Mapping[str, Type]) -> Type:
    if word.startswith("%"):
        kind = named.get(word)
        if kind is None:
            return OpaqueType(word[1:])
        return kind
    if word.startswith("i") and word[1:].isdigit():
        return IntegerType(int(word[1:]))
    raise UnreadableError(f"the type {word!r} is not known: {tokens.line.strip()}")


def _space(tokens: Tokens) -> int:
    if not tokens.skip("addrspace"):
        return 0
    tokens.expect("(")
    number = int(tokens.take())
    tokens.expect(")")
    return number


def _counted(tokens: Tokens, named: Mapping[str, Type], end: str) -> tuple[int, Type]:
    count = int(tokens.take())
    tokens.expect("x")
    element = read_type(tokens, named)
    tokens.expect(end)
    return count, element


def _members(tokens: Tokens, named: Mapping[str, Type], *, packed: bool) -> StructType:
    members = []
    while not tokens.skip("}"):
        members.append(read_type(tokens, named))
        tokens.skip(",")
    return StructType(tuple(members), packed)


def _target(tokens: Tokens, named: Mapping[str, Type]) -> OpaqueType:
    tokens.expect("(")
    name = tokens.take().strip('"')
    numbers = []
    while not tokens.skip(")"):
        tokens.expect(",")
        if tokens.peek().isdigit():
            numbers.append(int(tokens.take()))
        else:
            read_type(tokens, named)
    return OpaqueType(name, tuple(numbers))
