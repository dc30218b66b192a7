"""Arithmetic benchmarks: chains of multiply-adds, and pi by points of a linear recurrence."""

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
from cltrace.suite.score.fills import GROUP, numbers, parts, zeros

_CHAINS: Final = 1 << 22
_STEPS: Final = 1024
_FACTOR: Final = np.float32(0.999)
_ADDEND: Final = np.float32(0.001)
_MULTIPLY_ADDS: Final = """
__kernel void chains(__global float *x) {
    size_t i = get_global_id(0);
    float a = x[i], b = a + 0.25f, c = a + 0.5f, d = a + 0.75f;
    for (int n = 0; n < 256; ++n) {
        a = fma(a, 0.999f, 0.001f);
        b = fma(b, 0.999f, 0.001f);
        c = fma(c, 0.999f, 0.001f);
        d = fma(d, 0.999f, 0.001f);
    }
    x[i] = (a + b) + (c + d);
}
"""
_MULTIPLY_ADDS_C: Final = """
void run(void **buffers, long items) {
    float *x = buffers[0];
    for (long i = 0; i < items; ++i) {
        float a = x[i], b = a + 0.25f, c = a + 0.5f, d = a + 0.75f;
        for (int n = 0; n < 256; ++n) {
            a = a * 0.999f + 0.001f;
            b = b * 0.999f + 0.001f;
            c = c * 0.999f + 0.001f;
            d = d * 0.999f + 0.001f;
        }
        x[i] = (a + b) + (c + d);
    }
}
"""

_THROW_ITEMS: Final = 1 << 19
_ITEM_THROWS: Final = 512
_SEED: Final = 1987
_DRAW: Final = """
#define NEXT(s) ((s) * 1103515245u + 12345u)
#define BITS(s, n) (((s) >> 16) & ((1u << (n)) - 1u))
"""
_PI: Final = f"""{_DRAW}
uint draw(uint *s) {{
    uint found = BITS(*s = NEXT(*s), 11);
    found = found << 10 ^ BITS(*s = NEXT(*s), 10);
    return found << 10 ^ BITS(*s = NEXT(*s), 10);
}}
__kernel void throw_points(__global uint *inside) {{
    size_t i = get_global_id(0);
    uint state = {_SEED}u ^ (uint)(27 * i), hits = 0;
    for (int n = 0; n < {_ITEM_THROWS}; ++n) {{
        uint x = draw(&state) >> 16, y = draw(&state) >> 16;
        hits += x * x + y * y < (1u << 30);
    }}
    inside[i] = hits;
}}
"""
_PI_C: Final = f"""{_DRAW}
typedef unsigned int uint;
static inline uint draw(uint *s) {{
    *s = NEXT(*s); uint found = BITS(*s, 11);
    *s = NEXT(*s); found = found << 10 ^ BITS(*s, 10);
    *s = NEXT(*s); return found << 10 ^ BITS(*s, 10);
}}
void run(void **buffers, long items) {{
    uint *inside = buffers[0];
    for (long i = 0; i < items; ++i) {{
        uint state = {_SEED}u ^ (uint)(27 * i), hits = 0;
        for (int n = 0; n < {_ITEM_THROWS}; ++n) {{
            uint x = draw(&state) >> 16, y = draw(&state) >> 16;
            hits += x * x + y * y < (1u << 30);
        }}
        inside[i] = hits;
    }}
}}
"""
_POINT_OPERATIONS: Final = 5 * 2 + 2 * 3 + 5
"""Lower bound per point: a multiplication and an addition for each of five states, as the last draw of a
number is shifted out; two shifts and a selection of bits per number; squares, sum, test and count."""


def _expected_chains(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    x = before[0].astype(np.float32, copy=False)
    return {0: np.concatenate([_run_chains(x[part]) for part in parts(_CHAINS)])}


def _run_chains(x: NDArray[np.float32]) -> NDArray[np.float32]:
    chains = np.stack([x, x + np.float32(0.25), x + np.float32(0.5), x + np.float32(0.75)])
    for _ in range(_STEPS // 4):
        chains *= _FACTOR
        chains += _ADDEND
    a, b, c, d = chains
    return np.asarray((a + b) + (c + d))


def _expected_hits(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
    return {0: np.concatenate([_count_hits(part) for part in parts(_THROW_ITEMS)])}


def _count_hits(part: slice) -> NDArray[np.uint32]:
    items = np.arange(part.start, part.stop, dtype=np.uint32)
    state = np.uint32(_SEED) ^ (np.uint32(27) * items)
    hits = np.zeros(len(items), np.uint32)

    def draw() -> NDArray[np.uint32]:
        nonlocal state
        number = np.zeros(len(items), np.uint32)
        for bits in (11, 10, 10):
            state = state * np.uint32(1103515245) + np.uint32(12345)
            number = number << np.uint32(10) ^ (state >> np.uint32(16)) & np.uint32((1 << bits) - 1)
        return number

    for _n in range(_ITEM_THROWS):
        x, y = draw() >> np.uint32(16), draw() >> np.uint32(16)
        hits += x * x + y * y < np.uint32(1 << 30)
    return hits


MULTIPLY_ADDS: Final = Benchmark(
    name="multiply-adds",
    kind=BenchmarkKind.COMPUTE,
    about="4 million work-items, four chains of 256 multiply-adds each",
    source=_MULTIPLY_ADDS,
    buffers=(BenchmarkBuffer(numbers(_CHAINS, 1), is_output=True),),
    steps=(BenchmarkLaunch("chains", (_CHAINS,), (GROUP,), (0,)),),
    items=_CHAINS,
    reference=_expected_chains,
    c_source=_MULTIPLY_ADDS_C,
    tolerance=1e-5,
    amounts={RateLimit.FLOPS: 2.0 * _CHAINS * _STEPS, RateLimit.MEMORY_BYTES: 8.0 * _CHAINS},
)

MONTE_CARLO_PI: Final = Benchmark(
    name="MonteCarloPi",
    kind=BenchmarkKind.COMPUTE,
    about="268 million points by a recurrence of 32 bits, counted in the quarter of a circle",
    source=_PI,
    buffers=(BenchmarkBuffer(zeros(_THROW_ITEMS), is_output=True),),
    steps=(BenchmarkLaunch("throw_points", (_THROW_ITEMS,), (GROUP,), (0,)),),
    items=_THROW_ITEMS,
    reference=_expected_hits,
    c_source=_PI_C,
    amounts={RateLimit.INTEGER_OPS: float(_POINT_OPERATIONS * _THROW_ITEMS * _ITEM_THROWS)},
)
