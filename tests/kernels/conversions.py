"""Conversions between all types, with all roundings and saturations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.kernels.cases import EXACT, Argument, Array, Case, writes
from tests.kernels.integers import CODES, TYPES, wrapped

F, D = np.float32, np.float64
COUNT = 128


def directed(values: Array, upwards: Array) -> Array:
    """Exact numbers (Python's integers or doubles) as floats, towards one side."""
    with np.errstate(over="ignore"):
        nearest = values.astype(F)
    exact = [number(v) for v in nearest]
    result = nearest.copy()
    for i, (value, near) in enumerate(zip(values.tolist(), exact, strict=True)):
        if upwards[i] and near < value:
            result[i] = np.nextafter(nearest[i], F(np.inf))
        elif not upwards[i] and near > value:
            result[i] = np.nextafter(nearest[i], F(-np.inf))
    return result


def number(value: Any) -> Any:
    """A float as an integer where it is one: comparisons with integers stay exact."""
    plain = float(value)
    return int(plain) if np.isfinite(plain) and plain == int(plain) else plain


def floats_of(values: Array, _: Array) -> Array:
    near = values.astype(F)
    negative = values < 0
    yes, no = np.ones(COUNT, bool), np.zeros(COUNT, bool)
    modes = [negative, yes, no]
    return np.stack([near, near, *(directed(values, mode) for mode in modes)])


def saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Whole numbers clipped to a type; NaN is zero."""
    information = np.iinfo(dtype)

    def clipped(value: float) -> int:
        if value != value:
            return 0
        if value in (np.inf, -np.inf):
            return int(information.max if value > 0 else information.min)
        return min(max(int(value), int(information.min)), int(information.max))

    return np.array([clipped(v) for v in values.astype(object)], dtype)


ROUNDINGS: list[Callable[..., Any]] = [np.trunc, np.rint, np.trunc, np.ceil, np.floor]


def rounding(code: str) -> Callable[..., Array]:
    def every(values: Array, any_value: Array, _: Array) -> Array:
        dtype = np.dtype(code)
        rows = [saturated(turn(values), dtype) for turn in ROUNDINGS]
        rows += [saturated(turn(any_value), dtype) for turn in ROUNDINGS]
        return np.stack([*rows, saturated(np.trunc(values), dtype)])

    return every


def float_inputs(source: str, code: str) -> Callable[..., list[Argument]]:
    """Values that fit however they are rounded, and any values."""

    def arguments(random: np.random.Generator) -> list[Argument]:
        information = np.iinfo(code)
        low, high = float(information.min), float(information.max)
        spread = random.random(COUNT) * 2 - 1
        fitting = spread * np.exp2(random.uniform(-2, np.log2(high), COUNT)) * 0.99
        fitting[:8] = 0.5, 1.5, 2.5, -0.0, 0.0, 0.75, 3.5, 4.5
        fitting = np.clip(fitting, max(low, -np.inf) + (1 if low else 0), None)
        fitting = np.where((fitting < 0) & (low == 0), -fitting, fitting)
        wild = fitting * np.exp2(random.integers(-2, 5, COUNT))
        wild *= np.where(random.random(COUNT) < 0.3, -1, 1)
        wild[:12] = (
            1e20, np.inf, -np.inf, 1e30, -1e30, low, high, low - 1, high + 1, -0.5, high + 0.5,
            -1.5,
        )  # fmt: skip
        return [fitting.astype(source), wild.astype(source), np.zeros((11, COUNT), code)]

    return arguments


def plain(values: Array, *_: Any) -> tuple[Array, ...]:
    exact = values.astype(object)
    integers = [
        np.stack([wrapped(exact, other), saturated(exact, np.dtype(other))]) for other in CODES
    ]
    return (*integers, *(np.stack([values.astype(kind)] * 2) for kind in (F, D)))


def integer_inputs(code: str, outputs: list[Array]) -> Callable[..., list[Argument]]:
    def arguments(random: np.random.Generator) -> list[Argument]:
        information = np.iinfo(code)
        values = random.integers(information.min, information.max, COUNT, code, endpoint=True)
        values >>= random.integers(0, information.bits, COUNT).astype(code)
        values[:3] = information.min, information.max, 0
        if information.bits == 64:  # halfway between floats, and just beyond
            values[3:7] = 2**40 + 2**16, 2**40 + 2**16 + 1, 2**40 + 3 * 2**16, 2**53 + 1
        if information.bits == 32:
            values[3:6] = 2**24 + 1, 2**24 + 3, 2**30 + 33
        return [values, *(output.copy() for output in outputs)]

    return arguments


def double_inputs(random: np.random.Generator) -> list[Argument]:
    values = (random.random(COUNT) - 0.5) * np.exp2(random.integers(-140, 120, COUNT))
    values[:6] = 0.0, -0.0, 1e-50, -1e-50, 1 + 2.0**-24, 1 + 3 * 2.0**-24
    return [values, np.zeros((5, COUNT), F)]


def by_vectors(values: Array, *_: Any) -> tuple[Array, ...]:
    bytes_ = saturated(np.rint(values * F(2)).ravel(), np.dtype("u1")).reshape(-1, 4)
    words = values.view(np.uint32)
    bits = bytes_.view(np.uint32)[:, 0] ^ words[:, 0] ^ words[:, 2]
    return bytes_, bytes_.astype(F) * F(0.5), values.view(np.int16), bits


EVERYTHING: list[Array] = [np.zeros((2, COUNT), code) for code in (*CODES, "f4", "f8")]
WIDE = {"int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}

OCLGRIND_SIDES = "rtp and rtn to signed integers are each other's for negative numbers"
NAN_STAYS = "NaN saturates to the lowest number; the specification says should, not shall"

CASES = [
    Case(
        "saturate_nan", "conversions.cl", "saturate_nan", (2,), None,
        lambda _: [np.array([np.nan, -np.nan], F), np.ones((7, 2), np.int64)],
        writes(lambda _, out: np.zeros_like(out), 1), EXACT, family="conversions",
        pocl_wrong=NAN_STAYS, oclgrind_wrong=NAN_STAYS, intel_wrong=NAN_STAYS,
    ),
    *(
        Case(
            f"from_{name}", "conversions.cl", f"from_{name}", (COUNT,), (32,),
            integer_inputs(code, EVERYTHING), writes(plain, *range(1, 11)), EXACT,
            family="conversions",
        )
        for name, code in zip(TYPES, CODES, strict=True)
    ),
    *(
        Case(
            f"round_{source}_{name}", "conversions.cl", f"round_{source}_{name}", (COUNT,), (32,),
            float_inputs(short, code), writes(rounding(code), 2), EXACT, family="conversions",
            oclgrind_wrong=OCLGRIND_SIDES if code[0] == "i" else "",
        )
        for source, short in (("float", "f4"), ("double", "f8"))
        for name, code in zip(TYPES, CODES, strict=True)
    ),
    *(
        Case(
            f"float_of_{name}", "conversions.cl", f"float_of_{name}", (COUNT,), (32,),
            integer_inputs(code, [np.zeros((5, COUNT), F)]), writes(floats_of, 1), EXACT,
            family="conversions",
        )
        for name, code in WIDE.items()
    ),
    Case(
        "float_of_double", "conversions.cl", "float_of_double", (COUNT,), (32,), double_inputs,
        writes(floats_of, 1), EXACT, family="conversions",
    ),
    Case(
        "convert_vectors", "conversions.cl", "convert_vectors", (64,), (16,),
        lambda r: [
            (r.random((64, 4)) * 200 - 40).astype(F), np.zeros((64, 4), np.uint8),
            np.zeros((64, 4), F), np.zeros((64, 8), np.int16), np.zeros(64, np.uint32),
        ],
        writes(by_vectors, 1, 2, 3, 4), EXACT, family="conversions",
    ),
]  # fmt: skip
