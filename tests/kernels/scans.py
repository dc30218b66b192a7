"""Reductions and scans."""

from typing import Any

import numpy as np

from tests.kernels.blas import floats, halved
from tests.kernels.cases import EXACT, Array, Case, Local, writes

S = np.int32


def integers(random: np.random.Generator, *shape: int) -> Array:
    return random.integers(-1000, 1000, shape, S)


def loaded_pairs(values: Array, width: int) -> Array:
    """The sums of each group's two stretches of `width` elements."""
    pairs = values.reshape(-1, 2, width, *values.shape[1:])
    return np.asarray(pairs[:, 0] + pairs[:, 1])


def by_vectors(values: Array, *_: Any) -> Array:
    sums = loaded_pairs(values.reshape(-1, 4), 32)
    x, y, z, w = halved(np.moveaxis(sums, 1, 2)).T
    return np.asarray((x + y) + (z + w))


def two_stage(values: Array, n: int, _partial: Array, ended: Array, _out: Array) -> Any:
    items = np.zeros(-(-int(n) // 512) * 512, np.uint32)
    items[:n] = values[:n]
    partial = items.reshape(-1, 8, 64).sum((0, 2), dtype=np.uint32)
    total = partial.sum(dtype=np.uint32, keepdims=True)
    return partial, ended + np.uint32(8), total


def inclusive(values: Array, *_: Any) -> tuple[Array, Array]:
    sums = np.cumsum(values.reshape(-1, 64), 1, dtype=S)
    return sums.ravel(), sums[:, -1]


def exclusive(values: Array, *_: Any) -> tuple[Array, Array]:
    groups = values.reshape(-1, 64)
    sums = np.cumsum(groups, 1, dtype=S)
    return (sums - groups).ravel(), sums[:, -1]


def segmented(values: Array, starts: Array, _: Array) -> Array:
    result = values.copy()
    for i in range(1, values.size):
        if i % 64 and not starts[i]:
            result[i] += result[i - 1]
    return result


CASES = [
    Case(
        "reduce_interleaved", "scans.cl", "reduce_interleaved", (512,), (64,),
        lambda r: [integers(r, 512), np.zeros(8, S), Local(256)],
        writes(lambda x, *_: x.reshape(8, 64).sum(1, dtype=S), 1), EXACT, family="reduction",
    ),
    Case(
        "reduce_strided", "scans.cl", "reduce_strided", (512,), (64,),
        lambda r: [integers(r, 512), np.zeros(8, S), Local(256)],
        writes(lambda x, *_: x.reshape(8, 64).max(1), 1), EXACT, family="reduction",
    ),
    Case(
        "reduce_sequential", "scans.cl", "reduce_sequential", (256,), (32,),
        lambda r: [floats(r, 512), np.zeros(8, np.float32), Local(128)],
        writes(lambda x, *_: halved(loaded_pairs(x, 32)), 1), EXACT, family="reduction",
    ),
    Case(
        "reduce_float4", "scans.cl", "reduce_float4", (128,), (32,),
        lambda r: [floats(r, 1024), np.zeros(4, np.float32), Local(512)],
        writes(by_vectors, 1), EXACT, family="reduction",
    ),
    Case(
        "reduce_two_stage", "scans.cl", "reduce_two_stage", (512,), (64,),
        lambda r: [
            r.integers(0, 2**32, 2000, np.uint32), np.uint32(1990), np.zeros(8, np.uint32),
            np.zeros(1, np.uint32), np.zeros(1, np.uint32),
        ],
        writes(two_stage, 2, 3, 4), EXACT, family="reduction",
    ),
    Case(
        "scan_hillis_steele", "scans.cl", "scan_hillis_steele", (256,), (64,),
        lambda r: [integers(r, 256), np.zeros(256, S), np.zeros(4, S), Local(256), Local(256)],
        writes(inclusive, 1, 2), EXACT, family="scan",
    ),
    Case(
        "scan_blelloch", "scans.cl", "scan_blelloch", (128,), (32,),
        lambda r: [integers(r, 256), np.zeros(256, S), np.zeros(4, S), Local(4 * 68)],
        writes(exclusive, 1, 2), EXACT, family="scan",
    ),
    Case(
        "scan_segmented", "scans.cl", "scan_segmented", (256,), (64,),
        lambda r: [
            integers(r, 256), (r.random(256) < 0.1).astype(np.uint8), np.zeros(256, S),
        ],
        writes(segmented, 2), EXACT, family="scan",
    ),
    Case(
        "add_group_offsets", "scans.cl", "add_group_offsets", (250,), (25,),
        lambda r: [integers(r, 250), integers(r, 10)],
        writes(lambda x, y: x + np.repeat(y, 25), 0), EXACT, family="scan",
    ),
]  # fmt: skip
