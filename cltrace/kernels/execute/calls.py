"""Calls of OpenCL's functions made ready to run."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.function_kinds import (
    BARRIERS,
    is_collective,
    is_work_item_function,
)
from cltrace.kernels.builtins.mangling import Signature, base_name, demangled
from cltrace.kernels.builtins.table import computation
from cltrace.kernels.execute import collectives
from cltrace.kernels.execute.atomic_calls import lower_atomic
from cltrace.kernels.execute.image_calls import lower_image
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory_calls import MEMORY_CALLS
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Accessed, Frame, State, Step
from cltrace.kernels.execute.work_items import work_item_value
from cltrace.kernels.ir.instructions import Call
from cltrace.kernels.ir.types import LOCAL, SPACE_NAMES, VOID
from cltrace.kernels.values import Value

_WITHOUT_EFFECT: Final = frozenset(
    {
        "mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence", "prefetch",
        "wait_group_events", "llvm.trap", "llvm.debugtrap", "llvm.ubsantrap", "llvm.prefetch",
        "llvm.var.annotation", "llvm.stackrestore", "llvm.sideeffect", "atomic_thread_fence",
    }
)  # fmt: skip
_ADDRESS_CASTS: Final = re.compile(r"(?:__)?to_(global|local|private)")


_Lowering = Callable[[Call, Signature, int, SiteTable, Accessed], Step | None]


def lower_call(call: Call, block: int, sites: SiteTable, accessed: Accessed) -> Step | None:
    """A call as a step, or None for one that does nothing.

    Raises: `UnsupportedKernelError` for a function that is not known.
    """
    compute = computation(call.callee, call.type)
    if compute is not None:
        return _computed(compute, call)
    signature = demangled(call.callee)
    name = base_name(signature)
    if is_work_item_function(name):
        return _work_item(name, call)
    if name in BARRIERS or name in _WITHOUT_EFFECT:
        return None
    if name in MEMORY_CALLS:
        return MEMORY_CALLS[name](call, signature, block, sites, accessed)
    for lowering in _FAMILIES:
        step = lowering(call, signature, block, sites, accessed)
        if step is not None:
            return step
    return _other(name, call)


def _computed(compute: Callable[..., Value], call: Call) -> Step:
    slots, result = call.arguments, call.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = compute(*[frame[slot] for slot in slots])

    return step


def _work_item(name: str, call: Call) -> Step:
    argument = call.arguments[0] if call.arguments else None
    result = call.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        dimension = None if argument is None else frame[argument]
        frame[result] = work_item_value(name, dimension, lanes)

    return step


def _collective(
    call: Call, signature: Signature, _: int, __: SiteTable, ___: Accessed
) -> Step | None:
    if not is_collective(signature.name):
        return None
    slots, result, name = call.arguments, call.result, signature.name

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        values = [frame[slot] for slot in slots]
        frame[result] = collectives.collective(name, signature.parameters, values, lanes)

    return step


_FAMILIES: Final[tuple[_Lowering, ...]] = (lower_atomic, lower_image, _collective)


def _other(name: str, call: Call) -> Step | None:
    """Functions that are none of a family."""
    cast = _ADDRESS_CASTS.fullmatch(name)
    if cast is not None:
        return _address_cast(call, SPACE_NAMES.index(cast[1]))
    if name in _CONSTANTS:
        return _constant(call, _CONSTANTS[name])
    if name in _OTHERS:
        return _OTHERS[name](call)
    what = "the function" if not name.startswith("llvm.") else "the intrinsic"
    raise UnsupportedKernelError(f"{call.place}: {what} {name} is not supported")


def _constant(call: Call, value: Value) -> Step | None:
    result = call.result
    if result < 0 or call.type == VOID:
        return None

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = value

    return step


def _passed_on(call: Call) -> Step:
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = frame[operand]

    return step


def _address_cast(call: Call, space: int) -> Step:
    """A generic pointer as one into an address space, null where it points elsewhere."""
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = frame[operand]
        inside = state.memory.spaces(address) == space
        frame[result] = np.where(inside, address, np.int64(0))[()]

    return step


def _fence(call: Call) -> Step:
    """`get_fence`: the fence flags of the memory that a generic pointer points into."""
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        is_local = state.memory.spaces(frame[operand]) == LOCAL
        frame[result] = np.where(is_local, np.int32(1), np.int32(2))[()]

    return step


def _sampler(call: Call) -> Step:
    operand, result = call.arguments[0], call.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = np.int64(frame[operand])

    return step


def _class_test(call: Call) -> Step:
    """`llvm.is.fpclass`: a mask of the kinds of numbers that are asked for."""
    operand, mask_slot = call.arguments
    result = call.result

    def test(value: Value, mask: int) -> Value:
        negative = np.signbit(value)
        small = (np.abs(value) < np.finfo(value.dtype).smallest_normal) & (value != 0)
        normal = np.isfinite(value) & ~small & (value != 0)
        kinds: Mapping[int, Value] = {
            3: np.isnan(value),
            4: np.isinf(value) & negative,
            8: normal & negative,
            16: small & negative,
            32: (value == 0) & negative,
            64: (value == 0) & ~negative,
            128: small & ~negative,
            256: normal & ~negative,
            512: np.isinf(value) & ~negative,
        }
        found = np.zeros(np.shape(value), np.bool_)
        for bit, holds in kinds.items():
            if mask & bit:
                found = found | holds
        return found[()]

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
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
_OTHERS: Final[Mapping[str, Callable[[Call], Step]]] = {
    "get_fence": _fence,
    "llvm.ptr.annotation": _passed_on,
    "llvm.launder.invariant.group": _passed_on,
    "__translate_sampler_initializer": _sampler,
    "llvm.is.fpclass": _class_test,
}
