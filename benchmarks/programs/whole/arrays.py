"""Heat in a plate, with pyopencl's arrays: expressions, reductions and transfers.

Usage: arrays.py STEPS PROFILING PLATFORM.
"""

import sys

import numpy as np
import pyopencl.array as cl_array
import pyopencl.clmath as cl_math
import pyopencl.tools as cl_tools
from request import read_request

SIDE = 256
STEPS_PER_REPORT = 20


def main() -> None:
    """Let heat spread over a plate, and report its energy and its temperatures now and then."""
    request = read_request()
    queue = request.make_queue()
    pool = cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue))
    random = np.random.default_rng(1)
    heat = cl_array.to_device(queue, random.random(SIDE * SIDE, np.float32), allocator=pool)
    source = cl_array.to_device(queue, random.random(SIDE * SIDE, np.float32), allocator=pool)
    is_warm = cl_array.empty_like(heat)
    total = 0.0
    for step in range(request.steps):
        flow = 0.1 * (source - heat)
        heat += flow
        heat = cl_math.exp(-heat) * 0.5 + heat * 0.4
        is_warm = cl_array.if_positive(heat - 0.5, heat, source)
        if step % STEPS_PER_REPORT == 0:
            total += float(cl_array.sum(heat).get()) + float(cl_array.max(is_warm).get())
            total += float(cl_array.dot(heat, source).get()) + float(heat.get()[::SIDE].mean())
    queue.finish()
    if not np.isfinite(total):
        sys.exit("the heat is not finite")
    print(f"{total:.3f}")


if __name__ == "__main__":
    main()
