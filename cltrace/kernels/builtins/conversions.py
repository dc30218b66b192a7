"""Explicit conversions, `convert_T[_sat][_rounding]` (OpenCL C 3.0, section 6.4.3)."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.builtins.mangling import ParameterKind
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Value, dtype_of

_NAME: Final = re.compile(
    r"convert_(u?char|u?short|u?int|u?long|float|double|half)(?:2|3|4|8|16)?(_sat)?(_rt[ezpn])?"
)
_TYPES: Final[Mapping[str, str]] = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "long": "i8",
    "ulong": "u8",
    "float": "f4",
    "double": "f8",
    "half": "f2",
}
_ROUNDINGS: Final[Mapping[str, Callable[[Value], Value]]] = {
    "_rte": np.rint,
    "_rtz": np.trunc,
    "_rtp": np.ceil,
    "_rtn": np.floor,
}


def find_conversion(name: str) -> Builtin | None:
    """Return the conversion of that name, or None."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    target, saturated, rounding = np.dtype(_TYPES[match[1]]), match[2] is not None, match[3] or ""

    def make(call: BuiltinCall) -> Compute:
        return _make_conversion(
            call.parameters[0], target, dtype_of(call.element), saturated, rounding
        )

    return Builtin(make, CostClass.CONVERT)


def _make_conversion(
    source: ParameterKind,
    target: np.dtype[Any],
    result_dtype: np.dtype[Any],
    saturated: bool,  # noqa: FBT001 - one of the two forms of a name
    rounding: str,
) -> Compute:
    def run(value: Value) -> Value:
        if source.is_unsigned:
            value = value.view(f"u{value.dtype.itemsize}")
        if target.kind == "f":
            converted = _to_float(value, target, rounding)
        elif value.dtype.kind == "f":
            converted = _float_to_integer(value, target, rounding or "_rtz", saturated)
        else:
            converted = _integer_to_integer(value, target, saturated)
        return converted if target.kind == "f" else converted.view(result_dtype)

    return run


def _to_float(value: Value, target: np.dtype[Any], rounding: str) -> Value:
    """Round to nearest, then step to the neighbour where `rounding` demands another direction."""
    nearest = value.astype(target)
    if rounding in {"", "_rte"}:
        return nearest
    exact = np.asarray(value).astype(np.longdouble)
    back = np.asarray(nearest).astype(np.longdouble)
    above, below = back > exact, back < exact
    if rounding == "_rtz":
        above, below = above & (exact > 0), below & (exact < 0)
    elif rounding == "_rtp":
        above = np.zeros_like(above)
    else:
        below = np.zeros_like(below)
    lowered = np.where(above, np.nextafter(nearest, target.type(-np.inf)), nearest)
    return np.where(below, np.nextafter(nearest, target.type(np.inf)), lowered)[()]


def _float_to_integer(
    value: Value,
    target: np.dtype[Any],
    rounding: str,
    saturated: bool,  # noqa: FBT001 - as above
) -> Value:
    whole = _ROUNDINGS[rounding](value.astype(np.float64))
    limits = np.iinfo(target)
    if saturated:
        whole = np.where(np.isnan(whole), 0.0, whole)
        over, under = whole >= float(limits.max) + (target.itemsize < 8), whole < float(limits.min)
        result = _cast(np.where(over | under, 0.0, whole), target)
        result = np.where(over, target.type(limits.max), result)
        return np.where(under, target.type(limits.min), result)[()]
    return _cast(whole, target)[()]


def _cast(whole: Value, target: np.dtype[Any]) -> Value:
    """Cast whole floating-point numbers to an integer type; those of 2^63 and more to `uint64` too."""
    if target == np.uint64:
        top = 2.0**63
        high = whole >= top
        low = np.where(high, whole - top, whole).astype(np.int64).astype(np.uint64)
        return np.where(high, low | np.uint64(1 << 63), low)
    return np.asarray(whole).astype(np.int64).astype(target)


def _integer_to_integer(
    value: Value,
    target: np.dtype[Any],
    saturated: bool,  # noqa: FBT001 - as above
) -> Value:
    if not saturated:
        return value.astype(target)
    limits, source_limits = np.iinfo(target), np.iinfo(value.dtype)
    low, high = max(limits.min, source_limits.min), min(limits.max, source_limits.max)
    return np.clip(value, value.dtype.type(low), value.dtype.type(high)).astype(target)
