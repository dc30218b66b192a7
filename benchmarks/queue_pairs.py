"""Launch independent kernels in several queues, or all in one: the pairs of `h200-queue-pairs.tar.xz`.

    cltrace run python benchmarks/queue_pairs.py KERNEL QUEUES ROUNDS TABLE_BYTES GROUPS TRIPS

Each round launches a kernel four times, or as often as there are queues, with buffers of its own each.
"""

import argparse

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void gather(__global const float *table, __global float *out, uint mask, uint trips) {
    uint at = get_global_id(0) * 2654435761u;
    float sum = 0;
    for (uint trip = 0; trip < trips; ++trip) {
        at = at * 1664525u + 1013904223u;
        sum += table[(at >> 4) & mask];
    }
    out[get_global_id(0)] = sum;
}
__kernel void fractal(__global const float *table, __global float *out, uint mask, uint trips) {
    float x = get_global_id(0) * 1e-6f;
    for (uint trip = 0; trip < trips; ++trip) x = x * x * 0.5f + 0.25f;
    out[get_global_id(0)] = x;
}
__kernel void add(__global const float *table, __global float *out, uint mask, uint trips) {
    float sum = 0;
    for (uint trip = 0; trip < trips; ++trip)
        sum += table[(get_global_id(0) + trip * get_global_size(0)) & mask];
    out[get_global_id(0)] = sum;
}
"""
GROUP_ITEMS = 256
LAUNCHES = 4


def main() -> None:
    """Launch what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", choices=["gather", "fractal", "add"])
    for name in ("queues", "rounds", "table_bytes", "groups", "trips"):
        parser.add_argument(name, type=int)
    chosen = parser.parse_args()
    context = cl.create_some_context(interactive=False)
    program = cl.Program(context, SOURCE).build()
    queues = [cl.CommandQueue(context) for _ in range(chosen.queues)]
    table = np.random.default_rng(1).random(chosen.table_bytes // 4, np.float32)
    launches = []
    for number in range(max(LAUNCHES, chosen.queues)):
        kernel = cl.Kernel(program, chosen.kernel)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        own = cl.Buffer(context, flags, hostbuf=table)
        out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 4 * GROUP_ITEMS * chosen.groups)
        kernel.set_args(own, out, np.uint32(len(table) - 1), np.uint32(chosen.trips))
        # Drivers need not keep the buffers of arguments.
        launches.append((queues[number % chosen.queues], kernel, own, out))
    for _ in range(chosen.rounds):
        for queue, kernel, *_ in launches:
            size = (chosen.groups * GROUP_ITEMS,)
            cl.enqueue_nd_range_kernel(queue, kernel, size, (GROUP_ITEMS,))
    for queue in queues:
        queue.finish()


if __name__ == "__main__":
    main()
