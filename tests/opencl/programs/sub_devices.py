"""Kernels on two sub-devices of PoCL in turns, with copies between their buffers.

`sub_devices.py`: a context over both. `sub_devices.py fork`: a process each. `sub_devices.py N`: the Nth.
"""

import multiprocessing
import sys

ELEMENTS = 1 << 14
SOURCE = """
kernel void scale(global float *a, float f) {
    int i = get_global_id(0);
    for (int k = 0; k < 100; k++) a[i] = a[i] * f + 0.5f;
}
kernel void add(global const float *a, global float *b) { int i = get_global_id(0); b[i] += a[i]; }
"""


def sub_devices():
    import pyopencl as cl

    device = cl.get_platforms()[0].get_devices()[0]
    by_counts = cl.device_partition_property
    return device.create_sub_devices([by_counts.BY_COUNTS, 1, 1, by_counts.BY_COUNTS_LIST_END])


def one(number):
    import numpy as np
    import pyopencl as cl

    context = cl.Context([sub_devices()[number]])
    queue = cl.CommandQueue(context)
    scale = cl.Program(context, SOURCE).build().scale
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * ELEMENTS)
    for _ in range(3):
        scale(queue, (ELEMENTS,), None, memory, np.float32(0.5))
        queue.finish()


def both():
    import numpy as np
    import pyopencl as cl

    parts = sub_devices()
    context = cl.Context(parts)
    program = cl.Program(context, SOURCE).build()
    scale, add = cl.Kernel(program, "scale"), cl.Kernel(program, "add")
    queues = [cl.CommandQueue(context, part) for part in parts]
    host = np.ones(ELEMENTS, np.float32)
    memory = [cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes) for _ in parts]
    cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    for queue, buffer in zip(queues, memory, strict=True):
        cl.enqueue_copy(queue, buffer, host)
    for _ in range(10):
        for queue, buffer in zip(queues, memory, strict=True):
            scale(queue, (ELEMENTS,), None, buffer, np.float32(0.5))
            queue.finish()
    copied = cl.enqueue_copy(queues[0], memory[0], memory[1])
    added = add(queues[1], (ELEMENTS,), None, memory[0], memory[1], wait_for=[copied])
    cl.enqueue_migrate_mem_objects(queues[0], [memory[1]], wait_for=[added])
    cl.enqueue_copy(queues[0], host, memory[1])


if __name__ == "__main__":
    if sys.argv[1:] == ["fork"]:
        workers = [
            multiprocessing.get_context("fork").Process(target=one, args=(number,))
            for number in range(2)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    elif sys.argv[1:]:
        one(int(sys.argv[1]))
    else:
        both()
