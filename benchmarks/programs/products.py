"""Multiplies matrices, moving them to the device and back each time, and says what that took.

Usage: products.py PRODUCTS SIZE PROFILING REPORT. PROFILING is 0 or 1. REPORT gets JSON:
`wall_ns`, of the loop alone.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void multiply(global const float *a, global const float *b, global float *c, int size)
{
    int row = get_global_id(1), column = get_global_id(0);
    float sum = 0;
    for (int i = 0; i < size; i++)
        sum += a[row * size + i] * b[i * size + column];
    c[row * size + column] = sum;
}
"""


def main() -> None:
    products, size, profiling = map(int, sys.argv[1:4])
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    properties = cl.command_queue_properties.PROFILING_ENABLE if profiling else 0
    queue = cl.CommandQueue(context, properties=properties)
    random = np.random.default_rng(1)
    a, b = (random.random((size, size), np.float32) for _ in range(2))
    c = np.empty_like(a)
    flags = cl.mem_flags
    on_device = [cl.Buffer(context, flags.READ_WRITE, a.nbytes) for _ in range(3)]
    multiply = cl.Program(context, SOURCE).build().multiply

    def product() -> None:
        cl.enqueue_copy(queue, on_device[0], a, is_blocking=False)
        cl.enqueue_copy(queue, on_device[1], b, is_blocking=False)
        multiply(queue, (size, size), (16, 16), *on_device, np.int32(size))
        cl.enqueue_copy(queue, c, on_device[2])

    for _ in range(5):
        product()
    begin_ns = time.perf_counter_ns()
    for _ in range(products):
        product()
    wall_ns = time.perf_counter_ns() - begin_ns
    if not np.allclose(c, a @ b, rtol=1e-3):
        sys.exit("the product is wrong")
    Path(sys.argv[4]).write_text(json.dumps({"wall_ns": wall_ns}))


if __name__ == "__main__":
    main()
