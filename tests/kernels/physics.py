"""Particles, Fourier transforms, finance, random numbers, fractals."""

import math

import numpy as np

from tests.kernels.blas import F, floats
from tests.kernels.cases import EXACT, UNIT, Array, Case, Local, Vector, within, writes

S, U = np.int32, np.uint32


def n_body(bodies: Array, _a: Array, _t: Local, softening: float) -> Array:
    b = bodies.astype(float)
    d = b[None, :, :3] - b[:, None, :3]
    r2 = (d * d).sum(2) + float(softening)
    a = (d * (b[None, :, 3] * r2**-1.5)[..., None]).sum(1)
    return np.concatenate([a, np.zeros((len(b), 1))], 1)


def complexes(values: Array) -> Array:
    return np.asarray(values.astype(float) @ [1, 1j])


def pairs(values: Array) -> Array:
    return np.stack([values.real, values.imag], -1)


def fft_pass(radix: int, values: Array, out: Array, p: int) -> Array:
    z = complexes(values).reshape(radix, -1)
    count = z.shape[1]
    i = np.arange(count)
    k = i % p
    result = np.zeros(out.shape[0], complex)
    twisted = z * np.exp(-2j * np.pi * np.arange(radix)[:, None] * k / (radix * p))
    for r in range(radix):
        turns = np.exp(-2j * np.pi * r * np.arange(radix) / radix)[:, None]
        result[(i - k) * radix + k + r * p] = (turns * twisted).sum(0)
    return pairs(result)


def normal(x: Array) -> Array:
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


def black_scholes(s: Array, k: Array, t: Array, _: Array, rate: float, volatility: float) -> Array:
    d1 = (np.log(s / k) + (rate + volatility**2 / 2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    discounted = k * np.exp(-rate * t)
    call = s * normal(d1) - discounted * normal(d2)
    return np.stack([call, discounted * normal(-d2) - s * normal(-d1)], 1)


def normal_polynomial(x: Array, _: Array) -> Array:
    d = x.astype(float)
    k = 1 / (1 + float(F(0.2316419)) * abs(d))
    weights = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153)
    c = np.zeros_like(k)
    for weight in weights:
        c = k * (c + float(F(weight)))
    c *= float(F(0.39894228)) * np.exp(-d * d / 2)
    return np.where(d > 0, 1 - c, c)


def hits(seeds: Array, _: Array, samples: int) -> Array:
    state = seeds.copy()
    inside = np.zeros_like(seeds)

    def drawn() -> Array:
        state[:] = state * U(1664525) + U(1013904223)
        return (state >> 8).astype(F) * F(2.0**-24)

    for _step in range(samples):
        x = drawn()
        y = drawn()
        inside += (x * x + y * y < 1).astype(U)
    return inside


def mandelbrot(steps: Array, corner: Vector, pixel: np.float32, limit: int) -> Array:
    height, width = steps.shape
    cx = corner.values[0] + np.arange(width, dtype=F) * pixel
    cy = (corner.values[1] + np.arange(height, dtype=F) * pixel)[:, None]
    x = y = np.zeros((height, width), F)
    n = np.zeros((height, width), np.uint16)
    for _ in range(limit):
        going = x * x + y * y <= 4
        x, y = (
            np.where(going, x * x - y * y + cx, x),
            np.where(going, F(2) * x * y + cy, y),
        )
        n += going
    return n


def leapfrog(state: Array, dt: np.float32, steps: int) -> Array:
    p, v = state[:2].copy(), state[2:].copy()
    for _ in range(steps):
        p = p + v * dt
        low, high = p < 0, p > 1
        p = np.where(low, -p, p)
        p = np.where(high, F(2) - p, p)
        v = np.where(low | high, -v, v)
    return np.concatenate([p, v])


CASES = [
    Case(
        # 128 terms of 20 roundings, of accelerations up to 1 / softening**1.5 * distance = 20.
        "n_body", "physics.cl", "n_body", (128,), (32,),
        lambda r: [floats(r, 128, 4), np.zeros((128, 4), F), Local(512), F(0.05)],
        writes(n_body, 1), within(0, 128 * 20 * 20 * UNIT), family="n-body",
    ),
    Case(
        "fft_radix2", "physics.cl", "fft_radix2", (128,), (32,),
        lambda r: [floats(r, 256, 2), np.zeros((256, 2), F), S(8)],
        writes(lambda *a: fft_pass(2, *a), 1), within(0, 40 * UNIT), family="fft",
    ),
    Case(
        # native_sin and native_cos are taken to be within 2**-20.
        "fft_radix4", "physics.cl", "fft_radix4", (64,), (16,),
        lambda r: [floats(r, 256, 2), np.zeros((256, 2), F), S(4)],
        writes(lambda *a: fft_pass(4, *a), 1), within(0, 40 * 2.0**-20), family="fft",
    ),
    Case(
        # Sums of 64 values below sqrt(2), six stages of about 12 roundings.
        "fft_local", "physics.cl", "fft_local", (96,), (32,),
        lambda r: [floats(r, 192, 2), np.zeros((192, 2), F)],
        writes(lambda x, _: pairs(np.fft.fft(complexes(x).reshape(3, 64)).ravel()), 1),
        within(0, 64 * 1.5 * 6 * 12 * UNIT), family="fft",
    ),
    Case(
        # Differences of products of up to 120; erfc has 16 units, its argument 20 roundings.
        "black_scholes", "physics.cl", "black_scholes", (200,), (40,),
        lambda r: [
            r.random(200) * 50 + 70, r.random(200) * 50 + 70, r.random(200) * 3 + 0.1,
            np.zeros((200, 2)), np.float64(0.03), np.float64(0.25),
        ],
        writes(black_scholes, 3), within(0, 120 * 100 * 2.0**-52), family="black-scholes",
    ),
    Case(
        "normal_distribution", "physics.cl", "normal_distribution", (200,), (8,),
        lambda r: [floats(r, 200) * F(3), np.zeros(200, F)],
        writes(normal_polynomial, 1), within(0, 64 * UNIT), family="black-scholes",
    ),
    Case(
        "monte_carlo_pi", "physics.cl", "monte_carlo_pi", (192,), (64,),
        lambda r: [r.integers(0, 2**32, 192, U), np.zeros(192, U), S(50)],
        writes(hits, 1), EXACT, family="monte-carlo",
    ),
    Case(
        "mandelbrot", "physics.cl", "mandelbrot", (45, 32), (9, 8),
        lambda _: [np.zeros((32, 45), np.uint16), Vector(np.array([-2, -1], F)), F(0.0625), S(40)],
        writes(mandelbrot, 0), EXACT, family="mandelbrot",
    ),
    Case(
        "leapfrog", "physics.cl", "leapfrog", (150,), (30,),
        lambda r: [
            np.concatenate([r.random((2, 150)), floats(r, 2, 150)]).astype(F), F(0.1), S(20),
        ],
        writes(leapfrog, 0), EXACT, family="particles",
    ),
]  # fmt: skip
