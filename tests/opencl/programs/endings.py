"""Does a little OpenCL work and ends in the way that its first argument says."""

import os
import signal
import sys
import time

import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(
    cl.Program(context, "kernel void tick(global int *a) { a[0]++; }").build(), "tick"
)
memory = cl.Buffer(
    context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(4, np.int32)
)
for _ in range(20):
    kernel(queue, (1,), None, memory)
queue.finish()
print("to stdout", flush=True)
print("to stderr", file=sys.stderr, flush=True)

how = sys.argv[1]
if how == "exit7":
    sys.exit(7)
if how == "raise":
    raise RuntimeError("as planned")
if how == "clerror":
    kernel(queue, (10,), (3,), memory)
if how == "nested":
    try:
        cl.Buffer(context, cl.mem_flags.READ_WRITE, 0)
    except cl.Error as error:
        raise ValueError("while making a buffer") from error
if how == "builderror":
    cl.Program(context, "kernel void broken(global int *a) { a[0] = nothing; }").build()
if how == "_exit":
    os._exit(9)
if how == "abort":
    os.abort()
if how == "kill":
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)
if how == "segv":
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "loop":
    begin = time.monotonic()
    while time.monotonic() - begin < 60:
        kernel(queue, (1,), None, memory)
        queue.finish()
if how == "tight":
    begin = time.monotonic()
    while time.monotonic() - begin < 60:
        for _ in range(1000):
            kernel(queue, (1,), None, memory)
        queue.finish()
if how == "interrupted":
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted once", flush=True)
        sys.exit(3)
if how == "unfinished":
    slow = (
        cl.Program(
            context,
            "kernel void slow(global int *a) { for (int i = 0; i < 400000000; i++) a[0] += i; }",
        )
        .build()
        .slow
    )
    slow(queue, (1,), None, memory)
