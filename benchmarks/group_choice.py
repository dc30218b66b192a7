"""The work-groups that a driver chooses, and the order in which a GPU of NVIDIA hands them out.

    python benchmarks/group_choice.py --platform NVIDIA --json FILE

`sizes` are launches without a local size: global size and the local size that the driver takes, for
kernels that need few registers, many registers, local memory, or a barrier. `orders` are the compute unit
and the begin of each work-group of a launch, which only NVIDIA's compiler can tell.
"""

import argparse
import json
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import device_facts, open_queue

_KERNELS: Final = """
#define WRITE_SIZES \\
    if (!get_global_id(0) && !get_global_id(1) && !get_global_id(2)) \\
        for (int k = 0; k < 3; ++k) out[k] = get_local_size(k);
__kernel void plain(__global int *out, __global float *values) { WRITE_SIZES }
__kernel void wide(__global int *out, __global float *values) {
    float own[96];
    for (int k = 0; k < 96; ++k) own[k] = values[k * 7 + (get_global_id(0) & 31)];
    barrier(CLK_GLOBAL_MEM_FENCE);
    float sum = 0;
    for (int t = 0; t < 4; ++t)
        for (int k = 0; k < 96; ++k) sum = fma(own[k], sum, own[(k * 5 + 3) % 96]);
    if (sum == 123.0f) values[0] = sum;
    WRITE_SIZES
}
__kernel void local_memory(__global int *out, __global float *values) {
    __local float kept[4096];
    kept[get_local_id(0)] = values[get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (kept[get_local_id(0) ^ 1] == 123.0f) values[0] = 1;
    WRITE_SIZES
}
__kernel void waiting(__global int *out, __global float *values) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    WRITE_SIZES
}
"""
_ORDER: Final = """
__kernel void order(__global uint *units, __global ulong *begins, int spin) {
    uint group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0)
        + get_group_id(0);
    if (!get_local_id(0) && !get_local_id(1) && !get_local_id(2)) {
        uint unit; ulong begin;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
        units[group] = unit;
        begins[group] = begin;
    }
    float value = get_global_id(0);
    for (int t = 0; t < spin; ++t) value = sin(value);
    if (value == 123.0f) units[0] = 0;
}
"""
_ORDERED: Final = (
    ((256 * 1320,), (256,)),
    ((32 * 6000,), (32,)),
    ((1024 * 600,), (1024,)),
    ((1024, 1024), (16, 16)),
    ((1024, 1024), (32, 8)),
    ((2048, 256), (32, 32)),
    ((128, 64, 64), (8, 8, 4)),
)


def main() -> None:
    """Measure what the command line asks for, and write it as JSON."""
    parser = argparse.ArgumentParser(description="Work-groups that a driver chooses.")
    parser.add_argument("--platform", required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    queue = open_queue(arguments.platform)
    sizes = [*_chosen_sizes(queue, arguments.seed)]
    orders = [*_orders(queue)] if "NVIDIA" in queue.device.platform.name else []
    text = json.dumps({**device_facts(queue), "sizes": sizes, "orders": orders})
    arguments.json.write_text(text, encoding="utf-8")


def _global_sizes(seed: int) -> Iterator[tuple[int, ...]]:
    """Yield global sizes: powers of two, multiples of them, primes, and sizes at random."""
    drawn = random.Random(seed)
    lengths = [1 << exponent for exponent in range(23)]
    lengths += [3 << exponent for exponent in range(0, 20, 3)]
    lengths += [7, 31, 33, 97, 100, 127, 241, 255, 257, 509, 1000, 1021, 1023, 1025, 2039, 10_000]
    lengths += [65_537, 100_000, 131_071, 95_488, 540_672, 1_000_003, 6 * 1021, 2 * 2039]
    lengths += [drawn.randrange(1, 1 << drawn.randrange(4, 23)) for _ in range(40)]
    yield from ((length,) for length in lengths)
    sides = [1, 2, 3, 4, 5, 7, 8, 16, 17, 24, 32, 33, 48, 64, 97, 100, 128, 240, 256, 509, 512]
    sides += [600, 1000, 1021, 1024, 1080, 1920, 2048]
    planes = [(side, side) for side in sides]
    planes += [(drawn.choice(sides), drawn.choice(sides)) for _ in range(90)]
    yield from planes
    edges = [side for side in sides if side <= 256]
    volumes = [(edge, edge, edge) for edge in edges] + [(160, 160, 160), (240, 240, 240)]
    volumes += [tuple(drawn.choice(edges) for _ in range(3)) for _ in range(90)]
    yield from volumes


def _chosen_sizes(queue: cl.CommandQueue, seed: int) -> Iterator[dict[str, Any]]:
    program = _build(queue, _KERNELS)
    out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 12)
    values = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 1 << 16)
    host = np.zeros(3, np.int32)
    for name in ("plain", "wide", "local_memory", "waiting"):
        kernel = cl.Kernel(program, name)
        kernel.set_args(out, values)
        for size in _global_sizes(seed):
            try:
                cl.enqueue_nd_range_kernel(queue, kernel, size, None)
                cl.enqueue_copy(queue, host, out)
            except cl.Error as error:
                yield {"kernel": name, "global": size, "error": str(error)[:80]}
                continue
            yield {"kernel": name, "global": size, "local": host[: len(size)].tolist()}


def _orders(queue: cl.CommandQueue) -> Iterator[dict[str, Any]]:
    kernel = cl.Kernel(_build(queue, _ORDER), "order")
    for size, group in _ORDERED:
        count = int(np.prod([a // b for a, b in zip(size, group, strict=True)]))
        units = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * count)
        begins = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 8 * count)
        for spin in (0, 200):
            for _ in range(2):
                kernel(queue, size, group, units, begins, np.int32(spin))
            host_units, host_begins = np.zeros(count, np.uint32), np.zeros(count, np.uint64)
            cl.enqueue_copy(queue, host_units, units)
            cl.enqueue_copy(queue, host_begins, begins)
            relative = (host_begins - host_begins.min()).astype(np.int64)
            launch = {"global": size, "local": group, "spin": spin}
            yield {**launch, "units": host_units.tolist(), "begins_ns": relative.tolist()}


def _build(queue: cl.CommandQueue, source: str) -> cl.Program:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program: cl.Program = cl.Program(queue.context, source).build()
        return program


if __name__ == "__main__":
    main()
