"""Two threads, a queue in order and one out of order, four kernels, transfers, wait lists, memory that comes and goes."""

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
    for (int k = 0; k < 300; k++) v = sin(v) + 0.1f;
    y[get_global_id(0)] = v;
}
kernel void total(global const float *x, global float *sums) {
    float v = 0;
    for (int k = 0; k < 64; k++) v += x[get_global_id(0) * 64 + k];
    sums[get_global_id(0)] = v;
}
"""
SIZE = 4096
ROUNDS = 12

context = cl.create_some_context(interactive=False)
program = cl.Program(context, SOURCE).build()


def work(properties: int) -> None:
    queue = cl.CommandQueue(context, properties=properties)
    axpy, stencil, heavy, total = (
        cl.Kernel(program, name) for name in ("axpy", "stencil", "heavy", "total")
    )
    host, out = np.random.default_rng(1).random(SIZE, np.float32), np.empty(SIZE, np.float32)
    x, y, z = (cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes) for _ in range(3))
    for number in range(ROUNDS):
        written = cl.enqueue_copy(queue, x, host, is_blocking=False)
        added = axpy(queue, (SIZE,), (64,), np.float32(2), x, y, wait_for=[written])
        spread = stencil(queue, (SIZE,), None, x, z, wait_for=[written])
        worked = heavy(queue, (SIZE,), (32,), y, wait_for=[added])
        summed = total(queue, (SIZE // 64,), None, y, z, wait_for=[worked, spread])
        cl.enqueue_copy(queue, out, z, wait_for=[summed])
        if number % 4 == 0:
            scratch = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
            cl.enqueue_fill_buffer(queue, scratch, np.float32(0), 0, 1 << 20)
            queue.finish()
            scratch.release()
    queue.finish()


out_of_order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
threads = [threading.Thread(target=work, args=(one,)) for one in (0, out_of_order)]
for one in threads:
    one.start()
for one in threads:
    one.join()
