"""Probes of launches and work-groups: overhead, dispatch, waves, occupancy, barriers."""

from collections.abc import Iterable, Iterator

import numpy as np

from cltrace.events.workloads import BufferInput, LocalInput, Workload
from cltrace.suite.calibration.inputs import ring
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits, powers

_EMPTY = "__kernel void empty(__global float *m) { size_t i = get_global_id(0); (void)i; }"
_DIVIDE = (
    "__kernel void divide(__global float *m) { size_t i = get_global_id(0); m[i] = 42.0f / m[i]; }"
)
_DEPENDENT_LOADS = """
__kernel void held(__global const int *next, __global int *out, __local int *kept, int trips) {
    int at = (((int)get_global_id(0) >> 5) * 33) & 262143;
    if (trips < 0) kept[get_local_id(0)] = at;
    for (int i = 0; i < trips; ++i) at = next[at];
    out[get_global_id(0)] = at;
}
"""
_WAVES = """
__kernel void written(__global const float *in, __global float *out) {
    out[get_global_id(0)] = 1.5f;
}
__kernel void from_rows(__global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i & ~(size_t)4095] + 1.5f;
}
__kernel void copied(__global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i] + 1.5f;
}
__kernel void unwritten(__global const float *in, __global float *out) {
    if (get_global_id(0) == 0xffffffffu) out[0] = 1.5f;
}
__kernel void converted(__global const float *in, __global float *out) {
    uint i = get_global_id(0);
    out[i] = (float)(i >> 7) + (float)(i ^ 0x155u);
}
__kernel void exchanged(__global const float *in, __global float *out) {
    __local uint kept[1024];
    uint i = get_global_id(0), mine = get_local_id(0);
    kept[mine] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = as_float(kept[mine ^ 1u]);
}
"""
_STEPS = """
__kernel void stepped(__global const float *in, __global float *out) {{
    uint i = get_global_id(0);
    float value = as_float((i & 0x7fffffu) | 0x3f800000u);
    {steps}
    out[i] = value;
}}
"""
_READS = """
__kernel void reads(__global const float *in, __global float *out, uint mask) {{
    uint i = get_global_id(0);
    out[i] = 1.5f{reads};
}}
"""
_WAITING = """
__kernel void waiting(__global float *m, __local float *kept, int trips) {
    int mine = get_local_id(0);
    float sum = m[get_global_id(0)];
    for (int i = 0; i < trips; ++i) {
        kept[mine] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum = kept[mine ^ 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    m[get_global_id(0)] = sum;
}
"""


