"""Probes of memory accesses, repeated for long, at each level of the hierarchy."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import ProbeLimits
from cltrace.suite.energy.probes import LANE_GUARDS, EnergyProbe, Group

_READ: Final = """
__kernel void reading(__global const {type} *in, __global float *out, uint mask, int trips) {{
    uint i = get_global_id(0);
    {type} sum = 0;
    for (int t = 0; t < trips; ++t) {{
        sum += in[i & mask];
        i += get_global_size(0);
    }}
    out[get_global_id(0)] = {total};
}}
"""
_WRITE: Final = """
__kernel void writing(__global float4 *to, float value, uint mask, int trips) {
    uint i = get_global_id(0);
    for (int t = 0; t < trips; ++t) {
        to[i & mask] = value * (float)(i & 255);
        i += get_global_size(0);
    }
}
"""
_COPY: Final = """
__kernel void copying(__global const float4 *in, __global float4 *to, int trips) {
    uint i = get_global_id(0);
    for (int t = 0; t < trips; ++t) {
        to[i] = in[i];
        i += get_global_size(0);
    }
}
"""
_OWN: Final = """
__kernel void own(__global const {type} *in, __global float *out, uint stride, int trips) {{
    uint base = get_group_id(0) * {kept}u, mine = get_local_id(0) * stride;
    {type} sum = 0;
    {guard}for (int t = 0; t < trips; ++t) sum += in[base + ((mine + t * 37u) & {kept_mask}u)];
    out[get_global_id(0)] = {total};
}}
"""
_SAME: Final = """
__kernel void same(__global const float *in, __global float *out, int trips) {
    float sum = get_global_id(0);
    for (int t = 0; t < trips; ++t) sum += in[t & 1023];
    out[get_global_id(0)] = sum;
}
"""
_CONSTANT: Final = """
__kernel void constants(__constant float *in, __global float *out, int trips) {
    float sum = get_global_id(0);
    for (int t = 0; t < trips; ++t) sum += in[t & 1023];
    out[get_global_id(0)] = sum;
}
"""
_GATHER: Final = """
__kernel void gathering(__global const float *in, __global float *out, uint mask, int trips) {
    uint at = get_global_id(0);
    float sum = 0;
    for (int t = 0; t < trips; ++t) {
        at = at * 1664525u + 1013904223u;
        sum += in[(at ^ (at >> 13)) & mask];
    }
    out[get_global_id(0)] = sum;
}
"""
_TOTALS: Final = {"float": "sum", "float4": "sum.x + sum.y + sum.z + sum.w"}
_WIDTHS: Final = {"float": 4, "float4": 16}
_LOCAL: Final = """
__kernel void local_reading(__global float *out, int trips) {
    __local float kept[1024];
    uint mine = get_local_id(0);
    for (uint k = mine; k < 1024; k += get_local_size(0)) kept[k] = k * 0.37f;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int t = 0; t < trips; ++t) sum += kept[(mine + t * 32u) & 1023u];
    out[get_global_id(0)] = sum;
}
__kernel void local_writing(__global float *out, int trips) {
    __local float kept[1024];
    uint mine = get_local_id(0);
    for (int t = 0; t < trips; ++t) kept[(mine + t * 32u) & 1023u] = t * 0.37f + mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = kept[mine];
}
__kernel void barriers(__global float *out, int trips) {
    __local float kept[1024];
    uint mine = get_local_id(0);
    kept[mine] = mine;
    for (int t = 0; t < trips; ++t) barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = kept[mine];
}
__kernel void local_atomics(__global int *out, int trips) {
    __local int kept[1024];
    uint mine = get_local_id(0);
    kept[mine] = 0;
    uint mask = get_local_size(0) - 1;
    for (int t = 0; t < trips; ++t) atomic_add(&kept[(mine + t * 32u) & mask], t);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = kept[mine];
}
"""
_ATOMIC: Final = """
__kernel void atomics(__global int *to, uint mask, int trips) {
    uint i = get_global_id(0);
    for (int t = 0; t < trips; ++t) {
        atomic_add(&to[i & mask], t);
        i += get_global_size(0);
    }
}
"""
_UNIT_ITEMS: Final = 2048
_FAR_BYTES: Final = 1 << 30
_NEAR_BYTES: Final = 16 << 20
_OWN_BYTES: Final = 16 << 10
"""Bytes that a work-group reads repeatedly: several work-groups fit into a near cache."""
_FAR_ON_CPU: Final = 256 << 20
_NEAR_ON_CPU: Final = 1 << 20


def memory_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield probes of each level by itself, on a full device.

    Data of memory probes is touched once, because caches would hold a part of data touched again.
    """
    near = _NEAR_ON_CPU if limits.is_cpu else _NEAR_BYTES

    def probe(name: str, make: Callable[[int], Workload], trips: int = 16) -> EnergyProbe:
        return EnergyProbe(name, Group.MEMORY, make, trips)

    yield probe("memory read", _reading(limits, "float4", None))
    yield probe("memory read by words", _reading(limits, "float", None))
    yield probe("memory write", _writing(limits, None))
    yield probe("memory copy", _copying(limits))
    yield probe("memory gather", _gathering(limits, _far_bytes(limits)))
    yield probe("shared cache read", _reading(limits, "float4", near), 64)
    yield probe("shared cache read by words", _reading(limits, "float", near), 64)
    yield probe("shared cache write", _writing(limits, near), 64)
    yield probe("shared cache gather", _gathering(limits, near))
    yield probe("own cache read", _own(limits, "float4", 1), 256)
    yield probe("own cache read by words", _own(limits, "float", 1), 256)
    yield probe("own cache read by 2 words", _own(limits, "float", 2), 256)
    yield probe("own cache read by 8 words", _own(limits, "float", 8), 128)
    yield probe("own cache read by 32 words", _own(limits, "float", 32), 64)
    yield probe("one address read", _same(limits, _SAME, "same"), 256)
    yield probe("constant read", _same(limits, _CONSTANT, "constants"), 256)
    for kernel, name in (
        ("local_reading", "local memory read"),
        ("local_writing", "local memory write"),
        ("barriers", "barrier"),
        ("local_atomics", "local atomic"),
    ):
        yield probe(name, _local(limits, kernel), 256)
    yield probe("atomic", _atomics(limits, near))


