"""In which class an instruction counts, and how often."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.builtins.table import base_name, find_builtin
from cltrace.kernels.cost_classes import CostClass
from cltrace.kernels.execute.calls import is_barrier
from cltrace.kernels.execute.collectives import is_collective
from cltrace.kernels.execute.workitems import is_work_item_function
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
    name_of,
)

Operation = tuple[str, CostClass, int]
"""A type, a class, and how many: elements of a vector count each."""

_BINARY: Final[Mapping[str, CostClass]] = {
    **dict.fromkeys(("add", "sub"), CostClass.INT_ADD),
    "mul": CostClass.INT_MULTIPLY,
    **dict.fromkeys(("udiv", "sdiv", "urem", "srem"), CostClass.INT_DIVIDE),
    **dict.fromkeys(("and", "or", "xor", "shl", "lshr", "ashr"), CostClass.INT_LOGIC),
    **dict.fromkeys(("fadd", "fsub"), CostClass.FLOAT_ADD),
    "fmul": CostClass.FLOAT_MULTIPLY,
    **dict.fromkeys(("fdiv", "frem"), CostClass.FLOAT_DIVIDE),
}
_MOVED: Final = frozenset({"bitcast", "addrspacecast", "ptrtoint", "inttoptr", "ptrtoaddr"})


def _of(kind: Type, cost: CostClass) -> list[Operation]:
    count = kind.count if isinstance(kind, VectorType) else 1
    return [(name_of(element_of(kind)), cost, count)]


def _convert(item: Convert) -> list[Operation]:
    if item.operator in _MOVED:
        return _of(item.type, CostClass.MOVE)
    return _of(item.type, CostClass.CONVERT)


def _compare(item: Compare) -> list[Operation]:
    is_float = isinstance(element_of(item.type), FloatType)
    return _of(item.type, CostClass.FLOAT_COMPARE if is_float else CostClass.INT_COMPARE)


def _copy(item: Copy) -> list[Operation]:
    cost = {
        CopyOf.READ: CostClass.LOAD,
        CopyOf.WRITE: CostClass.STORE,
        CopyOf.FREEZE: CostClass.MOVE,
    }
    return (
        [(f"private {name_of(item.type)}", cost[item.stands_for], 1)]
        if (item.stands_for is not CopyOf.FREEZE)
        else _of(item.type, CostClass.MOVE)
    )


def _memory(cost: CostClass) -> Callable[[Any], list[Operation]]:
    def run(item: Load | Store) -> list[Operation]:
        prefix = "private " if item.space == PRIVATE else ""
        return [(prefix + name_of(item.type), cost, 1)]

    return run


def _moved(item: Any) -> list[Operation]:
    return [(name_of(element_of(item.type)), CostClass.MOVE, 1)]


_RULES: Final[Mapping[type, Callable[[Any], list[Operation]]]] = {
    Binary: lambda item: _of(item.type, _BINARY[item.operator]),
    Negate: lambda item: _of(item.type, CostClass.FLOAT_ADD),
    Compare: _compare,
    Convert: _convert,
    Select: lambda item: _of(item.type, CostClass.SELECT),
    Copy: _copy,
    Load: _memory(CostClass.LOAD),
    Store: _memory(CostClass.STORE),
    Allocate: lambda _: [],
    Offset: lambda item: [("pointer", CostClass.ADDRESS, max(len(item.terms), 1))],
    ExtractElement: _moved,
    InsertElement: _moved,
    Shuffle: _moved,
    ExtractValue: _moved,
    InsertValue: _moved,
    AtomicUpdate: lambda item: _of(item.type, CostClass.ATOMIC),
    AtomicExchange: lambda item: _of(item.type, CostClass.ATOMIC),
}


def operations_of(instruction: Instruction | Terminator) -> Iterable[Operation]:
    """The operations that an instruction is."""
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


def _call(call: Call) -> list[Operation]:
    name = base_name(demangled(call.callee))
    kind: Type = call.type
    if isinstance(kind, VoidType) or name in _ELEMENTS_OF_ARGUMENT:
        kind = call.argument_types[0] if call.argument_types else kind
    builtin = find_builtin(name)
    if builtin is not None:
        return _of(kind, builtin.cost)
    if name in _SPECIAL:
        return _of(kind, CostClass.SPECIAL)
    cost = _call_cost(name)
    if cost in {CostClass.LOAD, CostClass.STORE}:
        pointer = call.argument_types[-1]
        private = isinstance(pointer, PointerType) and pointer.space == PRIVATE
        return [(("private " if private else "") + name_of(kind), cost, 1)]
    return [(name_of(element_of(kind)), cost, 1)]


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
