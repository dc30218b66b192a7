"""Instructions, from the text of LLVM IR."""

from collections.abc import Callable, Mapping
from typing import Final

from cltrace.kernels.ir.constant_reader import strides
from cltrace.kernels.ir.instructions import (
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Call,
    Compare,
    Convert,
    Copy,
    CopyOf,
    ExtractElement,
    ExtractValue,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Negate,
    Offset,
    Select,
    Shuffle,
    Store,
    Unsupported,
)
from cltrace.kernels.ir.operands import Operands
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.tokens import Tokens, UnreadableError, symbol_name
from cltrace.kernels.ir.types import BOOL, PointerType, StructType, Type, VectorType

_FAST: Final = frozenset({"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})
_FLAGS: Final = _FAST | {"nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw"}
_TAIL: Final = frozenset({"tail", "musttail", "notail"})
_CONVENTIONS: Final = frozenset({"spir_func", "spir_kernel", "fastcc", "ccc", "coldcc"})
_ATTRIBUTES: Final = frozenset(
    {
        "noundef", "signext", "zeroext", "nonnull", "noalias", "nocapture", "captures", "readonly",
        "writeonly", "readnone", "dereferenceable", "dereferenceable_or_null", "align", "inreg",
        "byval", "byref", "sret", "returned", "immarg", "range", "nofpclass", "nofree", "dead_on_unwind",
        "writable", "initializes", "noext", "dead_on_return", "allocptr", "swiftself", "inalloca",
    }
)  # fmt: skip
_BINARY: Final = frozenset(
    {
        "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and",
        "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem",
    }
)  # fmt: skip
_CONVERSIONS: Final = frozenset(
    {
        "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp",
        "bitcast", "addrspacecast", "ptrtoint", "inttoptr", "ptrtoaddr",
    }
)  # fmt: skip
IGNORED_CALLS: Final = (
    "@llvm.lifetime.",
    "@llvm.dbg.",
    "@llvm.assume",
    "@llvm.experimental.noalias.scope.decl",
    "@llvm.invariant.",
    "@llvm.donothing",
)
"""Functions whose calls say something to an optimiser and do nothing."""


def read_attributes(tokens: Tokens, operands: Operands) -> Type | None:
    """Go past a parameter's attributes. Returns what a `byval` pointer points to."""
    pointee = None
    while tokens.peek() in _ATTRIBUTES:
        word = tokens.take()
        if word in {"byval", "byref", "sret"} and tokens.peek() == "(":
            tokens.take()
            kind = operands.type(tokens)
            tokens.expect(")")
            pointee = kind if word == "byval" else pointee
        elif tokens.peek() == "(":
            tokens.skip_group()
        elif word in {"align", "dereferenceable"} and tokens.peek().isdigit():
            tokens.take()
    return pointee


def read_instruction(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction | None:
    """The instruction on a line, or None for one that does nothing. `name` is what it defines."""
    word = tokens.take()
    reader = _READERS.get(word)
    if reader is not None:
        return reader(tokens, operands, name, place)
    if word in _BINARY:
        return _binary(word, tokens, operands, name, place)
    if word in _CONVERSIONS:
        return _convert(word, tokens, operands, name, place)
    return Unsupported(f"the instruction {word!r}", place)


def _result(operands: Operands, name: str | None, kind: Type) -> int:
    if name is None:
        return -1
    slot = operands.slot(name)
    operands.types[slot] = kind
    return slot


def _binary(
    operator: str, tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    if operator == "or" and tokens.peek() == "disjoint":
        operator = "add"  # of numbers that share no bit: it was one before it was optimised
    tokens.skip_any(_FLAGS)
    kind, left = operands.typed(tokens)
    tokens.expect(",")
    right = operands.value(tokens, kind)
    return Binary(_result(operands, name, kind), operator, kind, left, right, place)


def _convert(
    operator: str, tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    tokens.skip_any(_FLAGS)
    source, operand = operands.typed(tokens)
    tokens.expect("to")
    kind = operands.type(tokens)
    return Convert(_result(operands, name, kind), operator, source, kind, operand, place)


def _negate(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(_FLAGS)
    kind, operand = operands.typed(tokens)
    return Negate(_result(operands, name, kind), kind, operand, place)


def _compare(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(_FLAGS)
    predicate = tokens.take()
    kind, left = operands.typed(tokens)
    tokens.expect(",")
    right = operands.value(tokens, kind)
    truth = VectorType(kind.count, BOOL) if isinstance(kind, VectorType) else BOOL
    return Compare(_result(operands, name, truth), predicate, kind, left, right, place)


def _select(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(_FLAGS)
    _, condition = operands.typed(tokens)
    tokens.expect(",")
    kind, left = operands.typed(tokens)
    tokens.expect(",")
    _, right = operands.typed(tokens)
    return Select(_result(operands, name, kind), kind, condition, left, right, place)


def _freeze(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, operand = operands.typed(tokens)
    return Copy(_result(operands, name, kind), kind, operand, CopyOf.FREEZE, place)


def _pointer(tokens: Tokens, operands: Operands) -> tuple[int, int]:
    kind, pointer = operands.typed(tokens)
    if not isinstance(kind, PointerType):
        raise UnreadableError(f"memory by what is no pointer: {tokens.line.strip()}")
    return pointer, kind.space


def _load(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(frozenset({"atomic", "volatile"}))
    kind = operands.type(tokens)
    tokens.expect(",")
    pointer, space = _pointer(tokens, operands)
    return Load(_result(operands, name, kind), kind, pointer, space, place)


def _store(tokens: Tokens, operands: Operands, _: str | None, place: Place) -> Instruction:
    tokens.skip_any(frozenset({"atomic", "volatile"}))
    kind, value = operands.typed(tokens)
    tokens.expect(",")
    pointer, space = _pointer(tokens, operands)
    return Store(value, kind, pointer, space, place)


def _allocate(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(frozenset({"inalloca", "swifterror"}))
    kind = operands.type(tokens)
    count = 1
    if tokens.peek() == "," and tokens.peek(1).startswith("i") and tokens.peek(2).isdigit():
        tokens.take()
        tokens.take()
        count = int(tokens.take())
    elif tokens.peek() == "," and tokens.peek(1).startswith("i"):
        return Unsupported("a private array of a length that is not constant", place)
    return Allocate(_result(operands, name, PointerType(0)), kind, count, place)


def _offset(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(_FLAGS | {"inrange"})
    base_type = operands.type(tokens)
    tokens.expect(",")
    pointer_type, pointer = operands.typed(tokens)
    indices: list[int | None] = []
    terms = []
    types = []
    while tokens.skip(","):
        kind, index = operands.typed(tokens)
        value = operands.constant_value(index)
        indices.append(value if isinstance(value, int) else None)
        if not isinstance(value, int):
            terms.append(index)
            types.append(kind)
    if isinstance(pointer_type, VectorType) or any(isinstance(kind, VectorType) for kind in types):
        return Unsupported("vectors of pointers", place)
    constant, steps = strides(base_type, indices)
    result = _result(operands, name, pointer_type)
    pairs = tuple(zip(terms, steps, strict=True))
    return Offset(result, pointer, constant, pairs, tuple(types), place)


def _extract(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, vector = operands.typed(tokens)
    tokens.expect(",")
    _, index = operands.typed(tokens)
    if not isinstance(kind, VectorType):
        raise UnreadableError(f"an element of what is no vector: {tokens.line.strip()}")
    return ExtractElement(_result(operands, name, kind.element), kind.element, vector, index, place)


def _insert(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, vector = operands.typed(tokens)
    tokens.expect(",")
    _, element = operands.typed(tokens)
    tokens.expect(",")
    _, index = operands.typed(tokens)
    return InsertElement(_result(operands, name, kind), kind, vector, element, index, place)


def _shuffle(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, left = operands.typed(tokens)
    tokens.expect(",")
    _, right = operands.typed(tokens)
    tokens.expect(",")
    mask_type = operands.type(tokens)
    if not isinstance(kind, VectorType) or not isinstance(mask_type, VectorType):
        raise UnreadableError(f"a shuffle of what is no vector: {tokens.line.strip()}")
    positions = _positions(tokens, mask_type.count)
    result = VectorType(mask_type.count, kind.element)
    slot = _result(operands, name, result)
    return Shuffle(slot, result, left, right, kind.count, positions, place)


def _positions(tokens: Tokens, count: int) -> tuple[int, ...]:
    if tokens.peek() in {"zeroinitializer", "poison", "undef"}:
        return (0 if tokens.take() == "zeroinitializer" else -1,) * count
    if tokens.skip("splat"):
        tokens.expect("(")
        tokens.take()
        return (int(tokens.take()),) * count
    tokens.expect("<")
    positions = []
    while not tokens.skip(">"):
        tokens.take()
        word = tokens.take()
        positions.append(-1 if word in {"poison", "undef"} else int(word))
        tokens.skip(",")
    return tuple(positions)


def _path(tokens: Tokens) -> tuple[int, ...]:
    path = []
    while tokens.skip(","):
        path.append(int(tokens.take()))
    return tuple(path)


def _member_type(kind: Type, path: tuple[int, ...]) -> Type:
    for index in path:
        kind = kind.members[index] if isinstance(kind, StructType) else kind.element  # type: ignore[union-attr]
    return kind


def _extract_value(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    kind, aggregate = operands.typed(tokens)
    path = _path(tokens)
    member = _member_type(kind, path)
    return ExtractValue(_result(operands, name, member), member, aggregate, path, place)


def _insert_value(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    kind, aggregate = operands.typed(tokens)
    tokens.expect(",")
    _, element = operands.typed(tokens)
    path = _path(tokens)
    return InsertValue(_result(operands, name, kind), kind, aggregate, element, path, place)


def _tail_call(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction | None:
    tokens.expect("call")
    return _call(tokens, operands, name, place)


def _call(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction | None:
    tokens.skip_any(_FAST | _CONVENTIONS)
    read_attributes(tokens, operands)
    if tokens.peek() == "addrspace":
        tokens.take()
        tokens.skip_group()
    kind = operands.type(tokens)
    if tokens.peek() == "(":
        tokens.skip_group()
    callee = tokens.take()
    if not callee.startswith("@"):
        what = "inline assembly" if callee == "asm" else "a call through a pointer"
        return Unsupported(what, place)
    if callee.startswith(IGNORED_CALLS):
        return None
    tokens.expect("(")
    slots = []
    types = []
    while not tokens.skip(")"):
        argument = operands.type(tokens)
        read_attributes(tokens, operands)
        slots.append(operands.value(tokens, argument))
        types.append(argument)
        tokens.skip(",")
    result = _result(operands, name, kind)
    return Call(result, kind, symbol_name(callee), tuple(slots), tuple(types), place)


def _atomic_update(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    tokens.skip("volatile")
    operator = tokens.take()
    pointer, space = _pointer(tokens, operands)
    tokens.expect(",")
    kind, value = operands.typed(tokens)
    return AtomicUpdate(_result(operands, name, kind), operator, kind, pointer, value, space, place)


def _atomic_exchange(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    tokens.skip_any(frozenset({"weak", "volatile"}))
    pointer, space = _pointer(tokens, operands)
    tokens.expect(",")
    kind, expected = operands.typed(tokens)
    tokens.expect(",")
    _, value = operands.typed(tokens)
    result = _result(operands, name, StructType((kind, BOOL)))
    return AtomicExchange(result, kind, pointer, expected, value, space, place)


def _nothing(*_: object) -> None:
    return None


def _variadic(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    del tokens, operands, name
    return Unsupported("variable arguments", place)


_Reader = Callable[[Tokens, Operands, str | None, Place], Instruction | None]
_READERS: Final[Mapping[str, _Reader]] = {
    "fneg": _negate,
    "icmp": _compare,
    "fcmp": _compare,
    "select": _select,
    "freeze": _freeze,
    "load": _load,
    "store": _store,
    "alloca": _allocate,
    "getelementptr": _offset,
    "extractelement": _extract,
    "insertelement": _insert,
    "shufflevector": _shuffle,
    "extractvalue": _extract_value,
    "insertvalue": _insert_value,
    "call": _call,
    **dict.fromkeys(_TAIL, _tail_call),
    "atomicrmw": _atomic_update,
    "cmpxchg": _atomic_exchange,
    "fence": _nothing,
    "va_arg": _variadic,
}
