#pragma OPENCL FP_CONTRACT OFF

__kernel void jacobi_2d(__global const float *in, __global float *out, const int width, const int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const int i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        out[i] = in[i];
    else
        out[i] = 0.25f * (((in[i - 1] + in[i + 1]) + in[i - width]) + in[i + width]);
}

/* Seven points, marching along z with the column in registers. */
__kernel void heat_3d(__global const float *in, __global float *out, const float c0, const float c1)
{
    const int nx = get_global_size(0), ny = get_global_size(1), nz = 10;
    const int x = get_global_id(0), y = get_global_id(1), plane = nx * ny;
    const bool inside = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
    int i = y * nx + x;
    float below, here = in[i], above = in[i + plane];
    out[i] = here;
    for (int z = 1; z < nz - 1; ++z) {
        i += plane;
        below = here;
        here = above;
        above = in[i + plane];
        if (inside) {
            const float around = ((in[i - 1] + in[i + 1]) + (in[i - nx] + in[i + nx])) + (below + above);
            out[i] = c0 * here + c1 * around;
        } else
            out[i] = here;
    }
    out[i + plane] = above;
}

/* A tile and its edge of one element in local memory; coordinates wrap around. */
__kernel void game_of_life(__global const uchar *in, __global uchar *out, const int width, const int height)
{
    __local uchar tile[10][18];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x0 = get_group_id(0) * 16 - 1, y0 = get_group_id(1) * 8 - 1;
    for (int i = ly * 16 + lx; i < 10 * 18; i += 16 * 8) {
        const int tx = i % 18, ty = i / 18;
        const int x = (x0 + tx + width) % width, y = (y0 + ty + height) % height;
        tile[ty][tx] = in[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uchar neighbours = 0;
    for (int dy = 0; dy <= 2; ++dy)
        for (int dx = 0; dx <= 2; ++dx)
            if (dx != 1 || dy != 1)
                neighbours += tile[ly + dy][lx + dx];
    const uchar alive = tile[ly + 1][lx + 1];
    out[get_global_id(1) * width + get_global_id(0)] = (neighbours == 3) | (neighbours == 2 & alive);
}

/* Temperatures of a chip over two time steps in one launch, the tile shrinking by one each. */
__kernel void hotspot(__global const float *power, __global const float *in, __global float *out, const int size,
                      const float4 factors)
{
    __local float now[12][12], next[12][12];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x = (int)get_group_id(0) * 8 + lx - 2, y = (int)get_group_id(1) * 8 + ly - 2;
    const int cx = clamp(x, 0, size - 1), cy = clamp(y, 0, size - 1);
    now[ly][lx] = in[cy * size + cx];
    const float heat = power[cy * size + cx];
    for (int step = 1; step <= 2; ++step) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool computes = lx >= step && lx < 12 - step && ly >= step && ly < 12 - step
            && x >= 0 && x < size && y >= 0 && y < size;
        if (computes) {
            const float c = now[ly][lx];
            const float n = now[y == 0 ? ly : ly - 1][lx], s = now[y == size - 1 ? ly : ly + 1][lx];
            const float w = now[ly][x == 0 ? lx : lx - 1], e = now[ly][x == size - 1 ? lx : lx + 1];
            next[ly][lx] = c + factors.s0 * (heat + (n + s - 2.0f * c) * factors.s1
                + (e + w - 2.0f * c) * factors.s2 + (80.0f - c) * factors.s3);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (computes)
            now[ly][lx] = next[ly][lx];
    }
    if (lx >= 2 && lx < 10 && ly >= 2 && ly < 10)
        out[y * size + x] = now[ly][lx];
}

__constant int2 directions[9] = {
    (int2)(0, 0), (int2)(1, 0), (int2)(0, 1), (int2)(-1, 0), (int2)(0, -1),
    (int2)(1, 1), (int2)(-1, 1), (int2)(-1, -1), (int2)(1, -1)
};
__constant double weights[9] = { 4.0 / 9, 1.0 / 9, 1.0 / 9, 1.0 / 9, 1.0 / 9, 1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36 };

/* Lattice Boltzmann D2Q9: collide here, stream to the neighbours. */
__kernel void lattice_boltzmann(__global const double *from, __global double *to, __global const uchar *wall, const double omega)
{
    const int nx = get_global_size(0), ny = get_global_size(1), cells = nx * ny;
    const int x = get_global_id(0), y = get_global_id(1), i = y * nx + x;
    double f[9];
    double density = 0.0;
    double2 u = (double2)(0.0);
    for (int d = 0; d < 9; ++d) {
        f[d] = from[d * cells + i];
        density += f[d];
        u += f[d] * convert_double2(directions[d]);
    }
    u /= density;
    const double uu = 1.5 * dot(u, u);
    for (int d = 0; d < 9; ++d) {
        double value;
        if (wall[i]) {
            const int opposite = d == 0 ? 0 : d < 5 ? (d + 1) % 4 + 1 : (d - 3) % 4 + 5;
            value = f[opposite];
        } else {
            const double cu = 3.0 * dot(u, convert_double2(directions[d]));
            const double balance = weights[d] * density * (1.0 + cu + 0.5 * cu * cu - uu);
            value = f[d] + omega * (balance - f[d]);
        }
        const int tx = (x + directions[d].x + nx) % nx, ty = (y + directions[d].y + ny) % ny;
        to[d * cells + ty * nx + tx] = value;
    }
}

/* Finite differences of the wave equation, eighth order, on a line with local memory. */
__kernel void wave_1d(__global const float *now, __global const float *before, __global float *after,
                      __constant float *c, __local float *line, const int n)
{
    const int l = get_local_id(0), size = get_local_size(0), i = get_global_id(0) + 4;
    line[l + 4] = now[i];
    if (l < 4) {
        line[l] = now[i - 4];
        line[l + size + 4] = now[i + size];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= n - 4)
        return;
    float sum = c[0] * line[l + 4];
    #pragma unroll 4
    for (int k = 1; k <= 4; k++)
        sum += c[k] * (line[l + 4 - k] + line[l + 4 + k]);
    after[i] = 2.0f * line[l + 4] - before[i] + sum;
}
