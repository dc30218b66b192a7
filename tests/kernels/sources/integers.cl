/* Bits of every width. */
__kernel void bit_counts(__global const ulong *in, __global uint *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const ulong v = in[i];
    out[0 * n + i] = popcount(v);
    out[1 * n + i] = popcount((uint)v);
    out[2 * n + i] = popcount((short)v);
    out[3 * n + i] = popcount((uchar)v);
    out[4 * n + i] = clz(v);
    out[5 * n + i] = clz((int)v);
    out[6 * n + i] = clz((ushort)v);
    out[7 * n + i] = clz((uchar)v);
    uint r = (uint)v;
    r = ((r >> 1) & 0x55555555u) | ((r & 0x55555555u) << 1);
    r = ((r >> 2) & 0x33333333u) | ((r & 0x33333333u) << 2);
    r = ((r >> 4) & 0x0f0f0f0fu) | ((r & 0x0f0f0f0fu) << 4);
    out[8 * n + i] = (r >> 24) | ((r >> 8) & 0xff00u) | ((r & 0xff00u) << 8) | (r << 24);
    const uint gray = (uint)v ^ ((uint)v >> 1);
    out[9 * n + i] = gray;
}

/* T is a scalar type, U its unsigned type: every integer builtin and operator of the type. */
#define EVERY(NAME, T, U)                                                                        \
    __kernel void integers_##NAME(__global const T *a, __global const T *b, __global const T *c, \
                                  __global T *out)                                               \
    {                                                                                            \
        const size_t i = get_global_id(0), n = get_global_size(0);                               \
        const T x = a[i], y = b[i], z = c[i], d = y ? y : (T)1;                                  \
        __global T *o = out + i;                                                                 \
        o[0 * n] = x + y;                                                                        \
        o[1 * n] = x - y;                                                                        \
        o[2 * n] = x * y;                                                                        \
        o[3 * n] = (U)x / (U)d;                                                                  \
        o[4 * n] = (U)x % (U)d;                                                                  \
        o[5 * n] = (x & y) | (~x ^ z);                                                           \
        o[6 * n] = x << (y & (sizeof(T) * 8 - 1));                                               \
        o[7 * n] = x >> (y & (sizeof(T) * 8 - 1));                                               \
        o[8 * n] = abs(x);                                                                       \
        o[9 * n] = abs_diff(x, y);                                                               \
        o[10 * n] = add_sat(x, y);                                                               \
        o[11 * n] = sub_sat(x, y);                                                               \
        o[12 * n] = hadd(x, y);                                                                  \
        o[13 * n] = rhadd(x, y);                                                                 \
        o[14 * n] = clamp(x, min(y, z), max(y, z));                                              \
        o[15 * n] = mul_hi(x, y);                                                                \
        o[16 * n] = mad_hi(x, y, z);                                                             \
        o[17 * n] = mad_sat(x, y, z);                                                            \
        o[18 * n] = rotate(x, y);                                                                \
        o[19 * n] = clz(x);                                                                      \
        o[20 * n] = popcount(x);                                                                 \
        o[21 * n] = (x < y) + 2 * (x <= y) + 4 * (x == z) + 8 * (x != y) + 16 * (x && !y);       \
        o[22 * n] = (x == (T)1 << (sizeof(T) * 8 - 1)) || d + (T)1 == 0 ? (T)5 : (T)(x / d);     \
        o[23 * n] = (x == (T)1 << (sizeof(T) * 8 - 1)) || d + (T)1 == 0 ? (T)6 : (T)(x % d);     \
        o[24 * n] = bitselect(x, y, z);                                                          \
        o[25 * n] = -x;                                                                          \
    }

EVERY(char, char, uchar)
EVERY(uchar, uchar, uchar)
EVERY(short, short, ushort)
EVERY(ushort, ushort, ushort)
EVERY(int, int, uint)
EVERY(uint, uint, uint)
EVERY(long, long, ulong)
EVERY(ulong, ulong, ulong)

__kernel void twenty_four_bits(__global const int *a, __global const int *b, __global const uint *c, __global int *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const int x = a[i] >> 8, y = b[i] >> 8;
    const uint u = c[i] >> 8, v = (uint)b[i] >> 8;
    out[i] = mul24(x, y);
    out[n + i] = mad24(x, y, a[i]);
    out[2 * n + i] = (int)mul24(u, v);
    out[3 * n + i] = (int)mad24(u, v, c[i]);
    out[4 * n + i] = (int)upsample((ushort)a[i], (ushort)b[i]);
    out[5 * n + i] = upsample((short)a[i], (ushort)b[i]);
}

/* Wrap-around of narrow compound assignments and increments. */
__kernel void narrow_arithmetic(__global const char *in, __global char *s, __global uchar *u, __global short *w)
{
    const size_t i = get_global_id(0);
    char a = in[i];
    uchar b = in[i];
    short c = in[i];
    for (int k = 0; k < 20; ++k) {
        a += 13;
        a ^= a << 3;
        b = b * 7 + a--;
        b >>= k & 1;
        c *= b | 1;
        c -= a++ << 7;
        c %= 10007;
    }
    s[i] = a;
    u[i] = b;
    w[i] = c;
}

/* Digits to text: division and remainder of 64 bits by a constant, and by a variable base. */
__kernel void digits(__global const ulong *in, __global uchar *text, const uint base)
{
    const size_t i = get_global_id(0);
    ulong v = in[i];
    uchar many = 0;
    do {
        const uint d = v % base;
        text[i * 66 + many++] = d < 10 ? '0' + d : 'a' + d - 10;
        v /= base;
    } while (v);
    text[i * 66 + many] = '\0';
}

__kernel void greatest_divisor(__global const int2 *pairs, __global int *out, __global int *steps)
{
    const size_t i = get_global_id(0);
    int a = pairs[i].x, b = pairs[i].y, n = 0;
    while (b != 0) {
        const int t = a % b;
        a = b;
        b = t;
        n++;
    }
    out[i] = abs(a);
    steps[i] = n;
}

/* Vector operators: comparisons give -1, shifts are by lane, && works by lane. */
__kernel void vector_integers(__global const int4 *a, __global const int4 *b, __global int4 *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const int4 x = a[i], y = b[i];
    out[0 * n + i] = x < y;
    out[1 * n + i] = (x == y) || (x > 5);
    out[2 * n + i] = !x;
    out[3 * n + i] = x << y;
    out[4 * n + i] = as_int4(as_uint4(x) >> 3) ^ (x >> 3);
    out[5 * n + i] = x > y ? x - y : y - x;
    out[6 * n + i] = (int4)(any(x < y), all(x < y), any(x.xy), all(y.zw));
    out[7 * n + i] = (int4)(x.odd, y.even).wzyx;
    int4 t = x;
    t.xz = y.yw;
    t.s3 += t.hi.x;
    ++t;
    out[8 * n + i] = t--;
    out[9 * n + i] = -t + ~y * 3;
}
