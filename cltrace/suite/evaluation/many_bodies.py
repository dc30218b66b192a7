"""Compute-bound kernels: bodies, distances, options, fractals, random numbers, text search."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.evaluation.cases import Arrays, Case, Scale

_BODIES: Final = """
__kernel void forces(__global const float4 *bodies, __global float4 *out, int n) {
    float4 mine = bodies[get_global_id(0)];
    float ax = 0, ay = 0, az = 0;
    for (int k = 0; k < n; ++k) {
        float4 other = bodies[k];
        float dx = other.x - mine.x, dy = other.y - mine.y, dz = other.z - mine.z;
        float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
        float s = other.w * inverse * inverse * inverse;
        ax += s * dx; ay += s * dy; az += s * dz;
    }
    out[get_global_id(0)] = (float4)(ax, ay, az, 0);
}
"""
_NEAREST: Final = """
__kernel void nearest(__global const float2 *points, __global const float2 *centres, __global int *out,
                      int n) {
    float2 p = points[get_global_id(0)];
    float best = INFINITY;
    int found = 0;
    for (int k = 0; k < n; ++k) {
        float2 d = centres[k] - p;
        float distance = d.x * d.x + d.y * d.y;
        if (distance < best) { best = distance; found = k; }
    }
    out[get_global_id(0)] = found;
}
"""
_OPTIONS: Final = """
float below(float x) { return 0.5f * erfc(-x * 0.70710678f); }
__kernel void prices(__global const float *spot, __global const float *strike, __global float *call) {
    size_t i = get_global_id(0);
    float s = 50.0f * spot[i], k = 50.0f * strike[i], t = 1.5f, r = 0.03f, v = 0.25f;
    float d1 = (log(s / k) + (r + 0.5f * v * v) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
    call[i] = s * below(d1) - k * exp(-r * t) * below(d2);
}
"""
_FRACTAL: Final = """
__kernel void fractal(__global int *out, int most) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    float cr = 3.0f * (x + 0.5f) / w - 2.2f, ci = 2.4f * (y + 0.5f) / h - 1.2f, zr = 0, zi = 0;
    int n = 0;
    while (n < most && zr * zr + zi * zi < 4.0f) {
        float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        ++n;
    }
    out[y * w + x] = n;
}
"""
_PI: Final = """
__kernel void hits(__global int *out, int points) {
    uint state = 1987u ^ (27u * (uint)get_global_id(0));
    int inside = 0;
    for (int k = 0; k < points; ++k) {
        state = state * 1103515245u + 12345u;
        float x = (float)((state >> 16) & 0x7fff) / 32768.0f;
        state = state * 1103515245u + 12345u;
        float y = (float)((state >> 16) & 0x7fff) / 32768.0f;
        if (x * x + y * y < 1.0f) ++inside;
    }
    out[get_global_id(0)] = inside;
}
"""
_SEARCH: Final = """
__kernel void find(__global const uchar *text, __global const uchar *word, __global int *first,
                   int length) {
    int i = get_global_id(0), k = 0;
    while (k < length && text[i + k] == word[k]) ++k;
    if (k == length) atomic_min(first, i);
}
"""
_POLYNOMIAL: Final = """
__kernel void polynomial(__global const float *x, __global float *out, int degree) {
    float v = x[get_global_id(0)] - 1.5f, sum = 1.0f;
    for (int k = 0; k < degree; ++k) sum = sum * v + 0.5f;
    out[get_global_id(0)] = sum;
}
"""


def bodies(scale: Scale) -> Iterator[Case]:
    """Yield forces between all bodies."""
    n = max(scale.items >> 6, scale.group_items)

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        all_ = b[0].reshape(n, 4).astype(np.float64)
        apart = all_[None, :, :3] - all_[:64, None, :3]
        weight = all_[None, :, 3] * ((apart**2).sum(axis=2) + 0.01) ** -1.5
        return {1: np.pad((weight[:, :, None] * apart).sum(axis=1), ((0, 0), (0, 1)))}

    inputs = (BufferInput(16 * n), BufferInput(16 * n), np.int32(n))
    work = Workload(_BODIES, "forces", (n,), (scale.group_items,), inputs)
    yield Case("bodies", "all pairs", work, reference, 1e-3)


def nearest(scale: Scale) -> Iterator[Case]:
    """Yield the nearest of 64 centres to each point."""
    n = scale.items

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        points, centres = b[0].reshape(n, 2)[:4096], b[1].reshape(64, 2)
        return {2: ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)}

    inputs = (BufferInput(8 * n), BufferInput(8 * 64), BufferInput(4 * n), np.int32(64))
    work = Workload(_NEAREST, "nearest", (n,), (scale.group_items,), inputs)
    yield Case("nearest", "of 64", work, reference)


def options(scale: Scale) -> Iterator[Case]:
    """Yield prices of options."""
    n = scale.items

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        from math import erfc  # noqa: PLC0415 - of the reference alone

        s, k = 50.0 * b[0].astype(np.float64), 50.0 * b[1].astype(np.float64)
        t, r, v = 1.5, 0.03, 0.25
        d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * t**0.5)
        below = np.vectorize(lambda x: 0.5 * erfc(-x * 0.5**0.5))
        return {2: s * below(d1) - k * np.exp(-r * t) * below(d1 - v * t**0.5)}

    buffer = BufferInput(4 * n)
    work = Workload(_OPTIONS, "prices", (n,), (scale.group_items,), (buffer, buffer, buffer))
    yield Case("options", "prices", work, reference, 1e-3)


def fractal(scale: Scale) -> Iterator[Case]:
    """Yield the steps until a point of the plane escapes, at most 128."""
    w, h = scale.side, scale.height

    def reference(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
        half, two = np.float32(0.5), np.float32(2)
        x = np.arange(w, dtype=np.float32)[None, :]
        y = np.arange(h, dtype=np.float32)[:, None]
        cr = np.broadcast_to(np.float32(3) * (x + half) / np.float32(w) - np.float32(2.2), (h, w))
        ci = np.broadcast_to(np.float32(2.4) * (y + half) / np.float32(h) - np.float32(1.2), (h, w))
        zr, zi = np.zeros_like(cr), np.zeros_like(ci)
        steps = np.zeros((h, w), np.int32)
        for _step in range(128):
            inside = zr * zr + zi * zi < 4
            steps += inside
            zr, zi = (
                np.where(inside, zr * zr - zi * zi + cr, zr),
                np.where(inside, two * zr * zi + ci, zi),
            )
        return {0: steps}

    inputs = (BufferInput(4 * w * h), np.int32(128))
    yield Case(
        "fractal", "escape", Workload(_FRACTAL, "fractal", (w, h), scale.tile, inputs), reference
    )


def random_points(scale: Scale) -> Iterator[Case]:
    """Yield random points within a circle, after the literature's MonteCarloPi."""
    n, points = scale.items, 256

    def reference(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
        state = np.uint32(1987) ^ (np.uint32(27) * np.arange(n, dtype=np.uint32))
        inside = np.zeros(n, np.int32)
        for _point in range(points):
            place = []
            for _axis in range(2):
                state = state * np.uint32(1103515245) + np.uint32(12345)
                place.append(
                    ((state >> np.uint32(16)) & np.uint32(0x7FFF)).astype(np.float32) / 32768
                )
            inside += place[0] * place[0] + place[1] * place[1] < 1
        return {0: inside}

    inputs = (BufferInput(4 * n), np.int32(points))
    work = Workload(_PI, "hits", (n,), (scale.group_items,), inputs)
    yield Case("random points", "hits", work, reference)


def searching(scale: Scale) -> Iterator[Case]:
    """Yield the first place of a word of 64 letters in a text of two letters."""
    n, length = scale.items, 64

    def text() -> NDArray[np.uint8]:
        letters = np.random.default_rng(5).integers(97, 99, n + length, dtype=np.uint8)
        letters[n // 2 : n // 2 + length] = word()
        return letters

    def word() -> NDArray[np.uint8]:
        return np.random.default_rng(6).integers(97, 99, length, dtype=np.uint8)

    inputs = (
        BufferInput(n + length, text),
        BufferInput(length, word),
        BufferInput(4, lambda: np.asarray([2**31 - 1], np.int32)),
        np.int32(length),
    )
    work = Workload(_SEARCH, "find", (n,), (scale.group_items,), inputs)
    yield Case("searching", "word", work, lambda _: {2: np.asarray([n // 2], np.int32)})


def polynomials(scale: Scale) -> Iterator[Case]:
    """Yield a polynomial of degree 96 at each point."""
    n = scale.items

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        v = b[0].astype(np.float64) - 1.5
        total = np.ones(n)
        for _ in range(96):
            total = total * v + 0.5
        return {1: total}

    inputs = (BufferInput(4 * n), BufferInput(4 * n), np.int32(96))
    work = Workload(_POLYNOMIAL, "polynomial", (n,), (scale.group_items,), inputs)
    yield Case("polynomials", "degree 96", work, reference)
