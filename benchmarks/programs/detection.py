"""A program that finds faces in frames of noise: the energy benchmark, as a user would write it.

cltrace run --power nvml benchmarks/programs/detection.py --seconds 20
"""

import argparse
import time

import numpy as np
import pyopencl as cl

from cltrace.suite.evaluation.detection import SOURCE, WINDOW, cascade, image


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--device", default="")
    given = parser.parse_args()
    device = next(
        one
        for platform in cl.get_platforms()
        for one in platform.get_devices()
        if given.device in f"{platform.name} {one.name}"
    )
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    rows = cl.Kernel(program, "integrate_rows")
    columns = cl.Kernel(program, "integrate_columns")
    stages = cl.Kernel(program, "cascade")
    side, group = given.side, min(256, device.max_work_group_size)
    frame = image(side, side)
    found = cascade()
    flags = cl.mem_flags
    pixels = cl.Buffer(context, flags.READ_ONLY, frame.nbytes)
    sums = cl.Buffer(context, flags.READ_WRITE, 4 * frame.size)
    features = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=found.features)
    table = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=found.stages)
    depth = cl.Buffer(context, flags.WRITE_ONLY, frame.size)
    result = np.empty(frame.size, np.uint8)
    inner = (side - WINDOW - 1) // 16 * 16
    frames, until = 0, time.monotonic() + given.seconds
    while time.monotonic() < until:
        cl.enqueue_copy(queue, pixels, frame, is_blocking=False)
        rows(
            queue,
            (group, side),
            (group, 1),
            pixels,
            sums,
            np.int32(side),
            cl.LocalMemory(4 * group),
        )
        columns(queue, (side,), (group,), sums, np.int32(side), np.int32(side))
        for _ in range(4):
            stages(queue, (inner, inner), (16, 16), sums, features, table, depth, np.int32(side),
                   np.int32(len(found.stages)))  # fmt: skip
        cl.enqueue_copy(queue, result[: inner * inner], depth)
        frames += 1
    print(
        f"{frames} frames, {int((result[: inner * inner] == len(found.stages)).sum())} windows found"
    )


if __name__ == "__main__":
    main()
