"""Mathematical, common, geometric and relational builtins, special values.

Bounds are those of the OpenCL specification's table for the full profile; one unit more for double,
whose references are themselves rounded.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.kernels.cases import EXACT, Argument, Array, Case, Comparison, ulps, within, writes

F, D = np.float32, np.float64
N = 160


def by_element(function: Callable[[float], float], values: Array) -> Array:
    return np.array([function(v) for v in values.tolist()])


def grids(dtype: Any) -> Callable[..., list[Argument]]:
    """Numbers of [-8, 8], small and large ones, halves and wholes; stretches are made later."""

    def arguments(random: np.random.Generator) -> list[Argument]:
        x, y = (random.random((2, N)) * 16 - 8).astype(dtype)
        x[:64] = np.linspace(-8, 8, 64) + 1 / 64
        x[64:80] = np.arange(-8, 8) + 0.5
        x[80:90] = 1e-3, -1e-3, 1e-6, 0.25, -0.75, 3, 7, 1.5707964, 3.1415927, 6.2831855
        y[np.abs(y) < 0.01] = 0.5
        return [x, y]

    return arguments


def with_rows(dtype: Any, rows: int) -> Callable[..., list[Argument]]:
    return lambda random: [*grids(dtype)(random), np.zeros((rows, N), dtype)]


def wide(values: Array) -> Array:
    return values.astype(D)


def exponentials(a: Array, b: Array, out: Array) -> Array:
    x, y = wide(a), wide(b)
    p = wide(np.abs(b) + out.dtype.type(1e-3))
    return np.stack([
        np.exp(x), np.exp2(x), 10.0**x, np.expm1(x), np.log(p), np.log2(p), np.log10(p),
        np.log1p(p), p**x, x ** np.trunc(y), p**x, np.cbrt(p), np.sqrt(p), 1 / np.sqrt(p),
        np.cbrt(x), np.hypot(x, y),
    ])  # fmt: skip


EXPONENTIALS = (3, 3, 3, 3, 3, 3, 3, 2, 16, 16, 16, 16, 3, 2, 2, 4)


def sine_of_turns(x: Array) -> Array:
    r = x - 2 * np.rint(x / 2)
    return np.asarray(np.sin(np.pi * np.where(np.abs(r) > 0.5, np.copysign(1 - np.abs(r), r), r)))


def cosine_of_turns(x: Array) -> Array:
    return sine_of_turns(0.5 - np.abs(x - 2 * np.rint(x / 2)))


def trigonometry(a: Array, b: Array, _: Array) -> Array:
    x, y = wide(a), wide(b)
    u = y / 8
    sine, cosine = sine_of_turns(x), cosine_of_turns(x)
    return np.stack([
        np.sin(x), np.cos(x), np.tan(x), np.sin(x), np.cos(x), sine, cosine, sine / cosine,
        np.arcsin(u), np.arccos(u), np.arctan(x), np.arctan2(x, y), np.arcsin(u) / np.pi,
        np.arccos(u) / np.pi, np.arctan(x) / np.pi, np.arctan2(x, y) / np.pi, np.sinh(x),
        np.cosh(x), np.tanh(x), np.arcsinh(x), np.arccosh(wide(a.dtype.type(1) + np.abs(a))),
        np.arctanh(u),
    ])  # fmt: skip


TRIGONOMETRY = (4, 4, 5, 4, 4, 4, 4, 6, 4, 4, 5, 6, 5, 5, 5, 6, 4, 4, 5, 4, 4, 5)


def gammas(a: Array, _b: Array, _: Array) -> Array:
    shifted = np.abs(a) + a.dtype.type(0.25)
    rows = [by_element(math.erf, a), by_element(math.erfc, a), by_element(math.gamma, shifted)]
    return np.stack(rows)


def fused(x: Array, y: Array, z: Array) -> Array:
    """x * y + z with one rounding: float products are exact in double, double's in long double."""
    total = x.astype(np.longdouble) * y + z
    return total.astype(x.dtype)


def quotients(x: Array, y: Array) -> tuple[Array, Array]:
    """IEEE remainders and the quotients' low three bits, with the quotient's sign dropped."""
    remainders = np.array(
        [math.remainder(p, q) for p, q in zip(x.tolist(), y.tolist(), strict=True)]
    )
    return remainders, np.rint((wide(x) - remainders) / wide(y)).astype(int)


