/* Every width from an address that is aligned to the element only. */
#define WIDTH(T, W)                                      \
    {                                                    \
        const T##W v = vload##W(i, in + 1);              \
        vstore##W(v + (T)W, i, out + offset + 1);        \
        offset += W * n;                                 \
    }
#define EVERY_WIDTH(T)                                                               \
    __kernel void vload_vstore_##T(__global const T *in, __global T *out)            \
    {                                                                                \
        const size_t i = get_global_id(0), n = get_global_size(0);                   \
        size_t offset = 0;                                                           \
        WIDTH(T, 2)                                                                  \
        WIDTH(T, 3)                                                                  \
        WIDTH(T, 4)                                                                  \
        WIDTH(T, 8)                                                                  \
        WIDTH(T, 16)                                                                 \
    }

EVERY_WIDTH(uchar)
EVERY_WIDTH(short)
EVERY_WIDTH(int)
EVERY_WIDTH(ulong)
EVERY_WIDTH(float)
EVERY_WIDTH(double)

/* Through private, local and constant pointers. */
__kernel void vload_spaces(__constant short *table, __global const short *in, __global short *out)
{
    __local short shared[4 * 32];
    const int l = get_local_id(0);
    short own[8];
    vstore4(vload4(get_global_id(0), in), l, shared);
    barrier(CLK_LOCAL_MEM_FENCE);
    vstore8((short8)(vload4((l + 1) % get_local_size(0), shared), vload4(l & 3, table)), 0, own);
    short sum = 0;
    for (int i = 0; i < 8; ++i)
        sum = sum * 3 + own[i];
    vstore2((short2)(sum, own[l & 7]), get_global_id(0), out);
}

__kernel void half_loads(__global const half *in, __global float *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    out[i] = vload_half(i, in);
    vstore2(vload_half2(i, in), i, out + n);
    vstore3(vload_half3(i, in), i, out + 3 * n);
    vstore4(vload_half4(i, in), i, out + 6 * n);
    vstore8(vload_half8(i, in), i, out + 10 * n);
    vstore16(vload_half16(i, in), i, out + 18 * n);
    vstore3(vloada_half3(i, in), i, out + 34 * n);
    vstore4(vloada_half4(i, in), i, out + 37 * n);
}

__kernel void half_stores(__global const float *in, __global const double *wide, __global half *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    vstore_half(in[i], i, out);
    vstore_half_rte(in[i], i, out + n);
    vstore_half_rtz(in[i], i, out + 2 * n);
    vstore_half_rtp(in[i], i, out + 3 * n);
    vstore_half_rtn(in[i], i, out + 4 * n);
    vstore_half4(vload4(i / 4, in), i / 4, out + 5 * n);
    vstore_half2_rtz(vload2(i / 2, in), i / 2, out + 6 * n);
    vstorea_half4(vload4(i / 4, in), i / 4, out + 7 * n);
    vstore_half(wide[i], i, out + 8 * n);
    vstore_half_rtn(wide[i], i, out + 9 * n);
}

__kernel void shuffles(__global const uchar16 *in, __global const uchar16 *masks, __global uchar16 *out,
                       __global const float4 *f, __global float8 *g)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const uchar16 v = in[i], m = masks[i];
    out[i] = shuffle(v, m);
    out[n + i] = shuffle2(v, v.odd.xyzwxyzwxyzwxyzw.s0123456789abcdef + (uchar)1, m);
    out[2 * n + i] = (uchar16)(shuffle(v.lo, m.lo), shuffle2(v.lo, v.hi, m.hi));
    const uint8 order = convert_uint8(m.lo);
    g[i] = shuffle2(f[i], f[(i + 1) % n], order);
}

__kernel void selections(__global const float4 *a, __global const float4 *b, __global const int4 *c,
                         __global float4 *out, __global long2 *wide, __global char8 *narrow)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    out[i] = select(a[i], b[i], c[i]);
    out[n + i] = bitselect(a[i], b[i], as_float4(c[i]));
    out[2 * n + i] = a[i] < b[i] ? a[i] : -b[i];
    out[3 * n + i] = (float4)(select(a[i].x, b[i].x, c[i].x), a[i].x < b[i].x ? 1.0f : 2.0f, a[i].w != b[i].w, !c[i].z);
    wide[i] = select(convert_long2(c[i].xy), convert_long2(c[i].zw), (ulong2)(c[i].y, 1UL << 63));
    const char8 x = as_char8(c[i].xy), y = as_char8(c[i].zw);
    narrow[i] = select(x, y, x ^ y);
}

/* Swizzles, literals from parts, components as l-values, three-element vectors in memory. */
__kernel void swizzles(__global const float3 *in, __global float3 *out, __global float *flat)
{
    const size_t i = get_global_id(0);
    const float3 v = in[i];
    float8 w = (float8)(v.zyx, 1.0f, v.xy, (float2)(v.z));
    w.s7 = w.even.y;
    w.lo.hi = w.s45;
    float16 x = (float16)(w, w.s76543210);
    x.sFE = x.s01;
    x.s0a.y += 2.0f;
    out[i] = x.sabc + v.xxx;
    vstore16(x, i, flat);
}
