"""Stencils and image filters: neighbours on grids of two and three dimensions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.evaluation.cases import Arrays, Case, Scale

_EDGE: Final = """
#define AT(a, x, y) a[clamp((int)(y), 0, h - 1) * w + clamp((int)(x), 0, w - 1)]
"""
_FIVE: Final = """
__kernel void five(__global const float *in, __global float *out) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    float v = in[y * w + x];
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
        v += 0.1f * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]
                     - 4.0f * v);
    out[y * w + x] = v;
}
"""
_SEVEN: Final = """
__kernel void seven(__global const float *in, __global float *out, int depth) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    int plane = w * h, at = y * w + x;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) return;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < depth - 1; ++z) {
        at += plane;
        float above = in[at + plane];
        float around = in[at - 1] + in[at + 1] + in[at - w] + in[at + w];
        out[at] = 0.4f * here + 0.1f * (below + above + around);
        below = here;
        here = above;
    }
}
"""
_CONVOLUTION: Final = (
    _EDGE
    + """
__kernel void convolve(__global const float *in, __global float *out, __constant float *weights) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    float sum = 0;
    for (int j = -3; j <= 3; ++j)
        for (int i = -3; i <= 3; ++i) sum += AT(in, x + i, y + j) * weights[(j + 3) * 7 + i + 3];
    out[y * w + x] = sum;
}
"""
)
_SOBEL: Final = (
    _EDGE
    + """
__kernel void sobel(__global const uchar *in, __global uchar *out) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    int a = AT(in, x - 1, y - 1), b = AT(in, x, y - 1), c = AT(in, x + 1, y - 1);
    int d = AT(in, x - 1, y), f = AT(in, x + 1, y);
    int g = AT(in, x - 1, y + 1), e = AT(in, x, y + 1), k = AT(in, x + 1, y + 1);
    int across = c + 2 * f + k - a - 2 * d - g, down = g + 2 * e + k - a - 2 * b - c;
    out[y * w + x] = (uchar)min((int)(abs(across) + abs(down)), 255);
}
"""
)
_MEDIAN: Final = (
    _EDGE
    + """
