__kernel void fall_through(__global const int *in, __global int *out)
{
    const size_t i = get_global_id(0);
    int v = in[i], r = 0;
    switch (v % 9) {
    case 0:
        r = 100;
        break;
    case 1:
        r += 1;
    case 2:
    case 3:
        r += 10;
        if (v > 50)
            break;
    case 7:
        r *= 2;
    default:
        r -= 3;
        break;
    case -4:
        r = v * v;
    }
    out[i] = r;
}

/* Collatz's steps by goto, with a bound. */
__kernel void jumps(__global const uint *in, __global uint *out, const uint bound)
{
    uint v = in[get_global_id(0)], steps = 0;
again:
    if (v <= 1 || steps == bound)
        goto done;
    ++steps;
    if (v & 1) {
        v = 3 * v + 1;
        goto again;
    }
    v >>= 1;
    goto again;
done:
    out[get_global_id(0)] = steps << 16 | (v & 0xffff);
}

__kernel void loops(__global const int *in, __global int *out)
{
    const int v = in[get_global_id(0)];
    int sum = 0, i = 0;
    do {
        i++;
        if (i % 3 == 0)
            continue;
        for (int j = 0;; ++j) {
            if (j > i)
                break;
            if ((j ^ v) & 1)
                continue;
            sum += j;
            while (sum > 1000) {
                sum -= v & 63 | 1;
                if (sum == 777)
                    goto out_of_all;
            }
        }
        if (sum < 0)
            return;
    } while (i < (v & 31));
out_of_all:
    out[get_global_id(0)] = sum;
}

/* Some work-items leave after the first barrier; none that remain wait again. */
__kernel void early_return(__global const int *in, __global int *out)
{
    __local int shared[32];
    const int l = get_local_id(0);
    shared[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (shared[l ^ 1] < 0)
        return;
    if (get_group_id(0) == 1)
        return;
    out[get_global_id(0)] = shared[31 - l];
}

/* A whole group leaves before the barrier: uniform. */
__kernel void uniform_return(__global const int *in, __global int *out)
{
    __local int shared[32];
    const int l = get_local_id(0);
    if (in[get_group_id(0) * get_local_size(0)] & 1)
        return;
    shared[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[(l + 5) % 32];
}

/* A barrier in a loop in a uniform branch, with a count from memory. */
__kernel void barriers_in_branches(__global int *data, __global const int *rounds)
{
    __local int a[24];
    const int l = get_local_id(0), many = rounds[get_group_id(0)];
    a[l] = data[get_global_id(0)];
    if (many > 2) {
        for (int r = 0; r < many; ++r) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const int v = a[(l + r) % 24];
            barrier(CLK_LOCAL_MEM_FENCE);
            a[l] = v * 3 + l;
            if (r == 5)
                break;
        }
    } else {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int v = a[23 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
        a[l] = v;
    }
    data[get_global_id(0)] = a[l];
}

int sum_private(const int *values, int n) { int s = 0; while (n--) s = s * 5 + *values++; return s; }
int sum_local(__local const int *values, int n) { int s = 0; for (; n > 0; n -= 2, values += 2) s += *values; return s; }
int sum_global(__global const int *from, __global const int *to) { int s = to - from; do s ^= *from; while (++from < to); return s; }
int sum_constant(__constant int *values, int i) { return values[i] + *(values + 7 - i); }
void store_both(int *first, __global int *second, const int value) { *first = value + 1; *second = value - 1; }

__constant int numbers[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };

/* Functions that take pointers to each address space. */
__kernel void pointers(__global const int *in, __global int *out, __constant int *table)
{
    __local int shared[16];
    int own[6];
    const int l = get_local_id(0);
    const size_t i = get_global_id(0), n = get_global_size(0);
    shared[l] = in[i] * 2;
    for (int k = 0; k < 6; ++k)
        own[(k * 5 + l) % 6] = in[i] + k;
    barrier(CLK_LOCAL_MEM_FENCE);
    int *p = own + (l & 3);
    const int by_private = sum_private(p, 3);
    store_both(&own[l % 6], out + 4 * n + i, sum_private(own, 6));
    __global const int *row = &in[i & ~15];
    out[i] = by_private + own[l % 6];
    out[n + i] = sum_local(shared + (l & 7), 8);
    out[2 * n + i] = sum_global(row, row + 1 + l);
    out[3 * n + i] = sum_constant(numbers, l & 7) * sum_constant(table, l >> 1) + (int)(&own[5] - p);
}

/* Bytes of wider numbers through a pointer of another type; comparisons of pointers. */
__kernel void reinterpreted(__global const uint *in, __global uint *out)
{
    const size_t i = get_global_id(0);
    __global const uchar *bytes = (__global const uchar *)(in + i);
    __global const ushort *halves = (__global const ushort *)bytes;
    uint own[2] = { in[i], ~in[i] };
    ushort *h = (ushort *)own;
    h[1] = bytes[1];
    ulong all = *(ulong *)own;
    uint count = 0;
    for (__global const uint *p = in; p != in + i && p < in + 20; ++p)
        count++;
    out[3 * i] = bytes[0] | bytes[3] << 8 | (uint)halves[1] << 16;
    out[3 * i + 1] = (uint)(all >> 16) + count;
    out[3 * i + 2] = own[0] ^ own[1];
}

/* Sieve of Eratosthenes by one group in local bits. */
__kernel void sieve(__global uchar *prime, volatile __local uint *bits, const int n)
{
    const int l = get_local_id(0), size = get_local_size(0);
    for (int w = l; w <= n / 32; w += size)
        bits[w] = ~0u;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 2; p * p < n; ++p) {
        if (bits[p >> 5] >> (p & 31) & 1)
            for (int m = p * p + l * p; m < n; m += p * size)
                atomic_and(&bits[m >> 5], ~(1u << (m & 31)));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = l; i < n; i += size)
        prime[i] = i > 1 && (bits[i >> 5] >> (i & 31) & 1);
}

/* N queens by bits and an explicit stack, the first row's queen by work-item. */
__kernel void queens(__global uint *solutions, const int n)
{
    uint free_places[16], left[16], down[16], right[16];
    const uint all = (1u << n) - 1;
    uint many = 0;
    int row = 1;
    down[1] = 1u << get_global_id(0);
    left[1] = down[1] << 1;
    right[1] = down[1] >> 1;
    free_places[1] = all & ~(left[1] | down[1] | right[1]);
    while (row > 0) {
        if (!free_places[row]) {
            --row;
            continue;
        }
        const uint place = free_places[row] & -free_places[row];
        free_places[row] ^= place;
        if (row == n - 1) {
            ++many;
            continue;
        }
        down[row + 1] = down[row] | place;
        left[row + 1] = (left[row] | place) << 1;
        right[row + 1] = (right[row] | place) >> 1;
        ++row;
        free_places[row] = all & ~(left[row] | down[row] | right[row]);
    }
    solutions[get_global_id(0)] = many;
}
