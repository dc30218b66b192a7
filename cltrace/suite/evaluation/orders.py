"""Cooperative kernels: reductions, scans, sorting, histograms, Fourier transforms, shortest paths."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, LocalInput, Workload
from cltrace.suite.evaluation.cases import Arrays, Case, Scale

_REDUCE: Final = """
__kernel void reduce(__global const float *in, __global float *out, __local float *kept) {
    int mine = get_local_id(0);
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += in[get_global_id(0) + k * get_global_size(0)];
    kept[mine] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (mine < half_size) kept[mine] += kept[mine + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (mine == 0) out[get_group_id(0)] = kept[0];
}
"""
_SCAN: Final = """
__kernel void scan(__global const float *in, __global float *out, __local float *kept) {
    int mine = get_local_id(0), n = get_local_size(0);
    kept[mine] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int by = 1; by < n; by <<= 1) {
        float other = mine >= by ? kept[mine - by] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        kept[mine] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = kept[mine];
}
"""
_BITONIC: Final = """
__kernel void exchange(__global float *a, int j, int k) {
    int i = get_global_id(0), other = i ^ j;
    if (other > i) {
        float x = a[i], y = a[other];
        bool up = (i & k) == 0;
        a[i] = up ? fmin(x, y) : fmax(x, y);
        a[other] = up ? fmax(x, y) : fmin(x, y);
    }
}
"""
_HISTOGRAM: Final = """
__kernel void globally(__global const uchar *in, __global int *bins) {
    atomic_inc(&bins[in[get_global_id(0)]]);
}
__kernel void locally(__global const uchar *in, __global int *bins) {
    __local int kept[256];
    for (int k = get_local_id(0); k < 256; k += get_local_size(0)) kept[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) atomic_inc(&kept[in[get_global_id(0) + k * get_global_size(0)]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < 256; k += get_local_size(0)) atomic_add(&bins[k], kept[k]);
}
"""
_FOURIER: Final = """
__kernel void pass(__global const float2 *in, __global float2 *out, int p) {
    int i = get_global_id(0), t = get_global_size(0), k = i & (p - 1);
    float2 a = in[i], b = in[i + t];
    float angle = -3.14159265f * k / p, s = sin(angle), c = cos(angle);
    float2 turned = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);
    int at = ((i - k) << 1) + k;
    out[at] = a + turned;
    out[at + p] = a - turned;
}
"""
_PATHS: Final = """
__kernel void relax(__global float *distances, int k) {
    int x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
    distances[y * n + x] = fmin(distances[y * n + x], distances[y * n + k] + distances[k * n + x]);
}
"""


def reductions(scale: Scale) -> Iterator[Case]:
    """Yield sums per work-group, of eight numbers per work-item."""
    n = max(scale.items // 8, scale.group_items)
    groups = n // scale.group_items

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        columns = b[0].reshape(8, n).astype(np.float64).sum(axis=0)
        return {1: columns.reshape(groups, scale.group_items).sum(axis=1)}

    inputs = (BufferInput(32 * n), BufferInput(4 * groups), LocalInput(4 * scale.group_items))
    work = Workload(_REDUCE, "reduce", (n,), (scale.group_items,), inputs)
    yield Case("reduction", "sums", work, reference)


def scans(scale: Scale) -> Iterator[Case]:
    """Yield running sums within work-groups."""
    n, group = scale.items, scale.group_items

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {1: np.cumsum(b[0].reshape(-1, group).astype(np.float64), axis=1)}

    inputs = (BufferInput(4 * n), BufferInput(4 * n), LocalInput(4 * group))
    yield Case("scan", "of groups", Workload(_SCAN, "scan", (n,), (group,), inputs), reference)


def sorting(scale: Scale) -> Iterator[Case]:
    """Yield a step of a bitonic sort, with near and with far partners."""
    n = scale.items

    def numbers() -> NDArray[np.float32]:
        return np.random.default_rng(8).random(n, dtype=np.float32)

    for name, j in (("near", 2), ("far", n // 4)):

        def reference(_: Arrays, j: int = j) -> Mapping[int, NDArray[np.generic]]:
            a, i = numbers(), np.arange(n)
            lower = i[(i ^ j) > i]
            x, y = a[lower], a[lower ^ j]
            swap = (x > y) == ((lower & (2 * j)) == 0)
            a[lower], a[lower ^ j] = np.where(swap, y, x), np.where(swap, x, y)
            return {0: a}

        inputs = (BufferInput(4 * n, numbers), np.int32(j), np.int32(2 * j))
        work = Workload(_BITONIC, "exchange", (n,), (scale.group_items,), inputs)
        yield Case("sorting", name, work, reference)


def histograms(scale: Scale) -> Iterator[Case]:
    """Yield counts of bytes, by atomics on global memory, and on local memory first."""
    n = scale.items

    def data() -> NDArray[np.uint8]:
        return np.random.default_rng(9).integers(0, 256, n, dtype=np.uint8)

    def reference(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {1: np.bincount(data(), minlength=256).astype(np.int32)}

    bins = BufferInput(1024, lambda: np.zeros(256, np.int32))
    inputs = (BufferInput(n, data), bins)
    whole = Workload(_HISTOGRAM, "globally", (n,), (scale.group_items,), inputs)
    yield Case("histogram", "globally", whole, reference)
    if n // 16 >= scale.group_items:
        parts = Workload(_HISTOGRAM, "locally", (n // 16,), (scale.group_items,), inputs)
        yield Case("local histogram", "locally", parts, reference)


def fourier(scale: Scale) -> Iterator[Case]:
    """Yield a pass of a Fourier transform of radix two, an early and a late one."""
    n = max(scale.items // 2, scale.group_items)
    for name, p in (("early", 2), ("late", n // 2)):

        def reference(b: Arrays, p: int = p) -> Mapping[int, NDArray[np.generic]]:
            numbers = b[0].reshape(-1, 2).astype(np.float64) @ np.asarray([1, 1j])
            i = np.arange(n)
            k = i & (p - 1)
            turned = numbers[n:] * np.exp(-1j * np.pi * k / p)
            out = np.zeros(2 * n, np.complex128)
            at = ((i - k) << 1) + k
            out[at], out[at + p] = numbers[:n] + turned, numbers[:n] - turned
            return {1: np.stack([out.real, out.imag], axis=1)}

        buffer = BufferInput(16 * n)
        inputs = (buffer, buffer, np.int32(p))
        work = Workload(_FOURIER, "pass", (n,), (scale.group_items,), inputs)
        yield Case("Fourier transform", name, work, reference, 1e-3)


def paths(scale: Scale) -> Iterator[Case]:
    """Yield a step of shortest paths between all places."""
    n = scale.side

    def reference(b: Arrays) -> Mapping[int, NDArray[np.generic]]:
        d = b[0].reshape(n, n)
        return {0: np.minimum(d, d[:, 7:8] + d[7:8, :])}

    work = Workload(_PATHS, "relax", (n, n), scale.tile, (BufferInput(4 * n * n), np.int32(7)))
    yield Case("shortest paths", "relax", work, reference)
