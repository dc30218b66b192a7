#pragma OPENCL FP_CONTRACT OFF

__kernel void spmv_csr_scalar(__global const int *starts, __global const int *columns, __global const float *values,
                              __global const float *x, __global float *y, const int rows)
{
    const int row = get_global_id(0);
    if (row < rows) {
        float sum = 0.0f;
        for (int i = starts[row]; i < starts[row + 1]; ++i)
            sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

/* Eight work-items per row. */
__kernel void spmv_csr_vector(__global const int *starts, __global const int *columns, __global const float *values,
                              __global const float *x, __global float *y, const int rows)
{
    volatile __local float sums[64];
    const int l = get_local_id(0), lane = l & 7, row = get_global_id(0) / 8;
    float sum = 0;
    if (row < rows) {
        const int end = starts[row + 1];
        for (int i = starts[row] + lane; i < end; i += 8)
            sum += values[i] * x[columns[i]];
    }
    sums[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4) sums[l] += sums[l + 4];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 2) sums[l] += sums[l + 2];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0 && row < rows)
        y[row] = sums[l] + sums[l + 1];
}

/* Column-major rows of equal length, -1 where there is no element. */
__kernel void spmv_ell(__global const int *columns, __global const double *values, __global const double *x,
                       __global double *y, const uint length)
{
    const size_t row = get_global_id(0), rows = get_global_size(0);
    double sum = 0.0;
    for (uint i = 0; i < length; ++i) {
        const int column = columns[i * rows + row];
        if (column < 0)
            break;
        sum += values[i * rows + row] * x[column];
    }
    y[row] = sum;
}

__kernel void bfs_step(__global const int *starts, __global const int *targets, __global int *levels,
                       const int level, volatile __global int *next, volatile __global int *many)
{
    const int node = get_global_id(0);
    if (levels[node] != level)
        return;
    for (int e = starts[node]; e < starts[node + 1]; e++) {
        const int t = targets[e];
        if (atomic_cmpxchg((volatile __global int *)&levels[t], -1, level + 1) == -1)
            next[atomic_inc(many)] = t;
    }
}

/* Bellman-Ford over edges. */
__kernel void relax_edges(__global const uint4 *edges, __global const uint *now, volatile __global uint *next)
{
    const uint4 e = edges[get_global_id(0)];
    const uint d = now[e.x];
    if (d != UINT_MAX)
        atomic_min(next + e.y, d + e.z);
}

#define FEATURES 5

__kernel void kmeans_assign(__global const float *points, __constant float *centres, const int clusters,
                            __global int *member, volatile __global int *moved)
{
    const int i = get_global_id(0), n = get_global_size(0);
    float nearest = FLT_MAX;
    int best = 0;
    for (int c = 0; c < clusters; ++c) {
        float d = 0.0f;
        for (int f = 0; f < FEATURES; ++f) {
            const float t = points[f * n + i] - centres[c * FEATURES + f];
            d += t * t;
        }
        if (d < nearest) {
            nearest = d;
            best = c;
        }
    }
    if (member[i] != best) {
        member[i] = best;
        atomic_inc(moved);
    }
}

__kernel void floyd_warshall_step(__global uint *distance, __global uint *via, const uint k)
{
    const uint x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
    const uint direct = distance[y * n + x], left = distance[y * n + k], right = distance[k * n + x];
    if (add_sat(left, right) < direct) {
        distance[y * n + x] = left + right;
        via[y * n + x] = k;
    }
}

/* The whole of a small system in one group: Gauss-Jordan with partial pivoting. */
__kernel void gauss_jordan(__global double *m, const int n, __local int *pivot)
{
    const int l = get_local_id(0), width = n + 1;
    for (int k = 0; k < n; ++k) {
        if (l == 0) {
            int best = k;
            for (int r = k + 1; r < n; ++r)
                if (fabs(m[r * width + k]) > fabs(m[best * width + k]))
                    best = r;
            *pivot = best;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const int p = *pivot;
        if (p != k && l < width) {
            const double t = m[k * width + l];
            m[k * width + l] = m[p * width + l];
            m[p * width + l] = t;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        const double scale = m[k * width + k];
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (l < width)
            m[k * width + l] /= scale;
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (l < n && l != k) {
            const double factor = m[l * width + k];
            for (int c = k; c < width; ++c)
                m[l * width + c] -= factor * m[k * width + c];
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* One elimination step of LU, in place, without pivots. */
__kernel void lu_step(__global float *a, const int n, const int k)
{
    const int column = get_global_id(0), row = get_global_id(1);
    if (row <= k || row >= n || column <= k || column >= n)
        return;
    a[row * n + column] -= a[row * n + k] * a[k * n + column];
}

/* Cheapest paths through rows, several rows a launch, the sides of the tile falling away. */
__kernel void pathfinder(const int rows, __global const int *wall, __global const int *from, __global int *to, const int columns)
{
    __local int before[40], after[40];
    const int l = get_local_id(0), x = (int)get_group_id(0) * 32 - 4 + l;
    const bool valid = x >= 0 && x < columns;
    before[l] = valid ? from[x] : INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);
    bool computed = false;
    for (int i = 0; i < rows; ++i) {
        computed = false;
        if (l >= i + 1 && l <= 40 - i - 2 && valid) {
            computed = true;
            const int best = min(before[l], min(before[l - 1], before[l + 1]));
            after[l] = best + wall[i * columns + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == rows - 1)
            break;
        if (computed)
            before[l] = after[l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed && l >= 4 && l < 36)
        to[x] = after[l];
}

/* Needleman-Wunsch by anti-diagonals in one group. */
__kernel void needle(__global const char *a, __global const char *b, __global int *scores, const int n, const int gap)
{
    const int l = get_local_id(0), width = n + 1;
    if (l == 0)
        for (int i = 0; i <= n; ++i)
            scores[i] = scores[i * width] = -i * gap;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int d = 2; d <= 2 * n; ++d) {
        const int row = l + 1, column = d - row;
        if (column >= 1 && column <= n) {
            const int here = row * width + column;
            const int match = scores[here - width - 1] + (a[row - 1] == b[column - 1] ? 3 : -2);
            scores[here] = max(match, max(scores[here - width], scores[here - 1]) - gap);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
