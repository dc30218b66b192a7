"""Host traffic benchmarks: transfers in both directions, and launches with almost no work."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.benchmarks import (
    Arrays,
    Benchmark,
    BenchmarkBuffer,
    BenchmarkCopy,
    BenchmarkKind,
    BenchmarkLaunch,
    RateLimit,
)
from cltrace.suite.score.fills import GROUP, numbers, zeros

_FLOATS: Final = 1 << 24
_INVERT: Final = """
__kernel void invert(__global uint *x) { x[get_global_id(0)] ^= 0xffffffffu; }
"""
_INVERT_C: Final = """
void run(void **buffers, long items) {
    unsigned *x = buffers[0];
    for (long i = 0; i < items; ++i) x[i] ^= 0xffffffffu;
}
"""
_LAUNCHES: Final = 2048
_COUNT: Final = """
__kernel void count_one(__global uint *x) { x[get_global_id(0)] += 1; }
"""
_COUNT_C: Final = f"""
void run(void **buffers, long items) {{
    unsigned *x = buffers[0];
    for (int n = 0; n < {_LAUNCHES}; ++n) {{
        for (long i = 0; i < items; ++i) x[i] += 1;
        __asm__ volatile("" ::: "memory");
    }}
}}
"""


def _expected_counts(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    counts = before[0].astype(np.uint32)
    for _n in range(_LAUNCHES):
        counts += np.uint32(1)
    return {0: counts}


THERE_AND_BACK: Final = Benchmark(
    name="there and back",
    kind=BenchmarkKind.TRANSFERS,
    about="64 MiB written, each word inverted, 64 MiB read",
    source=_INVERT,
    buffers=(BenchmarkBuffer(numbers(_FLOATS, 14), is_output=True),),
    steps=(
        BenchmarkCopy(0, to_host=False),
        BenchmarkLaunch("invert", (_FLOATS,), (GROUP,), (0,)),
        BenchmarkCopy(0, to_host=True),
    ),
    items=_FLOATS,
    reference=lambda b: {0: b[0].view(np.uint32) ^ np.uint32(0xFFFFFFFF)},
    c_source=_INVERT_C,
    amounts={RateLimit.TRANSFERRED_BYTES: 8.0 * _FLOATS},
)

SMALL_LAUNCHES: Final = Benchmark(
    name="small launches",
    kind=BenchmarkKind.LAUNCHES,
    about="2,048 launches of 64 work-items, one after the other",
    source=_COUNT,
    buffers=(BenchmarkBuffer(zeros(64), is_output=True),),
    steps=(BenchmarkLaunch("count_one", (64,), (64,), (0,), times=_LAUNCHES),),
    items=64,
    reference=_expected_counts,
    c_source=_COUNT_C,
    amounts={RateLimit.LAUNCHES: float(_LAUNCHES)},
)