#define ORDER(i, j) { float low = fmin(v[i], v[j]); v[j] = fmax(v[i], v[j]); v[i] = low; }
__kernel void median(__global const float *in, __global float *out) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    float v[9];
    for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) v[j * 3 + i] = AT(in, x + i - 1, y + j - 1);
    ORDER(1, 2) ORDER(4, 5) ORDER(7, 8) ORDER(0, 1) ORDER(3, 4) ORDER(6, 7)
    ORDER(1, 2) ORDER(4, 5) ORDER(7, 8) ORDER(0, 3) ORDER(5, 8) ORDER(4, 7)
    ORDER(3, 6) ORDER(1, 4) ORDER(2, 5) ORDER(4, 7) ORDER(4, 2) ORDER(6, 4) ORDER(4, 2)
    out[y * w + x] = v[4];
}
"""
)
_BLUR: Final = """
__kernel void columns(__global const float *in, __global float *out, int radius) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    float sum = 0;
    for (int j = -radius; j <= radius; ++j) sum += in[((y + j + h) % h) * w + x];
    out[y * w + x] = sum / (2 * radius + 1);
}
"""


def five_points(scale: Scale) -> Iterator[Case]:
    """Yield a step of the heat equation on a plane."""

    def step(grid: NDArray[np.float32]) -> NDArray[np.generic]:
        out = grid.copy()
        middle = grid[1:-1, 1:-1]
        around = grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1]
        out[1:-1, 1:-1] = middle + np.float32(0.1) * (around - 4 * middle)
        return out

    yield _plane(scale, "five-point stencil", _FIVE, "five", step)


def seven_points(scale: Scale) -> Iterator[Case]:
    """Yield a step of the heat equation in a box. Work-items walk along its depth."""
    width, height, depth = scale.side, scale.height, 16
    buffer = BufferInput(4 * width * height * depth)

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        grid = b[0].reshape(depth, height, width).astype(np.float64)
        out = b[1].reshape(depth, height, width).astype(np.float64)
        inner = slice(1, -1)
        around = sum(np.roll(grid, by, axis) for axis in range(3) for by in (1, -1))
        out[inner, inner, inner] = (0.4 * grid + 0.1 * around)[inner, inner, inner]
        return {1: out}

    inputs = (buffer, buffer, np.int32(depth))
    work = Workload(_SEVEN, "seven", (width, height), scale.tile, inputs)
    yield Case("seven-point stencil", "seven", work, reference)


def convolution(scale: Scale) -> Iterator[Case]:
    """Yield a convolution with seven by seven weights."""

    def convolve(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        grid = np.pad(b[0].reshape(scale.height, scale.side).astype(np.float64), 3, mode="edge")
        weights = b[2][:49].reshape(7, 7)
        total = sum(
            weights[j, i] * grid[j : j + scale.height, i : i + scale.side]
            for j in range(7)
            for i in range(7)
        )
        return {1: np.asarray(total)}

    buffer = BufferInput(4 * scale.side * scale.height)
    inputs = (buffer, buffer, BufferInput(4 * 49))
    sizes = (scale.side, scale.height)
    work = Workload(_CONVOLUTION, "convolve", sizes, scale.tile, inputs)
    yield Case("convolution", "seven by seven", work, convolve)


def sobel(scale: Scale) -> Iterator[Case]:
    """Yield an edge filter on an image of bytes."""

    def edges(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        bytes_ = b[0].view(np.uint8)[: scale.side * scale.height]
        grid = np.pad(bytes_.reshape(scale.height, scale.side).astype(np.int64), 1, mode="edge")
        h, w = scale.height, scale.side
        part = {(j, i): grid[j : j + h, i : i + w] for j in range(3) for i in range(3)}
        across = part[0, 2] + 2 * part[1, 2] + part[2, 2] - part[0, 0] - 2 * part[1, 0] - part[2, 0]
        down = part[2, 0] + 2 * part[2, 1] + part[2, 2] - part[0, 0] - 2 * part[0, 1] - part[0, 2]
        return {1: np.minimum(abs(across) + abs(down), 255).astype(np.uint8)}

    buffer = BufferInput(scale.side * scale.height)
    sizes = (scale.side, scale.height)
    work = Workload(_SOBEL, "sobel", sizes, scale.tile, (buffer, buffer))
    yield Case("edges", "sobel", work, edges)


def median(scale: Scale) -> Iterator[Case]:
    """Yield the median of nine neighbours, by a network of comparisons."""

    def of_nine(grid: NDArray[np.float32]) -> NDArray[np.generic]:
        padded = np.pad(grid, 1, mode="edge")
        h, w = grid.shape
        parts = [padded[j : j + h, i : i + w] for j in range(3) for i in range(3)]
        return np.median(np.stack(parts), axis=0)

    yield _plane(scale, "median", _MEDIAN, "median", of_nine)


def blur(scale: Scale) -> Iterator[Case]:
    """Yield the mean of 17 neighbours along columns, with periodic edges."""

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        grid = b[0].reshape(scale.height, scale.side).astype(np.float64)
        return {1: np.mean([np.roll(grid, by, 0) for by in range(-8, 9)], axis=0)}

    buffer = BufferInput(4 * scale.side * scale.height)
    inputs = (buffer, buffer, np.int32(8))
    work = Workload(_BLUR, "columns", (scale.side, scale.height), scale.tile, inputs)
    yield Case("blur", "columns", work, reference)


def _plane(
    scale: Scale,
    family: str,
    source: str,
    kernel: str,
    step: Callable[[NDArray[np.float32]], NDArray[np.generic]],
) -> Case:
    """Return a case that computes a grid of floats from another."""

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {1: step(b[0].reshape(scale.height, scale.side))}

    buffer = BufferInput(4 * scale.side * scale.height)
    sizes = (scale.side, scale.height)
    return Case(
        family, kernel, Workload(source, kernel, sizes, scale.tile, (buffer, buffer)), reference
    )
