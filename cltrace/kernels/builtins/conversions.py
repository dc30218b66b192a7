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
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "long": "i8", "ulong": "u8", "float": "f4", "double": "f8", "half": "f2",
}  # fmt: skip
_WHOLE: Final[Mapping[str, Callable[[Value], Value]]] = {
    "_rte": np.rint,
    "_rtz": np.trunc,
    "_rtp": np.ceil,
    "_rtn": np.floor,
}


def conversion_of(name: str) -> Builtin | None:
    """The conversion of a name, or None."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    target, saturated, rounding = np.dtype(_TYPES[found[1]]), found[2] is not None, found[3] or ""

    def make(call: BuiltinCall) -> Compute:
        return _converter(call.parameters[0], target, dtype_of(call.element), saturated, rounding)

    return Builtin(make, CostClass.CONVERT)


def _converter(
    source: ParameterKind,
    target: np.dtype[Any],
    kept: np.dtype[Any],
    saturated: bool,  # noqa: FBT001 - one of the two forms of a name
    rounding: str,
) -> Compute:
    def run(value: Value) -> Value:
        if source.is_unsigned:
            value = value.view(f"u{value.dtype.itemsize}")
        if target.kind == "f":
            found = _to_float(value, target, rounding)
        elif value.dtype.kind == "f":
            found = _float_to_integer(value, target, rounding or "_rtz", saturated)
        else:
            found = _integer_to_integer(value, target, saturated)
        return found if target.kind == "f" else found.view(kept)

    return run


def _to_float(value: Value, target: np.dtype[Any], rounding: str) -> Value:
    """Rounded to nearest, and then moved where another direction is asked for."""
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
    moved = np.where(above, np.nextafter(nearest, target.type(-np.inf)), nearest)
    return np.where(below, np.nextafter(nearest, target.type(np.inf)), moved)[()]


def _float_to_integer(
    value: Value,
    target: np.dtype[Any],
    rounding: str,
    saturated: bool,  # noqa: FBT001 - as above
) -> Value:
    whole = _WHOLE[rounding](value.astype(np.float64))
    limits = np.iinfo(target)
    if saturated:
        whole = np.where(np.isnan(whole), 0.0, whole)
        over, under = whole >= float(limits.max) + (target.itemsize < 8), whole < float(limits.min)
        found = _cast(np.where(over | under, 0.0, whole), target)
        found = np.where(over, target.type(limits.max), found)
        return np.where(under, target.type(limits.min), found)[()]
    return _cast(whole, target)[()]


def _cast(whole: Value, target: np.dtype[Any]) -> Value:
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
    limits, own = np.iinfo(target), np.iinfo(value.dtype)
    low, high = max(limits.min, own.min), min(limits.max, own.max)
    return np.clip(value, value.dtype.type(low), value.dtype.type(high)).astype(target)
