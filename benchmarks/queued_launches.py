"""How much sooner a launch begins to work that waited in the queue while the device worked.

    python benchmarks/queued_launches.py --platform NVIDIA --json FILE

Each kernel is launched `alone`, after the host has waited for the launch before; `later`, 100 µs after
that; and `queued`, behind a launch that takes milliseconds.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

GROUP: Final = 256
SOURCE: Final = """
__kernel void copied(__global float *to, __global const float *from, int n) {
    int i = get_global_id(0);
    to[i] = from[i] + n;
}
__kernel void mixed(__global float *to, __global const float *from, int n) {
    uint s = get_global_id(0) + 1u;
    for (int k = 0; k < n; k++) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; }
    to[get_global_id(0)] = s;
}
__kernel void neighbours(__global float *to, __global const float *from, int n) {
    int i = get_global_id(0) + n + 1;
    to[i] = from[i] + from[i - 1] + from[i + 1] + from[i - n] + from[i + n];
}
"""
LAUNCHES: Final = (
    ("copied", 1 << 18, 3),
    ("copied", 1 << 20, 3),
    ("copied", 1 << 22, 3),
    ("copied", 1 << 24, 3),
    ("mixed", 40_960, 400),
    ("mixed", 900_096, 130),
    ("neighbours", 1 << 20, 1024),
)
"""Kernels, work-items, and their number `n`."""
_MARGIN: Final = 4096
_LATER_S: Final = 100e-6
_ROUNDS: Final = 24
_WARM_UP_ROUNDS: Final = 4


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns by launch and state."""
    flags, context = cl.mem_flags, queue.context
    size_bytes = 4 * (max(items for _, items, _ in LAUNCHES) + _MARGIN)
    arrays = [cl.Buffer(context, flags.READ_WRITE, size_bytes) for _ in range(2)]
    for array in arrays:
        cl.enqueue_fill_buffer(queue, array, np.zeros(1, np.float32), 0, size_bytes)
    program = cl.Program(context, SOURCE).build()
    long = _launch(queue, program, "mixed", 132 * GROUP, (*arrays, np.int32(20_000)))
    found: dict[str, dict[str, float]] = {}
    for name, items, number in LAUNCHES:
        launch = _launch(queue, program, name, items, (*arrays, np.int32(number)))
        states = {
            "alone": launch,
            "later": partial(_after, partial(_wait, _LATER_S), launch),
            "queued": partial(_after, long, launch),
        }
        found[f"{name} {items}"] = {
            state: median_ns(run, _ROUNDS, _WARM_UP_ROUNDS) for state, run in states.items()
        }
    return {"ns": found}


def _launch(
    queue: cl.CommandQueue,
    program: cl.Program,
    name: str,
    items: int,
    arguments: tuple[object, ...],
) -> Callable[[], cl.Event]:
    kernel = cl.Kernel(program, name)
    kernel.set_args(*arguments)
    return partial(cl.enqueue_nd_range_kernel, queue, kernel, (items,), (GROUP,))


def _after(before: Callable[[], object], launch: Callable[[], cl.Event]) -> cl.Event:
    before()
    return launch()


def _wait(seconds: float) -> None:
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        pass


if __name__ == "__main__":
    measure_to_file("How much sooner a launch begins that waited in the queue.", _measure)
