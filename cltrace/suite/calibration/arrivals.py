"""Probes of launches that do not follow another launch of the same kernel at once."""

from collections.abc import Iterator
from typing import Final

from cltrace.events.workloads import Arrival, ArrivingLaunch, BufferInput, ImageInput, Workload
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits

_SOURCE: Final = """
__kernel void copy(__global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i] + 1.5f;
}
__kernel void blend(__global const float *in, __global float *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float before = in[i ? i - 1 : 0], own = in[i], after = in[i + 1 < n ? i + 1 : i];
    out[i] = sqrt(before * before + own * own) * exp(-after) + sin(own) / (before + 2.0f);
}
"""
_IMAGES: Final = """
__constant sampler_t nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void read(__read_only image2d_t in, __global float *out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.y * get_global_size(0) + at.x] = read_imagef(in, nearest, at).x;
}
__kernel void copied(__read_only image2d_t in, __write_only image2d_t out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, read_imagef(in, nearest, at) + 1.5f);
}
"""
_IDLE_NS: Final = (
    *(0, 100_000, 300_000, 1_000_000, 2_000_000, 4_000_000, 10_000_000, 30_000_000),
    *(100_000_000, 300_000_000),
)
_LONG_IDLE_NS: Final = 100_000_000
"""Idle time before launches that are compared with first launches: that of building a program."""
_SHORT_IDLE_NS: Final = 1_000_000
"""Idle time that costs nothing by itself."""


def after_idle_time(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield launches after a time without work. Caches of the device stay as the launch before left them.

    On a CPU this time is that of waking threads, which depends on the operating system's other work.
    """
    quick = (0, 1_000_000, 10_000_000, 100_000_000)
    times = _IDLE_NS if limits.effort is Effort.FULL else quick
    for idle_ns in () if limits.is_cpu else times:
        for series, work in _launches(limits):
            yield Probe(series, idle_ns, ArrivingLaunch(work, Arrival(float(idle_ns))))


def first_launches(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield launches after idle time, as the first launch of a program and as a later one.

    A CPU's driver compiles a kernel at its first launch, which takes as long as the kernel is.
    """
    for first in () if limits.is_cpu else (0, 1):
        for series, work in _launches(limits):
            arrival = Arrival(float(_LONG_IDLE_NS), float(first))
            yield Probe(series, first, ArrivingLaunch(work, arrival))
            soon = Arrival(float(_SHORT_IDLE_NS), float(first))
            yield Probe(f"{series}, soon", first, ArrivingLaunch(work, soon))


def changed_images(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield launches with the images of the launch before, and with others, by the number of images.

    A CPU's driver has no image to bind.
    """
    if limits.is_cpu or limits.max_group_items < 256:
        return
    for side in (256, 1024):
        image = ImageInput(side, side)
        for kernel, inputs, images in (
            ("read", (image, BufferInput(image.size_bytes)), 1),
            ("copied", (image, image), 2),
        ):
            work = Workload(_IMAGES, kernel, (side, side), (16, 16), inputs)
            for changed in (0, images):
                arrival = Arrival(changed_images=float(changed))
                yield Probe(f"{kernel}, {side}²", changed, ArrivingLaunch(work, arrival))


def _launches(limits: ProbeLimits) -> Iterator[tuple[str, Workload]]:
    group = limits.usual_group()
    for kernel in ("copy", "blend"):
        for exponent in (8, 14, 19):
            items = max(1 << exponent, group)
            buffers = (BufferInput(4 * items), BufferInput(4 * items))
            yield f"{kernel}, 2^{exponent}", Workload(_SOURCE, kernel, (items,), (group,), buffers)
