"""Probes of a CPU that runs work-items one after another: operations, predicted branches and others."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Probe, ProbeLimits

_BRANCHES: Final = """
__kernel void branches(__global const int *in, __global int *out, int trips) {
    int mine = get_global_id(0), sum = 0;
    for (int t = 0; t < trips; ++t) {
        if (in[mine * trips + t] > 0) {
            sum += t * 3 + 1;
            out[mine] = sum;
        }
    }
    out[mine] = sum;
}
"""
_OPERATIONS: Final = """
__kernel void items(__global int *out, int trips) {
    int mine = get_global_id(0), a = mine, b = 3, c = 5, d = 7;
    float x = mine, y = 1;
    for (int t = 0; t < trips; ++t) {
        a = a * 5 + t;
        b ^= a >> 3;
        c += b & 255;
        if (t == mine) out[mine] = d;
        d = c > a ? d - b : d + 1;
        x = x * 0.5f + y;
        y -= 0.25f;
    }
    out[mine] = a + b + c + d + (int)(x + y);
}
"""
_GUARD: Final = """
__kernel void guarded(__global const float *in, __global float *out, float f, int count) {{
    int i = get_global_id(0);
    {guard}out[i] = in[i] * f;
}}
"""
_TRIPS: Final = 64
_ITEM_TRIPS: Final = (64, 1024)
_ITEMS: Final = 1 << 11
_SEED: Final = 20_261_128


def items(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield a loop with operations of several kinds, which keep a processor busy together."""
    if not limits.is_cpu:
        return
    count = _ITEMS * limits.compute_units
    for trips in _ITEM_TRIPS:
        inputs = (BufferInput(4 * count), np.int32(trips))
        work = Workload(_OPERATIONS, "items", (count,), (limits.usual_group(64),), inputs)
        yield Probe("item operation", trips, work)


def guards(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield a store of vectors, and one that a condition guards which always holds."""
    if not limits.is_cpu:
        return
    count = _fitting(64 * _ITEMS * limits.compute_units, 4, limits)
    buffer = BufferInput(4 * count)
    for conditions, guard in enumerate(("", "if (i < count) ")):
        inputs = (buffer, buffer, np.float32(3), np.int32(count))
        source = _GUARD.format(guard=guard)
        work = Workload(source, "guarded", (count,), (limits.usual_group(),), inputs)
        yield Probe("masked store", conditions, work)


def branches(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield a loop with a condition that holds half of the time: in one long run, and at random."""
    if not limits.is_cpu:
        return
    items = _fitting(_ITEMS * limits.compute_units, 4 * _TRIPS, limits)
    chosen: tuple[tuple[float, Callable[[], NDArray[np.int32]]], ...] = (
        (0.0, lambda: np.sort(_drawn(items * _TRIPS))),
        (0.5, lambda: _drawn(items * _TRIPS)),
    )
    for share, contents in chosen:
        inputs = (
            BufferInput(4 * items * _TRIPS, contents),
            BufferInput(4 * items),
            np.int32(_TRIPS),
        )
        work = Workload(_BRANCHES, "branches", (items,), (limits.usual_group(64),), inputs)
        yield Probe("misprediction", share, work)


def _fitting(items: int, item_bytes: int, limits: ProbeLimits) -> int:
    """Return a number of work-items whose buffer fits, in whole work-groups."""
    group = limits.usual_group()
    return max(min(items, limits.max_buffer_bytes // item_bytes) // group, 1) * group


def _drawn(count: int) -> NDArray[np.int32]:
    return np.random.default_rng(_SEED).integers(0, 2, count, np.int32)
