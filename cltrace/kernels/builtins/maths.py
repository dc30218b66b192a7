"""Mathematical functions of floating-point numbers (OpenCL C 3.0, sections 6.15.2 and 6.15.4).

Functions of `float` and `half` are computed in double precision and rounded once, which is nearer to
the truth than any device has to be.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.builtins.exact import fused_multiply_add
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Value, chosen, dtype_of

_Function = Callable[..., Value]


def _in_double(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """A function computed in double precision and rounded to the type of the result."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)

        def run(*values: Value) -> Value:
            return function(*[value.astype(np.float64) for value in values]).astype(dtype)

        return run

    return make


def _as_is(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """A function that is exact in the type of its arguments."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        return lambda *values: function(*values).astype(dtype)

    return make


def _special(function: str) -> _Function:
    """A function of scipy, which is imported when a kernel uses it: that takes a while."""

    def run(value: Value) -> Value:
        from scipy import special  # noqa: PLC0415 - see above

        return getattr(special, function)(value)

    return run


def _of_library(function: Callable[[float], float]) -> _Function:
    """A function of the C library, which numpy does not have and scipy has less exactly."""
    each = np.frompyfunc(function, 1, 1)
    return lambda value: np.asarray(each(value)).astype(np.float64)


def _round(value: Value) -> Value:
    """To the nearest whole number, halves away from zero."""
    whole = np.trunc(value)
    return whole + np.where(np.abs(value - whole) >= 0.5, np.copysign(1.0, value), 0.0) * 1.0


def _sin_half_turns(value: Value) -> Value:
    """The sine of an angle in half turns; whole ones give zeros with the angle's sign."""
    rest = value - 2.0 * np.rint(0.5 * value)
    folded = np.where(np.abs(rest) > 0.5, np.copysign(1.0, rest) - rest, rest)
    found = np.sin(np.pi * folded)
    return np.where(value == np.trunc(value), np.copysign(0.0, value), found)


def _cos_half_turns(value: Value) -> Value:
    rest = np.abs(value - 2.0 * np.rint(0.5 * value))
    near = np.cos(np.pi * rest)
    far = np.sin(np.pi * (0.5 - rest))
    return np.where(rest < 0.25, near, far)


def _tan_half_turns(value: Value) -> Value:
    """The tangent of an angle in half turns: infinite at odd quarters, zero at whole ones."""
    rest = value - np.rint(value)
    near = np.tan(np.pi * rest)
    far = np.copysign(1.0, rest) / np.tan(np.pi * (0.5 - np.abs(rest)))
    found = np.where(np.abs(rest) < 0.25, near, far)
    odd = np.fmod(np.floor(np.abs(value)), 2.0) != 0
    pole = np.where(odd, -np.inf, np.inf) * np.copysign(1.0, value)
    nought = np.where(odd, -0.0, 0.0) * np.copysign(1.0, value)
    found = np.where(np.abs(rest) == 0.5, pole, found)
    return np.where((rest == 0) & np.isfinite(value), nought, found)


def _dim(left: Value, right: Value) -> Value:
    return np.where(left > right, left - right, np.where(np.isnan(left + right), np.nan, 0.0))


def _max_magnitude(left: Value, right: Value) -> Value:
    a, b = np.abs(left), np.abs(right)
    return np.where(a > b, left, np.where(b > a, right, np.fmax(left, right)))


def _min_magnitude(left: Value, right: Value) -> Value:
    a, b = np.abs(left), np.abs(right)
    return np.where(a < b, left, np.where(b < a, right, np.fmin(left, right)))


def remainder(left: Value, right: Value) -> Value:
    """The IEEE remainder: to the nearest multiple, halves to the even one."""
    size = np.abs(right)
    rest = np.fmod(np.abs(left), 2 * size)
    rest = np.where(2 * rest > size, rest - size, rest)
    rest = np.where(2 * rest >= size, rest - size, rest)
    rest = np.where(np.isinf(right) & np.isfinite(left), np.abs(left), rest)
    return np.where(np.signbit(left), -rest, rest)


def _log_exponent(value: Value) -> Value:
    exponent = np.frexp(value)[1].astype(np.float64) - 1
    exponent = np.where(value == 0, -np.inf, exponent)
    return np.where(np.isfinite(value), exponent, np.abs(value))


def _power_of_positive(base: Value, exponent: Value) -> Value:
    undefined = (base < 0) | ((base == 0) & (exponent == 0)) | (np.isinf(base) & (exponent == 0))
    undefined |= (base == 1) & np.isinf(exponent)
    return np.where(undefined, np.nan, np.power(np.abs(base), exponent))


def _root(value: Value, degree: Value) -> Value:
    odd = np.fmod(degree, 2) != 0
    size = np.power(np.abs(value), 1.0 / degree)
    return np.where(
        value < 0, np.where(odd, -size, np.nan), np.where(odd, np.copysign(size, value), size)
    )


def _load_exponent(value: Value, exponent: Value) -> Value:
    return np.ldexp(value, exponent.astype(np.int32))


def _smooth_step(low: Value, high: Value, value: Value) -> Value:
    part = np.clip((value - low) / (high - low), 0.0, 1.0)
    return part * part * (3.0 - 2.0 * part)


def _sign(value: Value) -> Value:
    return np.where(np.isnan(value), 0.0, np.where(value == 0, value, np.sign(value)))


def _integer_exponent(call: BuiltinCall) -> Compute:
    def run(value: Value) -> Value:
        exponent = np.frexp(value)[1].astype(np.int64) - 1
        exponent = np.where(value == 0, -(2**31), exponent)
        return np.where(np.isfinite(value), exponent, 2**31 - 1).astype(dtype_of(call.element))

    return run


def _not_a_number(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)
    return lambda code: np.full(np.shape(code), np.nan, dtype)[()]


def _exact_multiply_add(_: BuiltinCall) -> Compute:
    return fused_multiply_add


def _power(base: Value, exponent: Value) -> Value:
    return np.power(base, exponent)


_ELEMENTARY: Final[Mapping[str, _Function]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "acospi": lambda x: np.arccos(x) / np.pi,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "asinpi": lambda x: np.arcsin(x) / np.pi,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "atanpi": lambda x: np.arctan(x) / np.pi,
    "atan2": np.arctan2,
    "atan2pi": lambda y, x: np.arctan2(y, x) / np.pi,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": _cos_half_turns,
    "erf": _of_library(math.erf),
    "erfc": _of_library(math.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "hypot": np.hypot,
    "lgamma": _special("gammaln"),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "pow": _power,
    "pown": _power,
    "powr": _power_of_positive,
    "rootn": _root,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": _sin_half_turns,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tanpi": _tan_half_turns,
    "tgamma": _special("gamma"),
}
_QUICK: Final = (
    "cos", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "rsqrt", "sin", "sqrt", "tan",
)  # fmt: skip
"""Those that have a `native_` and a `half_` form, which may be less exact and are computed as exactly."""


def _float(
    function: _Function,
    cost: CostClass,
    how: Callable[[_Function], Callable[[BuiltinCall], Compute]],
) -> Builtin:
    return Builtin(how(function), cost)


MATHS: Final[Mapping[str, Builtin]] = {
    **{
        name: _float(function, CostClass.SPECIAL, _in_double)
        for name, function in _ELEMENTARY.items()
    },
    **{
        f"{prefix}_{name}": _float(_ELEMENTARY[name], CostClass.SPECIAL, _in_double)
        for prefix in ("native", "half")
        for name in _QUICK
    },
    **{
        f"{prefix}_divide": _float(np.divide, CostClass.FLOAT_DIVIDE, _as_is)
        for prefix in ("native", "half")
    },
    **{
        f"{prefix}_recip": _float(lambda x: x.dtype.type(1) / x, CostClass.FLOAT_DIVIDE, _as_is)
        for prefix in ("native", "half")
    },
    "ceil": _float(np.ceil, CostClass.CONVERT, _as_is),
    "floor": _float(np.floor, CostClass.CONVERT, _as_is),
    "rint": _float(np.rint, CostClass.CONVERT, _as_is),
    "round": _float(_round, CostClass.CONVERT, _in_double),
    "trunc": _float(np.trunc, CostClass.CONVERT, _as_is),
    "copysign": _float(np.copysign, CostClass.INT_LOGIC, _as_is),
    "fabs": _float(np.abs, CostClass.INT_LOGIC, _as_is),
    "fdim": _float(_dim, CostClass.FLOAT_ADD, _as_is),
    "fma": Builtin(_exact_multiply_add, CostClass.FLOAT_MULTIPLY_ADD),
    "mad": _float(lambda a, b, c: a * b + c, CostClass.FLOAT_MULTIPLY_ADD, _as_is),
    "fmax": _float(np.fmax, CostClass.FLOAT_COMPARE, _as_is),
    "fmin": _float(np.fmin, CostClass.FLOAT_COMPARE, _as_is),
    "fmod": _float(np.fmod, CostClass.SPECIAL, _as_is),
    "ilogb": Builtin(_integer_exponent, CostClass.CONVERT),
    "ldexp": _float(_load_exponent, CostClass.FLOAT_MULTIPLY, _in_double),
    "logb": _float(_log_exponent, CostClass.CONVERT, _in_double),
    "maxmag": _float(_max_magnitude, CostClass.FLOAT_COMPARE, _as_is),
    "minmag": _float(_min_magnitude, CostClass.FLOAT_COMPARE, _as_is),
    "nan": Builtin(_not_a_number, CostClass.MOVE),
    "nextafter": _float(np.nextafter, CostClass.INT_ADD, _as_is),
    "remainder": _float(remainder, CostClass.SPECIAL, _in_double),
}
"""Mathematical functions without pointers."""


def _either(of_floats: _Function, of_integers: Any) -> Callable[[BuiltinCall], Compute]:
    def make(call: BuiltinCall) -> Compute:
        first = call.parameters[0]
        if first.is_float:
            return of_floats
        made: Compute = of_integers(call)
        return made

    return make


def _float_clamp(value: Value, low: Value, high: Value) -> Value:
    return np.fmin(np.fmax(value, low), high)


def _ordered_integers(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """A function of integers read as the call's parameters say."""

    def make(call: BuiltinCall) -> Compute:
        if call.parameters[0].is_unsigned:
            return lambda *values: function(
                *[value.view(f"u{value.dtype.itemsize}") for value in values]
            ).view(f"i{dtype_of(call.element).itemsize}")
        return function

    return make


COMMON: Final[Mapping[str, Builtin]] = {
    "clamp": Builtin(
        _either(
            _float_clamp,
            _ordered_integers(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
        ),
        CostClass.SELECT,
    ),
    "max": Builtin(
        _either(lambda x, y: chosen(x < y, y, x), _ordered_integers(np.maximum)),
        CostClass.SELECT,
    ),
    "min": Builtin(
        _either(lambda x, y: chosen(y < x, y, x), _ordered_integers(np.minimum)),
        CostClass.SELECT,
    ),
    "degrees": _float(np.degrees, CostClass.FLOAT_MULTIPLY, _in_double),
    "radians": _float(np.radians, CostClass.FLOAT_MULTIPLY, _in_double),
    "mix": _float(lambda x, y, a: x + (y - x) * a, CostClass.FLOAT_MULTIPLY_ADD, _as_is),
    "step": _float(lambda edge, x: np.where(x < edge, 0.0, 1.0), CostClass.SELECT, _as_is),
    "smoothstep": _float(_smooth_step, CostClass.SPECIAL, _in_double),
    "sign": _float(_sign, CostClass.SELECT, _as_is),
}
"""Common functions; `min`, `max` and `clamp` also of integers."""
