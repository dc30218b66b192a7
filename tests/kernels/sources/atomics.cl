/* Old values out: as a set, no order of the work-items changes them. */
__kernel void every_global_atomic(volatile __global int *s, volatile __global uint *u,
                                  volatile __global int *old)
{
    const int i = get_global_id(0), n = get_global_size(0);
    old[0 * n + i] = atomic_add(&s[0], 7);
    old[1 * n + i] = atomic_sub(&s[1], 1 << 29);
    old[2 * n + i] = atomic_inc(&s[2]);
    old[3 * n + i] = atomic_dec(&s[3]);
    atomic_min(&s[4], -i * 3);
    atomic_max(&s[5], i * 5 - 1000);
    atomic_and(&s[6], ~(1 << (i & 15)));
    atomic_or(&s[7], 1 << (i % 31));
    atomic_xor(&s[8], i * 0x01010101);
    atomic_min(&u[0], 0xffffff00u - i);
    atomic_max(&u[1], 0x80000000u + i);
    atomic_add(&u[2], 0x10000001u * i);
    old[4 * n + i] = atomic_xchg(&old[6 * n], i);
    atomic_cmpxchg(&s[9], 17, 100);
    old[5 * n + i] = atomic_cmpxchg(&s[10], -1, 42);
}

__kernel void every_local_atomic(__global int *out, __global const int *in)
{
    __local int s[8];
    __local uint u[3];
    const int l = get_local_id(0), v = in[get_global_id(0)];
    if (l < 8)
        s[l] = l == 4 ? INT_MAX : l == 5 ? INT_MIN : l == 6 ? -1 : 0;
    if (l < 3)
        u[l] = l == 0 ? UINT_MAX : 0u;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&s[0], v);
    atomic_sub(&s[1], v);
    atomic_inc(&s[2]);
    atomic_dec(&s[3]);
    atomic_min(&s[4], v);
    atomic_max(&s[5], v);
    atomic_and(&s[6], v | 0xff);
    atomic_xor(&s[7], v);
    atomic_min(&u[0], (uint)v);
    atomic_max(&u[1], (uint)v);
    atomic_or(&u[2], (uint)v & 0xff00u);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 8)
        out[get_group_id(0) * 11 + l] = s[l];
    if (l < 3)
        out[get_group_id(0) * 11 + 8 + l] = (int)u[l];
}

/* A float sum by compare-and-swap; small integers add exactly in any order. */
void add_float(volatile __global float *address, const float value)
{
    union { uint bits; float number; } before, after;
    do {
        before.number = *address;
        after.number = before.number + value;
    } while (atomic_cmpxchg((volatile __global uint *)address, before.bits, after.bits) != before.bits);
}

__kernel void float_sum_by_swap(__global const float *in, volatile __global float *sums)
{
    const int i = get_global_id(0);
    add_float(&sums[i % 5], in[i]);
}

/* A lock that each group's first work-item takes. */
__kernel void spin_lock(volatile __global int *lock, volatile __global int *data)
{
    if (get_local_id(0) == 0) {
        while (atomic_cmpxchg(lock, 0, 1))
            ;
        data[0] += get_group_id(0) + 1;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        data[1] ^= get_group_id(0);
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(lock, 0);
    }
}

__kernel void histogram_global(__global const uchar *in, __global uint *bins, const uint n)
{
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[in[i]]);
}

__kernel void histogram_local(__global const uchar4 *in, __global uint *bins, const uint n4)
{
    __local uint own[256];
    const uint l = get_local_id(0), size = get_local_size(0);
    for (uint b = l; b < 256; b += size)
        own[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n4; i += get_global_size(0)) {
        const uchar4 v = in[i];
        atomic_inc(own + v.x);
        atomic_inc(own + v.y);
        atomic_inc(own + v.z);
        atomic_inc(own + v.w);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = l; b < 256; b += size)
        if (own[b])
            atomic_add(&bins[b], own[b]);
}

/* Byte counters of each work-item in local memory, summed at the end. */
__kernel void histogram_private(__global const uint *in, __global uint *bins, __local uchar *counters, const uint each)
{
    const uint l = get_local_id(0), size = get_local_size(0), first = get_group_id(0) * size * each;
    for (uint b = 0; b < 32; ++b)
        counters[l * 32 + b] = 0;
    for (uint i = 0; i < each; ++i)
        ++counters[l * 32 + (in[first + i * size + l] >> 27)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = l; b < 32; b += size) {
        uint sum = 0;
        for (uint w = 0; w < size; ++w)
            sum += counters[w * 32 + b];
        bins[get_group_id(0) * 32 + b] = sum;
    }
}

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

__kernel void long_atomics(volatile __global ulong *u, volatile __global long *s, __global const long *in)
{
    const long v = in[get_global_id(0)];
    atom_add(&u[0], (ulong)v);
    atom_inc(&u[1]);
    atom_max(&s[0], v);
    atom_min(&s[1], v);
    atom_xor(&s[2], v);
    atom_sub(&s[3], v);
}

/* A list of each bucket's elements, linked by exchanges of its head: seven heads, then the links. */
__kernel void linked_lists(__global const uint *in, volatile __global int *heads,
                           volatile __global int *lengths)
{
    const int i = get_global_id(0);
    const uint bucket = in[i] % 7u;
    heads[7 + i] = atomic_xchg(&heads[bucket], i);
    atomic_inc(&lengths[bucket]);
}
