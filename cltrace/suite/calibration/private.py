"""Probes of private arrays that are indexed at run time, which a device keeps in memory."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits

_READ: Final = """
__kernel void kept(__global float *out, uint step, int trips) {{
    float kept[{length}];
    uint i = get_global_id(0), at = i * step;
    for (int k = 0; k < {length}; ++k) kept[k] = i + k;
    float sum = 0;
    for (int t = 0; t < trips; ++t) {{ sum += kept[at & {length}u - 1u]; at += 5u; }}
    out[i] = sum;
}}
"""
_CHANGED: Final = """
__kernel void changed(__global float *out, uint step, int trips) {{
    float kept[{length}];
    uint i = get_global_id(0), at = i * step;
    for (int k = 0; k < {length}; ++k) kept[k] = i + k;
    for (int t = 0; t < trips; ++t) {{ kept[at & {length}u - 1u] += 1.5f; at += 5u; }}
    float sum = 0;
    for (int k = 0; k < {length}; ++k) sum += kept[k];
    out[i] = sum;
}}
"""
_MOVED: Final = """
__kernel void moved(__global int *data, int trips) {{
    __global int *own = data + get_global_id(0) * {length};
    int kept[{length}];
    for (int k = 0; k < {length}; ++k) kept[k] = own[k];
    for (int t = 0; t < trips; ++t)
        for (int k = 0; k < {length}; ++k) {{
            int other = k ^ (t & {length} - 1), low = kept[k], high = kept[other];
            kept[k] = min(low, high);
            kept[other] = max(low, high);
        }}
    for (int k = 0; k < {length}; ++k) own[k] = kept[k];
}}
"""
_WALK: Final = """
__kernel void walk(__global int *place, int trips) {
    int kept[64];
    for (int k = 0; k < 64; ++k) kept[k] = (k + 29) & 63;
    int at = place[0] & 63;
    for (int t = 0; t < trips; ++t) at = kept[at];
    place[0] = at;
}
"""
_LENGTHS: Final = (4, 16, 64, 256)
_TRIPS: Final = 64


def private(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads and changes of private arrays by their size, and a walk through one.

    The lanes of a warp index their arrays alike, or each in its own way. On a CPU such arrays are memory
    like any other.
    """
    if limits.is_cpu:
        return
    items, group = 1 << 19, limits.usual_group()
    lengths = _LENGTHS if limits.effort is Effort.FULL else _LENGTHS[1:3]
    for length in lengths:
        for kernel, template in (("kept", _READ), ("changed", _CHANGED)):
            source = template.format(length=length)
            for lanes, step in (("alike", 0), ("apart", 7)):
                inputs = (BufferInput(4 * items), np.uint32(step), np.int32(_TRIPS))
                work = Workload(source, kernel, (items,), (group,), inputs)
                yield Probe(f"{kernel}, lanes {lanes}", 4 * length, work)
    for length in lengths[:3]:
        data = (BufferInput(4 * items * length), np.int32(4))
        source = _MOVED.format(length=length)
        yield Probe("moved", 4 * length, Workload(source, "moved", (items,), (group,), data))
    begin = BufferInput(4, lambda: np.zeros(1, np.int32))
    yield Probe("walk", 256, Workload(_WALK, "walk", (1,), (1,), (begin, np.int32(16384))))
