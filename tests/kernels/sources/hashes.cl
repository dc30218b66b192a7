__constant uint round_keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

#define ROR(x, n) rotate((uint)(x), (uint)(32 - (n)))

/* One message of at most 55 bytes per work-item. */
__kernel void sha256(__global const uchar *messages, __global const uchar *lengths, __global uint *digests)
{
    const int i = get_global_id(0), length = lengths[i];
    uint w[64];
    for (int t = 0; t < 16; ++t)
        w[t] = 0;
    for (int b = 0; b < length; ++b)
        w[b >> 2] |= (uint)messages[i * 56 + b] << (24 - 8 * (b & 3));
    w[length >> 2] |= 0x80u << (24 - 8 * (length & 3));
    w[15] = length * 8;
    for (int t = 16; t < 64; ++t) {
        const uint s0 = ROR(w[t - 15], 7) ^ ROR(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const uint s1 = ROR(w[t - 2], 17) ^ ROR(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    const uint8 start = (uint8)(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19);
    uint8 s = start;
    for (int t = 0; t < 64; ++t) {
        const uint s1 = ROR(s.s4, 6) ^ ROR(s.s4, 11) ^ ROR(s.s4, 25);
        const uint t1 = s.s7 + s1 + bitselect(s.s6, s.s5, s.s4) + round_keys[t] + w[t];
        const uint s0 = ROR(s.s0, 2) ^ ROR(s.s0, 13) ^ ROR(s.s0, 22);
        const uint t2 = s0 + ((s.s0 & s.s1) ^ (s.s0 & s.s2) ^ (s.s1 & s.s2));
        s = (uint8)(t1 + t2, s.s012, s.s3 + t1, s.s456);
    }
    vstore8(s + start, i, digests);
}

#define PRIME1 0x9E3779B185EBCA87UL
#define PRIME2 0xC2B2AE3D27D4EB4FUL
#define PRIME3 0x165667B19E3779F9UL

/* In the manner of xxhash: four lanes of 64 bits, then an avalanche. */
__kernel void lanes_hash(__global const ulong4 *data, __global ulong *hashes, const uint blocks, const ulong seed)
{
    const size_t i = get_global_id(0);
    ulong4 v = (ulong4)(seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1);
    for (uint b = 0; b < blocks; ++b) {
        v += data[i * blocks + b] * PRIME2;
        v = rotate(v, (ulong4)(31)) * PRIME1;
    }
    ulong h = rotate(v.x, 1UL) + rotate(v.y, 7UL) + rotate(v.z, 12UL) + rotate(v.w, 18UL);
    h ^= h >> 33;
    h *= PRIME2;
    h ^= h >> 29;
    h *= PRIME3;
    hashes[i] = h ^ (h >> 32);
}

/* FNV-1a over zero-terminated words of a text. */
__kernel void words_hash(__global const char *text, __global const uint *starts, __global uint *hashes)
{
    __global const char *p = text + starts[get_global_id(0)];
    uint h = 2166136261u;
    while (*p) {
        h ^= (uchar)*p++;
        h *= 16777619u;
    }
    hashes[get_global_id(0)] = h;
}

/* Four rounds of AES-like substitution, shift, mix and key by a table in local memory. */
uchar twice(const uchar v)
{
    return (v << 1) ^ ((v & 0x80) ? 0x1b : 0);
}

__kernel void table_cipher(__global const uchar16 *in, __global uchar16 *out, __constant uchar *box,
                           __constant uchar16 *keys)
{
    __local uchar table[256];
    const int l = get_local_id(0);
    for (int i = l; i < 256; i += get_local_size(0))
        table[i] = box[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    union { uchar16 all; uchar each[16]; } s, t;
    s.all = in[get_global_id(0)] ^ keys[0];
    for (int round = 1; round <= 4; ++round) {
        for (int i = 0; i < 16; ++i)
            t.each[i] = table[s.each[(i + 4 * (i & 3)) & 15]];
        if (round < 4)
            for (int c = 0; c < 16; c += 4) {
                uchar *m = t.each + c;
                const uchar first = m[0], every = m[0] ^ m[1] ^ m[2] ^ m[3];
                m[0] ^= every ^ twice(m[0] ^ m[1]);
                m[1] ^= every ^ twice(m[1] ^ m[2]);
                m[2] ^= every ^ twice(m[2] ^ m[3]);
                m[3] ^= every ^ twice(m[3] ^ first);
            }
        s.all = t.all ^ keys[round];
    }
    out[get_global_id(0)] = s.all;
}

__kernel void crc32_bits(__global const uchar *data, __global uint *out, const uint length)
{
    uint crc = ~0u;
    for (uint i = 0; i < length; ++i) {
        crc ^= data[get_global_id(0) * length + i];
        for (int b = 0; b < 8; ++b)
            crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
    }
    out[get_global_id(0)] = ~crc;
}

/* The table is built by the group. */
__kernel void crc16_table(__global const uchar *data, __global ushort *out, const uint length)
{
    __local ushort table[256];
    for (int i = get_local_id(0); i < 256; i += get_local_size(0)) {
        ushort c = i << 8;
        for (int b = 0; b < 8; ++b)
            c = c & 0x8000 ? (c << 1) ^ 0x1021 : c << 1;
        table[i] = c;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    ushort crc = 0xffff;
    for (uint i = 0; i < length; ++i)
        crc = (crc << 8) ^ table[(crc >> 8) ^ data[get_global_id(0) * length + i]];
    out[get_global_id(0)] = crc;
}

ulong times_modulo(ulong a, ulong b, const ulong m)
{
    ulong r = 0;
    for (a %= m; b; b >>= 1) {
        if (b & 1)
            r = r >= m - a ? r - (m - a) : r + a;
        a = a >= m - a ? a - (m - a) : a + a;
    }
    return r;
}

/* base ** exponent mod m for odd m below 2 ** 63, through a product of 128 bits. */
__kernel void power_modulo(__global const ulong *bases, __global const uint *exponents, __global const ulong *moduli,
                           __global ulong *out)
{
    const size_t i = get_global_id(0);
    const ulong m = moduli[i];
    ulong base = bases[i] % m, r = 1;
    for (uint e = exponents[i]; e != 0; e >>= 1) {
        if (e & 1)
            r = times_modulo(r, base, m);
        base = times_modulo(base, base, m);
    }
    out[i] = r;
}

/* Montgomery products with mul_hi. */
__kernel void montgomery(__global const ulong *a, __global const ulong *b, __global ulong *out, const ulong m, const ulong inverse)
{
    const size_t i = get_global_id(0);
    const ulong high = mul_hi(a[i], b[i]), low = a[i] * b[i];
    const ulong q = low * inverse, carry = low != 0;
    const ulong t = high + mul_hi(q, m) + carry;
    out[i] = t >= m ? t - m : t;
}

/* How often a pattern occurs, by Horspool's skips; the places in any order. */
__kernel void string_match(__global const uchar *text, const int length, __constant uchar *pattern, const int m,
                           volatile __global int *places)
{
    __local uchar skip[256];
    const int l = get_local_id(0), size = get_local_size(0);
    for (int c = l; c < 256; c += size)
        skip[c] = m;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0)
        for (int j = 0; j < m - 1; ++j)
            skip[pattern[j]] = m - 1 - j;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int each = (length - m + get_global_size(0)) / (int)get_global_size(0);
    int at = get_global_id(0) * each;
    const int end = min(at + each, length - m + 1);
    while (at < end) {
        int j = m - 1;
        while (text[at + j] == pattern[j])
            if (--j < 0)
                break;
        if (j < 0)
            places[atomic_inc(places) + 1] = at;
        at += skip[text[at + m - 1]];
    }
}

/* xorshift128+ and a Philox-like counter generator. */
__kernel void random_streams(__global ulong2 *states, __global ulong *out, const uint draws)
{
    const size_t i = get_global_id(0);
    ulong2 s = states[i];
    ulong sum = 0;
    for (uint d = 0; d < draws; ++d) {
        ulong x = s.x;
        const ulong y = s.y;
        s.x = y;
        x ^= x << 23;
        s.y = x ^ y ^ (x >> 17) ^ (y >> 26);
        sum ^= s.y + y;
    }
    states[i] = s;
    uint2 counter = (uint2)(i, draws), key = (uint2)(0x1BD11BDAu, 0xA9FC1A22u);
    for (int r = 0; r < 10; r++) {
        const uint high = mul_hi(counter.x, 0xD256D193u), low = counter.x * 0xD256D193u;
        counter = (uint2)(high ^ key.x ^ counter.y, low);
        key += (uint2)(0x9E3779B9u, 0);
    }
    out[i] = sum ^ upsample(counter.y, counter.x);
}
