"""A small kernel and a little work in Python, again and again.

Usage: paced.py STEPS PROFILING PLATFORM. On an H200 a step takes about 17 µs.
"""

import numpy as np
import pyopencl as cl
from request import read_request

ITEMS = 64
STEPS_PER_WAIT = 200
WORK = 100
SOURCE = "kernel void advance(global float *values, float x) { values[get_global_id(0)] += x; }"


def main() -> None:
    """Launch the kernel, compute in Python, and wait now and then."""
    request = read_request()
    queue = request.make_queue()
    values = np.zeros(ITEMS, np.float32)
    flags = cl.mem_flags
    buffer = cl.Buffer(queue.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=values)
    advance = cl.Program(queue.context, SOURCE).build().advance
    x = np.float32(1)
    total = 0
    for step in range(request.steps):
        advance(queue, (ITEMS,), None, buffer, x)
        for value in range(WORK):
            total += value ^ step
        if step % STEPS_PER_WAIT == 0:
            queue.finish()
    cl.enqueue_copy(queue, values, buffer)
    print(int(values[0]), total)


if __name__ == "__main__":
    main()
