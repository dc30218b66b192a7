"""Lowering of calls of OpenCL's functions."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.function_kinds import (
    BARRIERS,
    EMISSION_PREFIX,
    is_collective,
    is_work_item_function,
)
from cltrace.kernels.builtins.mangling import Signature, base_name, demangle
from cltrace.kernels.builtins.table import find_computation
from cltrace.kernels.execute import collectives
from cltrace.kernels.execute.atomic_calls import lower_atomic
from cltrace.kernels.execute.image_calls import lower_image
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory_calls import MEMORY_CALLS
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import ExecutionState, Frame, RecordAccess, Step
from cltrace.kernels.execute.work_items import work_item_value
from cltrace.kernels.ir.instructions import Call
from cltrace.kernels.ir.types import LOCAL, SPACE_NAMES, VOID
from cltrace.kernels.values import Value

_WITHOUT_EFFECT: Final = frozenset(
    {
        "mem_fence",
        "read_mem_fence",
        "write_mem_fence",
        "atomic_work_item_fence",
        "prefetch",
        "wait_group_events",
        "llvm.trap",
        "llvm.debugtrap",
        "llvm.ubsantrap",
        "llvm.prefetch",
        "llvm.var.annotation",
        "llvm.stackrestore",
        "llvm.sideeffect",
        "atomic_thread_fence",
    }
)
_ADDRESS_CASTS: Final = re.compile(r"(?:__)?to_(global|local|private)")


_Lowering = Callable[[Call, Signature, int, SiteTable, RecordAccess], Step | None]


def lower_call(
    call: Call, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step | None:
    """Lower a call to a step; None for a call without effect.

    Raises: `UnsupportedKernelError` for an unknown function.
    """
    compute = find_computation(call.callee, call.type)
    if compute is not None:
        return _lower_computation(compute, call)
    signature = demangle(call.callee)
    name = base_name(signature)
    if is_work_item_function(name):
        return _lower_work_item(name, call)
    if name in BARRIERS or name in _WITHOUT_EFFECT:
        return None
    if name in MEMORY_CALLS:
        return MEMORY_CALLS[name](call, signature, block, sites, record_access)
    for lowering in _FAMILIES:
        step = lowering(call, signature, block, sites, record_access)
        if step is not None:
            return step
    return _lower_other(name, call)


def _lower_computation(compute: Callable[..., Value], call: Call) -> Step:
    slots, result = call.arguments, call.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = compute(*[frame[slot] for slot in slots])

    return step


def _lower_work_item(name: str, call: Call) -> Step:
    argument = call.arguments[0] if call.arguments else None
    result = call.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        dimension = None if argument is None else frame[argument]
        frame[result] = work_item_value(name, dimension, lanes)

    return step


def _lower_collective(
    call: Call, signature: Signature, _: int, __: SiteTable, ___: RecordAccess
) -> Step | None:
    if not is_collective(signature.name):
        return None
    slots, result, name = call.arguments, call.result, signature.name

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        values = [frame[slot] for slot in slots]
        frame[result] = collectives.compute_collective(name, signature.parameters, values, lanes)

    return step


_FAMILIES: Final[tuple[_Lowering, ...]] = (lower_atomic, lower_image, _lower_collective)


def _lower_other(name: str, call: Call) -> Step | None:
    """Lower a function that belongs to no family."""
    cast = _ADDRESS_CASTS.fullmatch(name)
    if cast is not None:
        return _lower_address_cast(call, SPACE_NAMES.index(cast[1]))
    if name in _CONSTANTS:
        return _lower_constant(call, _CONSTANTS[name])
    if name in _OTHER_LOWERINGS:
        return _OTHER_LOWERINGS[name](call)
    if name.startswith(EMISSION_PREFIX) and name.removeprefix(EMISSION_PREFIX).isdecimal():
        return _lower_emission(int(name.removeprefix(EMISSION_PREFIX)), call)
    kind = "the function" if not name.startswith("llvm.") else "the intrinsic"
    raise UnsupportedKernelError(f"{call.place}: {kind} {name} is not supported")


def _lower_emission(emission: int, call: Call) -> Step:
    index, value = call.arguments

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        state.observer.on_value(emission, frame[index], frame[value], lanes)

    return step


def _lower_constant(call: Call, value: Value) -> Step | None:
    result = call.result
    if result < 0 or call.type == VOID:
        return None

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = value

    return step


def _lower_copy(call: Call) -> Step:
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = frame[operand]

    return step


def _lower_address_cast(call: Call, space: int) -> Step:
    """Lower a cast of a generic pointer to an address space; null if it points elsewhere."""
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = frame[operand]
        inside = state.memory.spaces(address) == space
        frame[result] = np.where(inside, address, np.int64(0))[()]

    return step


def _lower_fence(call: Call) -> Step:
    """Lower `get_fence`: the fence flags of the memory that a generic pointer points into."""
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        is_local = state.memory.spaces(frame[operand]) == LOCAL
        frame[result] = np.where(is_local, np.int32(1), np.int32(2))[()]

    return step


def _lower_sampler(call: Call) -> Step:
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = np.int64(frame[operand])

    return step


def _lower_class_test(call: Call) -> Step:
    """Lower `llvm.is.fpclass`, whose mask selects classes of floating-point numbers."""
    operand, mask_slot = call.arguments
    result = call.result

    def test(value: Value, mask: int) -> Value:
        negative = np.signbit(value)
        subnormal = (np.abs(value) < np.finfo(value.dtype).smallest_normal) & (value != 0)
        normal = np.isfinite(value) & ~subnormal & (value != 0)
        classes: Mapping[int, Value] = {
            3: np.isnan(value),
            4: np.isinf(value) & negative,
            8: normal & negative,
            16: subnormal & negative,
            32: (value == 0) & negative,
            64: (value == 0) & ~negative,
            128: subnormal & ~negative,
            256: normal & ~negative,
            512: np.isinf(value) & ~negative,
        }
        is_member = np.zeros(np.shape(value), np.bool_)
        for bit, is_class in classes.items():
            if mask & bit:
                is_member = is_member | is_class
        return is_member[()]

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        value, mask = frame[operand], int(frame[mask_slot])
        if type(value) is tuple:
            frame[result] = tuple(test(element, mask) for element in value)
        else:
            frame[result] = test(value, mask)

    return step


_CONSTANTS: Final[Mapping[str, Value]] = {
    "printf": np.int32(0),
    "llvm.is.constant": np.bool_(False),  # noqa: FBT003 - a truth value of lanes
    "llvm.objectsize": np.int64(-1),
    "llvm.stacksave": np.int64(-1),
}
_OTHER_LOWERINGS: Final[Mapping[str, Callable[[Call], Step]]] = {
    "get_fence": _lower_fence,
    "llvm.ptr.annotation": _lower_copy,
    "llvm.launder.invariant.group": _lower_copy,
    "__translate_sampler_initializer": _lower_sampler,
    "llvm.is.fpclass": _lower_class_test,
}
