"""Heat spreading through a plate: a small pyopencl program with a bit of everything.

It knows nothing of cltrace. It builds a program, sends a picture to the device, launches two kernels
many times on two queues, reads results back, and holds one buffer longer than it needs to.
"""

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void diffuse(global const float *from, global float *to, float rate)
{
    int x = get_global_id(0), y = get_global_id(1);
    int w = get_global_size(0), h = get_global_size(1), i = y * w + x;
    float left = from[x > 0 ? i - 1 : i], right = from[x < w - 1 ? i + 1 : i];
    float up = from[y > 0 ? i - w : i], down = from[y < h - 1 ? i + w : i];
    to[i] = from[i] + rate * (left + right + up + down - 4.0f * from[i]);
}

kernel void row_sums(global const float *plate, global float *sums, int width)
{
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int x = 0; x < width; x++)
        sum += plate[row * width + x];
    sums[row] = sum;
}
"""


def main(size: int = 256, steps: int = 200) -> None:
    """Diffuse a hot square and report the mean temperature now and then."""
    context = cl.create_some_context(interactive=False)
    queue, reader = cl.CommandQueue(context), cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    diffuse, row_sums = program.diffuse, program.row_sums

    plate = np.zeros((size, size), np.float32)
    plate[size // 4 : size // 2, size // 4 : size // 2] = 100.0
    flags = cl.mem_flags
    now = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=plate)
    later = cl.Buffer(context, flags.READ_WRITE, plate.nbytes)
    sums_buffer = cl.Buffer(context, flags.WRITE_ONLY, size * plate.itemsize)
    sums = np.empty(size, np.float32)

    for step in range(1, steps + 1):
        diffuse(queue, plate.shape, (16, 16), now, later, np.float32(0.2))
        now, later = later, now
        if step % 50 == 0:
            done = row_sums(queue, (size,), None, now, sums_buffer, np.int32(size))
            cl.enqueue_copy(reader, sums, sums_buffer, wait_for=[done])
            print(f"step {step:4}: mean temperature {sums.sum() / plate.size:.4f}")

    cl.enqueue_copy(queue, plate, now)
    queue.finish()


if __name__ == "__main__":
    main()
