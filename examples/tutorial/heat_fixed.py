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


def read(plate: cl.Buffer) -> tuple[np.ndarray, cl.Event]:
    """Map a plate once it is computed. Return its array and the event to wait for."""
    flags = cl.map_flags.READ
    return cl.enqueue_map_buffer(
        queue, plate, flags, 0, (SIZE, SIZE), np.float32, is_blocking=False
    )


def statistics(host: np.ndarray, mapped: cl.Event) -> tuple[float, float]:
    """Return the highest and the mean temperature."""
    mapped.wait()
    with host.base:
        return float(host.max()), float(host.mean())


def main() -> None:
    """Spread the heat of a hot square, and print the last statistics."""
    host = np.zeros((SIZE, SIZE), np.float32)
    host[400:600, 400:600] = 100
    flags = cl.mem_flags
    plate = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=host)
    following = cl.Buffer(context, flags.READ_WRITE, host.nbytes)
    spread(plate, following)
    for _ in range(STEPS - 1):
        # The device computes a step while the host works on the result of the one before.
        result = read(following)
        spread(following, plate)
        highest, average = statistics(*result)
        plate, following = following, plate
    highest, average = statistics(*read(following))
    print(f"after {STEPS} steps: hottest {highest:.2f}, mean {average:.4f}")


if __name__ == "__main__":
    main()
