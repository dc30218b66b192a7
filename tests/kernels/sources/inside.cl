/* Kernels whose branches and accesses are known by item: three reductions and the loads of a stencil. */

__kernel void sum_by_modulo(__global const float *input, __global float *output, const int n)
{
    __local float sums[GROUP];
    const int l = get_local_id(0), i = get_global_id(0);
    if (i < n)
        sums[l] = input[i];
    else
        sums[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < get_local_size(0); s *= 2) {
        if (l % (2 * s) == 0)
            sums[l] += sums[l + s];
        SUM_BARRIER;
    }
    if (l == 0)
        output[get_group_id(0)] = sums[0];
}

__kernel void sum_by_stride(__global const float *input, __global float *output, const int n)
{
    __local float sums[GROUP];
    const int l = get_local_id(0), i = get_global_id(0);
    if (i < n)
        sums[l] = input[i];
    else
        sums[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < get_local_size(0); s *= 2) {
        const int at = 2 * s * l;
        if (at < get_local_size(0))
            sums[at] += sums[at + s];
        SUM_BARRIER;
    }
    if (l == 0)
        output[get_group_id(0)] = sums[0];
}

__kernel void sum_by_halves(__global const float *input, __global float *output, const int n)
{
    __local float sums[GROUP];
    const int l = get_local_id(0), i = get_global_id(0);
    if (i < n)
        sums[l] = input[i];
    else
        sums[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_size(0) / 2; s > 0; s /= 2) {
        if (l < s)
            sums[l] += sums[l + s];
        SUM_BARRIER;
    }
    if (l == 0)
        output[get_group_id(0)] = sums[0];
}

/* The tile of a stencil of radius 1, loaded as 8 bits per texel: by all, by the last two rows, then by
   the last and the first column. Then a sum over neighbours. */
__kernel void load_tile(__global const uchar *image, __global uchar *tiles, __global ushort *sums,
                        const int height, const int width)
{
    const int x = get_global_id(0), y = (int)get_global_id(1) - 1;
    const int columns = get_local_size(0), rows = get_local_size(1);
    __global uchar *tile = tiles + (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * 10 * 34;
    const int at = get_local_id(1) * 34 + get_local_id(0) + 1;
    if ((y > -1) & (y < height) & (x < width))
        tile[at] = image[y * width + x];
    else
        tile[at] = 0;
    if (get_local_id(1) < 2) {
        if ((y + rows < height) & (x < width))
            tile[at + rows * 34] = image[(y + rows) * width + x];
        else
            tile[at + rows * 34] = 0;
    }
    if (get_local_id(0) == get_local_size(0) - 1) {
        if ((y > -1) & (y < height) & (get_group_id(0) > 0))
            tile[at - columns] = image[y * width + x - columns];
        else
            tile[at - columns] = 0;
        if (get_local_id(1) < 2) {
            if ((y + rows < height) & (get_group_id(0) > 0))
                tile[at + rows * 34 - columns] = image[(y + rows) * width + x - columns];
            else
                tile[at + rows * 34 - columns] = 0;
        }
    } else {
        if (get_local_id(0) == 0) {
            if ((y > -1) & (y < height) & ((get_group_id(0) + 1) * get_local_size(0) < width))
                tile[at + columns] = image[y * width + x + columns];
            else
                tile[at + columns] = 0;
            if (get_local_id(1) < 2) {
                if ((y + rows < height) & ((get_group_id(0) + 1) * get_local_size(0) < width))
                    tile[at + rows * 34 + columns] = image[(y + rows) * width + x + columns];
                else
                    tile[at + rows * 34 + columns] = 0;
            }
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if ((y < height) & (x < width))
        sums[(y + 1) * width + x] = tile[at] + tile[at + 33] + tile[at + 35] + tile[at + 68];
}

/* Accesses of a warp: in order, in another order, beside the border of a segment, every second word. */
__kernel void in_order(__global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    y[i] = x[i];
}

__kernel void out_of_order(__global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    y[i] = x[i ^ 5];
}

__kernel void misaligned(__global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    y[i] = x[i + 1];
}

__kernel void every_second(__global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    y[i] = x[2 * i];
}

/* A barrier that half of the work-items do not reach. */
__kernel void half_barrier(__global float *x)
{
    const int l = get_local_id(0);
    x[get_global_id(0)] = l;
    if (l < 16)
        barrier(CLK_LOCAL_MEM_FENCE);
}

/* Conditions in every form: side effects, short circuits, a switch, goto, do and early returns. */
int later(int *n) { return (*n += 1) < 4; }

__kernel void conditions(__global const int *x, __global int *y)
{
    const int i = get_global_id(0);
    int n = x[i], sum = 0;
    while (n++ < 5)
        sum += n;
    if (sum > 3 && later(&n) || i == 7)
        sum = -sum;
    do {
        sum += 2;
        if (sum > 40)
            break;
    } while (sum < 20);
    switch (i & 7) {
    case 0:
    case 1:
        sum += 1;
        break;
    case 2:
        sum += 2;
    case 5:
        y[i] = sum;
        return;
    default:
        sum ^= 3;
    }
again:
    sum = sum > 9 ? sum / 2 + x[i] : sum + x[i] + 1;
    if (sum > 12)
        goto again;
    y[i] = sum;
}
