"""Memory that is read and written for long: from each place that can hold it."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Room
from cltrace.suite.energy.probes import SOME_LANES, EnergyProbe, Group

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
"""What a work-group reads again and again: several of them fit into a near cache."""
_FAR_ON_CPU: Final = 256 << 20
_NEAR_ON_CPU: Final = 1 << 20


def memory_probes(room: Room) -> Iterator[EnergyProbe]:
    """Each place by itself, on a full device.

    What is to come from memory is touched once: of what is touched again caches would have a part.
    """
    near = _NEAR_ON_CPU if room.is_cpu else _NEAR_BYTES

    def probe(name: str, make: Callable[[int], Workload], trips: int = 16) -> EnergyProbe:
        return EnergyProbe(name, Group.MEMORY, make, trips)

    yield probe("memory read", _reading(room, "float4", None))
    yield probe("memory read by words", _reading(room, "float", None))
    yield probe("memory write", _writing(room, None))
    yield probe("memory copy", _copying(room))
    yield probe("memory gather", _gathering(room, _far_bytes(room)))
    yield probe("shared cache read", _reading(room, "float4", near), 64)
    yield probe("shared cache read by words", _reading(room, "float", near), 64)
    yield probe("shared cache write", _writing(room, near), 64)
    yield probe("shared cache gather", _gathering(room, near))
    yield probe("own cache read", _own(room, "float4", 1), 256)
    yield probe("own cache read by words", _own(room, "float", 1), 256)
    yield probe("own cache read by 2 words", _own(room, "float", 2), 256)
    yield probe("own cache read by 8 words", _own(room, "float", 8), 128)
    yield probe("own cache read by 32 words", _own(room, "float", 32), 64)
    yield probe("one address read", _same(room, _SAME, "same"), 256)
    yield probe("constant read", _same(room, _CONSTANT, "constants"), 256)
    for kernel, name in (
        ("local_reading", "local memory read"),
        ("local_writing", "local memory write"),
        ("barriers", "barrier"),
        ("local_atomics", "local atomic"),
    ):
        yield probe(name, _local(room, kernel), 256)
    yield probe("atomic", _atomics(room, near))


def lane_memory_probes(room: Room) -> Iterator[EnergyProbe]:
    """Words that some lanes of each warp read near by, while the others wait."""
    for lanes, guard in SOME_LANES.items():
        make = _own(room, "float", 1, guard)
        yield EnergyProbe(f"own cache read on {lanes}", Group.LANES, make, trips=256)


def _far_bytes(room: Room) -> int:
    most = room.most_buffer_bytes
    return min(_FAR_ON_CPU if room.is_cpu else _FAR_BYTES, 1 << (most.bit_length() - 1))


def _items(room: Room) -> int:
    return room.compute_units * _UNIT_ITEMS


def _once(room: Room, width: int, trips: int) -> int:
    """The bytes of a buffer of which each is touched once; no more than there are."""
    wanted = _items(room) * width * trips
    size = 1 << max(wanted - 1, 1).bit_length()
    return min(size, 1 << (room.most_buffer_bytes.bit_length() - 1))


def _reading(room: Room, kind: str, size_bytes: int | None) -> Callable[[int], Workload]:
    items, width = _items(room), _WIDTHS[kind]

    def make(trips: int) -> Workload:
        size = size_bytes or _once(room, width, trips)
        source = _READ.format(type=kind, total=_TOTALS[kind])
        inputs = (
            BufferInput(size), BufferInput(4 * items), np.uint32(size // width - 1),
            np.int32(trips),
        )  # fmt: skip
        return Workload(source, "reading", (items,), (room.usual_group(),), inputs)

    return make


def _copying(room: Room) -> Callable[[int], Workload]:
    items = _items(room)

    def make(trips: int) -> Workload:
        most = _once(room, 16, trips) // (16 * items)
        buffer = BufferInput(_once(room, 16, trips))
        inputs = (buffer, buffer, np.int32(min(trips, most)))
        return Workload(_COPY, "copying", (items,), (room.usual_group(),), inputs)

    return make


def _writing(room: Room, size_bytes: int | None) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        size = size_bytes or _once(room, 16, trips)
        inputs = (
            BufferInput(size), np.float32(1.37), np.uint32(size // 16 - 1), np.int32(trips),
        )  # fmt: skip
        return Workload(_WRITE, "writing", (_items(room),), (room.usual_group(),), inputs)

    return make


def _gathering(room: Room, size_bytes: int) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        mask = np.uint32(size_bytes // 4 - 1)
        inputs = (BufferInput(size_bytes), BufferInput(4 * _items(room)), mask, np.int32(trips))
        return Workload(_GATHER, "gathering", (_items(room),), (room.usual_group(),), inputs)

    return make


def _own(room: Room, kind: str, stride: int, guard: str = "") -> Callable[[int], Workload]:
    items, group = _items(room), room.usual_group()
    kept = _OWN_BYTES // _WIDTHS[kind]

    def make(trips: int) -> Workload:
        source = _OWN.format(
            type=kind, total=_TOTALS[kind], kept=kept, kept_mask=kept - 1, guard=guard
        )
        inputs = (
            BufferInput(_OWN_BYTES * (items // group)), BufferInput(4 * items),
            np.uint32(stride), np.int32(trips),
        )  # fmt: skip
        return Workload(source, "own", (items,), (group,), inputs)

    return make


def _same(room: Room, source: str, kernel: str) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        inputs = (BufferInput(4096), BufferInput(4 * _items(room)), np.int32(trips))
        return Workload(source, kernel, (_items(room),), (room.usual_group(),), inputs)

    return make


def _local(room: Room, kernel: str) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        inputs = (BufferInput(4 * _items(room)), np.int32(trips))
        return Workload(_LOCAL, kernel, (_items(room),), (room.usual_group(),), inputs)

    return make


def _atomics(room: Room, size_bytes: int) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        inputs = (BufferInput(size_bytes), np.uint32(size_bytes // 4 - 1), np.int32(trips))
        return Workload(_ATOMIC, "atomics", (_items(room),), (room.usual_group(),), inputs)

    return make
