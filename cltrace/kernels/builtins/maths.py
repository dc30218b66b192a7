"""Mathematical functions of floating-point numbers (OpenCL C 3.0, sections 6.15.2 and 6.15.4).

Functions of `float` and `half` are computed in double precision and rounded once, which is more accurate
than any device has to be.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.builtins.exact import fused_multiply_add
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Value, dtype_of, select

_Function = Callable[..., Value]


def _in_double(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """Make a builtin that is computed in double precision and rounded to the type of the result."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)

        def run(*values: Value) -> Value:
            return function(*[value.astype(np.float64) for value in values]).astype(dtype)

        return run

    return make


def _in_own_type(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """Make a builtin that is computed in the type of its arguments, where it is exact."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        return lambda *values: function(*values).astype(dtype)

    return make


def _from_scipy(function: str) -> _Function:
    """Return a function of scipy, which is imported on the first call because importing it is slow."""

    def run(value: Value) -> Value:
        from scipy import special  # noqa: PLC0415 - see above

        return getattr(special, function)(value)

    return run


def _from_c_library(function: Callable[[float], float]) -> _Function:
    """Vectorise a function of the C library, which numpy lacks and scipy has less exactly."""
    vectorised = np.frompyfunc(function, 1, 1)
    return lambda value: np.asarray(vectorised(value)).astype(np.float64)


def _round(value: Value) -> Value:
    """Round to the nearest whole number, halves away from zero."""
    whole = np.trunc(value)
    return whole + np.where(np.abs(value - whole) >= 0.5, np.copysign(1.0, value), 0.0) * 1.0


def _sin_half_turns(value: Value) -> Value:
    """Return the sine of an angle in half turns; whole half turns give zeros with the angle's sign."""
    rest = value - 2.0 * np.rint(0.5 * value)
    folded = np.where(np.abs(rest) > 0.5, np.copysign(1.0, rest) - rest, rest)
    sine = np.sin(np.pi * folded)
    return np.where(value == np.trunc(value), np.copysign(0.0, value), sine)


def _cos_half_turns(value: Value) -> Value:
    rest = np.abs(value - 2.0 * np.rint(0.5 * value))
    near = np.cos(np.pi * rest)
    far = np.sin(np.pi * (0.5 - rest))
    return np.where(rest < 0.25, near, far)


def _tan_half_turns(value: Value) -> Value:
    """Return the tangent of an angle in half turns: infinite at odd quarter turns."""
    rest = value - np.rint(value)
    near = np.tan(np.pi * rest)
    far = np.copysign(1.0, rest) / np.tan(np.pi * (0.5 - np.abs(rest)))
    tangent = np.where(np.abs(rest) < 0.25, near, far)
    odd = np.fmod(np.floor(np.abs(value)), 2.0) != 0
    pole = np.where(odd, -np.inf, np.inf) * np.copysign(1.0, value)
    zero = np.where(odd, -0.0, 0.0) * np.copysign(1.0, value)
    tangent = np.where(np.abs(rest) == 0.5, pole, tangent)
    return np.where((rest == 0) & np.isfinite(value), zero, tangent)


def _dim(left: Value, right: Value) -> Value:
    return np.where(left > right, left - right, np.where(np.isnan(left + right), np.nan, 0.0))


def _max_magnitude(left: Value, right: Value) -> Value:
    a, b = np.abs(left), np.abs(right)
    return np.where(a > b, left, np.where(b > a, right, np.fmax(left, right)))


def _min_magnitude(left: Value, right: Value) -> Value:
    a, b = np.abs(left), np.abs(right)
    return np.where(a < b, left, np.where(b < a, right, np.fmin(left, right)))


def remainder(left: Value, right: Value) -> Value:
    """Return the IEEE remainder: the distance to the nearest multiple, halves to the even multiple."""
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


def _make_integer_exponent(call: BuiltinCall) -> Compute:
    def run(value: Value) -> Value:
        exponent = np.frexp(value)[1].astype(np.int64) - 1
        exponent = np.where(value == 0, -(2**31), exponent)
        return np.where(np.isfinite(value), exponent, 2**31 - 1).astype(dtype_of(call.element))

    return run


def _make_not_a_number(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)
    return lambda code: np.full(np.shape(code), np.nan, dtype)[()]


def _make_fused_multiply_add(_: BuiltinCall) -> Compute:
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
    "erf": _from_c_library(math.erf),
    "erfc": _from_c_library(math.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "hypot": np.hypot,
    "lgamma": _from_scipy("gammaln"),
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
    "tgamma": _from_scipy("gamma"),
}
_WITH_NATIVE_FORMS: Final = (
    "cos",
    "exp",
    "exp2",
    "exp10",
    "log",
    "log2",
    "log10",
    "powr",
    "rsqrt",
    "sin",
    "sqrt",
    "tan",
)
"""Functions with a `native_` and a `half_` form, which are computed as exactly as the function itself."""


def _float(
    function: _Function,
    cost: CostClass,
    make_builtin: Callable[[_Function], Callable[[BuiltinCall], Compute]],
) -> Builtin:
    return Builtin(make_builtin(function), cost)


MATHS: Final[Mapping[str, Builtin]] = {
    **{
        name: _float(function, CostClass.SPECIAL, _in_double)
        for name, function in _ELEMENTARY.items()
    },
    **{
        f"{prefix}_{name}": _float(_ELEMENTARY[name], CostClass.SPECIAL, _in_double)
        for prefix in ("native", "half")
        for name in _WITH_NATIVE_FORMS
    },
    **{
        f"{prefix}_divide": _float(np.divide, CostClass.FLOAT_DIVIDE, _in_own_type)
        for prefix in ("native", "half")
    },
    **{
        f"{prefix}_recip": _float(
            lambda x: x.dtype.type(1) / x, CostClass.FLOAT_DIVIDE, _in_own_type
        )
        for prefix in ("native", "half")
    },
    "ceil": _float(np.ceil, CostClass.CONVERT, _in_own_type),
    "floor": _float(np.floor, CostClass.CONVERT, _in_own_type),
    "rint": _float(np.rint, CostClass.CONVERT, _in_own_type),
    "round": _float(_round, CostClass.CONVERT, _in_double),
    "trunc": _float(np.trunc, CostClass.CONVERT, _in_own_type),
    "copysign": _float(np.copysign, CostClass.INT_LOGIC, _in_own_type),
    "fabs": _float(np.abs, CostClass.INT_LOGIC, _in_own_type),
    "fdim": _float(_dim, CostClass.FLOAT_ADD, _in_own_type),
    "fma": Builtin(_make_fused_multiply_add, CostClass.FLOAT_MULTIPLY_ADD),
    "mad": _float(lambda a, b, c: a * b + c, CostClass.FLOAT_MULTIPLY_ADD, _in_own_type),
    "fmax": _float(np.fmax, CostClass.FLOAT_COMPARE, _in_own_type),
    "fmin": _float(np.fmin, CostClass.FLOAT_COMPARE, _in_own_type),
    "fmod": _float(np.fmod, CostClass.SPECIAL, _in_own_type),
    "ilogb": Builtin(_make_integer_exponent, CostClass.CONVERT),
    "ldexp": _float(_load_exponent, CostClass.FLOAT_MULTIPLY, _in_double),
    "logb": _float(_log_exponent, CostClass.CONVERT, _in_double),
    "maxmag": _float(_max_magnitude, CostClass.FLOAT_COMPARE, _in_own_type),
    "minmag": _float(_min_magnitude, CostClass.FLOAT_COMPARE, _in_own_type),
    "nan": Builtin(_make_not_a_number, CostClass.MOVE),
    "nextafter": _float(np.nextafter, CostClass.INT_ADD, _in_own_type),
    "remainder": _float(remainder, CostClass.SPECIAL, _in_double),
}
"""Mathematical functions without pointers."""


def _by_type(of_floats: _Function, of_integers: Any) -> Callable[[BuiltinCall], Compute]:
    """Make a builtin that differs between floating-point numbers and integers."""

    def make(call: BuiltinCall) -> Compute:
        first = call.parameters[0]
        if first.is_float:
            return of_floats
        compute: Compute = of_integers(call)
        return compute

    return make


def _float_clamp(value: Value, low: Value, high: Value) -> Value:
    return np.fmin(np.fmax(value, low), high)


def _with_signs(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """Make a builtin of integers that are signed or unsigned as the call's parameters."""

    def make(call: BuiltinCall) -> Compute:
        if call.parameters[0].is_unsigned:
            return lambda *values: function(
                *[value.view(f"u{value.dtype.itemsize}") for value in values]
            ).view(f"i{dtype_of(call.element).itemsize}")
        return function

    return make


COMMON: Final[Mapping[str, Builtin]] = {
    "clamp": Builtin(
        _by_type(
            _float_clamp,
            _with_signs(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
        ),
        CostClass.SELECT,
    ),
    "max": Builtin(
        _by_type(lambda x, y: select(x < y, y, x), _with_signs(np.maximum)),
        CostClass.SELECT,
    ),
    "min": Builtin(
        _by_type(lambda x, y: select(y < x, y, x), _with_signs(np.minimum)),
        CostClass.SELECT,
    ),
    "degrees": _float(np.degrees, CostClass.FLOAT_MULTIPLY, _in_double),
    "radians": _float(np.radians, CostClass.FLOAT_MULTIPLY, _in_double),
    "mix": _float(lambda x, y, a: x + (y - x) * a, CostClass.FLOAT_MULTIPLY_ADD, _in_own_type),
    "step": _float(lambda edge, x: np.where(x < edge, 0.0, 1.0), CostClass.SELECT, _in_own_type),
    "smoothstep": _float(_smooth_step, CostClass.SPECIAL, _in_double),
    "sign": _float(_sign, CostClass.SELECT, _in_own_type),
}
"""Common functions; `min`, `max` and `clamp` also for integers."""
