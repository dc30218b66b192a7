#pragma OPENCL FP_CONTRACT OFF

typedef struct {
    char tag[3];
    short code;
    double weight;
    uchar flag;
    int counts[2];
} record;

/* Padding between the members and after the last. */
__kernel void records(__global const record *in, __global record *out, __global uint *sizes)
{
    const size_t i = get_global_id(0);
    record r = in[i];
    r.tag[0] ^= r.tag[2];
    r.tag[1]++;
    r.code = -r.code;
    r.weight *= r.flag;
    r.counts[r.flag & 1] += 10;
    out[get_global_size(0) - 1 - i] = r;
    if (i == 0) {
        sizes[0] = sizeof(record);
        sizes[1] = (uint)((__global const uchar *)&in[0].counts[1] - (__global const uchar *)in);
        sizes[2] = sizeof(r.tag);
        sizes[3] = sizeof(float3);
    }
}

typedef struct {
    float2 origin;
    struct {
        float size;
        int kind;
    } shapes[2];
} scene;

float area(const scene s, const int which)
{
    return s.shapes[which].kind ? s.shapes[which].size * s.shapes[which].size : 2.0f * s.shapes[which].size;
}

scene moved(scene s, const float2 by)
{
    s.origin += by;
    s.shapes[1] = s.shapes[0];
    s.shapes[1].kind ^= 1;
    return s;
}

/* Nested structs passed and returned by value, and one as the kernel's argument. */
__kernel void scenes(__global const float *in, __global float *out, const scene given)
{
    const size_t i = get_global_id(0);
    scene s = given;
    s.shapes[0].size += in[i];
    const scene t = moved(s, (float2)(in[i], -1.0f));
    vstore4((float4)(t.origin, area(t, 0), area(t, 1) + area(s, 1)), i, out);
}

typedef union {
    uint word;
    uchar bytes[4];
    struct { ushort low, high; } parts;
    float number;
} pun;

__kernel void unions(__global const uint *in, __global uint *out)
{
    const size_t i = get_global_id(0);
    pun p;
    p.word = in[i];
    const uchar t = p.bytes[0];
    p.bytes[0] = p.bytes[3];
    p.bytes[3] = t;
    p.parts.high += p.parts.low;
    pun q = p;
    q.number = (float)(p.word >> 8);
    out[2 * i] = p.word;
    out[2 * i + 1] = q.word ^ q.parts.high;
}

typedef struct __attribute__((packed)) {
    uchar kind;
    uint value;
    ushort check;
} packet;

__kernel void packed_structs(__global const packet *in, __global ulong *out, __local packet *shared)
{
    const int l = get_local_id(0), n = get_local_size(0);
    shared[(l + 1) % n] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    const packet p = shared[l];
    out[get_global_id(0)] = ((ulong)p.kind << 48) | ((ulong)p.value << 16) | p.check;
}

typedef struct { int key; int next; } link;

/* Linked lists in a buffer; an array of structs in private memory by a dynamic index. */
__kernel void walk_lists(__global const link *links, __global const int *heads, __global int *sums)
{
    link last[4] = { { 0, -1 }, { 1, -1 }, { 2, -1 }, { 3, -1 } };
    int sum = 0, steps = 0;
    for (int at = heads[get_global_id(0)]; at >= 0; at = links[at].next) {
        last[steps++ & 3] = links[at];
        sum += links[at].key * steps;
    }
    for (int i = 0; i < 4; ++i)
        sum = sum * 31 + last[(steps + i) & 3].key;
    sums[get_global_id(0)] = sum;
}

/* A stack machine with its stack in private memory. */
__kernel void stack_machine(__global const uchar *programs, __global int *results, const int length)
{
    int stack[16];
    int top = 0;
    for (int pc = 0; pc < length; ++pc) {
        const uchar op = programs[get_global_id(0) * length + pc];
        if (op < 128 || top < 2) {
            if (top < 16)
                stack[top++] = op & 127;
            continue;
        }
        const int b = stack[--top], a = stack[--top];
        switch (op & 7) {
        case 0: stack[top++] = a + b; break;
        case 1: stack[top++] = a - b; break;
        case 2: stack[top++] = a * b; break;
        case 3: stack[top++] = b; stack[top++] = a; break;
        case 4: if (a < b) pc += 2; break;
        default: stack[top++] = a ^ b;
        }
    }
    int sum = 0;
    while (top)
        sum = sum * 7 + stack[--top];
    results[get_global_id(0)] = sum;
}
