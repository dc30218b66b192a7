"""Linear algebra: axpy, triad, matrix times vector, matrix products, transposition, sparse rows."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, LocalInput, Workload, WorkloadInput
from cltrace.suite.evaluation.cases import Arrays, Case, Scale

_VECTORS: Final = """
__kernel void axpy(__global const float *x, __global float *y, float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
__kernel void triad(__global const float4 *b, __global const float4 *c, __global float4 *a, float s) {
    size_t i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}
"""
_VECTOR_PRODUCTS: Final = """
__kernel void by_rows(__global const float *m, __global const float *v, __global float *out, int n) {
    size_t row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += m[row * n + k] * v[k];
    out[row] = sum;
}
__kernel void by_columns(__global const float *m, __global const float *v, __global float *out, int n) {
    size_t column = get_global_id(0), width = get_global_size(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += m[k * width + column] * v[k];
    out[column] = sum;
}
"""
_PRODUCTS: Final = """
__kernel void plain(__global const float *a, __global const float *b, __global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * width + x];
    c[y * width + x] = sum;
}
__kernel void tiled(__global const float *a, __global const float *b, __global float *c, int n,
                    __local float *ta, __local float *tb) {
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
    int lx = get_local_id(0), ly = get_local_id(1), t = get_local_size(0);
    float sum = 0;
    for (int base = 0; base < n; base += t) {
        ta[ly * t + lx] = a[y * n + base + lx];
        tb[ly * t + lx] = b[(base + ly) * width + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < t; ++k) sum += ta[ly * t + k] * tb[k * t + lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * width + x] = sum;
}
"""
_TRANSPOSES: Final = """
__kernel void plain(__global const float *in, __global float *out) {
    size_t x = get_global_id(0), y = get_global_id(1);
    out[x * get_global_size(1) + y] = in[y * get_global_size(0) + x];
}
__kernel void tiled(__global const float *in, __global float *out, __local float *tile) {
    size_t lx = get_local_id(0), ly = get_local_id(1), t = get_local_size(0);
    size_t x = get_global_id(0), y = get_global_id(1);
    tile[ly * (t + 1) + lx] = in[y * get_global_size(0) + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * t + lx;
    y = get_group_id(0) * t + ly;
    out[y * get_global_size(1) + x] = tile[lx * (t + 1) + ly];
}
"""
_SPARSE: Final = """
__kernel void rows(__global const int *begins, __global const int *columns, __global const float *values,
                   __global const float *x, __global float *y) {
    size_t row = get_global_id(0);
    float sum = 0;
    for (int k = begins[row]; k < begins[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}
"""
_ROW_ENTRIES: Final = 16


def vectors(scale: Scale) -> Iterator[Case]:
    """Yield sums of a vector and a scaled one, and a = b + s c of vectors of four floats."""
    n, group = scale.items, (scale.group_items,)
    buffer = BufferInput(4 * n)
    yield Case(
        "vectors",
        "axpy",
        Workload(_VECTORS, "axpy", (n,), group, (buffer, buffer, np.float32(1.5))),
        lambda b: {1: np.float32(1.5) * b[0] + b[1]},
    )
    if n // 4 >= scale.group_items:
        work = Workload(
            _VECTORS, "triad", (n // 4,), group, (buffer, buffer, buffer, np.float32(3))
        )
        yield Case("vectors", "triad", work, lambda b: {2: b[0] + np.float32(3) * b[1]})


def vector_products(scale: Scale) -> Iterator[Case]:
    """Yield a matrix with a fixed number of columns, or rows, times a vector."""
    rows, n = max(scale.items // 16, scale.group_items), 512
    inputs = (BufferInput(4 * rows * n), BufferInput(4 * n), BufferInput(4 * rows), np.int32(n))
    for kernel in ("by_rows", "by_columns"):

        def reference(b: Arrays, kernel: str = kernel) -> Mapping[int, NDArray[np.generic]]:
            matrix = b[0].reshape(rows, n) if kernel == "by_rows" else b[0].reshape(n, rows).T
            return {2: matrix.astype(np.float64) @ b[1]}

        work = Workload(_VECTOR_PRODUCTS, kernel, (rows,), (scale.group_items,), inputs)
        yield Case("matrix times vector", kernel, work, reference)


def products(scale: Scale) -> Iterator[Case]:
    """Yield products of matrices, plain and by tiles in local memory."""
    width, height, n = scale.side, scale.height, min(scale.side, 1024)
    inputs: tuple[WorkloadInput, ...] = (
        BufferInput(4 * height * n),
        BufferInput(4 * n * width),
        BufferInput(4 * height * width),
        np.int32(n),
    )

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        left, right = b[0].reshape(height, n), b[1].reshape(n, width)
        return {2: left.astype(np.float64) @ right.astype(np.float64)}

    tile = scale.tile
    plain = Workload(_PRODUCTS, "plain", (width, height), tile, inputs)
    yield Case("matrix product", "plain", plain, reference)
    if tile[0] == tile[1] and n % tile[0] == 0:
        local = LocalInput(4 * tile[0] * tile[0])
        tiled = Workload(_PRODUCTS, "tiled", (width, height), tile, (*inputs, local, local))
        yield Case("tiled matrix product", "tiled", tiled, reference)


def transposes(scale: Scale) -> Iterator[Case]:
    """Yield transpositions, plain and by tiles in local memory."""
    width, height, tile = scale.side, scale.height, scale.tile
    buffer = BufferInput(4 * width * height)

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {1: b[0].reshape(height, width).T}

    plain = Workload(_TRANSPOSES, "plain", (width, height), tile, (buffer, buffer))
    yield Case("transposition", "plain", plain, reference)
    if tile[0] == tile[1]:
        inputs = (buffer, buffer, LocalInput(4 * tile[0] * (tile[0] + 1)))
        tiled = Workload(_TRANSPOSES, "tiled", (width, height), tile, inputs)
        yield Case("transposition", "tiled", tiled, reference)


def sparse(scale: Scale) -> Iterator[Case]:
    """Yield a sparse matrix in compressed rows, 16 numbers per row on average, times a vector."""
    rows = max(scale.items // 4, scale.group_items)

    def begins() -> NDArray[np.int32]:
        lengths = np.random.default_rng(3).integers(0, 2 * _ROW_ENTRIES + 1, rows)
        lengths[1::2] = 2 * _ROW_ENTRIES - lengths[::2]
        offsets = np.zeros(rows + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        return offsets

    def columns() -> NDArray[np.int32]:
        return np.random.default_rng(4).integers(0, rows, rows * _ROW_ENTRIES, dtype=np.int32)

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        first, where = b[0].view(np.int32), b[1].view(np.int32)
        sums = np.concatenate([[0.0], np.cumsum(b[2].astype(np.float64) * b[3][where])])
        return {4: sums[first[1:]] - sums[first[:-1]]}

    entries = 4 * rows * _ROW_ENTRIES
    inputs = (
        BufferInput(4 * (rows + 1), begins),
        BufferInput(entries, columns),
        BufferInput(entries),
        BufferInput(4 * rows),
        BufferInput(4 * rows),
    )
    work = Workload(_SPARSE, "rows", (rows,), (scale.group_items,), inputs)
    yield Case("sparse rows", "rows", work, reference)
