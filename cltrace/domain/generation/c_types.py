"""Types, literals and names of functions in OpenCL C and in C."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.domain.language.number_types import NumberType

C_TYPES: Final[Mapping[str, str]] = {
    "bool": "int",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "float32": "float",
    "float64": "double",
}
_MATHEMATICS: Final[Mapping[str, str]] = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences in writing between OpenCL C and C.

    Attributes:
        global_space, local_space: qualifiers of pointers to arrays, with a blank at the end.
        has_float_suffix: True where functions of floats end with f.
        function_prefix: words before a function that is called by others.
    """

    global_space: str
    local_space: str
    has_float_suffix: bool
    function_prefix: str


OPENCL: Final = Dialect("__global ", "__local ", has_float_suffix=False, function_prefix="")
HOST_C: Final = Dialect("", "", has_float_suffix=True, function_prefix="static inline ")


def c_type(kind: NumberType) -> str:
    """Return the name of a type."""
    return C_TYPES[kind.dtype]


def wrapping_type(kind: NumberType) -> str:
    """Return the unsigned type in which integers of a type wrap as numpy's do."""
    return "ulong" if np.dtype(kind.dtype).itemsize == 8 else "uint"


def function_name(dialect: Dialect, function: str, kind: NumberType) -> str:
    """Return the name of a function of mathematics."""
    name = _MATHEMATICS.get(function, function)
    return f"{name}f" if dialect.has_float_suffix and kind.dtype == "float32" else name


def literal(value: float, kind: NumberType) -> str:
    """Return a number as a constant of C, exactly."""
    if kind.is_float:
        return _float_literal(float(value), kind)
    number = int(value)
    if kind.kind == "b":
        return str(number)
    suffix = {"int64": "L", "uint32": "u", "uint64": "UL"}.get(kind.dtype, "")
    if kind.dtype in {"int8", "int16", "uint8", "uint16"}:
        return f"(({c_type(kind)}){number})"
    if number < 0:
        # The least number has no positive counterpart.
        return (
            f"({number + 1}{suffix} - 1)"
            if number in (-(1 << 31), -(1 << 63))
            else (f"({number}{suffix})")
        )
    return f"{number}{suffix}"


def _float_literal(value: float, kind: NumberType) -> str:
    is_single = kind.dtype == "float32"
    if math.isnan(value):
        return "NAN" if is_single else "(double)NAN"
    if math.isinf(value):
        text = "INFINITY" if is_single else "(double)INFINITY"
        return text if value > 0 else f"(-{text})"
    text = str(np.float32(value)) if is_single else repr(value)
    if not any(sign in text for sign in ".e"):
        text += ".0"
    text += "f" if is_single else ""
    return f"({text})" if text.startswith("-") else text
