"""Lowering of OpenCL's atomic functions, in the style of 1.x and of C11.

Source: OpenCL C 3.0, section 6.15.12.
"""

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.mangling import Signature
from cltrace.kernels.execute import atomics
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.sites import SiteTable, space_of
from cltrace.kernels.execute.state import ExecutionState, Frame, RecordAccess, Step
from cltrace.kernels.ir.instructions import Access, Call
from cltrace.kernels.ir.types import BOOL, FloatType, IntegerType, Type
from cltrace.kernels.values import Value, broadcast, dtype_of, select


def lower_atomic(
    call: Call, signature: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step | None:
    """Lower an atomic function to a step; None for another kind of function.

    Raises: `UnsupportedKernelError`.
    """
    if not atomics.is_atomic(signature.name):
        return None
    name = signature.name.removesuffix("_explicit")
    operation = atomics.operation_of(name)
    if name in {"atomic_cmpxchg", "atom_cmpxchg"}:
        return _lower_exchange(call, block, sites, record_access)
    if name.startswith("atomic_compare_exchange_"):
        return _lower_c11_exchange(call, block, sites, record_access)
    if name == "atomic_load":
        return _lower_load(call, block, sites, record_access)
    if name in {"atomic_store", "atomic_init", "atomic_flag_clear"}:
        return _lower_store(call, name, block, sites, record_access)
    if name == "atomic_flag_test_and_set":
        return _lower_test_and_set(call, block, sites, record_access)
    if operation is None:
        raise UnsupportedKernelError(
            f"{call.place}: the function {signature.name} is not supported"
        )
    return _lower_update(call, signature, operation, block, sites, record_access)


def _lower_update(
    call: Call,
    signature: Signature,
    operation: str,
    block: int,
    sites: SiteTable,
    record_access: RecordAccess,
) -> Step:
    kind, result, pointer = call.type, call.result, call.arguments[0]
    if operation in {"inc", "dec"}:
        operand = -1
        step_value = dtype_of(kind).type(1 if operation == "inc" else -1)
        operation = "add"
    else:
        operand, step_value = call.arguments[1], None
        operation = _operation_for_type(operation, kind, signature)
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        value = step_value if step_value is not None else frame[operand]
        old_value = atomics.update(state.memory, operation, kind, address, value, lanes)
        if result >= 0:
            frame[result] = old_value

    return step


def _operation_for_type(operation: str, kind: Type, signature: Signature) -> str:
    """Return the variant of an operation for a type: minima differ for unsigned integers and floats."""
    if isinstance(kind, FloatType) and operation in {"min", "max"}:
        return f"f{operation}"
    is_unsigned = bool(signature.parameters) and signature.parameters[0].is_unsigned
    return f"u{operation}" if is_unsigned and operation in {"min", "max"} else operation


def _lower_exchange(call: Call, block: int, sites: SiteTable, record_access: RecordAccess) -> Step:
    pointer, expected, value = call.arguments
    kind, result = call.type, call.result
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        old_value = atomics.compare_exchange(
            state.memory, kind, address, frame[expected], frame[value], lanes
        )
        if result >= 0:
            frame[result] = old_value

    return step


def _lower_c11_exchange(
    call: Call, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    """Lower C11's form, which reads the expected value from memory and replaces it by the old value."""
    pointer, expected, value = call.arguments[:3]
    kind, result = call.argument_types[2], call.result
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        expected_value = state.memory.load(kind, frame[expected], lanes)
        old_value = atomics.compare_exchange(
            state.memory, kind, address, expected_value, frame[value], lanes
        )
        succeeds = broadcast(old_value == expected_value, lanes.count)
        new_expected: Value = select(succeeds, broadcast(expected_value, lanes.count), old_value)
        state.memory.store(new_expected, kind, frame[expected], lanes)
        if result >= 0:
            frame[result] = succeeds

    return step


def _lower_load(call: Call, block: int, sites: SiteTable, record_access: RecordAccess) -> Step:
    pointer, kind, result = call.arguments[0], call.type, call.result
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        frame[result] = state.memory.load(kind, address, lanes)

    return step


def _lower_store(
    call: Call, name: str, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    pointer = call.arguments[0]
    clears = name == "atomic_flag_clear"
    kind: Type = IntegerType(32) if clears else call.argument_types[1]
    value = -1 if clears else call.arguments[1]
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        stored = np.int32(0) if clears else frame[value]
        state.memory.store(stored, kind, address, lanes)

    return step


def _lower_test_and_set(
    call: Call, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    pointer, result, kind = call.arguments[0], call.result, IntegerType(32)
    site = sites.add(call, block, Access.ATOMIC, space_of(call, 0), kind, pointer)
    returns_bool = call.type == BOOL

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        old_value = atomics.update(state.memory, "xchg", kind, address, np.int32(1), lanes)
        if result >= 0:
            frame[result] = old_value != 0 if returns_bool else (old_value != 0).astype(np.int32)

    return step
