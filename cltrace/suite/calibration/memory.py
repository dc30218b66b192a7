"""Probes of memory: classes of access, strides, widths, working sets, random places, latencies."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.inputs import ring
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits, powers

_ACCESS: Final = """
__kernel void access(__global const float *in, __global float *out) {{
    size_t x = get_global_id(0);
    out[x] = {reads};
}}
"""
_LOCAL: Final = """
__kernel void local_access(__global float *out) {{
    __local float kept[1024];
    size_t x = get_global_id(0), l = get_local_id(0);
    kept[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[x] = kept[l ^ 1];
}}
"""
_SEVERAL: Final = """
__kernel void several(__global const float *m, __global float *out) {{
    size_t i = get_global_id(0);
    out[i] = 42.0f{reads};
}}
"""
_STRIDED: Final = """
__kernel void strided(__global const {type} *in, __global {type} *out, int stride, int mask) {{
    int i = get_global_id(0);
    {statement}
}}
"""
_STREAM: Final = """
__kernel void stream(__global const {type} *in, __global float *out, uint mask, int trips) {{
    uint i = get_global_id(0);
    float sum = 0;
    for (int t = 0; t < trips; ++t) {{
        {type} v = in[i & mask];
        sum += {first};
        i += get_global_size(0);
    }}
    out[get_global_id(0)] = sum;
}}
"""
_NEAR: Final = """
__kernel void near(__global const float *in, __global float *out, uint step, uint mask) {
    uint size = get_local_size(0), mine = get_local_id(0), block = get_group_id(0) * 16u;
    float sum = 0;
    for (uint t = 0; t < 16; ++t) {
        uint drawn = (block + t) * 2654435761u;
        drawn = (drawn ^ (drawn >> 15)) * 2246822519u;
        sum += in[((drawn >> 12) * size + mine) * step & mask];
    }
    out[get_global_id(0)] = sum;
}
"""
_SCATTERED: Final = """
__kernel void scattered(__global {const} float *from, __global {other} float *to, uint mask) {{
    uint i = get_global_id(0), at = i * 2654435761u;
    at = (at ^ (at >> 15)) * 2246822519u;
    at = (at ^ (at >> 13)) & mask;
    {statement}
}}
"""
_DRAWN: Final = """
__kernel void drawn(
    __global const float *in, __global float *out, uint lanes, uint apart, uint mask, int trips) {
    uint i = get_global_id(0), at = i / lanes * 2654435761u, place = i % lanes * apart + i / lanes & 31;
    float sum = 0;
    for (int t = 0; t < trips; ++t) {
        at = (at ^ (at >> 15)) * 2246822519u + t;
        sum += in[(at >> 7 << 5 & mask) + place];
    }
    out[i] = sum;
}
__kernel void scattered(__global float *to, uint mask, int trips) {
    uint i = get_global_id(0), at = i * 2654435761u;
    for (int t = 0; t < trips; ++t) {
        at = (at ^ (at >> 15)) * 2246822519u + t;
        to[(at >> 7 << 5 & mask) + (i & 31)] = t;
    }
}
"""
_CHASE: Final = """
__kernel void chase(__global const int *next, __global int *place, int trips) {
    int at = place[0];
    for (int t = 0; t < trips; ++t) at = next[at];
    place[0] = at;
}
"""
_LOCAL_CHASE: Final = """
__kernel void chase(__global const int *next, __global int *place, int trips) {
    __local int kept[64];
    for (int i = 0; i < 64; ++i) kept[i] = next[i];
    int at = place[0];
    for (int t = 0; t < trips; ++t) at = kept[at];
    place[0] = at;
}
"""
_ROWS: Final = """
__kernel void rows(__global const float *in, __global float *out, int length) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < length; ++k) sum += in[i * length + k];
    out[i] = sum;
}
__kernel void columns(__global const float *in, __global float *out, int length) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float sum = 0;
    for (int k = 0; k < length; ++k) sum += in[k * n + i];
    out[i] = sum;
}
__kernel void same(__global const float *in, __global float *out, int length) {
    float sum = get_global_id(0);
    for (int k = 0; k < length; ++k) sum += in[k];
    out[get_global_id(0)] = sum;
}
"""
_CLASSES: Final = {
    "constant": "in[0x3ff]",
    "interval": "in[x & 0x3ff]",
    "continuous": "in[x]",
    "interval and constant": "in[x & 0x3ff] + in[0x3ff]",
    "continuous and constant": "in[x] + in[0x3ff]",
    "the same twice": "in[x] + in[x]",
    "continuous and half": "in[x] + in[x >> 1]",
    "complex": "in[(((x >> 11) & 2047) * 1103515245u + (x & 2047) * 12345u) % get_global_size(0)]",
    "none": "1.0f",
}


def classes(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield accesses of the literature's classes, by elements."""
    for name, reads in _CLASSES.items():
        for items in _sizes(limits):
            source = _ACCESS.format(reads=reads)
            buffer = BufferInput(4 * max(items, 1024))
            yield Probe(name, items, _work(limits, source, "access", items, (buffer, buffer)))
    for items in _sizes(limits):
        work = _work(limits, _LOCAL.format(), "local_access", items, (BufferInput(4 * items),))
        yield Probe("local", items, work)


