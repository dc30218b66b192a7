"""What work-items pay for sharing: banks of local memory, and atomics that meet."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Probe, Room, powers

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


def local_banks(room: Room) -> Iterator[Probe]:
    """Reads of local memory at equal distances."""
    items = 1 << (13 if room.is_cpu else 20)
    for stride in (0, 1, 2, 3, 4, 8, 16, 32):
        inputs = (BufferInput(4 * items), np.int32(stride))
        work = Workload(_BANKS, "banked", (items,), (room.usual_group(),), inputs)
        yield Probe("local", stride, work)


def atomics(room: Room) -> Iterator[Probe]:
    """Atomic additions by the number of counters that they go to."""
    items = 1 << (14 if room.is_cpu else 20)
    for kernel, most in (("global_add", 20), ("local_add", 8)):
        for counters in powers(0, most, 2):
            inputs = (
                BufferInput(4 << 20, lambda: np.zeros(1, np.int32)),
                BufferInput(4 * items),
                np.int32(counters - 1),
            )
            work = Workload(_ATOMICS, kernel, (items,), (room.usual_group(),), inputs)
            yield Probe(kernel.replace("_", " "), counters, work)
