"""Control-flow benchmarks: divergent lanes, a search that ends early, and contended counters."""

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
from cltrace.suite.score.fills import GROUP, parts, zeros

_NUMBERS: Final = 1 << 21
_FIRST: Final = 1 << 27
_COLLATZ: Final = f"""
__kernel void steps_to_one(__global uint *steps) {{
    size_t i = get_global_id(0);
    ulong n = i + {_FIRST}ul;
    uint count = 0;
    while (n != 1) {{
        if (n & 1) n = 3 * n + 1;
        else n >>= 1;
        ++count;
    }}
    steps[i] = count;
}}
"""
_COLLATZ_C: Final = f"""
void run(void **buffers, long items) {{
    unsigned *steps = buffers[0];
    for (long i = 0; i < items; ++i) {{
        unsigned long n = i + {_FIRST}ul;
        unsigned count = 0;
        while (n != 1) {{
            if (n & 1) n = 3 * n + 1;
            else n >>= 1;
            ++count;
        }}
        steps[i] = count;
    }}
}}
"""

_TEXT: Final = 10_000_000
_NEEDLE: Final = 1_000
_NEEDLES: Final = 4
_PLACES: Final = (1_234_567, 3_333_333, 7_654_321, _TEXT - _NEEDLE)
_MATCH: Final = f"""
__kernel void match(__global const uchar *text, __global const uchar *needles, __global uint *found) {{
    uint at = get_global_id(0);
    if (at > {_TEXT - _NEEDLE}u) return;
    for (int w = 0; w < {_NEEDLES}; ++w) {{
        __global const uchar *needle = needles + w * {_NEEDLE};
        int n = 0;
        while (n < {_NEEDLE} && text[at + n] == needle[n]) ++n;
        if (n == {_NEEDLE}) atomic_min(&found[w], at);
    }}
}}
"""
_MATCH_C: Final = f"""
void run(void **buffers, long items) {{
    const unsigned char *text = buffers[0], *needles = buffers[1];
    unsigned *found = buffers[2];
    for (int w = 0; w < {_NEEDLES}; ++w) {{
        const unsigned char *needle = needles + w * {_NEEDLE};
        for (unsigned at = 0; at <= {_TEXT - _NEEDLE}u; ++at) {{
            int n = 0;
            while (n < {_NEEDLE} && text[at + n] == needle[n]) ++n;
            if (n == {_NEEDLE} && at < found[w]) found[w] = at;
        }}
    }}
}}
"""

_VALUES: Final = 1 << 24
_BINS: Final = 256
_HISTOGRAM: Final = f"""
__kernel void histogram(__global const uint *values, __global uint *bins) {{
    atomic_inc(&bins[values[get_global_id(0)] % {_BINS}]);
}}
"""
_HISTOGRAM_C: Final = f"""
void run(void **buffers, long items) {{
    const unsigned *values = buffers[0];
    unsigned *bins = buffers[1];
    for (long i = 0; i < items; ++i) ++bins[values[i] % {_BINS}];
}}
"""


def _expected_steps(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
    return {0: np.concatenate([_count_steps(part) for part in parts(_NUMBERS)])}


def _count_steps(part: slice) -> NDArray[np.uint32]:
    n = np.arange(part.start, part.stop, dtype=np.uint64) + np.uint64(_FIRST)
    steps = np.zeros(len(n), np.uint32)
    unfinished = np.arange(len(n))
    while len(unfinished):
        values = n[unfinished]
        is_odd = values & np.uint64(1)
        values = np.where(is_odd, np.uint64(3) * values + np.uint64(1), values >> np.uint64(1))
        n[unfinished] = values
        steps[unfinished] += np.uint32(1)
        unfinished = unfinished[values != 1]
    return steps


def _text() -> NDArray[np.uint8]:
    """Return a text of two letters, with many partial matches, and the needles at their places."""
    chooser = np.random.default_rng(8)
    text = chooser.integers(97, 99, _TEXT, dtype=np.uint8)
    for needle, place in zip(_needles().reshape(_NEEDLES, _NEEDLE), _PLACES, strict=True):
        text[place : place + _NEEDLE] = needle
    return text


def _needles() -> NDArray[np.uint8]:
    return np.random.default_rng(9).integers(97, 99, _NEEDLES * _NEEDLE, dtype=np.uint8)


def _expected_places(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    text = before[0].tobytes()
    needles = before[1].reshape(_NEEDLES, _NEEDLE)
    return {2: np.array([text.find(needle.tobytes()) for needle in needles], np.uint32)}


def _expected_bins(before: Arrays) -> Mapping[int, NDArray[np.generic]]:
    values = before[0].astype(np.uint32) % np.uint32(_BINS)
    return {1: np.bincount(values, minlength=_BINS).astype(np.uint32)}


COLLATZ: Final = Benchmark(
    name="Collatz",
    kind=BenchmarkKind.DIVERGENCE,
    about="steps to 1 of 2 million numbers: each lane another branch, another number of trips",
    source=_COLLATZ,
    buffers=(BenchmarkBuffer(zeros(_NUMBERS), is_output=True),),
    steps=(BenchmarkLaunch("steps_to_one", (_NUMBERS,), (GROUP,), (0,)),),
    items=_NUMBERS,
    reference=_expected_steps,
    c_source=_COLLATZ_C,
)

STRING_MATCH: Final = Benchmark(
    name="StringMatch",
    kind=BenchmarkKind.DIVERGENCE,
    about="the first places of four needles of 1,000 letters in 10 million, letter by letter, four times",
    source=_MATCH,
    buffers=(
        BenchmarkBuffer(_text),
        BenchmarkBuffer(_needles),
        BenchmarkBuffer(lambda: np.full(_NEEDLES, 0xFFFFFFFF, np.uint32), is_output=True),
    ),
    steps=(BenchmarkLaunch("match", (-(-_TEXT // GROUP) * GROUP,), (GROUP,), (0, 1, 2)),),
    items=_TEXT,
    reference=_expected_places,
    c_source=_MATCH_C,
    repeats=4,
    amounts={RateLimit.MEMORY_BYTES: float(_TEXT)},
)

HISTOGRAM: Final = Benchmark(
    name="histogram",
    kind=BenchmarkKind.ATOMICS,
    about="16 million values counted in 256 bins of global memory",
    source=_HISTOGRAM,
    buffers=(
        BenchmarkBuffer(
            lambda: np.random.default_rng(10).integers(0, 1 << 32, _VALUES, dtype=np.uint32)
        ),
        BenchmarkBuffer(zeros(_BINS), is_output=True),
    ),
    steps=(BenchmarkLaunch("histogram", (_VALUES,), (GROUP,), (0, 1)),),
    items=_VALUES,
    reference=_expected_bins,
    c_source=_HISTOGRAM_C,
    amounts={RateLimit.MEMORY_BYTES: 4.0 * _VALUES},
)