def roundings(x: Array, y: Array, out: Array) -> Array:
    kind = out.dtype.type
    fraction, exponent = np.frexp(x)
    part, whole = np.modf(x)
    below = kind(1) - np.finfo(kind).epsneg
    remainder, quotient = quotients(x, y)
    larger = np.where(
        np.abs(x) > np.abs(y), x, np.where(np.abs(y) > np.abs(x), y, np.maximum(x, y))
    )
    smaller = np.where(
        np.abs(x) < np.abs(y), x, np.where(np.abs(y) < np.abs(x), y, np.minimum(x, y))
    )
    rounded = np.copysign(np.floor(np.abs(wide(x)) + 0.5), x)
    rows = [
        np.ceil(x), np.floor(x), np.rint(x), rounded, np.trunc(x), np.abs(x), np.copysign(x, y),
        np.where(x > y, x - y, 0), fused(x, y, kind(0.3)), np.fmax(x, y), np.fmin(x, y),
        np.fmod(x, y), remainder, fraction, exponent, part, whole,
        np.fmin(x - np.floor(x), below), np.floor(x), np.ldexp(x, np.trunc(y).astype(int)),
        exponent - 1, exponent - 1, larger, smaller, np.nextafter(x, y), remainder,
        quotient & 7, wide(x) / y, 1 / wide(y),
    ]  # fmt: skip
    return np.stack([row.astype(D) for row in rows])


def common(a: Array, b: Array, _: Array) -> Array:
    x, y = wide(a), wide(b)
    t = np.clip((x + 3) / 7, 0, 1)
    return np.stack([
        np.clip(x, -2, 3), np.maximum(x, y), np.minimum(x, y), (y >= x).astype(D), np.sign(x),
        np.degrees(x), np.radians(x), x + (y - x) * 0.625, t * t * (3 - 2 * t), x * 0.625 + x,
    ])  # fmt: skip


def odd_values(dtype: Any) -> Callable[..., list[Argument]]:
    """All pairs of special values."""
    limits = np.finfo(dtype)
    tiny, least = float(limits.smallest_normal), float(limits.smallest_subnormal)
    values = [
        0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, tiny, -tiny / 4, least, -least,
        float(limits.max), -float(limits.max), 3 * least, tiny - least, 0.1,
    ]  # fmt: skip
    pairs = np.array([(p, q) for p in values for q in values], dtype).T
    return lambda _: [np.ascontiguousarray(pairs[0]), np.ascontiguousarray(pairs[1])]


def specials(x: Array, y: Array, _: Array) -> Array:
    kind = x.dtype.type
    fused_x = (x.astype(np.longdouble) * y + x).astype(x.dtype)
    return np.stack([
        x + y, x - y, x * y, -x, np.abs(x), fused_x, x * kind(0.5), x + x * y, np.copysign(y, x),
        np.trunc(x), np.where(np.isnan(x), kind(1), x), np.where(x < y, x, y),
    ])  # fmt: skip


def relations(x: Array, y: Array, _: Array) -> Array:
    unordered = np.isnan(x) | np.isnan(y)
    tiny = np.finfo(x.dtype).smallest_normal
    parts = (x < y, x > y, x == y, x != y, x <= y, x >= y, x == 0)
    return np.stack([
        np.isnan(x), np.isinf(x), np.isfinite(x), np.isfinite(x) & (np.abs(x) >= tiny),
        np.signbit(x), x == y, x != y, x > y, x >= y, x < y, x <= y, (x < y) | (x > y),
        ~unordered, unordered, sum(part.astype(int) << k for k, part in enumerate(parts)),
        np.where(x != 0, 1, 2),
    ]).astype(np.int32)  # fmt: skip


def geometric(a: Array, b: Array, _: Array) -> Array:
    x, y = wide(a), wide(b)

    def length(v: Array) -> Array:
        return np.asarray(np.sqrt((v * v).sum(1)))

    u, v = x / length(x)[:, None], y[:, :3] / length(y[:, :3])[:, None]
    c = np.cross(x[:, :3], y[:, :3])
    dots = [(x[:, :k] * y[:, :k]).sum(1) for k in (4, 3, 2, 1)]
    lengths = [length(x[:, :k]) for k in (4, 3, 2, 1)]
    distances = [length(x - y), length(x[:, :3] - y[:, :3])]
    parts = [u[:, 0], u[:, 1], u[:, 3], v[:, 0], v[:, 2], *c.T, np.zeros(len(x)), c[:, 0], c[:, 2]]
    return np.stack([*dots, *lengths, *distances, *parts])


