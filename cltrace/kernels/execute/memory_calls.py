"""Lowering of functions that access memory.

These are vector loads and stores, copies, and functions with a result through a pointer.

Source: OpenCL C 3.0, sections 6.15.2, 6.15.8 and 6.15.12.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.builtin import BuiltinCall
from cltrace.kernels.builtins.conversions import find_conversion
from cltrace.kernels.builtins.mangling import ParameterKind, Signature
from cltrace.kernels.builtins.maths import remainder
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.sites import SiteTable, space_of
from cltrace.kernels.execute.state import ExecutionState, Frame, RecordAccess, Step
from cltrace.kernels.ir.instructions import Access, Call
from cltrace.kernels.ir.types import (
    FloatType,
    IntegerType,
    Type,
    VectorType,
    element_of,
    size_bytes,
    stored_bytes,
)
from cltrace.kernels.values import Value, broadcast, dtype_of

_Lowering = Callable[[Call, Signature, int, SiteTable, RecordAccess], Step]
_HALF: Final = FloatType(16)
_BYTE: Final = IntegerType(8)


def _lower_vector_load(
    call: Call, _: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    """Lower `vloadn(offset, p)`: a vector that is aligned as its elements."""
    offset, pointer = call.arguments
    kind, result = call.type, call.result
    step_bytes = np.int64(stored_bytes(kind))
    site = sites.add(
        *(call, block, Access.READ, space_of(call, 1), kind, pointer, offset),
        alignment_bytes=size_bytes(element_of(kind)),
    )

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer] + frame[offset] * step_bytes, lanes, state)
        frame[result] = state.memory.load(kind, address, lanes)

    return step


def _lower_vector_store(
    call: Call, _: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    value, offset, pointer = call.arguments
    kind = call.argument_types[0]
    step_bytes = np.int64(stored_bytes(kind))
    site = sites.add(
        *(call, block, Access.WRITE, space_of(call, 2), kind, pointer, offset),
        alignment_bytes=size_bytes(element_of(kind)),
    )

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer] + frame[offset] * step_bytes, lanes, state)
        state.memory.store(frame[value], kind, address, lanes)

    return step


def _half_alignment(name: str) -> int:
    """Return the alignment of a read or write of `half`, 0 for that of the vector."""
    return 0 if name.startswith(("vloada", "vstorea")) else size_bytes(_HALF)


def _half_type(kind: Type) -> Type:
    return VectorType(kind.count, _HALF) if isinstance(kind, VectorType) else _HALF


def _half_stride(name: str, kind: Type) -> np.int64:
    """Return the distance of half vectors in bytes; the aligned form of three has that of four."""
    return np.int64(
        size_bytes(kind) if name.startswith(("vloada", "vstorea")) else stored_bytes(kind)
    )


def _map_elements(run: Callable[[Value], Value], value: Value) -> Value:
    return tuple(map(run, value)) if type(value) is tuple else run(value)


def _lower_half_load(
    call: Call, signature: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    offset, pointer = call.arguments
    result, kind = call.result, _half_type(call.type)
    wide = dtype_of(element_of(call.type))
    step_bytes = _half_stride(signature.name, kind)
    site = sites.add(
        *(call, block, Access.READ, space_of(call, 1), kind, pointer, offset),
        alignment_bytes=_half_alignment(signature.name),
    )

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer] + frame[offset] * step_bytes, lanes, state)
        halves = state.memory.load(kind, address, lanes)
        frame[result] = _map_elements(lambda half: half.astype(wide), halves)

    return step


def _lower_half_store(
    call: Call, signature: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    value, offset, pointer = call.arguments
    source = call.argument_types[0]
    kind = _half_type(source)
    rounding = signature.name[-4:] if signature.name[-4:-1] == "_rt" else ""
    convert = _to_half(rounding, source)
    step_bytes = _half_stride(signature.name, kind)
    site = sites.add(
        *(call, block, Access.WRITE, space_of(call, 2), kind, pointer, offset),
        alignment_bytes=_half_alignment(signature.name),
    )

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer] + frame[offset] * step_bytes, lanes, state)
        state.memory.store(_map_elements(convert, frame[value]), kind, address, lanes)

    return step


def _to_half(rounding: str, source: Type) -> Callable[[Value], Value]:
    conversion = find_conversion(f"convert_half{rounding}")
    code = "f" if element_of(source) == FloatType(32) else "d"
    if conversion is None:
        raise ValueError(rounding)
    return conversion.make(BuiltinCall("convert_half", (ParameterKind(code),), _HALF))


def _with_second_result(compute: Callable[..., tuple[Value, Value]]) -> _Lowering:
    """Return a lowering of a function that stores a second result through its last pointer."""

    def lowering(
        call: Call, signature: Signature, block: int, sites: SiteTable, record_access: RecordAccess
    ) -> Step:
        *operands, pointer = call.arguments
        result, returned = call.result, dtype_of(element_of(call.type))
        kind = _second_result_type(call, signature)
        stored = dtype_of(element_of(kind))
        space = space_of(call, len(call.arguments) - 1)
        site = sites.add(call, block, Access.WRITE, space, kind, pointer)

        def compute_pair(*numbers: Value) -> tuple[Value, Value]:
            first, second = compute(*[number.astype(np.float64) for number in numbers])
            return np.asarray(first).astype(returned)[()], np.asarray(second).astype(stored)[()]

        def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
            values = [frame[slot] for slot in operands]
            if type(values[0]) is tuple:
                pairs = [compute_pair(*group) for group in zip(*values, strict=True)]
                frame[result] = tuple(first for first, _ in pairs)
                second: Value = tuple(last for _, last in pairs)
            else:
                frame[result], second = compute_pair(*values)
            address = record_access(site, frame[pointer], lanes, state)
            state.memory.store(second, kind, address, lanes)

        return step

    return lowering


def _second_result_type(call: Call, signature: Signature) -> Type:
    """Return the type that the last pointer points to: the returned type, or integers."""
    if signature.parameters and signature.parameters[-1].code == "i":
        integer = IntegerType(32)
        return (
            VectorType(call.type.count, integer) if isinstance(call.type, VectorType) else integer
        )
    return call.type


def _sincos(value: Value) -> tuple[Value, Value]:
    return np.sin(value), np.cos(value)


def _fract(value: Value) -> tuple[Value, Value]:
    whole = np.floor(value)
    fraction = np.minimum(
        value - whole, np.nextafter(np.float32(1), np.float32(0)).astype(np.float64)
    )
    fraction = np.where(np.isinf(value), np.copysign(0.0, value), fraction)
    return fraction, whole


def _modf(value: Value) -> tuple[Value, Value]:
    whole = np.trunc(value)
    return np.copysign(np.where(np.isinf(value), 0.0, value - whole), value), whole


def _frexp(value: Value) -> tuple[Value, Value]:
    mantissa, exponent = np.frexp(value)
    return mantissa, exponent


def _remquo(left: Value, right: Value) -> tuple[Value, Value]:
    rest = remainder(left, right)
    scale = 128.0 * np.abs(right)
    quotient = np.rint((np.fmod(left, scale) - rest) / right)
    low = np.fmod(np.nan_to_num(quotient), 128.0)
    undefined = np.isnan(rest)
    return rest, np.where(undefined, 0.0, low)


def _lgamma_r(value: Value) -> tuple[Value, Value]:
    from scipy import special  # noqa: PLC0415 - slow to import, rarely used

    return special.gammaln(value), np.nan_to_num(special.gammasgn(value))


def _lower_copy(
    call: Call, _: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    """Lower `llvm.memcpy`: each lane copies a structure or an array."""
    target, source, length = call.arguments[:3]
    read = sites.add(call, block, Access.READ, space_of(call, 1), _BYTE, source)
    write = sites.add(call, block, Access.WRITE, space_of(call, 0), _BYTE, target)
    sites.widen((read, write), length)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        size = _check_length(frame[length], call)
        if not size:
            return
        kind = VectorType(size, _BYTE)
        value = state.memory.load(kind, record_access(read, frame[source], lanes, state), lanes)
        state.memory.store(value, kind, record_access(write, frame[target], lanes, state), lanes)

    return step


def _lower_fill(
    call: Call, _: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    target, byte, length = call.arguments[:3]
    write = sites.add(call, block, Access.WRITE, space_of(call, 0), _BYTE, target)
    sites.widen((write,), length)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        size = _check_length(frame[length], call)
        if not size:
            return
        value = (frame[byte],) * size
        address = record_access(write, frame[target], lanes, state)
        state.memory.store(value, VectorType(size, _BYTE), address, lanes)

    return step


def _check_length(value: Value, call: Call) -> int:
    if type(value) is np.ndarray:
        raise UnsupportedKernelError(
            f"{call.place}: a copy whose length differs between work-items is not supported"
        )
    if not 0 <= int(value) <= 1 << 20:
        raise UnsupportedKernelError(
            f"{call.place}: a copy of more than 1 MiB per work-item is not supported"
        )
    return int(value)


def _pointee(signature: Signature, argument: int) -> Type:
    parameter = signature.parameters[argument]
    number: Type = _TYPE_OF_CODE[parameter.code]
    return VectorType(parameter.count, number) if parameter.count > 1 else number


_TYPE_OF_CODE: Final[Mapping[str, Type]] = {
    "c": IntegerType(8), "a": IntegerType(8), "h": IntegerType(8), "s": IntegerType(16),
    "t": IntegerType(16), "i": IntegerType(32), "j": IntegerType(32), "l": IntegerType(64),
    "m": IntegerType(64), "f": FloatType(32), "d": FloatType(64), "Dh": FloatType(16),
}  # fmt: skip


def _lower_group_copy(
    call: Call, signature: Signature, block: int, sites: SiteTable, record_access: RecordAccess
) -> Step:
    """Lower `async_work_group_copy`, strided or not: the lanes of a group share the elements."""
    target, source, length = call.arguments[:3]
    kind = _pointee(signature, 0)
    strided = "strided" in signature.name
    stride = call.arguments[3] if strided else -1
    from_global = signature.parameters[1].space == 1
    event, result = call.arguments[-1], call.result
    element = np.int64(size_bytes(kind))
    read = sites.add(call, block, Access.READ, space_of(call, 1), kind, source)
    write = sites.add(call, block, Access.WRITE, space_of(call, 0), kind, target)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        count = broadcast(frame[length], lanes.count)
        element_stride = broadcast(frame[stride], lanes.count) if strided else np.int64(1)
        addresses = [broadcast(frame[slot], lanes.count) for slot in (source, target)]
        size = lanes.per_group[lanes.group]
        number = lanes.grid.linear_in_group[lanes.index]
        while True:
            mask = number < count
            if not mask.any():
                break
            subset = lanes.where(mask)
            strided_offset = (number * element_stride)[mask] * element
            dense_offset = number[mask] * element
            offsets = (
                (strided_offset, dense_offset) if from_global else (dense_offset, strided_offset)
            )
            value = state.memory.load(
                kind, record_access(read, addresses[0][mask] + offsets[0], subset, state), subset
            )
            target_address = record_access(write, addresses[1][mask] + offsets[1], subset, state)
            state.memory.store(value, kind, target_address, subset)
            number = number + size
        frame[result] = frame[event]

    return step


_WIDTHS: Final = ("2", "3", "4", "8", "16")
MEMORY_CALLS: Final[Mapping[str, _Lowering]] = {
    **{f"vload{width}": _lower_vector_load for width in _WIDTHS},
    **{f"vstore{width}": _lower_vector_store for width in _WIDTHS},
    **{f"vload_half{width}": _lower_half_load for width in ("", *_WIDTHS)},
    **{f"vloada_half{width}": _lower_half_load for width in ("", *_WIDTHS)},
    **{
        f"vstore{aligned}_half{width}{rounding}": _lower_half_store
        for aligned in ("", "a")
        for width in ("", *_WIDTHS)
        for rounding in ("", "_rte", "_rtz", "_rtp", "_rtn")
    },
    "sincos": _with_second_result(_sincos),
    "fract": _with_second_result(_fract),
    "modf": _with_second_result(_modf),
    "frexp": _with_second_result(_frexp),
    "remquo": _with_second_result(_remquo),
    "lgamma_r": _with_second_result(_lgamma_r),
    "llvm.memcpy": _lower_copy,
    "llvm.memmove": _lower_copy,
    "llvm.memcpy.inline": _lower_copy,
    "llvm.memset": _lower_fill,
    "llvm.memset.inline": _lower_fill,
    "async_work_group_copy": _lower_group_copy,
    "async_work_group_strided_copy": _lower_group_copy,
}
"""Lowerings by function name."""
