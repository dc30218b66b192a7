"""Enqueues about so many commands as a graph: two threads, one queue in order and one out of order.

Usage: graph.py COMMANDS. Four kernels, transfers, wait lists, and memory that comes and goes.
"""

import sys
import threading

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void axpy(float a, global const float *x, global float *y) {
    int i = get_global_id(0);
    y[i] += a * x[i];
}
kernel void stencil(global const float *x, global float *y) {
    int i = get_global_id(0), n = get_global_size(0);
    y[i] = x[(i + n - 1) % n] + x[i] + x[(i + 1) % n];
}
kernel void heavy(global float *y) {
    float v = y[get_global_id(0)];
    for (int k = 0; k < 200; k++) v = sin(v) + 0.1f;
    y[get_global_id(0)] = v;
}
kernel void total(global const float *x, global float *sums) {
    float v = 0;
    for (int k = 0; k < 64; k++) v += x[get_global_id(0) * 64 + k];
    sums[get_global_id(0)] = v;
}
"""
SIZE = 4096
A_ROUND = 9
"""Commands that every round enqueues."""


def main() -> None:
    """Enqueue them all."""
    rounds = max(int(sys.argv[1]) // (2 * A_ROUND), 1)
    context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
    program = cl.Program(context, SOURCE).build()
    out_of_order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    threads = [
        threading.Thread(target=work, args=(context, program, properties, rounds), name=name)
        for name, properties in (("in order", 0), ("out of order", out_of_order))
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def work(context: cl.Context, program: cl.Program, properties: int, rounds: int) -> None:
    """One thread's part."""
    queue = cl.CommandQueue(context, properties=properties)
    axpy, stencil, heavy, total = (
        cl.Kernel(program, name) for name in ("axpy", "stencil", "heavy", "total")
    )
    host, out = np.random.default_rng(1).random(SIZE, np.float32), np.empty(SIZE, np.float32)
    x, y, z = (cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes) for _ in range(3))
    for number in range(rounds):
        written = cl.enqueue_copy(queue, x, host, is_blocking=False)
        before = [written]
        for _ in range(3):
            added = axpy(queue, (SIZE,), (64,), np.float32(1), x, y, wait_for=before)
            spread = stencil(queue, (SIZE,), None, x, z, wait_for=[written])
            before = [added, spread]
        if number % 10 == 0:
            before = [heavy(queue, (SIZE,), (64,), y, wait_for=before)]
        summed = total(queue, (SIZE // 64,), (16,), y, z, wait_for=before)
        cl.enqueue_copy(queue, out, z, wait_for=[summed])
        if number % 50 == 0:
            scratch = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
            cl.enqueue_fill_buffer(queue, scratch, np.float32(0), 0, 1 << 20)
            queue.finish()
            scratch.release()
    queue.finish()


if __name__ == "__main__":
    main()
