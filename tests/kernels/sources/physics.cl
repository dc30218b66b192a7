#pragma OPENCL FP_CONTRACT OFF

/* All pairs through tiles of local memory. */
__kernel void n_body(__global const float4 *bodies, __global float4 *accelerations, __local float4 *tile, const float softening)
{
    const int l = get_local_id(0), size = get_local_size(0), n = get_global_size(0);
    const float4 me = bodies[get_global_id(0)];
    float3 a = (float3)(0.0f);
    for (int first = 0; first < n; first += size) {
        tile[l] = bodies[first + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; ++j) {
            const float3 d = tile[j].xyz - me.xyz;
            const float r2 = dot(d, d) + softening;
            const float inverse = rsqrt(r2);
            a += d * (tile[j].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    accelerations[get_global_id(0)] = (float4)(a, 0.0f);
}

float2 times(const float2 a, const float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* One pass of a Stockham FFT: p is the length done so far. */
__kernel void fft_radix2(__global const float2 *in, __global float2 *out, const int p)
{
    const int i = get_global_id(0), n2 = get_global_size(0), k = i & (p - 1);
    const float angle = -M_PI_F * k / p;
    float cosine;
    const float sine = sincos(angle, &cosine);
    const float2 a = in[i], b = times(in[i + n2], (float2)(cosine, sine));
    const int j = (i << 1) - k;
    out[j] = a + b;
    out[j + p] = a - b;
}

__kernel void fft_radix4(__global const float2 *in, __global float2 *out, const int p)
{
    const int i = get_global_id(0), quarter = get_global_size(0), k = i & (p - 1);
    const float angle = -M_PI_2_F * k / p;
    const float2 w = (float2)(native_cos(angle), native_sin(angle)), w2 = times(w, w);
    float2 u[4];
    u[0] = in[i];
    u[1] = times(in[i + quarter], w);
    u[2] = times(in[i + 2 * quarter], w2);
    u[3] = times(in[i + 3 * quarter], times(w2, w));
    const float2 v0 = u[0] + u[2], v1 = u[0] - u[2], v2 = u[1] + u[3], v3 = (u[1] - u[3]).yx * (float2)(1.0f, -1.0f);
    __global float2 *to = out + ((i - k) << 2) + k;
    to[0] = v0 + v2;
    to[p] = v1 + v3;
    to[2 * p] = v0 - v2;
    to[3 * p] = v1 - v3;
}

/* A whole FFT of 64 points by one group of 32 in local memory. */
__kernel void fft_local(__global const float2 *in, __global float2 *out)
{
    __local float2 x[64];
    const int l = get_local_id(0), first = get_group_id(0) * 64;
    for (int i = l; i < 64; i += 32) {
        int r = 0;
        for (int b = 0; b < 6; ++b)
            r |= ((i >> b) & 1) << (5 - b);
        x[r] = in[first + i];
    }
    for (int span = 1; span < 64; span *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int k = l % span, i = (l / span) * 2 * span + k;
        const float angle = -M_PI_F * k / span;
        const float2 a = x[i], b = times(x[i + span], (float2)(cos(angle), sin(angle)));
        x[i] = a + b;
        x[i + span] = a - b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[first + l] = x[l];
    out[first + l + 32] = x[l + 32];
}

double normal(const double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

__kernel void black_scholes(__global const double *price, __global const double *strike, __global const double *years,
                            __global double2 *option, const double rate, const double volatility)
{
    const int i = get_global_id(0);
    const double s = price[i], k = strike[i], t = years[i];
    const double d1 = (log(s / k) + (rate + 0.5 * volatility * volatility) * t) / (volatility * sqrt(t));
    const double d2 = d1 - volatility * sqrt(t), discounted = k * exp(-rate * t);
    option[i].x = s * normal(d1) - discounted * normal(d2);
    option[i].y = discounted * normal(-d2) - s * normal(-d1);
}

/* Abramowitz and Stegun's polynomial, as GPU samples have it. */
float normal_polynomial(float d)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float c = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    c *= 0.39894228f * exp(-0.5f * d * d);
    return d > 0 ? 1.0f - c : c;
}

__kernel void normal_distribution(__global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    y[i] = normal_polynomial(x[i]);
}

uint next_random(uint *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

__kernel void monte_carlo_pi(__global const uint *seeds, __global uint *hits, const int samples)
{
    uint state = seeds[get_global_id(0)], inside = 0;
    for (int i = 0; i < samples; ++i) {
        const float x = next_random(&state) * 0x1p-24f, y = next_random(&state) * 0x1p-24f;
        if (x * x + y * y < 1.0f)
            inside++;
    }
    hits[get_global_id(0)] = inside;
}

__kernel void mandelbrot(__global ushort *steps, const float2 corner, const float pixel, const int limit)
{
    const int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    const float cx = corner.x + get_global_id(0) * pixel, cy = corner.y + get_global_id(1) * pixel;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    while (n < limit && x * x + y * y <= 4.0f) {
        const float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        ++n;
    }
    steps[i] = n;
}

/* Particles in a box with walls that bounce; a structure of arrays in one buffer. */
__kernel void leapfrog(__global float *state, const float dt, const int steps)
{
    const int i = get_global_id(0), n = get_global_size(0);
    float2 p = (float2)(state[i], state[n + i]), v = (float2)(state[2 * n + i], state[3 * n + i]);
    for (int s = 0; s < steps; ++s) {
        p += v * dt;
        const int2 out_low = p < 0.0f, out_high = p > 1.0f;
        p = select(p, -p, out_low);
        p = select(p, 2.0f - p, out_high);
        v = select(v, -v, out_low | out_high);
    }
    state[i] = p.x;
    state[n + i] = p.y;
    state[2 * n + i] = v.x;
    state[3 * n + i] = v.y;
}
