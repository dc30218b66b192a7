"""Rows that one work-item reads each, and windows over large images.

    python benchmarks/row_walks.py --platform NVIDIA --json FILE

Rows begin at the same place of a sector, or at different ones, by their pitch: then lanes come to new
sectors one by one. Windows come to rows that neighbouring work-groups have read before.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

BYTES: Final = 4 << 25
ROWS: Final = (
    (2500, 2500, 128),
    (2500, 2504, 128),
    (2500, 2500, 2560),
    (4000, 4100, 4096),
    (4000, 4096, 4096),
    (1000, 1000, 16896),
    (1000, 1001, 16896),
)
"""Numbers of each row, its pitch, and work-items."""
WINDOWS: Final = ((2048, 1536), (4000, 3000), (6000, 4000))
"""Widths and heights of images."""
RADIUS: Final = 10
GROUP: Final = 128
_ROW: Final = """
kernel void f(global const float *restrict a, global const float *restrict x, global float *restrict y,
              int n, int pitch) {
    %s i = get_global_id(0);
    float s = 0;
    for (%s k = 0; k < n; k++) s += a[i * pitch + k] * x[k];
    y[i] = s;
}
"""
_WINDOW: Final = """
kernel void f(global const float *restrict a, global const float *restrict x, global float *restrict y,
              int width, int height, int radius) {
    int i = get_global_id(0), j = get_global_id(1);
    if (i >= width) return;
    float s = 0;
    for (int k = -radius; k <= radius; k++) s += x[k + radius] * a[%s];
    y[j * width + i] = s;
}
"""
SOURCES: Final = {
    "rows int": _ROW % ("int", "int"),
    "rows uint": _ROW % ("uint", "uint"),
    "window x": _WINDOW % "j * width + clamp(i + k, 0, width - 1)",
    "window y": _WINDOW % "clamp(j + k, 0, height - 1) * width + i",
}

Launch = tuple[str, str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The name of a launch, its kernel, its global and local size, and its numbers."""


def launches() -> list[Launch]:
    """Return all launches."""
    rows = [
        (f"{key} {n} of {pitch}, {items}", key, (items,), (GROUP,), (n, pitch))
        for key in ("rows int", "rows uint")
        for n, pitch, items in ROWS
    ]
    windows = [
        (
            f"{key} {width}x{height}",
            key,
            (-(-width // GROUP) * GROUP, height),
            (GROUP, 1),
            (width, height, RADIUS),
        )
        for key in ("window x", "window y")
        for width, height in WINDOWS
    ]
    return [*rows, *windows]


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns, by launch."""
    buffers = [cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, BYTES) for _ in range(3)]
    for buffer in buffers:
        cl.enqueue_fill_buffer(queue, buffer, np.float32(1), 0, BYTES)
    kernels = {
        key: cl.Kernel(cl.Program(queue.context, source).build(), "f")
        for key, source in SOURCES.items()
    }
    found: dict[str, float] = {}
    for name, key, global_size, local_size, numbers in launches():
        kernel = kernels[key]
        kernel.set_args(*buffers, *map(np.int32, numbers))
        found[name] = median_kernel_ns(kernel, queue, (global_size, local_size))
    return {"ns": found}


if __name__ == "__main__":
    measure_to_file("Rows that one work-item reads each, and windows.", _measure)
