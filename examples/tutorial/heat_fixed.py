"""Heat that spreads in a plate, with two statistics after each step.

The program of docs/tutorial.md after the advice that `cltrace timeline` gives on heat.py.
"""

import numpy as np
import pyopencl as cl

SIZE = 1024
STEPS = 20
SOURCE = """
kernel void spread(global const float *plate, global float *next, float rate)
{
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
    int at = y * width + x;
    float here = plate[at], sum = -4.0f * here;
    sum += plate[x > 0 ? at - 1 : at] + plate[x < width - 1 ? at + 1 : at];
    sum += plate[y > 0 ? at - width : at] + plate[y < width - 1 ? at + width : at];
    next[at] = here + rate * sum;
}
"""

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Program(context, SOURCE).build().spread


def spread(plate: cl.Buffer, following: cl.Buffer) -> None:
    """Compute the plate after one step."""
    kernel(queue, (SIZE, SIZE), None, plate, following, np.float32(0.2))


def statistics(plate: cl.Buffer) -> tuple[float, float]:
    """Return the highest and the mean temperature."""
    read = cl.map_flags.READ
    host, _ = cl.enqueue_map_buffer(queue, plate, read, 0, (SIZE, SIZE), np.float32)
    with host.base:
        return float(host.max()), float(host.mean())


def main() -> None:
    """Spread the heat of a hot square, and print the last statistics."""
    host = np.zeros((SIZE, SIZE), np.float32)
    host[400:600, 400:600] = 100
    flags = cl.mem_flags
    plate = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=host)
    following = cl.Buffer(context, flags.READ_WRITE, host.nbytes)
    for _ in range(STEPS):
        spread(plate, following)
        plate, following = following, plate
        highest, average = statistics(plate)
    print(f"after {STEPS} steps: hottest {highest:.2f}, mean {average:.4f}")


if __name__ == "__main__":
    main()