def fast_geometric(a: Array, b: Array, _: Array) -> Array:
    x, y = wide(a), wide(b)
    norms = [np.linalg.norm(v, axis=1) for v in (x, x[:, :2], (x - y)[:, :3], y[:, :3])]
    return np.stack([*norms[:3], x[:, 2] / norms[0], y[:, 1] / norms[3]])


def approximate(a: Array, b: Array, _: Array) -> Array:
    x, p = wide(a), wide(np.abs(b) + F(0.01))
    return np.stack([
        np.exp(x), np.log(p), np.sqrt(p), p**-0.5, np.sin(x), np.cos(x), x / p, 1 / p, p**x,
        np.exp2(x), np.log2(p), np.exp(x), np.log2(p), np.sqrt(p), x / p, 1 / p, p**-0.5,
        np.exp2(x),
    ])  # fmt: skip


def vectors(random: np.random.Generator) -> list[Argument]:
    x, y = (random.random((2, N, 4)) * 4 + 0.5).astype(F)
    return [x, y]


UNREDUCED = "sinpi, cospi and tanpi multiply by pi before they reduce: beyond their bounds"
ROUNDINGS = (0.0,) * 27 + (2.5, 2.5)


def both(
    name: str,
    rows: int,
    function: Callable[..., Array],
    bounds: tuple[Comparison, Comparison],
    oclgrind_wrong: str = "",
) -> list[Case]:
    return [
        Case(
            f"{name}_{kind}", "builtins.cl", name, (N,), (32,), with_rows(dtype, rows),
            writes(function, 2), comparison, f"-DT={kind}", family="builtins",
            oclgrind_wrong=oclgrind_wrong,
        )
        for kind, dtype, comparison in zip(("float", "double"), (F, D), bounds, strict=True)
    ]  # fmt: skip


def from_table(*bounds: float) -> tuple[Comparison, Comparison]:
    return ulps(*bounds), ulps(*(bound + 1 if bound else 0 for bound in bounds))


def on_specials(kind: str, dtype: Any) -> list[Case]:
    inputs = odd_values(dtype)
    return [
        Case(
            f"specials_{kind}", "builtins.cl", "specials", (256,), (64,),
            lambda r: [*inputs(r), np.zeros((12, 256), dtype)], writes(specials, 2), EXACT,
            f"-DT={kind}", family="special values",
        ),
        Case(
            f"relations_{kind}", "builtins.cl", "relations", (256,), (64,),
            lambda r: [*inputs(r), np.zeros((16, 256), np.int32)], writes(relations, 2), EXACT,
            f"-DT={kind}", family="special values",
            oclgrind_wrong="isnormal of denormal floats is 1" if kind == "float" else "",
        ),
    ]  # fmt: skip


CASES = [
    *both("exponentials", 16, exponentials, from_table(*EXPONENTIALS)),
    *both("trigonometry", 22, trigonometry, from_table(*TRIGONOMETRY), UNREDUCED),
    *both("gammas", 3, gammas, from_table(16, 16, 16)),
    *both("roundings", 29, roundings, (ulps(*ROUNDINGS), ulps(*ROUNDINGS))),
    # Values up to 8 in magnitude with four roundings each.
    *both("common", 10, common, (within(2.0**-22, 2.0**-20), within(2.0**-51, 2.0**-49))),
    *on_specials("float", F),
    *on_specials("double", D),
    Case(
        # Products up to 20: cross products are differences of them, at most 3 roundings each.
        "geometric", "builtins.cl", "geometric", (N,), (32,),
        lambda r: [*vectors(r), np.zeros((21, N), F)], writes(geometric, 2),
        within(2.0**-21, 20 * 4 * 2.0**-24), family="geometric",
    ),
    Case(
        "fast_geometric", "builtins.cl", "fast_geometric", (N,), (32,),
        lambda r: [*vectors(r), np.zeros((5, N), F)], writes(fast_geometric, 2),
        ulps(*(8192,) * 5), family="geometric",
    ),
    Case(
        # Half precision is within 8192 units; native functions are taken to be so too.
        "native_and_half", "builtins.cl", "native_and_half", (N,), (32,), with_rows(F, 18),
        writes(approximate, 2), ulps(*(8192,) * 18), family="builtins",
    ),
]  # fmt: skip
