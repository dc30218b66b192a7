"""Images in buffers: convolution, edges, medians, colours, interpolation."""

from typing import Any

import numpy as np

from tests.kernels.blas import F, floats
from tests.kernels.cases import EXACT, UNIT, Array, Case, Local, Vector, within, writes

S = np.int32
U8 = np.uint8
GAUSS = np.array([1, 4, 6, 4, 1], F) / F(16)


def convolve(image: Array, _: Array, weights: Array, *__: Any) -> Array:
    height, width = image.shape
    padded = np.pad(image, 2, "edge")
    total = np.zeros_like(image)
    for i, weight in enumerate(weights):
        dy, dx = divmod(i, 5)
        total = total + padded[dy : dy + height, dx : dx + width] * weight
    return total


def blur_rows(image: Array, *_: Any) -> Array:
    padded = np.pad(image, ((0, 0), (2, 2)), "edge")
    total = np.zeros_like(image)
    for k in range(5):
        total = total + GAUSS[k] * padded[:, k : k + image.shape[1]]
    return total


def blur_columns(image: Array, *_: Any) -> Array:
    padded = np.pad(image, ((2, 2), (0, 0)))
    total = np.zeros_like(image)
    for k in range(5):
        total = total + GAUSS[k] * padded[k : k + image.shape[0]]
    return total


def sobel(image: Array, *_: Any) -> Array:
    v = image.astype(int)
    across = v[:, 2:] - v[:, :-2]
    down = v[2:] - v[:-2]
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    return np.pad(np.minimum(abs(gx) + abs(gy), 255).astype(U8), 1)


def median(image: Array, _: Array) -> Array:
    height, width = image.shape
    shifted = [image[y : height - 2 + y, x : width - 2 + x] for y in range(3) for x in range(3)]
    return np.asarray(np.sort(np.stack(shifted), 0)[4])


def bilateral(image: Array, _: Array, space: float, reach: float) -> Array:
    v = image.astype(float)
    padded = np.pad(v, 2, constant_values=np.nan)
    total = np.zeros(v.shape)
    weight = np.zeros(v.shape)
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            height, width = v.shape
            other = padded[2 + dy : 2 + dy + height, 2 + dx : 2 + dx + width]
            w = np.exp(-((dx * dx + dy * dy) * float(space) + (other - v) ** 2 * float(reach)))
            total += np.nan_to_num(w * other)
            weight += np.nan_to_num(w)
    return np.asarray(total / weight)


def yuv(image: Array, *_: Any) -> tuple[Array, Array]:
    p = image.astype(int)
    luma = ((p[..., :3] @ [66, 129, 25] + 128) >> 8) + 16
    quads = p[::2, ::2] + p[::2, 1::2] + p[1::2, ::2] + p[1::2, 1::2]
    mean = (quads + 2) >> 2
    u = ((mean[..., :3] @ [-38, -74, 112] + 128) >> 8) + 128
    v = ((mean[..., :3] @ [112, -94, -18] + 128) >> 8) + 128
    return luma.astype(U8), np.stack([u, v], 2).astype(U8)


def resample(image: Array, out: Array, width: int, height: int, step: Vector) -> Array:
    y, x = np.indices(out.shape)
    px = (x + 0.5) * float(step.values[0]) - 0.5
    py = (y + 0.5) * float(step.values[1]) - 0.5
    x0, y0 = np.floor(px).astype(int), np.floor(py).astype(int)
    tx, ty = px - x0, py - y0
    xa, xb = (np.clip(v, 0, width - 1) for v in (x0, x0 + 1))
    ya, yb = (np.clip(v, 0, height - 1) for v in (y0, y0 + 1))
    v = image.astype(float)
    top = v[ya, xa] * (1 - tx) + v[ya, xb] * tx
    bottom = v[yb, xa] * (1 - tx) + v[yb, xb] * tx
    return np.asarray(top * (1 - ty) + bottom * ty)


CASES = [
    Case(
        "convolve", "filters.cl", "convolve", (40, 24), (8, 8),
        lambda r: [
            floats(r, 24, 40), np.zeros((24, 40), F), floats(r, 25), S(2), S(40), S(24),
        ],
        writes(convolve, 1), EXACT, family="convolution",
    ),
    Case(
        "blur_rows", "filters.cl", "blur_rows", (60, 10), (20, 1),
        lambda r: [floats(r, 10, 60), np.zeros((10, 60), F), S(60), Local(96)],
        writes(blur_rows, 1), EXACT, family="separable filter",
    ),
    Case(
        "blur_columns", "filters.cl", "blur_columns", (12, 30), (4, 5),
        lambda r: [floats(r, 30, 48), np.zeros((30, 48), F), S(30)],
        writes(blur_columns, 1), EXACT, family="separable filter",
    ),
    Case(
        "sobel", "filters.cl", "sobel", (50, 34), (10, 2),
        lambda r: [r.integers(0, 256, (34, 50), U8), np.zeros((34, 50), U8), S(50), S(34)],
        writes(sobel, 1), EXACT, family="sobel",
    ),
    Case(
        "median_3x3", "filters.cl", "median_3x3", (35, 21), (7, 3),
        lambda r: [r.integers(0, 256, (23, 37), U8), np.zeros((21, 35), U8)],
        writes(median, 1), EXACT, family="median",
    ),
    Case(
        # The exponent is at most 2.5 in magnitude with 4 roundings, exp has 3 units, 25 terms of
        # either sign; inputs are in [1, 2), so that the quotient is too.
        "bilateral", "filters.cl", "bilateral", (20, 16), (4, 4),
        lambda r: [r.random((16, 20)).astype(F) + F(1), np.zeros((16, 20), F), F(0.2), F(1.5)],
        writes(bilateral, 1), within(2 * (25 + 2 * 3 + 4 * 3.1 * 2 + 5) * UNIT),
        family="bilateral",
    ),
    Case(
        "rgba_to_yuv", "filters.cl", "rgba_to_yuv", (16, 12), (8, 4),
        lambda r: [
            r.integers(0, 256, (24, 32, 4), U8), np.zeros((24, 32), U8),
            np.zeros((12, 16, 2), U8),
        ],
        writes(yuv, 1, 2), EXACT, family="colour",
    ),
    Case(
        # Coordinates up to 40 are within 3 * 40 units; values are below 1 and differ by up to 2.
        "resample", "filters.cl", "resample", (25, 15), (5, 5),
        lambda r: [
            floats(r, 24, 40), np.zeros((15, 25), F), S(40), S(24),
            Vector(np.array([1.6, 1.5875], F)),
        ],
        writes(resample, 1), within(0, (4 * 3 * 40 + 12) * UNIT), family="interpolation",
    ),
]  # fmt: skip
