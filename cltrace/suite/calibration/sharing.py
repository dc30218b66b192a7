"""Probes of contention: banks of local memory, and atomics on the same address."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Probe, ProbeLimits, powers

_BANKS: Final = """
__kernel void banked(__global float *out, int stride) {
    __local float kept[2048];
    int mine = get_local_id(0);
    kept[mine] = mine; kept[mine + 1024] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int t = 0; t < 128; ++t) sum += kept[(mine * stride + t) & 2047];
    out[get_global_id(0)] = sum;
}
"""
_ATOMICS: Final = """
__kernel void global_add(__global int *counters, __global int *out, int mask) {
    int i = get_global_id(0);
    atomic_add(&counters[(i * 33) & mask], 1);
}
__kernel void local_add(__global int *counters, __global int *out, int mask) {
    __local int kept[1024];
    int mine = get_local_id(0);
    for (int k = mine; k < 1024; k += get_local_size(0)) kept[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; t < 16; ++t) atomic_add(&kept[(mine + t * 7) & mask], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = kept[mine];
}
"""


def local_banks(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads of local memory at equal distances."""
    items = 1 << (13 if limits.is_cpu else 20)
    for stride in (0, 1, 2, 3, 4, 8, 16, 32):
        inputs = (BufferInput(4 * items), np.int32(stride))
        work = Workload(_BANKS, "banked", (items,), (limits.usual_group(),), inputs)
        yield Probe("local", stride, work)


def atomics(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield atomic additions by the number of counters."""
    items = 1 << (14 if limits.is_cpu else 20)
    for kernel, max_exponent in (("global_add", 20), ("local_add", 8)):
        for counters in powers(0, max_exponent, 2):
            inputs = (
                BufferInput(4 << 20, lambda: np.zeros(1, np.int32)),
                BufferInput(4 * items),
                np.int32(counters - 1),
            )
            work = Workload(_ATOMICS, kernel, (items,), (limits.usual_group(),), inputs)
            yield Probe(kernel.replace("_", " "), counters, work)
