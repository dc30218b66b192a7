"""Prints its arguments and launches the kernel `tick` three times."""

import sys

import numpy as np
import pyopencl as cl

context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void tick(global int *a) { a[get_global_id(0)]++; }").build()
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(16, np.int32))
tick = program.tick
for _ in range(3):
    tick(queue, (16,), None, buffer)
result = np.empty(16, np.int32)
cl.enqueue_copy(queue, result, buffer)
assert (result == 3).all()
print(sys.argv[1:])
