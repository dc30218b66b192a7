__kernel void bitonic_step(__global uint *keys, const uint k, const uint j)
{
    const uint i = get_global_id(0), partner = i ^ j;
    if (partner > i) {
        const uint a = keys[i], b = keys[partner];
        const bool up = (i & k) == 0;
        if ((a > b) == up) {
            keys[i] = b;
            keys[partner] = a;
        }
    }
}

void exchange(__local int *a, __local int *b, const bool ascending)
{
    const int x = *a, y = *b;
    if ((x > y) == ascending) {
        *a = y;
        *b = x;
    }
}

/* Each group sorts twice as many keys as it has work-items. */
__kernel void bitonic_local(__global int *keys, __local int *data)
{
    const uint l = get_local_id(0), n = 2 * get_local_size(0), first = get_group_id(0) * n;
    data[l] = keys[first + l];
    data[l + n / 2] = keys[first + l + n / 2];
    for (uint size = 2; size <= n; size <<= 1) {
        const bool ascending = (l & (size >> 1)) == 0 || size == n;
        for (uint stride = size >> 1; stride > 0; stride >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint at = 2 * l - (l & (stride - 1));
            exchange(data + at, data + at + stride, ascending);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[first + l] = data[l];
    keys[first + l + n / 2] = data[l + n / 2];
}

/* Batcher's odd-even merge sort of key and value pairs in local memory. */
__kernel void odd_even_merge(__global uint2 *pairs, __local uint2 *data)
{
    const uint l = get_local_id(0), n = get_local_size(0);
    data[l] = pairs[get_global_id(0)];
    for (uint p = 1; p < n; p *= 2)
        for (uint k = p; k > 0; k /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint j = k % p;
            if (l >= j && l + k < n && ((l - j) / k) % 2 == 0 && l / (2 * p) == (l + k) / (2 * p)) {
                const uint2 a = data[l], b = data[l + k];
                if (a.x > b.x) {
                    data[l] = b;
                    data[l + k] = a;
                }
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    pairs[get_global_id(0)] = data[l];
}

#define DIGITS 16

/* Counts of each digit by group, digit-major, as a radix sort's first pass. */
__kernel void radix_histogram(__global const uint *keys, __global uint *counts, const uint shift, const uint n)
{
    __local uint bins[DIGITS];
    const uint l = get_local_id(0);
    if (l < DIGITS)
        bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[(keys[i] >> shift) & (DIGITS - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < DIGITS)
        counts[l * get_num_groups(0) + get_group_id(0)] = bins[l];
}

/* A stable scatter: each work-item has a stretch of the keys. */
__kernel void radix_scatter(__global const uint *keys, __global uint *sorted, const uint shift,
                            __local ushort *counters, const uint each)
{
    const uint l = get_local_id(0), size = get_local_size(0);
    for (uint d = 0; d < DIGITS; ++d)
        counters[d * size + l] = 0;
    for (uint i = 0; i < each; ++i)
        counters[((keys[l * each + i] >> shift) % DIGITS) * size + l]++;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        uint sum = 0;
        for (uint i = 0; i < DIGITS * size; ++i) {
            const ushort c = counters[i];
            counters[i] = sum;
            sum += c;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < each; ++i) {
        const uint key = keys[l * each + i];
        sorted[counters[((key >> shift) % DIGITS) * size + l]++] = key;
    }
}

__kernel void odd_even_transposition(__global short *values, const int n)
{
    const int l = get_local_id(0), first = get_group_id(0) * n;
    for (int phase = 0; phase < n; ++phase) {
        const int i = first + 2 * l + (phase & 1);
        if (i + 1 < first + n && values[i] > values[i + 1]) {
            const short t = values[i];
            values[i] = values[i + 1];
            values[i + 1] = t;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* Where each element goes in a stable sort. */
__kernel void ranks(__global const float *values, __global uint *places)
{
    const uint i = get_global_id(0), n = get_global_size(0);
    const float v = values[i];
    uint rank = 0;
    for (uint j = 0; j < n; j++)
        rank += values[j] < v || (values[j] == v && j < i);
    places[i] = rank;
}

/* The lower bound of each needle in a sorted array. */
__kernel void lower_bounds(__global const int *sorted, const uint n, __global const int *needles,
                           __global uint *places)
{
    const int needle = needles[get_global_id(0)];
    uint low = 0, high = n;
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (sorted[middle] < needle)
            low = middle + 1;
        else
            high = middle;
    }
    places[get_global_id(0)] = low;
}

/* Elements above a threshold, packed in any order. */
__kernel void compact_any_order(__global const int *in, __global int *out, volatile __global uint *many,
                                const int threshold)
{
    const int v = in[get_global_id(0)];
    if (v > threshold)
        out[atomic_inc(many)] = v;
}

/* Packed in their order within the group; the group takes its room with one atomic. */
__kernel void compact_in_groups(__global const int *in, __global int *out, volatile __global int *many)
{
    __local int places[64];
    __local int first;
    const int l = get_local_id(0), v = in[get_global_id(0)], keep = (v & 3) == 1;
    places[l] = keep;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < 64; s <<= 1) {
        const int left = l >= s ? places[l - s] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        places[l] += left;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 63)
        first = atomic_add(many, places[63]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (keep)
        out[first + places[l] - 1] = v;
}
