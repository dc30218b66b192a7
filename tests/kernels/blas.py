"""Vectors, matrices by vectors, products, transposes."""

from typing import Any

import numpy as np

from tests.kernels.cases import EXACT, Argument, Array, Case, Local, Vector, within, writes

F = np.float32
CONTRACTED = "it contracts products and sums in the last work-items despite FP_CONTRACT OFF"


def floats(random: np.random.Generator, *shape: int) -> Array:
    """Floats of [-1, 1)."""
    return (random.random(shape) * 2 - 1).astype(F)


def products(a: Array, b: Array) -> Array:
    """The matrix product as one loop over k in the matrices' own type."""
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k]
    return total


def halved(values: Array) -> Array:
    """The last axis summed as a tree: the upper half onto the lower half."""
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = values[..., :half] + values[..., half:]
    return values[..., 0]


def strided(values: Array, items: int) -> Array:
    """Sums of each work-item of a grid-stride loop."""
    rows = -(-values.size // items)
    padded = np.zeros(rows * items, values.dtype)
    padded[: values.size] = values
    total = np.zeros(items, values.dtype)
    for row in padded.reshape(rows, items):
        total = total + row
    return total


def rotated(x: Array, incx: int, y: Array, incy: int, cs: Vector) -> tuple[Array, Array]:
    c, s = cs.values
    n = 300
    x, y = x.copy(), y.copy()
    a, b = x[: n * incx : incx].copy(), y[: n * incy : incy].copy()
    x[: n * incx : incx] = c * a + s * b
    y[: n * incy : incy] = c * b - s * a
    return x, y


def largest(x: Array, n: int, *_: Any) -> tuple[Array, Array]:
    groups, width = 4, 64
    padded = np.full(-(-n // (groups * width)) * groups * width, -1, F)
    padded[:n] = np.abs(x)
    members = np.arange(padded.size).reshape(-1, groups, width).swapaxes(0, 1).reshape(groups, -1)
    members.sort(axis=1)
    at = np.argmax(padded[members], axis=1)
    places = members[np.arange(groups), at]
    return padded[places], places.astype(np.uint32)


def axpy_arguments(random: np.random.Generator) -> list[Argument]:
    return [F(1.7), floats(random, 1024), floats(random, 1024), np.int32(1000)]


def saxpy(a: np.float32, x: Array, y: Array, n: int) -> Array:
    return np.where(np.arange(y.size) < n, a * x + y, y)


def gemv_row(a: Array, x: Array, y: Array, *scalars: Any) -> Array:
    rows, columns, alpha, beta = scalars
    product = products(a.reshape(rows, columns), x.reshape(-1, 1))[:, 0]
    return np.asarray(alpha * product + beta * y[:rows])


def gemv_group(a: Array, x: Array, _y: Array, columns: int) -> Array:
    rows = a.reshape(-1, columns)
    sums = np.stack([strided(row * x, 32) for row in rows])
    total = np.zeros(len(rows), F)
    for column in sums.T:
        total = total + column
    return total


def product_arguments(m: int, n: int, k: int, *scalars: int, dtype: Any = F) -> Any:
    def arguments(random: np.random.Generator) -> list[Argument]:
        a, b = (floats(random, *shape).astype(dtype) for shape in ((m, k), (k, n)))
        return [a, b, np.zeros((m, n), dtype), *map(np.int32, scalars)]

    return arguments


def product(a: Array, b: Array, *_: Any) -> Array:
    return products(a, b)


def transposed(source: Array, *_: Any) -> Array:
    return np.ascontiguousarray(source.T)


CASES = [
    Case(
        "saxpy", "blas.cl", "saxpy", (1024,), (64,), axpy_arguments, writes(saxpy, 2), EXACT,
        family="blas",
    ),
    Case(
        "daxpy4", "blas.cl", "daxpy4", (96,), None,
        lambda r: [np.float64(0.3), r.random(384), r.random(384)],
        writes(lambda a, x, y: y + a * x, 2), EXACT, family="blas",
    ),
    Case(
        "rotate_vectors", "blas.cl", "rotate_vectors", (300,), (30,),
        lambda r: [
            floats(r, 600), np.int32(2), floats(r, 900), np.int32(3),
            Vector(np.array([0.6, 0.8], F)),
        ],
        writes(rotated, 0, 2), EXACT, family="blas",
    ),
    Case(
        "index_of_largest", "blas.cl", "index_of_largest", (256,), (64,),
        lambda r: [
            np.round(floats(r, 1500) * 50).astype(F), np.uint32(1500), np.zeros(4, F),
            np.zeros(4, np.uint32), Local(256), Local(256),
        ],
        writes(largest, 2, 3), EXACT, family="blas",
    ),
    Case(
        "dot_partial", "blas.cl", "dot_partial", (256,), (64,),
        lambda r: [floats(r, 1500), floats(r, 1500), np.zeros(4, F), Local(256), np.int32(1500)],
        writes(lambda x, y, *_: halved(strided(x * y, 256).reshape(4, 64)), 2), EXACT,
        family="reduction",
    ),
    Case(
        "gemv_row", "blas.cl", "gemv_row", (112,), (16,),
        lambda r: [
            floats(r, 100 * 37), floats(r, 37), floats(r, 100), np.int32(100), np.int32(37),
            F(1.5), F(-0.25),
        ],
        writes(gemv_row, 2), EXACT, family="gemv", intel_wrong=CONTRACTED,
    ),
    Case(
        "gemv_column", "blas.cl", "gemv_column", (96,), (16,),
        lambda r: [
            floats(r, 41, 90), floats(r, 41), np.zeros(90, F), np.int32(90), np.int32(41),
            Local(64),
        ],
        writes(lambda a, x, *_: products(np.asarray(a.T), x.reshape(-1, 1))[:, 0], 2), EXACT,
        family="gemv",
    ),
    Case(
        "gemv_group", "blas.cl", "gemv_group", (640,), (32,),
        lambda r: [floats(r, 20 * 77), floats(r, 77), np.zeros(20, F), np.uint32(77)],
        writes(gemv_group, 2), EXACT, family="gemv",
    ),
    Case(
        "rank_one_update", "blas.cl", "rank_one_update", (36, 20), (6, 5),
        lambda r: [r.random((20, 36)), r.random(20), r.random(36), np.float64(-0.7)],
        writes(lambda a, x, y, alpha: a + (alpha * x)[:, None] * y, 0), EXACT, family="blas",
    ),
    Case(
        "matmul_naive", "matmul.cl", "matmul_naive", (32, 24), (8, 4),
        product_arguments(21, 30, 17, 21, 30, 17), writes(product, 2), EXACT, family="matmul",
    ),
    Case(
        "matmul_tiled", "matmul.cl", "matmul_tiled", (32, 24), (8, 8),
        product_arguments(21, 30, 19, 21, 30, 19), writes(product, 2), EXACT, family="matmul",
    ),
    Case(
        "matmul_tiled_by_option", "matmul.cl", "matmul_tiled", (20, 15), (5, 5),
        product_arguments(12, 18, 20, 12, 18, 20), writes(product, 2), EXACT, "-DTILE=5",
        family="matmul",
    ),
    Case(
        "matmul_blocked", "matmul.cl", "matmul_blocked", (8, 6), (4, 3),
        product_arguments(24, 32, 40, 8, 40), writes(product, 2), EXACT, family="matmul",
    ),
    Case(
        "matmul_double", "matmul.cl", "matmul_double", (15, 12), (3, 4),
        product_arguments(12, 15, 33, 33, dtype=np.float64), writes(product, 2),
        within(0, 34 * 2.0**-53 * 33), family="matmul",
    ),
    Case(
        "transpose_naive", "matmul.cl", "transpose_naive", (48, 32), (16, 4),
        lambda r: [floats(r, 29, 45), np.zeros((45, 29), F), np.int32(45), np.int32(29)],
        writes(transposed, 1), EXACT, family="transpose",
    ),
    Case(
        "transpose_tiled", "matmul.cl", "transpose_tiled", (48, 32), (8, 8),
        lambda r: [
            r.integers(-999, 999, (29, 45), np.int32), np.zeros((45, 29), np.int32), np.int32(45),
            np.int32(29), Local(256),
        ],
        writes(transposed, 1), EXACT, family="transpose",
    ),
    Case(
        "transpose_padded", "matmul.cl", "transpose_padded", (48, 8), (16, 4),
        lambda r: [
            r.integers(0, 256, (32, 48), np.uint8), np.zeros((48, 32), np.uint8), np.int32(48),
            np.int32(32),
        ],
        writes(transposed, 1), EXACT, family="transpose",
    ),
]  # fmt: skip
