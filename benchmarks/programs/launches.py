"""Launches one-item kernels as fast as it can and says what that took.

Usage: launches.py ARGUMENTS LAUNCHES PROFILING MODE REPORT; ARGUMENTS is 1 or 4, PROFILING 0 or 1.
MODE is `free`; `held`: the queue starts nothing before the loop ends, so that no thread of the driver
competes with the one that launches; or `bounded`: the loop waits after every 10,000 launches, so that
the driver holds no more. REPORT gets JSON: `loop_cpu_ns`, the CPU time of the thread that launches,
in the loop alone, and `cpu_before_ns`, that of the whole process before the loop.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pyopencl as cl

SOURCES = {
    1: "kernel void nothing(global int *a) {}",
    4: "kernel void nothing(global int *a, global int *b, int n, float x) {}",
}

AT_ONCE = 10_000


def main() -> None:
    argument_count, launches, has_profiling = map(int, sys.argv[1:4])
    mode = sys.argv[4]
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    flags = cl.command_queue_properties.PROFILING_ENABLE if has_profiling else 0
    queue = cl.CommandQueue(context, properties=flags)
    first, second = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 64) for _ in range(2))
    arguments = (first,) if argument_count == 1 else (first, second, np.int32(3), np.float32(2.5))
    kernel = cl.Program(context, SOURCES[argument_count]).build().nothing
    if argument_count == 4:
        kernel.set_scalar_arg_dtypes([None, None, np.int32, np.float32])

    def launch(count: int) -> None:
        for _ in range(count):
            kernel(queue, (1,), None, *arguments)

    launch(100)
    queue.finish()
    gate = cl.UserEvent(context)
    if mode == "held":
        cl.enqueue_marker(queue, [gate])
    cpu_before_ns = time.process_time_ns()
    loop_begin_ns = time.thread_time_ns()
    if mode == "bounded":
        for _ in range(launches // AT_ONCE):
            launch(AT_ONCE)
            queue.finish()
    else:
        launch(launches)
    loop_cpu_ns = time.thread_time_ns() - loop_begin_ns
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    found = {"loop_cpu_ns": loop_cpu_ns, "cpu_before_ns": cpu_before_ns}
    Path(sys.argv[5]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
