"""Gravity among a few thousand bodies, by a naive and a tiled kernel.

A plain pyopencl program: run it with `python examples/nbody.py`, or trace it with
`cltrace run python examples/nbody.py`.
"""

import argparse

import numpy as np
import pyopencl as cl

SOURCE = """
float4 pull(float4 me, float4 other)
{
    float4 d = other - me;
    float r2 = d.x * d.x + d.y * d.y + d.z * d.z + SOFTENING;
    float inverse = rsqrt(r2);
    d.w = 0.0f;
    return d * (other.w * inverse * inverse * inverse);
}

kernel void accelerate(global const float4 *bodies, global float4 *pulls, int count)
{
    float4 me = bodies[get_global_id(0)], sum = (float4)(0.0f);
    for (int j = 0; j < count; j++)
        sum += pull(me, bodies[j]);
    pulls[get_global_id(0)] = sum;
}

kernel void accelerate_tiled(global const float4 *bodies, global float4 *pulls, int count,
                             local float4 *tile)
{
    float4 me = bodies[get_global_id(0)], sum = (float4)(0.0f);
    int size = get_local_size(0), lane = get_local_id(0);
    for (int begin = 0; begin < count; begin += size) {
        tile[lane] = bodies[begin + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; j++)
            sum += pull(me, tile[j]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    pulls[get_global_id(0)] = sum;
}

kernel void move(global float4 *bodies, global float4 *speeds, global const float4 *pulls, float dt)
{
    int i = get_global_id(0);
    float4 speed = speeds[i] + pulls[i] * dt, body = bodies[i];
    speeds[i] = speed;
    body.xyz += speed.xyz * dt;
    bodies[i] = body;
}
"""


def simulate(count: int, steps: int, group: int) -> np.ndarray:
    """Positions and masses after `steps`, of shape (count, 4)."""
    rng = np.random.default_rng(7)
    bodies = rng.standard_normal((count, 4), dtype=np.float32)
    bodies[:, 3] = 1.0 / count

    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build(options="-DSOFTENING=1e-3f")
    naive, tiled, move = program.accelerate, program.accelerate_tiled, program.move

    flags = cl.mem_flags
    body_buffer = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=bodies)
    speed_buffer = cl.Buffer(context, flags.READ_WRITE, bodies.nbytes)
    pull_buffer = cl.Buffer(context, flags.READ_WRITE, bodies.nbytes)
    cl.enqueue_fill_buffer(queue, speed_buffer, np.float32(0), 0, bodies.nbytes)

    tile = cl.LocalMemory(group * 16)
    for step in range(steps):
        size = np.int32(count)
        if step % 2:
            tiled(queue, (count,), (group,), body_buffer, pull_buffer, size, tile)
        else:
            naive(queue, (count,), (group,), body_buffer, pull_buffer, size)
        move(queue, (count,), (group,), body_buffer, speed_buffer, pull_buffer, np.float32(1e-3))
    cl.enqueue_copy(queue, bodies, body_buffer)
    return bodies


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--group", type=int, default=64)
    given = parser.parse_args()
    final = simulate(given.count, given.steps, given.group)
    centre = (final[:, :3] * final[:, 3:]).sum(axis=0)
    print(f"{given.count} bodies, {given.steps} steps; centre of mass at", np.round(centre, 4))
