"""Kernels of several kinds and lengths in random order, with pauses: what energy is to be told apart of.

    cltrace run --power nvml benchmarks/programs/mixture.py --seconds 30
    cltrace run --power nvml benchmarks/programs/mixture.py --seconds 4 --only stream

With `--only` one of them runs alone: its energy is then measured directly.
"""

import argparse
import random
import time

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void chain(global float *x, int n) {
    size_t i = get_global_id(0);
    float a = x[i], b = a * 0.7f, c = a * 0.3f, d = a * 0.9f;
    for (int k = 0; k < n; ++k) {
        a = mad(a, -0.99999994f, 0.63f); b = mad(b, -0.99999994f, 0.61f);
        c = mad(c, -0.99999994f, 0.59f); d = mad(d, -0.99999994f, 0.57f);
    }
    x[i] = a + b + c + d;
}
kernel void whole(global int *x, int n) {
    size_t i = get_global_id(0);
    int a = x[i];
    for (int k = 0; k < n; ++k) a = (a * 1103515245 + 12345) ^ (a >> 7);
    x[i] = a;
}
kernel void stream(global const float4 *from, global float4 *to) {
    size_t i = get_global_id(0);
    to[i] = from[i] * 1.0001f;
}
kernel void gather(global const float *from, global float *to, uint mask) {
    uint i = get_global_id(0), at = i * 2654435761u;
    at = (at ^ (at >> 15)) * 2246822519u;
    to[i] = from[(at ^ (at >> 13)) & mask];
}
kernel void double_chain(global double *x, int n) {
    size_t i = get_global_id(0);
    double a = x[i], b = a * 0.7;
    for (int k = 0; k < n; ++k) { a = a * -0.99999999 + 0.63; b = b * -0.99999999 + 0.61; }
    x[i] = a + b;
}
"""


NAMES = ("chain", "whole", "stream", "gather", "double_chain")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--items", type=int, default=1 << 22)
    parser.add_argument("--trips", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    device = next(
        one
        for platform in cl.get_platforms()
        for one in platform.get_devices()
        if given.device in f"{platform.name} {one.name}"
    )
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    items = given.items
    numbers = np.random.default_rng(1).random(8 * items, dtype=np.float32) + np.float32(0.25)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    # Each kernel has memory of its own: what others leave in it would change what it draws.
    own = {name: cl.Buffer(context, flags, hostbuf=numbers) for name in NAMES}
    y = cl.Buffer(context, flags, hostbuf=numbers)
    host = numbers[: 4 * items].copy()
    trips, group = np.int32(given.trips), (256,)
    kernels = {name: cl.Kernel(program, name) for name in NAMES}
    work = {
        "chain": lambda: kernels["chain"](queue, (items,), group, own["chain"], trips),
        "whole": lambda: kernels["whole"](queue, (items,), group, own["whole"], trips),
        "stream": lambda: kernels["stream"](queue, (2 * items,), group, y, own["stream"]),
        "gather": lambda: kernels["gather"](
            queue, (items,), group, y, own["gather"], np.uint32(4 * items - 1)
        ),
        "double_chain": lambda: kernels["double_chain"](
            queue, (items // 4,), group, own["double_chain"], trips
        ),
        "to_device": lambda: cl.enqueue_copy(queue, y, host),
        "to_host": lambda: cl.enqueue_copy(queue, host, y),
    }
    chooser = random.Random(given.seed)
    counts = dict.fromkeys(work, 0)
    until = time.monotonic() + given.seconds
    while time.monotonic() < until:
        name = given.only or chooser.choice(list(work))
        for _ in range(chooser.randint(1, 8) if not given.only else 8):
            work[name]()
            counts[name] += 1
        queue.finish()
        if not given.only and chooser.random() < 0.3:
            time.sleep(chooser.random() * 0.03)
    print(", ".join(f"{name} {count}" for name, count in counts.items() if count))


if __name__ == "__main__":
    main()
