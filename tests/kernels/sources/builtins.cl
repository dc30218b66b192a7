#pragma OPENCL FP_CONTRACT OFF

/* Each function of a group writes its own stretch. */
#define OUT(K, VALUE) out[(K) * n + i] = (VALUE)
#define BEGIN const size_t i = get_global_id(0), n = get_global_size(0); const T x = a[i], y = b[i];
#define KERNEL(NAME) __kernel void NAME(__global const T *a, __global const T *b, __global T *out)

#ifndef T
#define T float
#endif

KERNEL(exponentials)
{
    BEGIN
    OUT(0, exp(x)); OUT(1, exp2(x)); OUT(2, exp10(x)); OUT(3, expm1(x));
    const T p = fabs(y) + (T)1e-3;
    OUT(4, log(p)); OUT(5, log2(p)); OUT(6, log10(p)); OUT(7, log1p(p));
    OUT(8, pow(p, x)); OUT(9, pown(x, (int)y)); OUT(10, powr(p, x)); OUT(11, rootn(p, 3));
    OUT(12, sqrt(p)); OUT(13, rsqrt(p)); OUT(14, cbrt(x)); OUT(15, hypot(x, y));
}

KERNEL(trigonometry)
{
    BEGIN
    T cosine;
    const T sine = sincos(x, &cosine);
    OUT(0, sin(x)); OUT(1, cos(x)); OUT(2, tan(x)); OUT(3, sine); OUT(4, cosine);
    OUT(5, sinpi(x)); OUT(6, cospi(x)); OUT(7, tanpi(x));
    const T u = y / (T)8;
    OUT(8, asin(u)); OUT(9, acos(u)); OUT(10, atan(x)); OUT(11, atan2(x, y));
    OUT(12, asinpi(u)); OUT(13, acospi(u)); OUT(14, atanpi(x)); OUT(15, atan2pi(x, y));
    OUT(16, sinh(x)); OUT(17, cosh(x)); OUT(18, tanh(x));
    OUT(19, asinh(x)); OUT(20, acosh((T)1 + fabs(x))); OUT(21, atanh(u));
}

KERNEL(gammas)
{
    BEGIN
    OUT(0, erf(x)); OUT(1, erfc(x)); OUT(2, tgamma(fabs(x) + (T)0.25));
}

/* Exact ones. */
KERNEL(roundings)
{
    BEGIN
    T whole, fraction;
    int exponent, quotient;
    OUT(0, ceil(x)); OUT(1, floor(x)); OUT(2, rint(x)); OUT(3, round(x)); OUT(4, trunc(x));
    OUT(5, fabs(x)); OUT(6, copysign(x, y)); OUT(7, fdim(x, y)); OUT(8, fma(x, y, (T)0.3));
    OUT(9, fmax(x, y)); OUT(10, fmin(x, y)); OUT(11, fmod(x, y)); OUT(12, remainder(x, y));
    OUT(13, frexp(x, &exponent)); OUT(14, exponent);
    OUT(15, modf(x, &whole)); OUT(16, whole);
    OUT(17, fract(x, &fraction)); OUT(18, fraction);
    OUT(19, ldexp(x, (int)y)); OUT(20, ilogb(x)); OUT(21, logb(x));
    OUT(22, maxmag(x, y)); OUT(23, minmag(x, y)); OUT(24, nextafter(x, y));
    OUT(25, remquo(x, y, &quotient)); OUT(26, quotient & 7);
    OUT(27, x / y); OUT(28, (T)1 / y);
}

KERNEL(common)
{
    BEGIN
    const T z = (T)0.625;
    OUT(0, clamp(x, (T)-2, (T)3)); OUT(1, max(x, y)); OUT(2, min(x, y)); OUT(3, step(x, y)); OUT(4, sign(x));
    OUT(5, degrees(x)); OUT(6, radians(x)); OUT(7, mix(x, y, z)); OUT(8, smoothstep((T)-3, (T)4, x));
    OUT(9, mad(x, z, x));
}

/* Comparisons and classes, also of what is no number; vectors give -1. */
__kernel void relations(__global const T *a, __global const T *b, __global int *out)
{
    BEGIN
    OUT(0, isnan(x)); OUT(1, isinf(x)); OUT(2, isfinite(x)); OUT(3, isnormal(x)); OUT(4, signbit(x) != 0);
    OUT(5, isequal(x, y)); OUT(6, isnotequal(x, y)); OUT(7, isgreater(x, y)); OUT(8, isgreaterequal(x, y));
    OUT(9, isless(x, y)); OUT(10, islessequal(x, y)); OUT(11, islessgreater(x, y));
    OUT(12, isordered(x, y)); OUT(13, isunordered(x, y));
    OUT(14, (x < y) + 2 * (x > y) + 4 * (x == y) + 8 * (x != y) + 16 * (x <= y) + 32 * (x >= y) + 64 * !x);
    if (x)
        OUT(15, 1);
    else
        OUT(15, 2);
}

/* Arithmetic of special values: infinities, zeros of both signs, denormal numbers. */
KERNEL(specials)
{
    BEGIN
    OUT(0, x + y); OUT(1, x - y); OUT(2, x * y); OUT(3, -x); OUT(4, fabs(x)); OUT(5, fma(x, y, x));
    OUT(6, x * (T)0.5); OUT(7, x + x * y); OUT(8, copysign(y, x)); OUT(9, trunc(x));
    OUT(10, isnan(x) ? (T)1 : x); OUT(11, x < y ? x : y);
}

__kernel void geometric(__global const float4 *a, __global const float4 *b, __global float *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const float4 x = a[i], y = b[i];
    OUT(0, dot(x, y)); OUT(1, dot(x.xyz, y.xyz)); OUT(2, dot(x.xy, y.xy)); OUT(3, dot(x.x, y.x));
    OUT(4, length(x)); OUT(5, length(x.xyz)); OUT(6, length(x.xy)); OUT(7, length(x.x));
    OUT(8, distance(x, y)); OUT(9, distance(x.xyz, y.xyz));
    const float4 u = normalize(x), c = cross(x, y);
    const float3 v = normalize(y.xyz), d = cross(x.xyz, y.xyz);
    OUT(10, u.x); OUT(11, u.y); OUT(12, u.w); OUT(13, v.x); OUT(14, v.z);
    OUT(15, c.x); OUT(16, c.y); OUT(17, c.z); OUT(18, c.w); OUT(19, d.x); OUT(20, d.z);
}

__kernel void fast_geometric(__global const float4 *a, __global const float4 *b, __global float *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const float4 x = a[i], y = b[i];
    OUT(0, fast_length(x)); OUT(1, fast_length(x.xy)); OUT(2, fast_distance(x.xyz, y.xyz));
    OUT(3, fast_normalize(x).z); OUT(4, fast_normalize(y.xyz).y);
}

__kernel void native_and_half(__global const float *a, __global const float *b, __global float *out)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], p = fabs(b[i]) + 0.01f;
    OUT(0, half_exp(x)); OUT(1, half_log(p)); OUT(2, half_sqrt(p)); OUT(3, half_rsqrt(p)); OUT(4, half_sin(x));
    OUT(5, half_cos(x)); OUT(6, half_divide(x, p)); OUT(7, half_recip(p)); OUT(8, half_powr(p, x));
    OUT(9, half_exp2(x)); OUT(10, half_log2(p));
    OUT(11, native_exp(x)); OUT(12, native_log2(p)); OUT(13, native_sqrt(p)); OUT(14, native_divide(x, p));
    OUT(15, native_recip(p)); OUT(16, native_rsqrt(p)); OUT(17, native_exp2(x));
}
