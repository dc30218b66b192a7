#pragma OPENCL FP_CONTRACT OFF

__constant float gauss[5] = { 0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f };

/* Weights in constant memory, edges clamped. */
__kernel void convolve(__global const float *in, __global float *out, __constant float *weights, const int radius,
                       const int width, const int height)
{
    const int x = get_global_id(0), y = get_global_id(1), side = 2 * radius + 1;
    float sum = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            const int sx = clamp(x + dx, 0, width - 1), sy = clamp(y + dy, 0, height - 1);
            sum += in[sy * width + sx] * weights[(dy + radius) * side + dx + radius];
        }
    out[y * width + x] = sum;
}

/* Along rows, through local memory. */
__kernel void blur_rows(__global const float *in, __global float *out, const int width, __local float *line)
{
    const int l = get_local_id(0), n = get_local_size(0), x = get_global_id(0), y = get_global_id(1);
    const __global float *row = in + y * width;
    line[l + 2] = row[x];
    if (l < 2)
        line[l] = row[max(x - 2, 0)];
    if (l >= n - 2)
        line[l + 4] = row[min(x + 2, width - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k)
        sum += gauss[k] * line[l + k];
    out[y * width + x] = sum;
}

/* Along columns: four pixels at a time, zeros outside. */
__kernel void blur_columns(__global const float4 *in, __global float4 *out, const int height)
{
    const int width = get_global_size(0), x = get_global_id(0), y = get_global_id(1);
    float4 sum = 0.0f;
    for (int k = -2; k <= 2; ++k)
        if (y + k >= 0 && y + k < height)
            sum += gauss[k + 2] * in[(y + k) * width + x];
    out[y * width + x] = sum;
}

__kernel void sobel(__global const uchar *in, __global uchar *out, const int width, const int height)
{
    const int x = get_global_id(0), y = get_global_id(1), i = y * width + x;
    if (x < 1 || y < 1 || x > width - 2 || y > height - 2) {
        out[i] = 0;
        return;
    }
    __global const uchar *above = in + i - width, *here = in + i, *below = in + i + width;
    const int gx = (above[1] - above[-1]) + 2 * (here[1] - here[-1]) + (below[1] - below[-1]);
    const int gy = (below[-1] - above[-1]) + 2 * (below[0] - above[0]) + (below[1] - above[1]);
    out[i] = convert_uchar_sat(abs(gx) + abs(gy));
}

#define ORDER(a, b) { const uchar low = min(p[a], p[b]); p[b] = max(p[a], p[b]); p[a] = low; }

__kernel void median_3x3(__global const uchar *in, __global uchar *out)
{
    const int width = get_global_size(0) + 2, x = get_global_id(0), y = get_global_id(1);
    uchar p[9];
    for (int i = 0; i < 9; ++i)
        p[i] = in[(y + i / 3) * width + x + i % 3];
    ORDER(1, 2) ORDER(4, 5) ORDER(7, 8) ORDER(0, 1) ORDER(3, 4) ORDER(6, 7)
    ORDER(1, 2) ORDER(4, 5) ORDER(7, 8) ORDER(0, 3) ORDER(5, 8) ORDER(4, 7)
    ORDER(3, 6) ORDER(1, 4) ORDER(2, 5) ORDER(4, 7) ORDER(4, 2) ORDER(6, 4) ORDER(4, 2)
    out[y * get_global_size(0) + x] = p[4];
}

__kernel void bilateral(__global const float *in, __global float *out, const float space, const float range)
{
    const int width = get_global_size(0), height = get_global_size(1);
    const int x = get_global_id(0), y = get_global_id(1);
    const float centre = in[y * width + x];
    float sum = 0.0f, weight = 0.0f;
    for (int v = max(y - 2, 0); v <= min(y + 2, height - 1); ++v)
        for (int u = max(x - 2, 0); u <= min(x + 2, width - 1); ++u) {
            const float value = in[v * width + u], d = value - centre;
            const float distance2 = (float)((u - x) * (u - x) + (v - y) * (v - y));
            const float w = exp(-(distance2 * space + d * d * range));
            sum += w * value;
            weight += w;
        }
    out[y * width + x] = sum / weight;
}

/* Interleaved RGBA to luma and half-size chroma, in fixed point. */
__kernel void rgba_to_yuv(__global const uchar4 *in, __global uchar *luma, __global uchar2 *chroma)
{
    const int width = 2 * get_global_size(0), x = 2 * get_global_id(0), y = 2 * get_global_id(1);
    int4 sum = 0;
    for (int i = 0; i < 4; ++i) {
        const int at = (y + (i >> 1)) * width + x + (i & 1);
        const int4 p = convert_int4(in[at]);
        luma[at] = (uchar)((66 * p.x + 129 * p.y + 25 * p.z + 128 >> 8) + 16);
        sum += p;
    }
    sum = (sum + 2) >> 2;
    const int u = ((-38 * sum.x - 74 * sum.y + 112 * sum.z + 128) >> 8) + 128;
    const int v = ((112 * sum.x - 94 * sum.y - 18 * sum.z + 128) >> 8) + 128;
    chroma[(y / 2) * (width / 2) + x / 2] = (uchar2)(u, v);
}

/* Bilinear interpolation at half the size and a shift. */
__kernel void resample(__global const float *in, __global float *out, const int width, const int height, const float2 step)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    const float2 p = (convert_float2(at) + 0.5f) * step - 0.5f;
    const float2 corner = floor(p), t = p - corner;
    const int2 last = (int2)(width - 1, height - 1);
    const int2 a = clamp(convert_int2(corner), (int2)0, last), b = clamp(convert_int2(corner) + 1, (int2)0, last);
    const float top = mix(in[a.y * width + a.x], in[a.y * width + b.x], t.x);
    const float bottom = mix(in[b.y * width + a.x], in[b.y * width + b.x], t.x);
    out[at.y * get_global_size(0) + at.x] = mix(top, bottom, t.y);
}
