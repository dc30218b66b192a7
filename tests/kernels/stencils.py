"""Stencils on lines, planes and volumes, cellular automata."""

from typing import Any

import numpy as np

from tests.kernels.blas import F, floats
from tests.kernels.cases import EXACT, Array, Case, Local, Vector, within, writes

S = np.int32


def jacobi(values: Array, *_: Any) -> Array:
    out = values.copy()
    out[1:-1, 1:-1] = F(0.25) * (
        ((values[1:-1, :-2] + values[1:-1, 2:]) + values[:-2, 1:-1]) + values[2:, 1:-1]
    )
    return out


def heat(v: Array, _: Array, c0: np.float32, c1: np.float32) -> Array:
    out = v.copy()
    m = slice(1, -1)
    around = ((v[m, m, :-2] + v[m, m, 2:]) + (v[m, :-2, m] + v[m, 2:, m])) + (
        v[:-2, m, m] + v[2:, m, m]
    )
    out[m, m, m] = c0 * v[m, m, m] + c1 * around
    return out


def life(cells: Array, *_: Any) -> Array:
    shifts = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y]
    neighbours = sum(np.roll(cells, shift, (0, 1)) for shift in shifts)
    return np.asarray((neighbours == 3) | ((neighbours == 2) & (cells == 1))).astype(np.uint8)


def hotspot(power: Array, now: Array, _out: Array, _size: int, given: Vector) -> Array:
    s0, s1, s2, s3 = given.values
    for _ in range(2):
        p = np.pad(now, 1, "edge")
        n, s, w, e = p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]
        now = now + s0 * (
            power + (n + s - F(2) * now) * s1 + (e + w - F(2) * now) * s2 + (F(80) - now) * s3
        )
    return now


DIRECTIONS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))


def boltzmann(f: Array, _: Array, wall: Array, omega: float) -> Array:
    density = f.sum(0)
    directions = np.array(DIRECTIONS, float)
    u = np.tensordot(directions.T, f, 1) / density
    weights = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1]) / 36
    to = np.empty_like(f)
    for d, (dx, dy) in enumerate(DIRECTIONS):
        cu = 3 * (dx * u[0] + dy * u[1])
        balance = weights[d] * density * (1 + cu + cu * cu / 2 - 1.5 * (u * u).sum(0))
        opposite = DIRECTIONS.index((-dx, -dy))
        value = np.where(wall, f[opposite], f[d] + omega * (balance - f[d]))
        to[d] = np.roll(value, (dy, dx), (0, 1))
    return to


def wave(now: Array, before: Array, after: Array, c: Array, _: Local, n: int) -> Array:
    out = after.copy()
    middle = slice(4, int(n) - 4)
    total = c[0] * now[middle]
    for k in range(1, 5):
        total = total + c[k] * (now[4 - k : n - 4 - k] + now[4 + k : n - 4 + k])
    out[middle] = F(2) * now[middle] - before[middle] + total
    return out


CASES = [
    Case(
        "jacobi_2d", "stencils.cl", "jacobi_2d", (48, 32), (16, 8),
        lambda r: [floats(r, 30, 45), np.zeros((30, 45), F), S(45), S(30)],
        writes(jacobi, 1), EXACT, family="stencil",
    ),
    Case(
        "heat_3d", "stencils.cl", "heat_3d", (15, 9), (5, 3),
        lambda r: [floats(r, 10, 9, 15), np.zeros((10, 9, 15), F), F(0.4), F(0.1)],
        writes(heat, 1), EXACT, family="stencil 3d",
    ),
    Case(
        "game_of_life", "stencils.cl", "game_of_life", (48, 24), (16, 8),
        lambda r: [
            r.integers(0, 2, (24, 48), np.uint8), np.zeros((24, 48), np.uint8), S(48), S(24),
        ],
        writes(life, 1), EXACT, family="game of life",
    ),
    Case(
        "hotspot", "stencils.cl", "hotspot", (36, 36), (12, 12),
        lambda r: [
            floats(r, 24, 24), floats(r, 24, 24) + F(330), np.zeros((24, 24), F), S(24),
            Vector(np.array([0.1, 0.4, 0.3, 0.01], F)),
        ],
        writes(hotspot, 2), EXACT, family="hotspot",
    ),
    Case(
        "lattice_boltzmann", "stencils.cl", "lattice_boltzmann", (18, 10), (6, 2),
        lambda r: [
            r.random((9, 10, 18)) + 0.5, np.zeros((9, 10, 18)),
            (r.random((10, 18)) < 0.2).astype(np.uint8), np.float64(1.2),
        ],
        writes(boltzmann, 1), within(64 * 2.0**-53, 1e-15), family="lbm",
    ),
    Case(
        "wave_1d", "stencils.cl", "wave_1d", (256,), (32,),
        lambda r: [
            floats(r, 270), floats(r, 270), np.zeros(270, F),
            np.array([-2.8472, 1.6, -0.2, 0.0254, -0.0018], F), Local(160), S(250),
        ],
        writes(wave, 2), EXACT, family="stencil",
    ),
]  # fmt: skip
