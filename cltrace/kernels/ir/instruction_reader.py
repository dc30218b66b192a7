"""Reader of instructions in LLVM IR text."""

from collections.abc import Callable, Mapping
from typing import Final

from cltrace.kernels.ir.attributes import read_attributes
from cltrace.kernels.ir.constant_reader import split_indices
from cltrace.kernels.ir.instructions import (
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Call,
    Compare,
    Convert,
    Copy,
    CopyOrigin,
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
from cltrace.kernels.ir.keywords import (
    APPROXIMATION_FLAGS,
    BINARY_OPERATORS,
    CALLING_CONVENTIONS,
    CONVERSIONS,
    FAST_MATH_FLAGS,
    FLAGS,
    IGNORED_CALLS,
    TAIL_CALLS,
)
from cltrace.kernels.ir.operands import Operands
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.tokens import Tokens, UnreadableError, symbol_name
from cltrace.kernels.ir.types import BOOL, PointerType, StructType, Type, VectorType


def read_instruction(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction | None:
    """Read the instruction on a line, or None for one without effect. `name` is the value it defines."""
    word = tokens.take()
    reader = _READERS.get(word)
    if reader is not None:
        return reader(tokens, operands, name, place)
    if word in BINARY_OPERATORS:
        return _binary(word, tokens, operands, name, place)
    if word in CONVERSIONS:
        return _convert(word, tokens, operands, name, place)
    return Unsupported(f"the instruction {word!r}", place)


def _result(operands: Operands, name: str | None, kind: Type) -> int:
    if name is None:
        return -1
    slot = operands.slot_of(name)
    operands.types[slot] = kind
    return slot


def _binary(
    operator: str, tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    is_disjoint = operator == "or" and tokens.peek() == "disjoint"
    if is_disjoint:
        operator = "add"  # LLVM turns an add of numbers that share no bit into such an `or`
    flags = tokens.skip_any(FLAGS)
    is_signed = "nsw" in flags or is_disjoint
    kind, left = operands.read_typed_value(tokens)
    tokens.expect(",")
    right = operands.read_value(tokens, kind)
    return Binary(
        result=_result(operands, name, kind),
        operator=operator,
        type=kind,
        left=left,
        right=right,
        place=place,
        is_signed=is_signed,
        is_approximate=not flags.isdisjoint(APPROXIMATION_FLAGS),
    )


def _convert(
    operator: str, tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    tokens.skip_any(FLAGS)
    source, operand = operands.read_typed_value(tokens)
    tokens.expect("to")
    kind = operands.read_type(tokens)
    return Convert(_result(operands, name, kind), operator, source, kind, operand, place)


def _negate(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(FLAGS)
    kind, operand = operands.read_typed_value(tokens)
    return Negate(_result(operands, name, kind), kind, operand, place)


def _compare(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(FLAGS)
    predicate = tokens.take()
    kind, left = operands.read_typed_value(tokens)
    tokens.expect(",")
    right = operands.read_value(tokens, kind)
    truth = VectorType(kind.count, BOOL) if isinstance(kind, VectorType) else BOOL
    return Compare(_result(operands, name, truth), predicate, kind, left, right, place)


def _select(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(FLAGS)
    _, condition = operands.read_typed_value(tokens)
    tokens.expect(",")
    kind, left = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, right = operands.read_typed_value(tokens)
    return Select(_result(operands, name, kind), kind, condition, left, right, place)


def _freeze(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, operand = operands.read_typed_value(tokens)
    return Copy(_result(operands, name, kind), kind, operand, CopyOrigin.FREEZE, place)


def _pointer(tokens: Tokens, operands: Operands) -> tuple[int, int]:
    kind, pointer = operands.read_typed_value(tokens)
    if not isinstance(kind, PointerType):
        raise UnreadableError(f"a memory access without a pointer: {tokens.line.strip()}")
    return pointer, kind.space


def _load(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(frozenset({"atomic", "volatile"}))
    kind = operands.read_type(tokens)
    tokens.expect(",")
    pointer, space = _pointer(tokens, operands)
    return Load(_result(operands, name, kind), kind, pointer, space, place, tokens.take_alignment())


def _store(tokens: Tokens, operands: Operands, _: str | None, place: Place) -> Instruction:
    tokens.skip_any(frozenset({"atomic", "volatile"}))
    kind, value = operands.read_typed_value(tokens)
    tokens.expect(",")
    pointer, space = _pointer(tokens, operands)
    return Store(value, kind, pointer, space, place, tokens.take_alignment())


def _allocate(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(frozenset({"inalloca", "swifterror"}))
    kind = operands.read_type(tokens)
    count = 1
    if tokens.peek() == "," and tokens.peek(1).startswith("i") and tokens.peek(2).isdigit():
        tokens.take()
        tokens.take()
        count = int(tokens.take())
    elif tokens.peek() == "," and tokens.peek(1).startswith("i"):
        return Unsupported("a private array of variable length", place)
    return Allocate(_result(operands, name, PointerType(0)), kind, count, place)


def _offset(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    tokens.skip_any(FLAGS | {"inrange"})
    base_type = operands.read_type(tokens)
    tokens.expect(",")
    pointer_type, pointer = operands.read_typed_value(tokens)
    indices: list[int | None] = []
    terms = []
    types = []
    while tokens.skip(","):
        kind, index = operands.read_typed_value(tokens)
        value = operands.constant_value(index)
        indices.append(value if isinstance(value, int) else None)
        if not isinstance(value, int):
            terms.append(index)
            types.append(kind)
    if isinstance(pointer_type, VectorType) or any(isinstance(kind, VectorType) for kind in types):
        return Unsupported("vectors of pointers", place)
    constant_bytes, strides = split_indices(base_type, indices)
    result = _result(operands, name, pointer_type)
    pairs = tuple(zip(terms, strides, strict=True))
    return Offset(result, pointer, constant_bytes, pairs, tuple(types), place)


def _extract(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, vector = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, index = operands.read_typed_value(tokens)
    if not isinstance(kind, VectorType):
        raise UnreadableError(f"extractelement without a vector: {tokens.line.strip()}")
    return ExtractElement(_result(operands, name, kind.element), kind.element, vector, index, place)


def _insert(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, vector = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, element = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, index = operands.read_typed_value(tokens)
    return InsertElement(_result(operands, name, kind), kind, vector, element, index, place)


def _shuffle(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction:
    kind, left = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, right = operands.read_typed_value(tokens)
    tokens.expect(",")
    mask_type = operands.read_type(tokens)
    if not isinstance(kind, VectorType) or not isinstance(mask_type, VectorType):
        raise UnreadableError(f"shufflevector without vectors: {tokens.line.strip()}")
    positions = _positions(tokens, mask_type.count)
    result = VectorType(mask_type.count, kind.element)
    slot = _result(operands, name, result)
    return Shuffle(
        result=slot,
        type=result,
        left=left,
        right=right,
        left_count=kind.count,
        positions=positions,
        place=place,
    )


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
    kind, aggregate = operands.read_typed_value(tokens)
    path = _path(tokens)
    member = _member_type(kind, path)
    return ExtractValue(_result(operands, name, member), member, aggregate, path, place)


def _insert_value(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    kind, aggregate = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, element = operands.read_typed_value(tokens)
    path = _path(tokens)
    return InsertValue(_result(operands, name, kind), kind, aggregate, element, path, place)


def _tail_call(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction | None:
    tokens.expect("call")
    return _call(tokens, operands, name, place)


def _call(tokens: Tokens, operands: Operands, name: str | None, place: Place) -> Instruction | None:
    flags = tokens.skip_any(FAST_MATH_FLAGS | CALLING_CONVENTIONS)
    read_attributes(tokens, operands)
    if tokens.peek() == "addrspace":
        tokens.take()
        tokens.skip_group()
    kind = operands.read_type(tokens)
    if tokens.peek() == "(":
        tokens.skip_group()
    callee = tokens.take()
    if not callee.startswith("@"):
        feature = "inline assembly" if callee == "asm" else "a call through a pointer"
        return Unsupported(feature, place)
    if callee.startswith(IGNORED_CALLS):
        return None
    tokens.expect("(")
    slots = []
    types = []
    while not tokens.skip(")"):
        argument = operands.read_type(tokens)
        read_attributes(tokens, operands)
        slots.append(operands.read_value(tokens, argument))
        types.append(argument)
        tokens.skip(",")
    return Call(
        result=_result(operands, name, kind),
        type=kind,
        callee=symbol_name(callee),
        arguments=tuple(slots),
        argument_types=tuple(types),
        place=place,
        is_approximate=not flags.isdisjoint(APPROXIMATION_FLAGS),
    )


def _atomic_update(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    tokens.skip("volatile")
    operator = tokens.take()
    pointer, space = _pointer(tokens, operands)
    tokens.expect(",")
    kind, value = operands.read_typed_value(tokens)
    result = _result(operands, name, kind)
    return AtomicUpdate(
        result=result,
        operator=operator,
        type=kind,
        pointer=pointer,
        value=value,
        space=space,
        place=place,
    )


def _atomic_exchange(
    tokens: Tokens, operands: Operands, name: str | None, place: Place
) -> Instruction:
    tokens.skip_any(frozenset({"weak", "volatile"}))
    pointer, space = _pointer(tokens, operands)
    tokens.expect(",")
    kind, expected = operands.read_typed_value(tokens)
    tokens.expect(",")
    _, value = operands.read_typed_value(tokens)
    result = _result(operands, name, StructType((kind, BOOL)))
    return AtomicExchange(
        result=result,
        type=kind,
        pointer=pointer,
        expected=expected,
        value=value,
        space=space,
        place=place,
    )


def _no_instruction(*_: object) -> None:
    return None


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
    **dict.fromkeys(TAIL_CALLS, _tail_call),
    "atomicrmw": _atomic_update,
    "cmpxchg": _atomic_exchange,
    "fence": _no_instruction,
}
