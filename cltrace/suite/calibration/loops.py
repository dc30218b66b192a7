"""Probes of loops over memory: the order of reads and writes, strides by the global size, few work-items.

What a compiler can do ahead decides their times: reads of several trips are in flight together, unless a
write stands before them that may change what they read, or the number of trips is not known.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits, powers

_ORDER: Final = """
__kernel void summed(__global float *{restrict} in, __global float *{restrict} out, int length) {{
    size_t i = get_global_id(0), n = get_global_size(0);
    for (int k = 0; k < length; ++k) out[i] += in[k * n + i];
}}
__kernel void moved(__global float *{restrict} in, __global float *{restrict} out, int length) {{
    size_t i = get_global_id(0), n = get_global_size(0);
    for (int k = 0; k < length; ++k) out[k * n + i] = in[k * n + i] + 1.0f;
}}
"""
_KEPT: Final = """
__kernel void kept(__global float *in, __global float *out, int length) {
    size_t i = get_global_id(0);
    for (int k = 0; k < length; ++k) out[i] += in[k & 31];
}
"""
_GRID: Final = """
__kernel void summed(__global const {type} *in, __global {type} *out, int length) {{
    {type} sum = 0;
    for (int i = get_global_id(0); i < length; i += get_global_size(0)) sum += in[i];
    out[get_global_id(0)] = sum;
}}
__kernel void moved(__global const {type} *in, __global {type} *out, int length) {{
    for (int i = get_global_id(0); i < length; i += get_global_size(0)) out[i] = in[i] + 1.0f;
}}
"""
_FEW: Final = """
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
__kernel void again(__global const float *in, __global float *out, int length) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float sum = 0;
    for (int t = 0; t < 8; ++t)
        for (int k = 0; k < length; ++k) sum += in[k * n + i] * t;
    out[i] = sum;
}
"""
_COPY: Final = """
__kernel void copied(__global const {type} *in, __global {type} *out) {{
    out[get_global_id(0)] = in[get_global_id(0)] + 1.0f;
}}
__kernel void added(__global const {type} *in, __global {type} *out) {{
    size_t i = get_global_id(0), n = get_global_size(0);
    out[i] = in[i] + in[n + i];
}}
"""
_WIDTHS: Final = {"float": 4, "float2": 8, "float4": 16}


def order(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield loops that write what the next trip may read, and the same with `restrict`, by trips.

    `kept` writes one place again and again: what the shared cache takes, without memory behind it. On a
    CPU, where work-items are the trips of a loop, reads do not wait.
    """
    if limits.is_cpu:
        return
    for name, restrict in (("ordered", ""), ("restrict", "restrict")):
        source = _ORDER.format(restrict=restrict)
        for kernel in ("summed", "moved"):
            for items in (1 << 10, 1 << 12, 1 << 15):
                for length in powers(6, 12, 3 if limits.effort is Effort.QUICK else 2):
                    buffer = BufferInput(4 * items * length)
                    inputs = (buffer, buffer, np.int32(length))
                    series = f"{kernel} {name}, 2^{items.bit_length() - 1}"
                    yield Probe(series, length, _work(limits, source, kernel, items, inputs))
    for exponent in (10, 15, 18, 20):
        items = 1 << exponent
        for length in (64, 256):
            inputs = (BufferInput(4096), BufferInput(4 * items), np.int32(length))
            work = _work(limits, _KEPT, "kept", items, inputs)
            yield Probe(f"kept, 2^{exponent}", length, work)


def grid_strides(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield loops with a stride of the global size, by the work-items of a compute unit of a GPU."""
    if limits.is_cpu:
        return
    exponent = 27
    for kind, width in _WIDTHS.items():
        source = _GRID.format(type=kind)
        elements = (1 << exponent) // width
        for kernel in ("summed", "moved"):
            for per_unit in powers(8, 11, 1 if limits.effort is Effort.FULL else 3):
                items = limits.compute_units * per_unit
                inputs = (
                    BufferInput(1 << exponent),
                    BufferInput(1 << exponent),
                    np.int32(elements),
                )
                series = f"{kernel} {kind}"
                yield Probe(series, per_unit, _work(limits, source, kernel, items, inputs))


def few_items(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield few work-items with many trips each, by trips: alone on a GPU's compute unit, or together."""
    if limits.is_cpu:
        return
    items = 1 << 10
    for kernel in ("rows", "columns", "again"):
        for group in (32, 256):
            for length in powers(8, 13, 1 if limits.effort is Effort.FULL else 3):
                inputs = (BufferInput(4 * items * length), BufferInput(4 * items), np.int32(length))
                size = min(group, limits.max_group_items)
                work = Workload(_FEW, kernel, (items,), (size,), inputs)
                yield Probe(f"{kernel}, groups of {group}", length, work)


def widths(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield copies and sums of elements of 4, 8 and 16 bytes, by the size of a GPU's work-group."""
    if limits.is_cpu:
        return
    exponent = 27
    for kind, width in _WIDTHS.items():
        source = _COPY.format(type=kind)
        for kernel in ("copied", "added"):
            items = (1 << exponent) // width
            for group in powers(5, 10, 1 if limits.effort is Effort.FULL else 2):
                if group > limits.max_group_items:
                    continue
                inputs = (BufferInput(2 << exponent), BufferInput(1 << exponent))
                work = Workload(source, kernel, (items,), (group,), inputs)
                yield Probe(f"{kernel} {kind}", group, work)


def _work(
    limits: ProbeLimits,
    source: str,
    kernel: str,
    items: int,
    inputs: tuple[BufferInput | np.generic, ...],
) -> Workload:
    return Workload(source, kernel, (items,), (min(limits.usual_group(), items),), inputs)