def lane_memory_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield reads of the near cache by some lanes of each warp, while the others are inactive."""
    for lanes, guard in LANE_GUARDS.items():
        make = _own(limits, "float", 1, guard)
        yield EnergyProbe(f"own cache read on {lanes}", Group.LANES, make, trips=256)


def _far_bytes(limits: ProbeLimits) -> int:
    largest = 1 << (limits.max_buffer_bytes.bit_length() - 1)
    return min(_FAR_ON_CPU if limits.is_cpu else _FAR_BYTES, largest)


def _items(limits: ProbeLimits) -> int:
    return limits.compute_units * _UNIT_ITEMS


def _single_pass_bytes(limits: ProbeLimits, width: int, trips: int) -> int:
    """Return the bytes of a buffer that is touched once, up to the largest buffer of the device."""
    touched = _items(limits) * width * trips
    size = 1 << max(touched - 1, 1).bit_length()
    return min(size, 1 << (limits.max_buffer_bytes.bit_length() - 1))


def _reading(limits: ProbeLimits, kind: str, size_bytes: int | None) -> Callable[[int], Workload]:
    items, width = _items(limits), _WIDTHS[kind]

    def make(trips: int) -> Workload:
        size = size_bytes or _single_pass_bytes(limits, width, trips)
        source = _READ.format(type=kind, total=_TOTALS[kind])
        inputs = (
            BufferInput(size),
            BufferInput(4 * items),
            np.uint32(size // width - 1),
            np.int32(trips),
        )
        return Workload(source, "reading", (items,), (limits.usual_group(),), inputs)

    return make


def _copying(limits: ProbeLimits) -> Callable[[int], Workload]:
    items = _items(limits)

    def make(trips: int) -> Workload:
        size = _single_pass_bytes(limits, 16, trips)
        buffer = BufferInput(size)
        inputs = (buffer, buffer, np.int32(min(trips, size // (16 * items))))
        return Workload(_COPY, "copying", (items,), (limits.usual_group(),), inputs)

    return make


def _writing(limits: ProbeLimits, size_bytes: int | None) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        size = size_bytes or _single_pass_bytes(limits, 16, trips)
        inputs = (
            BufferInput(size),
            np.float32(1.37),
            np.uint32(size // 16 - 1),
            np.int32(trips),
        )
        return Workload(_WRITE, "writing", (_items(limits),), (limits.usual_group(),), inputs)

    return make


def _gathering(limits: ProbeLimits, size_bytes: int) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        mask = np.uint32(size_bytes // 4 - 1)
        inputs = (BufferInput(size_bytes), BufferInput(4 * _items(limits)), mask, np.int32(trips))
        return Workload(_GATHER, "gathering", (_items(limits),), (limits.usual_group(),), inputs)

    return make


def _own(limits: ProbeLimits, kind: str, stride: int, guard: str = "") -> Callable[[int], Workload]:
    items, group = _items(limits), limits.usual_group()
    kept = _OWN_BYTES // _WIDTHS[kind]

    def make(trips: int) -> Workload:
        source = _OWN.format(
            type=kind, total=_TOTALS[kind], kept=kept, kept_mask=kept - 1, guard=guard
        )
        inputs = (
            BufferInput(_OWN_BYTES * (items // group)),
            BufferInput(4 * items),
            np.uint32(stride),
            np.int32(trips),
        )
        return Workload(source, "own", (items,), (group,), inputs)

    return make


def _same(limits: ProbeLimits, source: str, kernel: str) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        inputs = (BufferInput(4096), BufferInput(4 * _items(limits)), np.int32(trips))
        return Workload(source, kernel, (_items(limits),), (limits.usual_group(),), inputs)

    return make


def _local(limits: ProbeLimits, kernel: str) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        inputs = (BufferInput(4 * _items(limits)), np.int32(trips))
        return Workload(_LOCAL, kernel, (_items(limits),), (limits.usual_group(),), inputs)

    return make


def _atomics(limits: ProbeLimits, size_bytes: int) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        inputs = (BufferInput(size_bytes), np.uint32(size_bytes // 4 - 1), np.int32(trips))
        return Workload(_ATOMIC, "atomics", (_items(limits),), (limits.usual_group(),), inputs)

    return make
