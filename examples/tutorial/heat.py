"""Heat that spreads in a plate, with two statistics after each step.

The program of docs/tutorial.md. It is correct, and slower than it needs to be.
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
host = np.zeros((SIZE, SIZE), np.float32)


def spread(plate: cl.Buffer, following: cl.Buffer) -> None:
    """Compute the plate after one step."""
    kernel = cl.Program(context, SOURCE).build().spread
    kernel(queue, (SIZE, SIZE), None, plate, following, np.float32(0.2))


def hottest(plate: cl.Buffer) -> float:
    """Return the highest temperature."""
    cl.enqueue_copy(queue, host, plate)
    return float(host.max())


def mean(plate: cl.Buffer) -> float:
    """Return the mean temperature."""
    cl.enqueue_copy(queue, host, plate)
    return float(host.mean())


def main() -> None:
    """Spread the heat of a hot square, and print the last statistics."""
    host[400:600, 400:600] = 100
    flags = cl.mem_flags
    plate = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=host)
    following = cl.Buffer(context, flags.READ_WRITE, host.nbytes)
    for _ in range(STEPS):
        spread(plate, following)
        plate, following = following, plate
        highest, average = hottest(plate), mean(plate)
    print(f"after {STEPS} steps: hottest {highest:.2f}, mean {average:.4f}")


if __name__ == "__main__":
    main()
