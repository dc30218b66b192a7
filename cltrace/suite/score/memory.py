"""Memory benchmarks: streams, rows and columns, dependent addresses, and random addresses."""

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

_N: Final = 1 << 24
_TRIAD: Final = """
__kernel void triad(__global const float *b, __global const float *c, __global float *a) {
    size_t i = get_global_id(0);
    a[i] = b[i] + 3.0f * c[i];
}
"""
_TRIAD_C: Final = """
void run(void **buffers, long items) {
    const float *b = buffers[0], *c = buffers[1];
    float *a = buffers[2];
    for (long i = 0; i < items; ++i) a[i] = b[i] + 3.0f * c[i];
}
"""
_SIDE: Final = 4096
_TRANSPOSE: Final = """
__kernel void transpose(__global const float *in, __global float *out) {
    size_t x = get_global_id(0), y = get_global_id(1);
    out[x * get_global_size(1) + y] = in[y * get_global_size(0) + x];
}
"""
_TRANSPOSE_C: Final = f"""
void run(void **buffers, long items) {{
    const float *in = buffers[0];
    float *out = buffers[1];
    for (long y = 0; y < {_SIDE}; ++y)
        for (long x = 0; x < {_SIDE}; ++x) out[x * {_SIDE} + y] = in[y * {_SIDE} + x];
}}
"""
_HOPS: Final = 1 << 20
_SPACING: Final = 64
"""Links are 256 B apart, and each is followed once per run: they fill 64 MiB of lines of 64 bytes."""
_CHASE: Final = f"""
__kernel void chase(__global const uint *next, __global uint *last) {{
    uint at = get_global_id(0);
    for (int n = 1; n < {_HOPS}; ++n) at = next[at];
    last[get_global_id(0)] = at;
}}
"""
_CHASE_C: Final = f"""
void run(void **buffers, long items) {{
    const unsigned *next = buffers[0];
    unsigned *last = buffers[1];
    unsigned at = 0;
    for (int n = 1; n < {_HOPS}; ++n) at = next[at];
    last[0] = at;
}}
"""
_GATHER: Final = """
__kernel void gather(__global const uint *at, __global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[at[i]];
}
"""
_TOUCHED: Final = 0.63
"""Share of a table that as many random addresses as elements touch, 1 - 1/e."""
_GATHER_C: Final = """
void run(void **buffers, long items) {
    const unsigned *at = buffers[0];
    const float *in = buffers[1];
    float *out = buffers[2];
    for (long i = 0; i < items; ++i) out[i] = in[at[i]];
}
"""


def _links() -> NDArray[np.uint32]:
    """Return one cycle through all links in random order, from the first."""
    order = np.random.default_rng(5).permutation(_HOPS).astype(np.uint32) * np.uint32(_SPACING)
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    links = np.zeros(_HOPS * _SPACING, np.uint32)
    links[order] = np.roll(order, -1)
    return links


def _expected_end(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    following, at = before[0], 0
    for _n in range(1, _HOPS):
        at = int(following[at])
    return {1: np.array([at], np.uint32)}


def _expected_triad(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    b, c = (vector.astype(np.float32, copy=False) for vector in before[:2])
    return {2: b + np.float32(3) * c}


def _expected_transpose(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    rows = before[0].reshape(_SIDE, _SIDE)
    return {1: np.ascontiguousarray(rows.T).ravel()}


def _expected_gather(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    at, values = before[:2]
    return {2: values[at]}


TRIAD: Final = Benchmark(
    name="triad",
    kind=BenchmarkKind.BANDWIDTH,
    about="a = b + 3 c with 16 million floats, eight times",
    source=_TRIAD,
    buffers=(
        BenchmarkBuffer(numbers(_N, 2)),
        BenchmarkBuffer(numbers(_N, 3)),
        BenchmarkBuffer(zeros(_N), is_output=True),
    ),
    steps=(BenchmarkLaunch("triad", (_N,), (GROUP,), (0, 1, 2)),),
    items=_N,
    reference=_expected_triad,
    c_source=_TRIAD_C,
    tolerance=1e-6,
    repeats=8,
    amounts={RateLimit.MEMORY_BYTES: 12.0 * _N},
)

TRANSPOSITION: Final = Benchmark(
    name="transposition",
    kind=BenchmarkKind.BANDWIDTH,
    about="a matrix of 4096 by 4096 floats, rows read and columns written, four times",
    source=_TRANSPOSE,
    buffers=(
        BenchmarkBuffer(numbers(_SIDE * _SIDE, 4)),
        BenchmarkBuffer(zeros(_SIDE * _SIDE), is_output=True),
    ),
    steps=(BenchmarkLaunch("transpose", (_SIDE, _SIDE), (16, 16), (0, 1)),),
    items=_SIDE * _SIDE,
    reference=_expected_transpose,
    c_source=_TRANSPOSE_C,
    repeats=4,
    amounts={RateLimit.MEMORY_BYTES: 8.0 * _SIDE * _SIDE},
)

CHASE: Final = Benchmark(
    name="pointer chase",
    kind=BenchmarkKind.LATENCY,
    about="one work-item follows a million links through 256 MiB, each once",
    source=_CHASE,
    buffers=(BenchmarkBuffer(_links), BenchmarkBuffer(zeros(1), is_output=True)),
    steps=(BenchmarkLaunch("chase", (1,), (1,), (0, 1)),),
    items=1,
    reference=_expected_end,
    c_source=_CHASE_C,
)

GATHER: Final = Benchmark(
    name="gather",
    kind=BenchmarkKind.LATENCY,
    about="16 million floats read at random addresses of 64 MiB, four times",
    source=_GATHER,
    buffers=(
        BenchmarkBuffer(lambda: np.random.default_rng(6).integers(0, _N, _N, dtype=np.uint32)),
        BenchmarkBuffer(numbers(_N, 7)),
        BenchmarkBuffer(zeros(_N), is_output=True),
    ),
    steps=(BenchmarkLaunch("gather", (_N,), (GROUP,), (0, 1, 2)),),
    items=_N,
    reference=_expected_gather,
    c_source=_GATHER_C,
    repeats=4,
    amounts={RateLimit.MEMORY_BYTES: (4 + 4 * _TOUCHED + 4) * _N},
)
