"""Bodies that attract each other: two kernels per step, and their energy now and then.

Usage: nbody.py STEPS PROFILING PLATFORM.
"""

import sys

import numpy as np
import pyopencl as cl
from request import read_request

BODIES = 512
STEPS_PER_REPORT = 50
GROUP = 64
SOURCE = """
kernel void accelerate(global const float4 *places, global float4 *forces, local float4 *tile, float soft)
{
    const int i = get_global_id(0), me = get_local_id(0), size = get_local_size(0);
    const float4 place = places[i];
    float4 force = 0;
    for (int first = 0; first < get_global_size(0); first += size) {
        tile[me] = places[first + me];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; j++) {
            const float4 way = tile[j] - place;
            const float near = rsqrt(way.x * way.x + way.y * way.y + way.z * way.z + soft);
            force.xyz += way.xyz * (tile[j].w * near * near * near);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    forces[i] = force;
}
kernel void move(global float4 *places, global float4 *speeds, global const float4 *forces, float time)
{
    const int i = get_global_id(0);
    speeds[i].xyz += forces[i].xyz * time;
    places[i].xyz += speeds[i].xyz * time;
}
"""


def main() -> None:
    """Move the bodies. The duration of a step changes from step to step."""
    request = read_request()
    queue = request.make_queue()
    random = np.random.default_rng(2)
    places = random.random((BODIES, 4), np.float32)
    speeds = np.zeros_like(places)
    flags = cl.mem_flags
    copied = flags.READ_WRITE | flags.COPY_HOST_PTR
    place_buffer = cl.Buffer(queue.context, copied, hostbuf=places)
    speed_buffer = cl.Buffer(queue.context, copied, hostbuf=speeds)
    force_buffer = cl.Buffer(queue.context, flags.READ_WRITE, places.nbytes)
    program = cl.Program(queue.context, SOURCE).build()
    accelerate, move = program.accelerate, program.move
    for step in range(request.steps):
        tile = cl.LocalMemory(16 * GROUP)
        accelerate(queue, (BODIES,), (GROUP,), place_buffer, force_buffer, tile, np.float32(0.01))
        time = np.float32(1e-5 * (1 + step % 7))
        move(queue, (BODIES,), (GROUP,), place_buffer, speed_buffer, force_buffer, time)
        if step % STEPS_PER_REPORT == 0:
            cl.enqueue_copy(queue, speeds, speed_buffer)
    cl.enqueue_copy(queue, places, place_buffer)
    if not np.isfinite(places).all():
        sys.exit("a body is lost")
    print(f"{np.square(speeds[:, :3]).sum():.3f}")


if __name__ == "__main__":
    main()
