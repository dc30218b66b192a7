/* OpenCL C 2.0 and 3.0. */

#if __OPENCL_C_VERSION__ >= 200

int fold(const int *values, const int n)
{
    int s = 0;
    for (int i = 0; i < n; ++i)
        s = s * 3 + values[i];
    return s;
}

/* One function for pointers to three address spaces, chosen by data. */
__kernel void generic_pointers(__global const int *in, __global int *out)
{
    __local int shared[32];
    int own[4];
    const int l = get_local_id(0), i = get_global_id(0);
    shared[l] = in[i] * 5;
    for (int k = 0; k < 4; ++k)
        own[k] = in[i] - k;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int *p;
    switch (in[i] & 3) {
    case 0: p = own; break;
    case 1: p = shared + (l & 28); break;
    default: p = in + (i & ~3);
    }
    out[i] = fold(p, 4);
}

/* What a generic pointer points to. */
__kernel void address_spaces(__global const int *in, __global int *out)
{
    __local int shared[32];
    int own = get_local_id(0);
    const size_t i = get_global_id(0);
    shared[own] = in[i];
    const int *p = in[i] & 1 ? (const int *)&own : in[i] & 2 ? (const int *)&shared[own] : (const int *)&in[i];
    out[i] = (to_global(p) != NULL) + (to_local(p) != NULL) * 2 + (to_private(p) != NULL) * 4 + (*p == in[i]) * 8;
}

__kernel void c11_atomics(volatile __global atomic_int *s, volatile __global atomic_uint *u, __global int *old,
                          __global const int *in)
{
    __local atomic_int shared;
    const int i = get_global_id(0), v = in[i];
    if (get_local_id(0) == 0)
        atomic_init(&shared, 0);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    old[i] = atomic_fetch_add_explicit(&s[0], 3, memory_order_relaxed, memory_scope_device);
    atomic_fetch_sub_explicit(&s[1], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_min_explicit(&s[2], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&s[3], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_or_explicit(&u[0], 1u << (v & 31), memory_order_relaxed, memory_scope_device);
    atomic_fetch_and_explicit(&u[1], ~(1u << (v & 7)), memory_order_relaxed, memory_scope_device);
    atomic_fetch_xor_explicit(&u[2], (uint)v, memory_order_relaxed, memory_scope_device);
    int seen = atomic_load_explicit(&s[4], memory_order_relaxed, memory_scope_device);
    while (!atomic_compare_exchange_weak_explicit(&s[4], &seen, seen + v, memory_order_relaxed, memory_order_relaxed,
                                                  memory_scope_device))
        ;
    atomic_fetch_add_explicit(&shared, v, memory_order_relaxed, memory_scope_work_group);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_store_explicit(&s[5 + get_group_id(0)],
                              atomic_load_explicit(&shared, memory_order_relaxed, memory_scope_work_group),
                              memory_order_relaxed, memory_scope_device);
}

__kernel void group_functions(__global const int *in, __global int *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const int v = in[i];
    out[0 * n + i] = work_group_reduce_add(v);
    out[1 * n + i] = work_group_reduce_min(v);
    out[2 * n + i] = work_group_reduce_max(v);
    out[3 * n + i] = work_group_scan_inclusive_add(v);
    out[4 * n + i] = work_group_scan_exclusive_add(v);
    out[5 * n + i] = work_group_scan_inclusive_max(v);
    out[6 * n + i] = work_group_broadcast(v, 5);
    out[7 * n + i] = work_group_any(v > 95) != 0;
    out[8 * n + i] = work_group_all(v > -95) != 0;
}

/* Groups that do not divide the range: the last is smaller. */
__kernel void uneven_groups(__global int *out)
{
    const size_t i = get_global_id(0);
    out[4 * i] = get_local_size(0);
    out[4 * i + 1] = get_enqueued_local_size(0);
    out[4 * i + 2] = get_num_groups(0) * 100 + get_group_id(0);
    out[4 * i + 3] = get_global_linear_id() * 100 + get_local_linear_id();
}

#endif

#ifdef SUB_GROUPS
/* What holds for sub-groups of any size. */
__kernel void sub_groups(__global const int *in, __global int *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const int v = in[i], lane = get_sub_group_local_id(), size = get_sub_group_size();
    const int before = sub_group_scan_exclusive_add(v), after = sub_group_scan_inclusive_add(v);
    const int sum = sub_group_reduce_add(v), first = sub_group_broadcast(v, 0);
    out[i] = after - before;
    out[n + i] = (lane == 0 ? before == 0 && first == v : 1) && (lane == size - 1 ? after == sum : 1);
    out[2 * n + i] = (sub_group_any(v < 200) != 0) + 2 * (sub_group_all(v > 200) != 0);
    out[3 * n + i] = get_sub_group_id() < get_num_sub_groups() && size <= get_max_sub_group_size()
        && sub_group_reduce_max(v) >= v && sub_group_reduce_min(v) <= v;
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
}
#endif
