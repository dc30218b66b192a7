"""Calls of OpenCL's atomic functions, of 1.x and of C11's kind (OpenCL C 3.0, section 6.15.12)."""

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.mangling import Signature
from cltrace.kernels.execute import atomics
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.sites import SiteTable, space_of
from cltrace.kernels.execute.state import Accessed, Frame, State, Step
from cltrace.kernels.ir.instructions import Access, Call
from cltrace.kernels.ir.types import BOOL, FloatType, IntegerType, Type
from cltrace.kernels.values import Value, chosen, dtype_of, spread


def lower_atomic(
    call: Call, signature: Signature, block: int, sites: SiteTable, accessed: Accessed
) -> Step | None:
    """An atomic function as a step, or None for one of another kind. Raises: `UnsupportedKernelError`."""
    if not atomics.is_atomic(signature.name):
        return None
    name = signature.name.removesuffix("_explicit")
    operation = atomics.operation_of(name)
    if name in {"atomic_cmpxchg", "atom_cmpxchg"}:
        return _old_exchange(call, block, sites, accessed)
    if name.startswith("atomic_compare_exchange_"):
        return _new_exchange(call, block, sites, accessed)
    if name == "atomic_load":
        return _load(call, block, sites, accessed)
    if name in {"atomic_store", "atomic_init", "atomic_flag_clear"}:
        return _store(call, name, block, sites, accessed)
    if name == "atomic_flag_test_and_set":
        return _test_and_set(call, block, sites, accessed)
    if operation is None:
        raise UnsupportedKernelError(
            f"{call.place}: the function {signature.name} is not supported"
        )
    return _update(call, signature, operation, block, sites, accessed)


def _update(
    call: Call,
    signature: Signature,
    operation: str,
    block: int,
    sites: SiteTable,
    accessed: Accessed,
) -> Step:
    kind, result, pointer = call.type, call.result, call.arguments[0]
    if operation in {"inc", "dec"}:
        operand = -1
        one = dtype_of(kind).type(1 if operation == "inc" else -1)
        operation = "add"
    else:
        operand, one = call.arguments[1], None
        operation = _by_type(operation, kind, signature)
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        value = one if one is not None else frame[operand]
        found = atomics.update(state.memory, operation, kind, address, value, lanes)
        if result >= 0:
            frame[result] = found

    return step


def _by_type(operation: str, kind: Type, signature: Signature) -> str:
    """The operation on a type: minima of integers without sign and of floats are others."""
    if isinstance(kind, FloatType) and operation in {"min", "max"}:
        return f"f{operation}"
    unsigned = bool(signature.parameters) and signature.parameters[0].is_unsigned
    return f"u{operation}" if unsigned and operation in {"min", "max"} else operation


def _old_exchange(call: Call, block: int, sites: SiteTable, accessed: Accessed) -> Step:
    pointer, expected, value = call.arguments
    kind, result = call.type, call.result
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        found = atomics.compare_exchange(
            state.memory, kind, address, frame[expected], frame[value], lanes
        )
        if result >= 0:
            frame[result] = found

    return step


def _new_exchange(call: Call, block: int, sites: SiteTable, accessed: Accessed) -> Step:
    """C11's form: what is expected lies in memory, and is replaced by what was found."""
    pointer, expected, value = call.arguments[:3]
    kind, result = call.argument_types[2], call.result
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        wanted = state.memory.load(kind, frame[expected], lanes)
        found = atomics.compare_exchange(state.memory, kind, address, wanted, frame[value], lanes)
        equal = spread(found == wanted, lanes.count)
        kept: Value = chosen(equal, spread(wanted, lanes.count), found)
        state.memory.store(kept, kind, frame[expected], lanes)
        if result >= 0:
            frame[result] = equal

    return step


def _load(call: Call, block: int, sites: SiteTable, accessed: Accessed) -> Step:
    pointer, kind, result = call.arguments[0], call.type, call.result
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        frame[result] = state.memory.load(kind, address, lanes)

    return step


def _store(call: Call, name: str, block: int, sites: SiteTable, accessed: Accessed) -> Step:
    pointer = call.arguments[0]
    clears = name == "atomic_flag_clear"
    kind: Type = IntegerType(32) if clears else call.argument_types[1]
    value = -1 if clears else call.arguments[1]
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        stored = np.int32(0) if clears else frame[value]
        state.memory.store(stored, kind, address, lanes)

    return step


def _test_and_set(call: Call, block: int, sites: SiteTable, accessed: Accessed) -> Step:
    pointer, result, kind = call.arguments[0], call.result, IntegerType(32)
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)
    is_truth = call.type == BOOL

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        found = atomics.update(state.memory, "xchg", kind, address, np.int32(1), lanes)
        if result >= 0:
            frame[result] = found != 0 if is_truth else (found != 0).astype(np.int32)

    return step
