"""Local-memory benchmarks: a product of matrices by tiles, and sums of work-groups."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.benchmarks import (
    Arrays,
    Benchmark,
    BenchmarkBuffer,
    BenchmarkKind,
    BenchmarkLaunch,
    RateLimit,
)
from cltrace.suite.score.fills import GROUP, numbers, zeros

_SIDE: Final = 1024
_TILE: Final = 16
_PRODUCT: Final = f"""
__kernel void product(__global const float *a, __global const float *b, __global float *c) {{
    __local float ta[{_TILE}][{_TILE}], tb[{_TILE}][{_TILE}];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    float sum = 0;
    for (int base = 0; base < {_SIDE}; base += {_TILE}) {{
        ta[ly][lx] = a[y * {_SIDE} + base + lx];
        tb[ly][lx] = b[(base + ly) * {_SIDE} + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < {_TILE}; ++k) sum += ta[ly][k] * tb[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    c[y * {_SIDE} + x] = sum;
}}
"""
_PRODUCT_C: Final = f"""
void run(void **buffers, long items) {{
    const float *a = buffers[0], *b = buffers[1];
    float *c = buffers[2];
    for (long y = 0; y < {_SIDE}; ++y) {{
        for (long x = 0; x < {_SIDE}; ++x) c[y * {_SIDE} + x] = 0;
        for (long k = 0; k < {_SIDE}; ++k) {{
            float left = a[y * {_SIDE} + k];
            for (long x = 0; x < {_SIDE}; ++x) c[y * {_SIDE} + x] += left * b[k * {_SIDE} + x];
        }}
    }}
}}
"""
_VALUES: Final = 1 << 24
_SUMS: Final = f"""
__kernel void sums(__global const uint *values, __global uint *sums) {{
    __local uint part[{GROUP}];
    size_t i = get_local_id(0);
    part[i] = values[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_of = {GROUP // 2}; half_of > 0; half_of >>= 1) {{
        if (i < half_of) part[i] += part[i + half_of];
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    if (i == 0) sums[get_group_id(0)] = part[0];
}}
"""
_SUMS_C: Final = f"""
void run(void **buffers, long items) {{
    const unsigned *values = buffers[0];
    unsigned *sums = buffers[1];
    for (long g = 0; g < items / {GROUP}; ++g) {{
        unsigned sum = 0;
        for (int i = 0; i < {GROUP}; ++i) sum += values[g * {GROUP} + i];
        sums[g] = sum;
    }}
}}
"""


def _expected_product(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    left, right = (matrix.astype(np.float32).reshape(_SIDE, _SIDE) for matrix in before[:2])
    return {2: (left @ right).ravel()}


def _expected_sums(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    values = before[0].reshape(-1, GROUP)
    return {1: values.sum(axis=1, dtype=np.uint32)}


MATRIX_PRODUCT: Final = Benchmark(
    name="matrix product",
    kind=BenchmarkKind.LOCAL,
    about="1024 by 1024 floats, by tiles of 16 by 16 in local memory",
    source=_PRODUCT,
    buffers=(
        BenchmarkBuffer(numbers(_SIDE * _SIDE, 11)),
        BenchmarkBuffer(numbers(_SIDE * _SIDE, 12)),
        BenchmarkBuffer(zeros(_SIDE * _SIDE), is_output=True),
    ),
    steps=(BenchmarkLaunch("product", (_SIDE, _SIDE), (_TILE, _TILE), (0, 1, 2)),),
    items=_SIDE * _SIDE,
    reference=_expected_product,
    c_source=_PRODUCT_C,
    tolerance=1e-5,
    amounts={RateLimit.FLOPS: 2.0 * _SIDE**3},
)

SUMS: Final = Benchmark(
    name="sums of groups",
    kind=BenchmarkKind.LOCAL,
    about="16 million integers summed by work-groups of 256, a barrier after each halving, eight times",
    source=_SUMS,
    buffers=(
        BenchmarkBuffer(
            lambda: np.random.default_rng(13).integers(0, 1 << 24, _VALUES, dtype=np.uint32)
        ),
        BenchmarkBuffer(zeros(_VALUES // GROUP), is_output=True),
    ),
    steps=(BenchmarkLaunch("sums", (_VALUES,), (GROUP,), (0, 1)),),
    items=_VALUES,
    reference=_expected_sums,
    c_source=_SUMS_C,
    repeats=8,
    amounts={RateLimit.MEMORY_BYTES: 4.0 * _VALUES},
)
