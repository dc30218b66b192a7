#pragma OPENCL FP_CONTRACT OFF

__kernel void saxpy(const float a, __global const float *x, __global float *y, const int n)
{
    const int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

__kernel void daxpy4(const double a, __global const double4 *restrict x, __global double4 *restrict y)
{
    const size_t i = get_global_id(0);
    y[i] += a * x[i];
}

/* Givens rotation of two vectors at strides, as BLAS rot. */
__kernel void rotate_vectors(__global float *x, const int incx, __global float *y, const int incy,
                             const float2 cs)
{
    const int i = get_global_id(0);
    const float a = x[i * incx], b = y[i * incy];
    x[i * incx] = cs.x * a + cs.y * b;
    y[i * incy] = cs.x * b - cs.y * a;
}

/* Each group's largest magnitude and where it is, as BLAS iamax. */
__kernel void index_of_largest(__global const float *x, const uint n, __global float *values,
                               __global uint *places, __local float *best, __local uint *where)
{
    const uint l = get_local_id(0);
    float most = -1.0f;
    uint at = 0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const float v = fabs(x[i]);
        if (v > most) {
            most = v;
            at = i;
        }
    }
    best[l] = most;
    where[l] = at;
    for (uint half_size = get_local_size(0) >> 1; half_size > 0; half_size >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_size) {
            const float other = best[l + half_size];
            const uint place = where[l + half_size];
            if (other > best[l] || (other == best[l] && place < where[l])) {
                best[l] = other;
                where[l] = place;
            }
        }
    }
    if (l == 0) {
        values[get_group_id(0)] = best[0];
        places[get_group_id(0)] = where[0];
    }
}

__kernel void dot_partial(__global const float *x, __global const float *y, __global float *partial,
                          __local float *scratch, const int n)
{
    const int l = get_local_id(0);
    float sum = 0.0f;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += x[i] * y[i];
    scratch[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_size(0) / 2; s > 0; s /= 2) {
        if (l < s)
            scratch[l] += scratch[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        partial[get_group_id(0)] = scratch[0];
}

__kernel void gemv_row(__global const float *a, __global const float *x, __global float *y,
                       const int rows, const int columns, const float alpha, const float beta)
{
    const int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = 0; j < columns; ++j)
        sum += a[row * columns + j] * x[j];
    y[row] = alpha * sum + beta * y[row];
}

/* Column-major matrix; the group keeps a block of x in local memory. */
__kernel void gemv_column(__global const float *a, __global const float *x, __global float *y,
                          const int rows, const int columns, __local float *block)
{
    const int row = get_global_id(0), l = get_local_id(0), width = get_local_size(0);
    float sum = 0.0f;
    for (int first = 0; first < columns; first += width) {
        barrier(CLK_LOCAL_MEM_FENCE);
        block[l] = first + l < columns ? x[first + l] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int many = min(width, columns - first);
        if (row < rows)
            for (int j = 0; j < many; ++j)
                sum += a[(first + j) * rows + row] * block[j];
    }
    if (row < rows)
        y[row] = sum;
}

/* One group per row. */
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void gemv_group(__global const float *a, __global const float *x, __global float *y, const uint columns)
{
    __local float sums[32];
    const uint l = get_local_id(0), row = get_group_id(0);
    sums[l] = 0.0f;
    for (uint j = l; j < columns; j += 32)
        sums[l] += a[row * columns + j] * x[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        float total = 0.0f;
        #pragma unroll
        for (int i = 0; i < 32; ++i)
            total += sums[i];
        y[row] = total;
    }
}

__kernel void rank_one_update(__global double *a, __global const double *x, __global const double *y,
                              const double alpha)
{
    const size_t j = get_global_id(0), i = get_global_id(1);
    a[i * get_global_size(0) + j] += alpha * x[i] * y[j];
}
