"""Vectors: loads and stores of every width, halves, shuffles, selections, swizzles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.kernels.cases import EXACT, Argument, Array, Case, writes

F, H, D = np.float32, np.float16, np.float64
# A three-element vector in memory: the fourth element is no one's.
THREE = np.dtype({"names": list("xyz"), "formats": [F] * 3, "offsets": [0, 4, 8], "itemsize": 16})
WIDTHS = (2, 3, 4, 8, 16)
N = 24
ELEMENTS = {"uchar": "u1", "short": "i2", "int": "i4", "ulong": "u8", "float": "f4", "double": "f8"}


def widths(values: Array, out: Array) -> Array:
    result = out.copy()
    at = 1
    for width in WIDTHS:
        count = N * width
        result[at : at + count] = values[1 : 1 + count] + values.dtype.type(width)
        at += count
    return result


def spaces(table: Array, values: Array, _: Array) -> Array:
    rows = []
    for i in range(64):
        group, item = divmod(i, 32)
        other = values[group * 32 + (item + 1) % 32]
        own = np.concatenate([other, table[4 * (item & 3) : 4 * (item & 3) + 4]])
        total = 0
        for value in own.tolist():
            total = (total * 3 + value) & 0xFFFF
        rows.append((np.uint16(total).view(np.int16), own[item & 7]))
    return np.array(rows, np.int16)


def half_loads(values: Array, _: Array) -> Array:
    v = values.astype(F)
    padded = v[: 4 * N].reshape(N, 4)
    parts = [v[: w * N] for w in (1, *WIDTHS)]
    return np.concatenate([*parts, padded[:, :3].ravel(), v[: 4 * N]])


def half_towards(values: Array, mode: str) -> Array:
    """Halves by a rounding mode; too large goes to infinity or to the largest number."""
    wide = values.astype(D)
    near = wide.astype(H)
    up = np.nextafter(near, H(np.inf))
    down = np.nextafter(near, H(-np.inf))
    exact = near.astype(D)
    higher = np.where(exact < wide, up, near)
    lower = np.where(exact > wide, down, near)
    chosen = {"rtp": higher, "rtn": lower, "rtz": np.where(wide < 0, higher, lower)}[mode]
    return np.where(np.isfinite(wide), np.copysign(chosen, wide.astype(H)), near)


def half_stores(values: Array, wide: Array, _: Array) -> Array:
    near = values.astype(H)
    rtz, rtp, rtn = (half_towards(values, mode) for mode in ("rtz", "rtp", "rtn"))
    return np.concatenate(
        [near, near, rtz, rtp, rtn, near, rtz, near, wide.astype(H), half_towards(wide, "rtn")]
    )


def numbers(random: np.random.Generator) -> list[Argument]:
    """Across halves' range: denormals, halfway cases, the edges."""
    wide = (random.random(128) - 0.5) * np.exp2(random.integers(-26, 18, 128))
    wide[:14] = (
        0.0, -0.0, np.inf, -np.inf, 65504, 65519.99, 65520, -65520, 1e30, 2.0**-25, 2.0**-24,
        2049.0, 2051.0, -(2.0**-26),
    )  # fmt: skip
    double = wide.copy()
    double[14] = 1 + 2.0**-11 + 2.0**-40  # doubly rounded through float it would be 1
    return [wide.astype(F), double, np.zeros(1280, H)]


def shuffles(v: Array, m: Array, _: Array, f: Array, __: Array) -> tuple[Array, Array]:
    odd = np.tile(v[:, 1::2][:, :4], 4) + np.uint8(1)
    both = np.concatenate([v, odd], 1)
    first = np.take_along_axis(v, (m & 15).astype(int), 1)
    second = np.take_along_axis(both, (m & 31).astype(int), 1)
    low = np.take_along_axis(v[:, :8], (m[:, :8] & 7).astype(int), 1)
    high = np.take_along_axis(v, (m[:, 8:] & 15).astype(int), 1)
    pairs = np.concatenate([f, np.roll(f, -1, 0)], 1)
    floats = np.take_along_axis(pairs, (m[:, :8] & 7).astype(int), 1)
    return np.stack([first, second, np.concatenate([low, high], 1)]), floats


