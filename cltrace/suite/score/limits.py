"""Probes of a device's limits: launches that do one kind of work at the highest rate."""

from typing import Final

import numpy as np

from cltrace.events.benchmarks import (
    BenchmarkBuffer,
    BenchmarkCopy,
    BenchmarkLaunch,
    LimitProbe,
    RateLimit,
)
from cltrace.suite.score.fills import GROUP, zeros

_ITEMS: Final = 1 << 20
_TRIPS: Final = 256
_ARITHMETIC: Final = f"""
#define FOUR(f) f(a) f(b) f(c) f(d)
#define FLOATS(x) x = fma(x, 0.999f, 0.001f);
#define INTEGERS(x) x = x * x + 12345u;  // squares: a compiler cannot do several steps as one
#define MIXED(x) x = (x * x + 12345u) ^ 0x5a5au;  // a device may do both at once
#define CHAINS(name, type, step) \\
__kernel void name(__global type *out) {{ \\
    size_t i = get_global_id(0); \\
    type a = out[i], b = a + 1, c = a + 2, d = a + 3; \\
    for (int n = 0; n < {_TRIPS}; ++n) {{ FOUR(step) }} \\
    out[i] = (a + b) + (c + d); \\
}}
CHAINS(floats, float, FLOATS)
CHAINS(floats8, float8, FLOATS)
CHAINS(integers, uint, INTEGERS)
CHAINS(integers8, uint8, INTEGERS)
CHAINS(mixed, uint, MIXED)
CHAINS(mixed8, uint8, MIXED)
__kernel void copy(__global const float4 *in, __global float4 *out) {{
    size_t i = get_global_id(0);
    out[i] = in[i];
}}
__kernel void nothing(__global uint *x) {{ if (get_global_size(0) == 0) x[0] = 0; }}
"""
_WORDS: Final = 1 << 26
_EMPTY: Final = 4096
_MOVED: Final = 1 << 24


def _chains(limit: RateLimit, kernel: str, width: int, operations: int = 2) -> LimitProbe:
    """Return a probe of four chains per work-item, of `operations` per step, on vectors of `width`."""
    return LimitProbe(
        limit,
        _ARITHMETIC,
        (BenchmarkBuffer(zeros(8 * _ITEMS)),),
        (BenchmarkLaunch(kernel, (8 * _ITEMS // width,), (GROUP,), (0,)),),
        4.0 * operations * _TRIPS * 8 * _ITEMS,
    )


PROBES: Final = (
    _chains(RateLimit.FLOPS, "floats8", 8),
    _chains(RateLimit.FLOPS, "floats", 1),
    _chains(RateLimit.INTEGER_OPS, "integers8", 8),
    _chains(RateLimit.INTEGER_OPS, "integers", 1),
    _chains(RateLimit.INTEGER_OPS, "mixed8", 8, operations=3),
    _chains(RateLimit.INTEGER_OPS, "mixed", 1, operations=3),
    LimitProbe(
        RateLimit.MEMORY_BYTES,
        _ARITHMETIC,
        (BenchmarkBuffer(lambda: np.ones(_WORDS, np.float32)), BenchmarkBuffer(zeros(_WORDS))),
        (BenchmarkLaunch("copy", (_WORDS // 4,), (GROUP,), (0, 1), times=2),),
        8.0 * _WORDS * 2,
    ),
    LimitProbe(
        RateLimit.LAUNCHES,
        _ARITHMETIC,
        (BenchmarkBuffer(zeros(64)),),
        (BenchmarkLaunch("nothing", (64,), (64,), (0,), times=_EMPTY),),
        float(_EMPTY),
    ),
    LimitProbe(
        RateLimit.TRANSFERRED_BYTES,
        _ARITHMETIC,
        (BenchmarkBuffer(lambda: np.ones(_MOVED, np.float32)),),
        (BenchmarkCopy(0, to_host=False), BenchmarkCopy(0, to_host=True)),
        8.0 * _MOVED,
    ),
)
"""The memory probe copies 256 MiB, more than caches hold. The transfer probe uses pageable memory."""
