"""Cost classes of instructions, and the number of operations of each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from cltrace.kernels.builtins.function_kinds import is_barrier, is_collective, is_work_item_function
from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.builtins.table import find_builtin
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import SHIFT, Operation, private_type
from cltrace.kernels.fold.divisions import NO_DIVISIONS, Divisions
from cltrace.kernels.ir.instructions import (
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Branch,
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
    Switch,
    Terminator,
)
from cltrace.kernels.ir.types import (
    PRIVATE,
    FloatType,
    PointerType,
    Type,
    VectorType,
    VoidType,
    element_of,
    type_name,
)

TypedCount = tuple[str, CostClass, int]
"""A type, a class, and a number of operations. The elements of a vector count separately."""

_BINARY: Final[Mapping[str, CostClass]] = {
    **dict.fromkeys(("add", "sub"), CostClass.INT_ADD),
    "mul": CostClass.INT_MULTIPLY,
    **dict.fromkeys(("udiv", "sdiv", "urem", "srem"), CostClass.INT_DIVIDE),
    **dict.fromkeys(("and", "or", "xor", "shl", "lshr", "ashr"), CostClass.INT_LOGIC),
    **dict.fromkeys(("fadd", "fsub"), CostClass.FLOAT_ADD),
    "fmul": CostClass.FLOAT_MULTIPLY,
    **dict.fromkeys(("fdiv", "frem"), CostClass.FLOAT_DIVIDE),
}
_REINTERPRETATIONS: Final = frozenset(
    {"bitcast", "addrspacecast", "ptrtoint", "inttoptr", "ptrtoaddr"}
)


def _per_element(kind: Type, cost: CostClass) -> list[TypedCount]:
    count = kind.count if isinstance(kind, VectorType) else 1
    return [(type_name(element_of(kind)), cost, count)]


def _convert(item: Convert) -> list[TypedCount]:
    if item.operator in _REINTERPRETATIONS:
        return _per_element(item.type, CostClass.MOVE)
    return _per_element(item.type, CostClass.CONVERT)


def _compare(item: Compare) -> list[TypedCount]:
    is_float = isinstance(element_of(item.type), FloatType)
    return _per_element(item.type, CostClass.FLOAT_COMPARE if is_float else CostClass.INT_COMPARE)


def _copy(item: Copy) -> list[TypedCount]:
    if item.origin is CopyOrigin.FREEZE:
        return _per_element(item.type, CostClass.MOVE)
    cost = CostClass.LOAD if item.origin is CopyOrigin.READ else CostClass.STORE
    return [(private_type(type_name(item.type)), cost, 1)]


def _memory(cost: CostClass) -> Callable[[Any], list[TypedCount]]:
    def run(item: Load | Store) -> list[TypedCount]:
        name = type_name(item.type)
        return [(private_type(name) if item.space == PRIVATE else name, cost, 1)]

    return run


def _move(item: Any) -> list[TypedCount]:
    return [(type_name(element_of(item.type)), CostClass.MOVE, 1)]


_RULES: Final[Mapping[type, Callable[[Any], list[TypedCount]]]] = {
    Binary: lambda item: _per_element(item.type, _BINARY[item.operator]),
    Negate: lambda item: _per_element(item.type, CostClass.FLOAT_ADD),
    Compare: _compare,
    Convert: _convert,
    Select: lambda item: _per_element(item.type, CostClass.SELECT),
    Copy: _copy,
    Load: _memory(CostClass.LOAD),
    Store: _memory(CostClass.STORE),
    Allocate: lambda _: [],
    Offset: lambda item: [("pointer", CostClass.ADDRESS, max(len(item.terms), 1))],
    ExtractElement: _move,
    InsertElement: _move,
    Shuffle: _move,
    ExtractValue: _move,
    InsertValue: _move,
    AtomicUpdate: lambda item: _per_element(item.type, CostClass.ATOMIC),
    AtomicExchange: lambda item: _per_element(item.type, CostClass.ATOMIC),
}


def operations_of(instruction: Instruction | Terminator) -> Iterable[TypedCount]:
    """Return the operations of an instruction."""
    if isinstance(instruction, Call):
        return _call(instruction)
    if isinstance(instruction, Branch | Switch):
        return [("bool", CostClass.BRANCH, 1)]
    rule = _RULES.get(type(instruction))
    return rule(instruction) if rule is not None else []


_ELEMENTS_OF_ARGUMENT: Final = frozenset(
    {"dot", "length", "distance", "fast_length", "fast_distance"}
)
_CALL_PREFIXES: Final[tuple[tuple[str, CostClass], ...]] = (
    ("vload", CostClass.LOAD),
    ("vstore", CostClass.STORE),
    ("atomic_", CostClass.ATOMIC),
    ("atom_", CostClass.ATOMIC),
    ("read_image", CostClass.IMAGE),
    ("write_image", CostClass.IMAGE),
    ("async_work_group_", CostClass.COLLECTIVE),
    ("get_image", CostClass.WORK_ITEM),
)
_SPECIAL: Final = frozenset({"sincos", "fract", "modf", "frexp", "remquo", "lgamma_r"})


def _call(call: Call) -> list[TypedCount]:
    name = base_name(demangle(call.callee))
    kind: Type = call.type
    if isinstance(kind, VoidType) or name in _ELEMENTS_OF_ARGUMENT:
        kind = call.argument_types[0] if call.argument_types else kind
    builtin = find_builtin(name)
    if builtin is not None:
        return _per_element(kind, builtin.cost)
    if name in _SPECIAL:
        return _per_element(kind, CostClass.SPECIAL)
    cost = _call_cost(name)
    if cost in {CostClass.LOAD, CostClass.STORE}:
        pointer = call.argument_types[-1]
        is_private = isinstance(pointer, PointerType) and pointer.space == PRIVATE
        element = type_name(kind)
        return [(private_type(element) if is_private else element, cost, 1)]
    return [(type_name(element_of(kind)), cost, 1)]


def _call_cost(name: str) -> CostClass:
    if is_barrier(name):
        return CostClass.BARRIER
    if is_work_item_function(name):
        return CostClass.WORK_ITEM
    if is_collective(name):
        return CostClass.COLLECTIVE
    for prefix, cost in _CALL_PREFIXES:
        if name.startswith(prefix):
            return cost
    if name.startswith(("llvm.memcpy", "llvm.memmove")):
        return CostClass.LOAD
    if name.startswith("llvm.memset"):
        return CostClass.STORE
    return CostClass.OTHER


def named_operations(
    item: Instruction | Terminator, divisions: Divisions = NO_DIVISIONS
) -> Iterator[tuple[Operation, int]]:
    """Yield the operations of an instruction, each with its number."""
    for kind, cost, count in operations_of(item):
        if divisions.is_mask(item):
            yield Operation(kind, CostClass.INT_LOGIC, ""), count
        else:
            yield Operation(kind, cost, _function(item, cost, divisions)), count


def _function(item: Instruction | Terminator, cost: CostClass, divisions: Divisions) -> str:
    match item:
        case Call() if cost in {CostClass.SPECIAL, CostClass.OTHER}:
            return base_name(demangle(item.callee))
        case Binary(_, "shl" | "lshr" | "ashr", _, _, _):
            return SHIFT
        case Binary() if cost is CostClass.INT_DIVIDE:
            return divisions.function(item)
        case _:
            return ""
