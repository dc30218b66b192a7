/* Every pair of types, plain. Out has one stretch for each destination type. */
#define PLAIN(T)                                                                               \
    __kernel void from_##T(__global const T *in, __global char *c, __global uchar *uc,      \
        __global short *s, __global ushort *us, __global int *i, __global uint *ui,            \
        __global long *l, __global ulong *ul, __global float *f, __global double *d)           \
    {                                                                                          \
        const size_t g = get_global_id(0), n = get_global_size(0);                             \
        const T v = in[g];                                                                     \
        c[g] = convert_char(v);                                                                \
        c[n + g] = convert_char_sat(v);                                                        \
        uc[g] = convert_uchar(v);                                                              \
        uc[n + g] = convert_uchar_sat(v);                                                      \
        s[g] = convert_short(v);                                                               \
        s[n + g] = convert_short_sat(v);                                                       \
        us[g] = convert_ushort(v);                                                             \
        us[n + g] = convert_ushort_sat(v);                                                     \
        i[g] = convert_int(v);                                                                 \
        i[n + g] = convert_int_sat(v);                                                         \
        ui[g] = convert_uint(v);                                                               \
        ui[n + g] = convert_uint_sat(v);                                                       \
        l[g] = convert_long(v);                                                                \
        l[n + g] = convert_long_sat(v);                                                        \
        ul[g] = convert_ulong(v);                                                              \
        ul[n + g] = convert_ulong_sat(v);                                                      \
        f[g] = convert_float(v);                                                               \
        f[n + g] = (float)v;                                                                   \
        d[g] = convert_double(v);                                                              \
        d[n + g] = (double)v;                                                                  \
    }

PLAIN(char)
PLAIN(uchar)
PLAIN(short)
PLAIN(ushort)
PLAIN(int)
PLAIN(uint)
PLAIN(long)
PLAIN(ulong)

/* From floats: each rounding mode, without and with saturation; TO is the destination's name. */
#define ROUNDED(FROM, TO)                                                                      \
    __kernel void round_##FROM##_##TO(__global const FROM *in, __global const FROM *any,       \
                                      __global TO *out)                                        \
    {                                                                                          \
        const size_t g = get_global_id(0), n = get_global_size(0);                             \
        out[g] = convert_##TO(in[g]);                                                          \
        out[n + g] = convert_##TO##_rte(in[g]);                                                \
        out[2 * n + g] = convert_##TO##_rtz(in[g]);                                            \
        out[3 * n + g] = convert_##TO##_rtp(in[g]);                                            \
        out[4 * n + g] = convert_##TO##_rtn(in[g]);                                            \
        out[5 * n + g] = convert_##TO##_sat(any[g]);                                           \
        out[6 * n + g] = convert_##TO##_sat_rte(any[g]);                                       \
        out[7 * n + g] = convert_##TO##_sat_rtz(any[g]);                                       \
        out[8 * n + g] = convert_##TO##_sat_rtp(any[g]);                                       \
        out[9 * n + g] = convert_##TO##_sat_rtn(any[g]);                                       \
        out[10 * n + g] = (TO)in[g];                                                           \
    }

ROUNDED(float, char)
ROUNDED(float, uchar)
ROUNDED(float, short)
ROUNDED(float, ushort)
ROUNDED(float, int)
ROUNDED(float, uint)
ROUNDED(float, long)
ROUNDED(float, ulong)
ROUNDED(double, char)
ROUNDED(double, uchar)
ROUNDED(double, short)
ROUNDED(double, ushort)
ROUNDED(double, int)
ROUNDED(double, uint)
ROUNDED(double, long)
ROUNDED(double, ulong)

/* To floats with each rounding mode. */
#define TO_FLOAT(FROM)                                                                         \
    __kernel void float_of_##FROM(__global const FROM *in, __global float *out)                \
    {                                                                                          \
        const size_t g = get_global_id(0), n = get_global_size(0);                             \
        out[g] = convert_float(in[g]);                                                         \
        out[n + g] = convert_float_rte(in[g]);                                                 \
        out[2 * n + g] = convert_float_rtz(in[g]);                                             \
        out[3 * n + g] = convert_float_rtp(in[g]);                                             \
        out[4 * n + g] = convert_float_rtn(in[g]);                                             \
    }

TO_FLOAT(int)
TO_FLOAT(uint)
TO_FLOAT(long)
TO_FLOAT(ulong)
TO_FLOAT(double)

/* What is no number saturates to zero. */
__kernel void saturate_nan(__global const float *in, __global long *out)
{
    const size_t g = get_global_id(0), n = get_global_size(0);
    const float f = in[g];
    const double d = f;
    out[g] = convert_char_sat(f);
    out[n + g] = convert_ushort_sat_rte(f);
    out[2 * n + g] = convert_int_sat(f);
    out[3 * n + g] = convert_uint_sat_rtz(f);
    out[4 * n + g] = convert_long_sat(f);
    out[5 * n + g] = convert_int_sat_rtp(d);
    out[6 * n + g] = convert_ulong_sat(d);
}

/* By vectors, with saturation and back; as_type between types of one size. */
__kernel void convert_vectors(__global const float4 *in, __global uchar4 *bytes, __global float4 *back,
                              __global short8 *halves, __global uint *bits)
{
    const size_t g = get_global_id(0);
    const float4 v = in[g];
    bytes[g] = convert_uchar4_sat_rte(v * 2.0f);
    back[g] = convert_float4(bytes[g]) * 0.5f;
    halves[g] = as_short8(v);
    bits[g] = as_uint(bytes[g]) ^ as_uint(v.x) ^ (uint)as_ulong(v.zw);
}
