"""Delays of launches by what precedes them: idle time, other images; and tables in constant memory.

    python benchmarks/arrivals.py --device NVIDIA --output arrivals.json

Each row is the median time of a launch on the device, in µs. `idle`: after the host has done something
for some milliseconds. `images`: in chains of kernels whose images stay or change. `tables`: time of a
compute unit per warp and lookup, by the number of places that a warp reads.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from cltrace.measure.bench import device_ns
from cltrace.measure.devices import device_facts, find_device

SOURCE = """
__constant sampler_t nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void copy(__global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i] + 1;
}
__kernel void one(__read_only image2d_t in, __write_only image2d_t out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, read_imagef(in, nearest, at) + 1);
}
__kernel void other(__read_only image2d_t in, __write_only image2d_t out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, read_imagef(in, nearest, at) * 2);
}
"""
TABLES = """
#define LOOKED_UP(name, space) \\
__kernel void name(space const float *table, __global float *out, int trips, int mask) { \\
    int i = get_global_id(0), at = i & mask; \\
    float sum = 0; \\
    for (int t = 0; t < trips; ++t) { sum += table[at]; at = (at + 1) & 255; } \\
    out[i] = sum; \\
}
LOOKED_UP(constant_table, __constant)
LOOKED_UP(global_table, __global)
"""
IDLE_MS = (0.0, 0.3, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0)
ITEMS = {"64k": 1 << 16, "1M": 1 << 20}
CHAINS: dict[str, Sequence[tuple[str, int, int]]] = {
    "the same images": [("one", 0, 1)],
    "one image changes": [("one", 0, 1), ("one", 0, 2)],
    "both images change": [("one", 0, 1), ("one", 1, 0)],
    "two kernels, each with its images": [("one", 0, 1), ("other", 1, 0)],
}
SIDES = (256, 1024)


class Laboratory:
    """A device with a queue and a program."""

    def __init__(self, device: cl.Device) -> None:
        self.device = device
        self.context = cl.Context([device])
        properties = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self.context, properties=properties)
        self.program = cl.Program(self.context, SOURCE).build()

    def buffer(self, size_bytes: int) -> cl.Buffer:
        """Return a buffer of ones."""
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size_bytes)
        cl.enqueue_fill_buffer(self.queue, buffer, np.float32(1), 0, size_bytes)
        return buffer

    def time_us(self, kernel: cl.Kernel, size: tuple[int, ...], local: tuple[int, ...]) -> float:
        """Return the time of a launch that is waited for."""
        return device_ns(cl.enqueue_nd_range_kernel(self.queue, kernel, size, local)) / 1e3


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser(description="Delays of launches by what precedes them.")
    parser.add_argument("--device", default="")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=12)
    arguments = parser.parse_args()
    laboratory = Laboratory(find_device(arguments.device))
    facts = device_facts(laboratory.device)
    rows = {
        "device": facts.name,
        "driver": facts.driver,
        "idle": list(_idle(laboratory, arguments.runs)),
        "images": list(_images(laboratory, arguments.runs)),
        "tables": list(_tables(laboratory, arguments.runs)),
    }
    arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    for name in ("idle", "images", "tables"):
        print("\n".join(map(str, rows[name])))


def _idle(laboratory: Laboratory, runs: int) -> Iterator[dict[str, Any]]:
    kernel = cl.Kernel(laboratory.program, "copy")
    buffers = [laboratory.buffer(4 * max(ITEMS.values())) for _ in range(2)]
    kernel.set_args(*buffers)
    activities = _activities(laboratory)
    plan = [(name, idle, items) for name in activities for idle in IDLE_MS for items in ITEMS]
    times: dict[tuple[str, float, str], list[float]] = {key: [] for key in plan}
    order = plan * runs
    random.Random(1).shuffle(order)
    for name, idle_ms, items in order:
        size = (ITEMS[items],)
        laboratory.time_us(kernel, size, (256,))
        end_s = time.perf_counter() + idle_ms * 1e-3
        activities[name](end_s)
        while time.perf_counter() < end_s:
            pass
        times[name, idle_ms, items].append(laboratory.time_us(kernel, size, (256,)))
    for (name, idle_ms, items), own in times.items():
        time_us = round(statistics.median(own), 2)
        yield {"host": name, "idle_ms": idle_ms, "items": items, "time_us": time_us}


def _activities(laboratory: Laboratory) -> dict[str, Callable[[float], object]]:
    """Return what the host does until a time in s, by name; it computes for the rest."""
    contents = np.ones(1 << 18, np.float32)

    def sleep(end_s: float) -> None:
        time.sleep(max(end_s - time.perf_counter() - 1e-4, 0.0))

    def write(_: float) -> None:
        buffer = cl.Buffer(laboratory.context, cl.mem_flags.READ_WRITE, contents.nbytes)
        cl.enqueue_copy(laboratory.queue, buffer, contents)
        buffer.release()

    return {
        "computes": lambda _: None,
        "sleeps": sleep,
        "makes a kernel": lambda _: cl.Kernel(laboratory.program, "copy"),
        "writes a new buffer": write,
        "builds a program again": lambda _: cl.Program(laboratory.context, SOURCE).build(),
    }


def _images(laboratory: Laboratory, runs: int) -> Iterator[dict[str, Any]]:
    kind = cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT)
    for side in SIDES:
        images = [
            cl.create_image(laboratory.context, cl.mem_flags.READ_WRITE, kind, shape=(side, side))
            for _ in range(3)
        ]
        for image in images:
            ones = np.ones((side, side), np.float32)
            cl.enqueue_copy(laboratory.queue, image, ones, origin=(0, 0), region=(side, side))
        for name, steps in CHAINS.items():
            kernels = []
            for kernel_name, source, target in steps:
                kernel = cl.Kernel(laboratory.program, kernel_name)
                kernel.set_args(images[source], images[target])
                kernels.append(kernel)
            times = [
                laboratory.time_us(kernel, (side, side), (16, 16))
                for _ in range(runs + 2)
                for kernel in kernels
            ]
            time_us = round(statistics.median(times[2 * len(kernels) :]), 2)
            yield {"chain": name, "side": side, "time_us": time_us}


def _tables(laboratory: Laboratory, runs: int) -> Iterator[dict[str, Any]]:
    items, trips = 1 << 21, (32, 128)
    table, out = laboratory.buffer(1024), laboratory.buffer(4 * items)
    program = cl.Program(laboratory.context, TABLES).build()
    warps = items / 32 / laboratory.device.max_compute_units
    for memory in ("constant", "global"):
        kernel = cl.Kernel(program, f"{memory}_table")
        for places in (1, 2, 4, 8, 16, 32):
            short_us, long_us = (
                statistics.median(
                    _looked_up(laboratory, kernel, (table, out, number, places - 1), items)
                    for _ in range(runs)
                )
                for number in trips
            )
            lookup_ns = (long_us - short_us) * 1e3 / (trips[1] - trips[0]) / warps
            yield {"memory": memory, "places": places, "lookup_ns": round(lookup_ns, 3)}


def _looked_up(
    laboratory: Laboratory, kernel: cl.Kernel, words: tuple[Any, ...], items: int
) -> float:
    kernel.set_args(*words[:2], *map(np.int32, words[2:]))
    return laboratory.time_us(kernel, (items,), (256,))


if __name__ == "__main__":
    main()
