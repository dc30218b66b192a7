#pragma OPENCL FP_CONTRACT OFF

__kernel void matmul_naive(__global const float *a, __global const float *b, __global float *c,
                           const int m, const int n, const int k)
{
    const int row = get_global_id(1), column = get_global_id(0);
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

#ifndef TILE
#define TILE 8
#endif

/* Edges are filled with zeros: no size need be a multiple of the tile's. */
__kernel void matmul_tiled(__global const float *a, __global const float *b, __global float *c,
                           const int m, const int n, const int k)
{
    __local float left[TILE][TILE];
    __local float right[TILE][TILE + 1];
    const int x = get_local_id(0), y = get_local_id(1);
    const int row = get_group_id(1) * TILE + y, column = get_group_id(0) * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
        const int p = t * TILE + x, q = t * TILE + y;
        left[y][x] = (row < m && p < k) ? a[row * k + p] : 0.0f;
        right[y][x] = (q < k && column < n) ? b[q * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; ++i)
            sum += left[y][i] * right[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

/* Each work-item computes 4 x 4 elements in registers. */
__kernel void matmul_blocked(__global const float *a, __global const float4 *b, __global float4 *c,
                             const int n4, const int k)
{
    const int column = get_global_id(0), row = 4 * get_global_id(1);
    float4 sums[4];
    for (int r = 0; r < 4; ++r)
        sums[r] = (float4)(0.0f);
    for (int i = 0; i < k; ++i) {
        const float4 across = b[i * n4 + column];
        float down[4];
        for (int r = 0; r < 4; ++r)
            down[r] = a[(row + r) * k + i];
        #pragma unroll
        for (int r = 0; r < 4; ++r)
            sums[r] += down[r] * across;
    }
    for (int r = 0; r < 4; ++r)
        c[(row + r) * n4 + column] = sums[r];
}

__kernel void matmul_double(__global const double *a, __global const double *b, __global double *c, const int k)
{
    const int row = get_global_id(1), column = get_global_id(0), n = get_global_size(0);
    double sum = 0.0;
    for (int i = 0; i < k; i++)
        sum = fma(a[row * k + i], b[i * n + column], sum);
    c[row * n + column] = sum;
}

__kernel void transpose_naive(__global const float *in, __global float *out, const int width, const int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}

__kernel void transpose_tiled(__global const int *in, __global int *out, const int width, const int height,
                              __local int *tile)
{
    const int size = get_local_size(0), lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        tile[ly * size + lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * size + lx;
    y = get_group_id(0) * size + ly;
    if (x < height && y < width)
        out[y * height + x] = tile[lx * size + ly];
}

/* Four rows per work-item through a tile whose rows are one longer than needed. */
__kernel void transpose_padded(__global const uchar *in, __global uchar *out, const int width, const int height)
{
    __local uchar tile[16][17];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x0 = get_group_id(0) * 16, y0 = get_group_id(1) * 16;
    for (int j = 0; j < 16; j += 4)
        tile[ly + j][lx] = in[(y0 + ly + j) * width + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; j += 4)
        out[(x0 + ly + j) * height + y0 + lx] = tile[lx][ly + j];
}