def base(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield empty kernels by work-items."""
    group = limits.usual_group()
    for items in _sizes(limits, 10, 26, 22):
        yield Probe("empty", items, _single_buffer(_EMPTY, "empty", items, group, 4096))


def group_counts(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield empty kernels by work-groups, of different sizes."""
    for group in (32, 128, 1024):
        if group <= limits.max_group_items:
            for groups in powers(0 if limits.is_cpu else 6, _upper(limits, 20, 12), 2):
                work = _single_buffer(_EMPTY, "empty", group * groups, group, 4096)
                yield Probe(f"groups of {group}", groups, work)


def group_sizes(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield a division by each element, by work-group size. Two runs restore the values.

    Sizes of one item more than a power of two, and between two of them, show how many work-items of
    a group run at once. The number of work-items is the largest multiple of the group.
    """
    max_items = 1 << _upper(limits, 20, 16)
    above = [size + 1 for size in powers(4, 9)]
    between = [3 * size for size in powers(3, 8)]
    for group in sorted([*powers(0, 10), *above, *between]):
        if group <= limits.max_group_items:
            items = max_items // group * group
            work = _single_buffer(_DIVIDE, "divide", items, group, 4 * items)
            yield Probe("m[i] = 42 / m[i]", group, work)


def waves(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield short work-groups in many waves, by their size: the time between consecutive groups."""
    sizes = (16, 20) if limits.is_cpu else (22, 24, 26)
    for exponent in sizes if limits.effort is Effort.FULL else sizes[:1]:
        items = 1 << exponent
        for kernel in ("written", "from_rows", "copied"):
            for group in powers(6, 10):
                yield from _wave(limits, kernel.replace("_", " "), _WAVES, kernel, items, group)
    yield from _short_groups(limits)


def _short_groups(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield short work-groups by the work that each of them does."""
    sizes = (16,) if limits.is_cpu else (22, 25)
    for exponent in sizes if limits.effort is Effort.FULL else sizes[:1]:
        items = 1 << exponent
        for group in powers(8, 10):
            for kernel in ("unwritten", "converted", "exchanged"):
                yield from _wave(limits, kernel, _WAVES, kernel, items, group)
            for steps in (8, 32, 128):
                lines = "".join(f"value = fma(value, 1.0001f, {n}.5f); " for n in range(steps))
                source = _STEPS.format(steps=lines)
                yield from _wave(limits, f"{steps} steps", source, "stepped", items, group)


def _wave(
    limits: ProbeLimits, name: str, source: str, kernel: str, items: int, group: int
) -> Iterator[Probe]:
    if group <= limits.max_group_items:
        buffers = (BufferInput(4 * items), BufferInput(4 * items))
        exponent = items.bit_length() - 1
        work = Workload(source, kernel, (items,), (group,), buffers)
        yield Probe(f"{name}, 2^{exponent}", group, work)


def reads(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield large work-groups with more and more independent reads, near ones and ones far apart."""
    items = 1 << (18 if limits.is_cpu else 24)
    group = limits.usual_group(1024)
    for count in powers(0, 5, 1 if limits.effort is Effort.FULL else 2):
        for name, step in (("near", 1), ("far", items // 32 + 4096)):
            source = _READS.format(
                reads="".join(f" + in[(i + {number * step}u) & mask]" for number in range(count))
            )
            inputs = (BufferInput(4 * items), BufferInput(4 * items), np.uint32(items - 1))
            yield Probe(name, count, Workload(source, "reads", (items,), (group,), inputs))


def occupancy(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield dependent loads, one address per warp, by the local memory of a work-group.

    Local memory limits the resident work-groups, and so the latency that they hide.
    """
    items = limits.compute_units * (4096 if not limits.is_cpu else 256)
    group = limits.usual_group(128)
    for local in (512, 4096, 8192, 12288, 16384, 24576, 32768, limits.local_bytes - 512):
        if limits.is_cpu and 512 < local < 32768:
            continue
        inputs = (
            BufferInput(1 << 20, ring(1 << 18)),
            BufferInput(4 * items),
            LocalInput(max(local, 4 * group)),
            np.int32(256),
        )
        work = Workload(_DEPENDENT_LOADS, "held", (items // group * group,), (group,), inputs)
        yield Probe("dependent loads", local, work)


def barriers(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield barriers by their number, for work-groups of different sizes."""
    items = 1 << _upper(limits, 20, 12)
    for group in (64, 256, 1024):
        if group <= limits.max_group_items:
            for trips in (8, 64):
                inputs = (BufferInput(4 * items), LocalInput(4 * group), np.int32(trips))
                work = Workload(_WAITING, "waiting", (items,), (group,), inputs)
                yield Probe(f"groups of {group}", 2 * trips, work)


def _sizes(limits: ProbeLimits, low: int, high: int, high_on_cpu: int) -> Iterable[int]:
    step = 1 if limits.effort is Effort.FULL else 4
    return powers(low, high_on_cpu if limits.is_cpu else high, step)


def _upper(limits: ProbeLimits, on_gpu: int, on_cpu: int) -> int:
    return on_cpu if limits.is_cpu else on_gpu


def _single_buffer(source: str, kernel: str, items: int, group: int, buffer_bytes: int) -> Workload:
    group = min(group, items)
    return Workload(source, kernel, (items,), (group,), (BufferInput(buffer_bytes),))
