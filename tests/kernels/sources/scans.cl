#pragma OPENCL FP_CONTRACT OFF

/* Neighbours first: strides grow. */
__kernel void reduce_interleaved(__global const int *in, __global int *out, __local int *data)
{
    const uint l = get_local_id(0), size = get_local_size(0);
    data[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < size; s *= 2) {
        if (l % (2 * s) == 0)
            data[l] += data[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = data[0];
}

/* As above with the working items together. */
__kernel void reduce_strided(__global const int *in, __global int *out, __local int *data)
{
    const uint l = get_local_id(0);
    data[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s <<= 1) {
        const uint i = 2 * s * l;
        if (i < get_local_size(0))
            data[i] = max(data[i], data[i + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = data[0];
}

/* Halves, with a first addition while loading. */
__kernel void reduce_sequential(__global const float *in, __global float *out, __local float *data)
{
    const uint l = get_local_id(0), size = get_local_size(0);
    const uint i = get_group_id(0) * size * 2 + l;
    data[l] = in[i] + in[i + size];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = size >> 1; s > 0; s >>= 1) {
        if (l < s)
            data[l] += data[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = data[0];
}

/* Vectors of four in flight, scalars at the end. */
__kernel void reduce_float4(__global const float4 *in, __global float *out, __local float4 *data)
{
    const uint l = get_local_id(0), i = get_group_id(0) * get_local_size(0) * 2 + l;
    data[l] = in[i] + in[i + get_local_size(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s >= 1; s /= 2) {
        if (l < s)
            data[l] += data[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!l) {
        const float4 v = data[0];
        out[get_group_id(0)] = (v.x + v.y) + (v.z + v.w);
    }
}

/* Two stages in one launch: the group that ends last adds the groups' sums. */
__kernel void reduce_two_stage(__global const uint *in, const uint n, volatile __global uint *partial,
                               volatile __global uint *ended, __global uint *out)
{
    __local uint data[64];
    __local bool last;
    const uint l = get_local_id(0);
    uint sum = 0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    data[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 32; s; s >>= 1) {
        if (l < s)
            data[l] += data[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) {
        partial[get_group_id(0)] = data[0];
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        last = atomic_inc(ended) == get_num_groups(0) - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last && l == 0) {
        uint total = 0;
        for (uint g = 0; g < get_num_groups(0); ++g)
            total += partial[g];
        *out = total;
    }
}

__kernel void scan_hillis_steele(__global const int *in, __global int *out, __global int *sums,
                                 __local int *a, __local int *b)
{
    const int l = get_local_id(0), n = get_local_size(0), i = get_global_id(0);
    a[l] = b[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < n; s <<= 1) {
        if (l >= s)
            b[l] = a[l] + a[l - s];
        else
            b[l] = a[l];
        barrier(CLK_LOCAL_MEM_FENCE);
        __local int *t = a;
        a = b;
        b = t;
    }
    out[i] = a[l];
    if (l == n - 1)
        sums[get_group_id(0)] = a[l];
}

#define PAD(i) ((i) + ((i) >> 4))

/* Two elements per work-item, with padding against bank conflicts. */
__kernel void scan_blelloch(__global const int *in, __global int *out, __global int *sums, __local int *t)
{
    const int l = get_local_id(0), n = 2 * get_local_size(0), first = get_group_id(0) * n;
    const int i = l, j = l + n / 2;
    t[PAD(i)] = in[first + i];
    t[PAD(j)] = in[first + j];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            const int p = PAD(offset * (2 * l + 1) - 1), q = PAD(offset * (2 * l + 2) - 1);
            t[q] += t[p];
        }
        offset *= 2;
    }
    if (l == 0) {
        sums[get_group_id(0)] = t[PAD(n - 1)];
        t[PAD(n - 1)] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            const int p = PAD(offset * (2 * l + 1) - 1), q = PAD(offset * (2 * l + 2) - 1);
            const int v = t[p];
            t[p] = t[q];
            t[q] += v;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[first + i] = t[PAD(i)];
    out[first + j] = t[PAD(j)];
}

/* Inclusive sums that start anew at each flag. */
__kernel void scan_segmented(__global const int *in, __global const uchar *starts, __global int *out)
{
    __local int values[2][64];
    __local uchar flags[2][64];
    const int l = get_local_id(0), i = get_global_id(0);
    int now = 0;
    values[0][l] = in[i];
    flags[0][l] = starts[i];
    for (int s = 1; s < 64; s += s) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int v = values[now][l];
        uchar f = flags[now][l];
        if (l >= s) {
            if (!f)
                v += values[now][l - s];
            f |= flags[now][l - s];
        }
        now ^= 1;
        values[now][l] = v;
        flags[now][l] = f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = values[now][l];
}

__kernel void add_group_offsets(__global int *data, __global const int *offsets)
{
    data[get_global_id(0)] += offsets[get_group_id(0)];
}