def several(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield kernels with several accesses, by their number."""
    items = 1 << (16 if limits.is_cpu else 20)
    for count in powers(0, 6, 2 if limits.effort is Effort.QUICK else 1):
        reads = "".join(f" + m[i + {k}]" for k in range(count))
        buffer = BufferInput(4 * (items + 64))
        source = _SEVERAL.format(reads=reads)
        yield Probe("neighbours", count, _work(limits, source, "several", items, (buffer, buffer)))


def strides(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads and writes at equal distances, of different widths. Wide strides waste sectors."""
    items = 1 << (18 if limits.is_cpu else 22)
    widths = {"uchar": 1, "float": 4, "float4": 16}
    for kind, width in widths.items():
        for stride in powers(0, 5):
            span = items * stride
            buffer, small = BufferInput(width * span), BufferInput(width * items)
            if width * span > limits.max_buffer_bytes:
                continue
            numbers = (np.int32(stride), np.int32(-1))
            read = _STRIDED.format(type=kind, statement="out[i] = in[i * stride];")
            write = _STRIDED.format(type=kind, statement="out[i * stride] = in[i];")
            read_work = _work(limits, read, "strided", items, (buffer, small, *numbers))
            yield Probe(f"read {kind}", stride, read_work)
            write_work = _work(limits, write, "strided", items, (small, buffer, *numbers))
            yield Probe(f"write {kind}", stride, write_work)


def banks(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads at equal distances within the near cache, which conflict in its banks."""
    items = 1 << (14 if limits.is_cpu else 20)
    statement = (
        "{type} sum = 0; for (int t = 0; t < 64; ++t)"
        " sum += in[(get_local_id(0) * stride + t) & mask]; out[i] = sum;"
    ).replace("{type}", "float")
    source = _STRIDED.format(type="float", statement=statement)
    for stride in (1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33):
        inputs = (BufferInput(1 << 15), BufferInput(4 * items), np.int32(stride), np.int32(8191))
        yield Probe("global", stride, _work(limits, source, "strided", items, inputs))


def working_sets(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield narrow and wide reads from more and more memory, each of all of it at least once."""
    items = limits.compute_units * (64 if limits.is_cpu else 2048)
    largest = _largest(limits)
    for kind, width in (("float", 4), ("float4", 16)):
        first = "v" if kind == "float" else "v.x + v.y + v.z + v.w"
        source = _STREAM.format(type=kind, first=first)
        for size in powers(14, largest, 4 if limits.effort is Effort.QUICK else 1):
            elements = size // width
            # Each run reads the whole buffer, so that a run leaves a working set of at least x.
            trips = -(-max(1 << (22 if limits.is_cpu else 27), size) // (items * width))
            inputs = (
                BufferInput(size),
                BufferInput(4 * items),
                np.uint32(elements - 1),
                np.int32(trips),
            )
            yield Probe(f"read {kind}", size, _work(limits, source, "stream", items, inputs))
    if limits.is_cpu:
        yield from _in_order(limits)


def _in_order(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield copies of more and more memory, in which each work-item follows the one before."""
    source = _STRIDED.format(type="float", statement="out[i] = in[i];")
    for size in powers(15, _largest(limits), 4 if limits.effort is Effort.QUICK else 1):
        items = size // 8
        buffer = BufferInput(4 * items)
        inputs = (buffer, buffer, np.int32(1), np.int32(-1))
        yield Probe("copied in order", size, _work(limits, source, "strided", items, inputs))


def near_sets(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads of blocks in random order, from about as much memory as the near cache holds.

    Each lane of a warp reads from its own line, and from its own bank.
    """
    items = 1 << (14 if limits.is_cpu else 22)
    for size in powers(14, 20, 2 if limits.effort is Effort.QUICK else 1):
        inputs = (
            BufferInput(size),
            BufferInput(4 * items),
            np.uint32(33),
            np.uint32(size // 4 - 1),
        )
        yield Probe("every 132 B", size, _work(limits, _NEAR, "near", items, inputs))


def scatters(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads and writes at random places in more and more memory."""
    items = 1 << (20 if limits.is_cpu else 22)
    for name, const, other, statement in (
        ("gather", "const", "", "to[i] = from[at];"),
        ("scatter", "const", "", "to[at] = from[i];"),
    ):
        source = _SCATTERED.format(const=const, other=other, statement=statement)
        for size in powers(12, _largest(limits), 4 if limits.effort is Effort.QUICK else 1):
            near, far = BufferInput(4 * items), BufferInput(size)
            buffers = (far, near) if name == "gather" else (near, far)
            inputs = (*buffers, np.uint32(size // 4 - 1))
            yield Probe(name, size, _work(limits, source, "scattered", items, inputs))


def few_units(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads and writes of random lines of the shared cache, by the number of a GPU's work-groups.

    With few, each compute unit takes as long as alone; with many, the shared cache is the limit. The
    lanes of a warp read from banks of their own.
    """
    if limits.is_cpu:
        return
    units, size, trips = limits.compute_units, 1 << 22, 512
    counts = sorted({1, 4, max(units // 8, 1), max(units // 2, 1), units, 4 * units})
    counts = counts if limits.effort is Effort.FULL else counts[::2]
    for name, lanes, apart in (("a line a lane", 1, 0), ("a line for four lanes", 4, 8)):
        for groups in counts:
            items = groups * limits.usual_group()
            inputs = (
                BufferInput(size),
                BufferInput(4 * items),
                np.uint32(lanes),
                np.uint32(apart),
                np.uint32(size // 4 - 1),
                np.int32(trips),
            )
            yield Probe(name, groups, _work(limits, _DRAWN, "drawn", items, inputs))
    for groups in counts:
        items = groups * limits.usual_group()
        to = (BufferInput(size), np.uint32(size // 4 - 1), np.int32(trips // 2))
        yield Probe("written", groups, _work(limits, _DRAWN, "scattered", items, to))


def chases(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield a work-item that follows indices through more and more memory: the latency of each level.

    Each run continues where the last one stopped, so that buffers larger than a cache miss it.
    """
    step = 4 if limits.effort is Effort.QUICK else 1
    begin = BufferInput(4, lambda: np.zeros(1, np.int32))
    near = powers(12, 22) if limits.is_cpu else []  # shows the sizes of a core's caches
    for size in sorted({*near, *powers(12, min(_largest(limits), 28), step)}):
        inputs = (BufferInput(size, ring(size // 4, 32)), begin, np.int32(4096))
        work = Workload(_CHASE, "chase", (1,), (1,), inputs)
        yield Probe("one work-item", size, work)
    inputs = (BufferInput(256, ring(64)), begin, np.int32(16384))
    yield Probe("local", 256, Workload(_LOCAL_CHASE, "chase", (1,), (1,), inputs))


def loops(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield loops with one load, which the driver unrolls: by rows, by columns, from one place."""
    items = 1 << (12 if limits.is_cpu else 18)
    for kernel in ("rows", "columns", "same"):
        for length in powers(2, 8, 2 if limits.effort is Effort.QUICK else 1):
            inputs = (BufferInput(4 * items * length), BufferInput(4 * items), np.int32(length))
            yield Probe(kernel, length, _work(limits, _ROWS, kernel, items, inputs))


def _sizes(limits: ProbeLimits) -> list[int]:
    return powers(10, 20 if limits.is_cpu else 26, 5 if limits.effort is Effort.QUICK else 2)


def _largest(limits: ProbeLimits) -> int:
    """Return the exponent of the largest buffer of a series."""
    exponent = {Effort.QUICK: 26, Effort.FULL: 28 if limits.is_cpu else 32}[limits.effort]
    return min(exponent, (limits.max_buffer_bytes // 2).bit_length() - 1)


def _work(
    limits: ProbeLimits,
    source: str,
    kernel: str,
    items: int,
    inputs: tuple[BufferInput | np.generic, ...],
) -> Workload:
    return Workload(source, kernel, (items,), (min(limits.usual_group(), items),), inputs)
