/* Every work-item function in every dimension. */
__kernel void geometry(__global ulong *out)
{
    const size_t linear = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
    __global ulong *o = out + linear * 22;
    o[0] = get_work_dim();
    for (uint d = 0; d < 3; ++d) {
        o[1 + d] = get_global_id(d);
        o[4 + d] = get_local_id(d);
        o[7 + d] = get_group_id(d);
        o[10 + d] = get_global_size(d);
        o[13 + d] = get_local_size(d);
        o[16 + d] = get_num_groups(d);
        o[19 + d] = get_global_offset(d);
    }
}

/* Beyond the dimensions there are: identifiers are 0, sizes are 1. */
__kernel void beyond(__global ulong *out, const uint d)
{
    __global ulong *o = out + get_global_id(0) * 4;
    o[0] = get_global_id(d) + get_local_id(d) + get_group_id(d) + get_global_offset(d);
    o[1] = get_global_size(d);
    o[2] = get_local_size(d);
    o[3] = get_num_groups(d);
}

/* Sums along z in groups of 3 x 5 x 2 through local memory. */
__kernel void volume_sums(__global const int *in, __global int *out)
{
    __local int cube[2][5][3];
    const int x = get_local_id(0), y = get_local_id(1), z = get_local_id(2);
    const int gx = get_global_id(0), gy = get_global_id(1), gz = get_global_id(2);
    const int nx = get_global_size(0), ny = get_global_size(1);
    cube[z][y][x] = in[(gz * ny + gy) * nx + gx];
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < 3; i++)
            sum += cube[k][4 - y][i] * (i + 1);
    out[(gz * ny + gy) * nx + gx] = sum - cube[1 - z][y][2 - x];
}

__kernel __attribute__((vec_type_hint(float4))) __attribute__((work_group_size_hint(7, 1, 1)))
void copy_by_group(__global const float4 *in, __global float4 *out, __local float4 *tile, const uint each)
{
    const size_t first = get_group_id(0) * each;
    event_t e = async_work_group_copy(tile, in + first, each, 0);
    prefetch(in + first + each, 1);
    wait_group_events(1, &e);
    for (uint i = get_local_id(0); i < each / 2; i += get_local_size(0)) {
        const float4 t = tile[i];
        tile[i] = tile[each - 1 - i];
        tile[each - 1 - i] = t.wzyx;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_copy(out + first, tile, each, (event_t)0);
    wait_group_events(1, &e);
}

/* A column of a matrix into local memory and back transposed, with two events. */
__kernel void copy_strided(__global const int *in, __global int *out, const uint columns)
{
    __local int a[12], b[12];
    const uint g = get_group_id(0);
    event_t e[2];
    e[0] = async_work_group_strided_copy(a, in + g, 12, columns, 0);
    e[1] = async_work_group_copy(b, in + g, 12, 0);
    wait_group_events(2, e);
    const uint l = get_local_id(0);
    for (uint i = l; i < 12; i += get_local_size(0))
        a[i] += b[11 - i];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t back = async_work_group_strided_copy(out + g, a, 12, columns, 0);
    wait_group_events(1, &back);
}

__kernel void nothing(void) {}