def selections(a: Array, b: Array, c: Array, *_: Any) -> tuple[Array, ...]:
    ua, ub, uc = (v.view(np.uint32) for v in (a, b, c))
    scalars = [
        np.where(c[:, 0] != 0, b[:, 0], a[:, 0]), np.where(a[:, 0] < b[:, 0], F(1), F(2)),
        (a[:, 3] != b[:, 3]).astype(F), (c[:, 2] == 0).astype(F),
    ]  # fmt: skip
    out = [
        np.where(c < 0, b, a), ((ua & ~uc) | (ub & uc)).view(F), np.where(a < b, a, -b),
        np.stack(scalars, 1),
    ]  # fmt: skip
    wide = np.stack([np.where(c[:, 1] < 0, c[:, 2], c[:, 0]), c[:, 3]], 1).astype(np.int64)
    x, y = c[:, :2].copy().view(np.int8), c[:, 2:].copy().view(np.int8)
    return np.stack(out), wide, np.where((x ^ y) < 0, y, x)


def swizzles(values: Array, _: Array, __: Array) -> tuple[Array, Array]:
    out = np.zeros(len(values), THREE)
    flat = np.zeros((len(values), 16), F)
    for i, (x, y, z, _pad) in enumerate(values):
        w = [z, y, x, F(1), x, y, z, z]
        w[7] = w[2]
        w[2], w[3] = w[4], w[5]
        row = [*w, *w[::-1]]
        row[15], row[14] = row[0], row[1]
        row[10] += F(2)
        flat[i] = row
        out[i] = tuple(row[k] + x for k in (10, 11, 12))
    return out, flat.ravel()


def elements(random: np.random.Generator, code: str, *shape: int) -> Array:
    if code[0] == "f":
        return (random.random(shape) * 100).astype(code)
    return random.integers(0, np.iinfo(code).max, shape, code)


def moved(code: str) -> Callable[..., list[Argument]]:
    return lambda r: [elements(r, code, 16 * N + 1), np.zeros(33 * N + 1, code)]


CASES = [
    *(
        Case(
            f"vload_vstore_{name}", "vectors.cl", f"vload_vstore_{name}", (N,), (8,),
            moved(code),
            writes(widths, 1), EXACT, family="vectors",
        )
        for name, code in ELEMENTS.items()
    ),
    Case(
        "vload_spaces", "vectors.cl", "vload_spaces", (64,), (32,),
        lambda r: [
            elements(r, "i2", 16), elements(r, "i2", 64, 4), np.zeros((64, 2), np.int16),
        ],
        writes(spaces, 2), EXACT, family="vectors",
    ),
    Case(
        "half_loads", "vectors.cl", "half_loads", (N,), (8,),
        lambda r: [r.permutation(31744)[: 16 * N].astype(np.uint16).view(H), np.zeros(41 * N, F)],
        writes(half_loads, 1), EXACT, family="half",
    ),
    Case(
        "half_stores", "vectors.cl", "half_stores", (128,), (32,), numbers,
        writes(half_stores, 2), EXACT, family="half",
    ),
    Case(
        "shuffles", "vectors.cl", "shuffles", (40,), (8,),
        lambda r: [
            elements(r, "u1", 40, 16), elements(r, "u1", 40, 16), np.zeros((3, 40, 16), np.uint8),
            elements(r, "f4", 40, 4), np.zeros((40, 8), F),
        ],
        writes(shuffles, 2, 4), EXACT, family="shuffle",
    ),
    Case(
        "selections", "vectors.cl", "selections", (40,), (8,),
        lambda r: [
            elements(r, "f4", 40, 4), elements(r, "f4", 40, 4),
            r.integers(-(2**31), 2**31, (40, 4)).astype(np.int32) * r.integers(0, 2, (40, 4), "i4"),
            np.zeros((4, 40, 4), F), np.zeros((40, 2), np.int64), np.zeros((40, 8), np.int8),
        ],
        writes(selections, 3, 4, 5), EXACT, family="select",
        oclgrind_wrong="bitselect of floats gives 0 or infinity for some bit patterns",
    ),
    Case(
        "swizzles", "vectors.cl", "swizzles", (30,), (10,),
        lambda r: [elements(r, "f4", 30, 4), np.zeros(30, THREE), np.zeros(480, F)],
        writes(swizzles, 1, 2), EXACT, family="vectors",
    ),
]  # fmt: skip
