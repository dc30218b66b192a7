"""Mixed work for a number of seconds: bursts of launches, copies both ways, waits of every kind, pauses.

mixed.py SECONDS [SEED]
"""

import random
import sys
import time

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void spin(global float *x, int rounds)
{
    float value = x[get_global_id(0)];
    for (int i = 0; i < rounds; i++)
        value = value * 1.0001f + 0.5f;
    x[get_global_id(0)] = value;
}
"""

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
spin = cl.Program(context, SOURCE).build().spin
host = np.zeros(1 << 14, np.float32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes)
choose = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
end = time.perf_counter() + float(sys.argv[1])
while time.perf_counter() < end:
    for _ in range(choose.randrange(1, 20)):
        event = spin(queue, (256,), None, buffer, np.int32(choose.randrange(1, 2000)))
    match choose.randrange(5):
        case 0:
            queue.finish()
        case 1:
            cl.enqueue_copy(queue, host, buffer)
        case 2:
            cl.enqueue_copy(queue, buffer, host, is_blocking=False).wait()
        case 3:
            event.wait()
        case 4:
            cl.enqueue_copy(queue, buffer, host)
    if choose.random() < 0.02:
        time.sleep(choose.random() * 0.02)
queue.finish()
