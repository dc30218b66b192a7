"""Probes of images: reads by samplers, nearest and linear, of one and four channels, and writes."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, ImageInput, Workload
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits

_SAMPLERS: Final = """
__constant sampler_t nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__constant sampler_t linear =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
"""
_PLANE: Final = """
__kernel void texels(__read_only image2d_t in, __global float *out, int trips) {{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < trips; ++t) {{
        float4 texel = read_imagef(in, {sampler}, {position});
        sum += texel.x{others};
    }}
    out[y * get_global_size(0) + x] = sum;
}}
"""
_VOLUME: Final = """
__kernel void texels(__read_only image3d_t in, __global float *out, int trips) {{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    float sum = 0;
    for (int t = 0; t < trips; ++t) sum += read_imagef(in, {sampler}, {position}).x;
    out[(z * get_global_size(1) + y) * get_global_size(0) + x] = sum;
}}
"""
_DRAWN: Final = """
__kernel void drawn(__read_only image2d_t in, __global float *out, uint mask) {
    uint i = get_global_id(0), at = i * 2654435761u;
    at = (at ^ (at >> 15)) * 2246822519u;
    at ^= at >> 13;
    out[i] = read_imagef(in, nearest, (int2)(at & mask, (at >> 16) & mask)).x;
}
"""
_WRITTEN: Final = """
__kernel void written(__write_only image2d_t out, __global const float *in) {
    int x = get_global_id(0), y = get_global_id(1);
    write_imagef(out, (int2)(x, y), (float4)(in[y * get_global_size(0) + x]));
}
"""
_WALK: Final = """
__kernel void walk(__read_only image2d_t in, __global float *out, int trips) {
    float at = 0.0f;
    for (int t = 0; t < trips; ++t) at = read_imagef(in, nearest, (float2)(at + 0.5f, 0.5f)).x;
    out[0] = at;
}
"""
_CALLS: Final = """
__kernel void texels(__read_only image2d_t in, __global float *out, int trips) {{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < trips; ++t) sum += read_imagef(in, {sampler}, {position}).x;
    out[y * get_global_size(0) + x] = sum;
}}
"""
_WRITES: Final = """
__kernel void written(__write_only image2d_t out, __global const float *in, int trips) {
    int x = get_global_id(0), y = get_global_id(1);
    for (int t = 0; t < trips; ++t) write_imagef(out, (int2)(x, y ^ t), (float4)(in[x] + t));
}
"""
_TRIPS: Final = (1, 4, 16, 64)
_CALL_TRIPS: Final = (1, 16)
_CALL_SIDE: Final = 256
_SIDE: Final = 1024
_DEPTH: Final = 64


def images(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield reads and writes of images by their number, random reads by the size of the image, a walk.

    A CPU has no unit of its own for images: its functions for them take longer than memory does.
    """
    if limits.is_cpu:
        yield from _calls()
        return
    if limits.max_group_items < 256:
        return
    yield from _planes(limits)
    yield from _volumes(limits)
    yield from _random_places(limits)
    image = ImageInput(_SIDE, _SIDE)
    inputs = (image, BufferInput(image.size_bytes))
    size = (_SIDE, _SIDE)
    yield Probe("written", 1, Workload(_WRITTEN, "written", size, (16, 16), inputs))
    walk = (ImageInput(64, 1, contents=_ring), BufferInput(4), np.int32(4096))
    yield Probe("walk", 4096, Workload(_SAMPLERS + _WALK, "walk", (1,), (1,), walk))


def _calls() -> Iterator[Probe]:
    """Yield reads and writes of a small image, by their number."""
    shape = (_CALL_SIDE, _CALL_SIDE)
    image, buffer = ImageInput(*shape), BufferInput(4 * _CALL_SIDE * _CALL_SIDE)
    for trips in _CALL_TRIPS:
        for name, sampler, position in (
            ("read", "nearest", "(int2)(x + t, y)"),
            ("blend", "linear", "(float2)(x + t + 0.25f, y + 0.75f)"),
        ):
            source = _SAMPLERS + _CALLS.format(sampler=sampler, position=position)
            inputs = (image, buffer, np.int32(trips))
            yield Probe(f"image {name}", trips, Workload(source, "texels", shape, (16, 4), inputs))
        inputs = (image, buffer, np.int32(trips))
        yield Probe("image write", trips, Workload(_WRITES, "written", shape, (16, 4), inputs))


def _planes(limits: ProbeLimits) -> Iterator[Probe]:
    near, between = "(int2)(x + t, y)", "(float2)(x + t + 0.25f, y + 0.75f)"
    for name, sampler, position, channels in (
        ("nearest", "nearest", near, 1),
        ("nearest, columns", "nearest", "(int2)(y + t, x)", 1),
        ("nearest, four channels", "nearest", near, 4),
        ("linear", "linear", between, 1),
        ("linear, four channels", "linear", between, 4),
    ):
        others = " + texel.y + texel.z + texel.w" if channels == 4 else ""
        source = _SAMPLERS + _PLANE.format(sampler=sampler, position=position, others=others)
        for trips in _trips(limits):
            image = ImageInput(_SIDE, _SIDE, channels=channels)
            inputs = (image, BufferInput(4 * _SIDE * _SIDE), np.int32(trips))
            yield Probe(name, trips, Workload(source, "texels", (_SIDE, _SIDE), (16, 16), inputs))


def _volumes(limits: ProbeLimits) -> Iterator[Probe]:
    side = 128
    for sampler, position in (
        ("nearest", "(int4)(x + t, y, z, 0)"),
        ("linear", "(float4)(x + t + 0.25f, y + 0.75f, z + 0.25f, 0)"),
    ):
        source = _SAMPLERS + _VOLUME.format(sampler=sampler, position=position)
        for trips in _trips(limits):
            image = ImageInput(side, side, _DEPTH)
            inputs = (image, BufferInput(image.size_bytes), np.int32(trips))
            work = Workload(source, "texels", image.shape, (8, 8, 4), inputs)
            yield Probe(f"{sampler}, volume", trips, work)


def _random_places(limits: ProbeLimits) -> Iterator[Probe]:
    items = 1 << 22
    for side in (64, 256, 1024, 4096) if limits.effort is Effort.FULL else (256, 4096):
        inputs = (ImageInput(side, side), BufferInput(4 * items), np.uint32(side - 1))
        work = Workload(_SAMPLERS + _DRAWN, "drawn", (items,), (256,), inputs)
        yield Probe("random places", 4 * side * side, work)


def _trips(limits: ProbeLimits) -> tuple[int, ...]:
    return _TRIPS if limits.effort is Effort.FULL else _TRIPS[::3]


def _ring() -> NDArray[np.float32]:
    """Return positions in a row of 64 texels, each of which follows another one of them."""
    return ((np.arange(64) + 29) % 64).astype(np.float32)
