"""Programs whose kernels do their work in a slow way, for GPUs. See `workload`."""

import numpy as np
from kernel_cases import ITEMS, SIDE, launches, pair, sound
from workload import Variant, buffer, case, main


def tiled(width: int) -> str:
    """Return a kernel that transposes by tiles whose rows have a width in local memory."""
    return f"""
    kernel void transpose(global const float *restrict a, global float *restrict b, int n) {{
        local float tile[32][{width}];
        const int x = get_local_id(0), y = get_local_id(1);
        tile[y][x] = a[(get_group_id(1) * 32 + y) * n + get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        b[(get_group_id(0) * 32 + y) * n + get_group_id(1) * 32 + x] = tile[x][y];
    }}"""


@case("row-per-item", "uncoalesced-access")
def row_per_item() -> tuple[Variant, Variant]:
    source = """
    kernel void sums(global const float *restrict x, global float *restrict y, int n) {
        const int i = get_global_id(0);
        float sum = 0;
        for (int k = 0; k < n; k++) sum += x[%s];
        y[i] = sum;
    }"""
    items, length = 1 << 16, np.int32(512)
    arguments = buffer(4 * items * 512), buffer(4 * items), length
    columns = f"k * {items} + i"
    return pair(source % "i * n + k", source % columns, arguments, items)


@case("member-of-structure", "uncoalesced-access")
def member_of_structure() -> tuple[Variant, Variant]:
    before = """
    typedef struct { float x, y, z, vx, vy, vz, mass, charge; } Body;
    kernel void push(global Body *restrict bodies) {
        const int i = get_global_id(0);
        bodies[i].x += 0.1f * bodies[i].vx;
    }"""
    after = """
    kernel void push(global float *restrict x) {
        const int i = get_global_id(0), n = get_global_size(0);
        x[i] += 0.1f * x[n + i];
    }"""
    return pair(before, after, (buffer(32 * 4 * ITEMS),), 4 * ITEMS)


@case("plain-transpose", "uncoalesced-access")
def plain_transpose() -> tuple[Variant, Variant]:
    before = """
    kernel void transpose(global const float *restrict a, global float *restrict b, int n) {
        const int x = get_global_id(0), y = get_global_id(1);
        b[x * n + y] = a[y * n + x];
    }"""
    arguments = buffer(4 * SIDE * SIDE), buffer(4 * SIDE * SIDE), np.int32(SIDE)
    sizes = (SIDE, SIDE), (32, 8)
    return launches(before, sizes, arguments), launches(
        tiled(33), ((SIDE, SIDE), (32, 32)), arguments
    )


@case("unpadded-tile", "bank-conflicts")
def unpadded_tile() -> tuple[Variant, Variant]:
    source = """
    kernel void turn(global const float *restrict a, global float *restrict b, int rounds) {
        local float tile[32][%d];
        const int x = get_local_id(0) %% 32, y = get_local_id(0) / 32;
        float sum = a[get_global_id(0)];
        for (int r = 0; r < rounds; r++) {
            for (int k = y; k < 32; k += 8) tile[k][x] = sum + k;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = y; k < 32; k += 8) sum += tile[x][k];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        b[get_global_id(0)] = sum;
    }"""
    arguments = buffer(4 * ITEMS), buffer(4 * ITEMS), np.int32(16)
    return pair(source % 32, source % 33, arguments)


@case("strided-local-memory", "bank-conflicts")
def strided_local_memory() -> tuple[Variant, Variant]:
    source = """
    kernel void mix(global float *restrict x, int rounds) {
        local float part[256 * 8];
        const int lid = get_local_id(0);
        float value = x[get_global_id(0)];
        for (int k = 0; k < 8; k++) part[k * 256 + lid] = value + k;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int r = 0; r < rounds; r++)
            for (int k = 0; k < 8; k++) value += part[%s];
        x[get_global_id(0)] = value;
    }"""
    arguments = buffer(4 * ITEMS), np.int32(16)
    return pair(
        source % "(lid * 8 + k + r) % 2048", source % "(k * 256 + lid + r) % 2048", arguments
    )


@case("odd-and-even-lanes", "divergent-branch")
def odd_and_even_lanes() -> tuple[Variant, Variant]:
    source = """
    kernel void step(global float *restrict x, int rounds) {
        const int i = get_global_id(0);
        float value = x[i];
        if (%s) for (int k = 0; k < rounds; k++) value = sqrt(value * value + 1.5f);
        else for (int k = 0; k < rounds; k++) value = 1.0f / (value + 0.5f);
        x[i] = value;
    }"""
    arguments = buffer(4 * ITEMS), np.int32(64)
    return pair(source % "i % 2", source % "i / 32 % 2", arguments)


@case("four-kinds-of-lanes", "divergent-branch")
def four_kinds_of_lanes() -> tuple[Variant, Variant]:
    source = """
    float worked(float value, int kind) {
        for (int k = 0; k < 50; k++)
            switch (kind) {
                case 0: value = sin(value) + 0.1f; break;
                case 1: value = exp(-value); break;
                case 2: value = log(value + 2.0f); break;
                default: value = cos(value) * 0.5f;
            }
        return value;
    }
    kernel void step(global float *restrict x) {
        const int i = get_global_id(0);
        x[i] = worked(x[i], %s);
    }"""
    return pair(source % "i % 4", source % "i / 32 % 4", (buffer(4 * ITEMS),))


@case("private-sums", "private-array")
def private_sums() -> tuple[Variant, Variant]:
    source = """
    kernel void bins(global const int *restrict keys, global float *restrict y, int n) {
        const int i = get_global_id(0);
        float sums[8] = {0};
        for (int k = 0; k < n; k++) {
            const int key = (i * 7 + k * 5) & 7;
            %s
        }
        for (int b = 0; b < 8; b++) y[b * get_global_size(0) + i] = sums[b];
    }"""
    arguments = buffer(4), buffer(32 * ITEMS), np.int32(256)
    after = "for (int b = 0; b < 8; b++) sums[b] += b == key ? 1.0f : 0.0f;"
    return pair(source % "sums[key] += 1.0f;", source % after, arguments)


@case("private-window", "private-array")
def private_window() -> tuple[Variant, Variant]:
    source = """
    kernel void smooth(global float *restrict x, int n) {
        const int i = get_global_id(0);
        float last[8] = {0}, sum = x[i];
        for (int k = 0; k < n; k++) {
            %s
            sum = 0.25f * (last[0] + last[3] + last[5] + last[7]) + 1.0f;
        }
        x[i] = sum;
    }"""
    after = "for (int b = 7; b > 0; b--) last[b] = last[b - 1]; last[0] = sum;"
    arguments = buffer(4 * ITEMS), np.int32(256)
    return pair(source % "last[k % 8] = sum;", source % after, arguments)


@case("layers-without-restrict", "possible-aliasing")
def layers_without_restrict() -> tuple[Variant, Variant]:
    source = """
    kernel void layers(global const float %s u, global const float %s w, global float %s v, int n) {
        const int i = get_global_id(0), items = get_global_size(0);
        for (int k = 0; k < n; k++) v[k * items + i] = 0.5f * u[k * items + i] + w[k * items + i];
    }"""
    items = 1 << 14
    data = [buffer(4 * 256 * items) for _ in range(3)]
    arguments = (*data, np.int32(256))
    sizes = (items,), (64,)
    plain = launches(source % ("*", "*", "*"), sizes, arguments)
    return plain, launches(source % (("*restrict",) * 3), sizes, arguments)


@case("outputs-without-restrict", "possible-aliasing")
def outputs_without_restrict() -> tuple[Variant, Variant]:
    source = """
    kernel void moments(global const float %s x, global float %s a, global float %s b, int n) {
        const int i = get_global_id(0), items = get_global_size(0);
        for (int k = 0; k < n; k++) {
            const float value = x[k * items + i];
            a[k * items + i] = value * value;
            b[k * items + i] = value * value * value;
        }
    }"""
    items = 1 << 14
    data = [buffer(4 * 512 * items) for _ in range(3)]
    arguments = (*data, np.int32(512))
    sizes = (items,), (128,)
    plain = launches(source % ("*", "*", "*"), sizes, arguments)
    return plain, launches(source % (("*restrict",) * 3), sizes, arguments)


@case("constants-are-double", "double-constants")
def constants_are_double() -> tuple[Variant, Variant]:
    source = """
    kernel void decay(global float *restrict x, int n) {
        const int i = get_global_id(0);
        float value = x[i];
        for (int k = 0; k < n; k++) value = value * 0.999%s + 0.001%s;
        x[i] = value;
    }"""
    arguments = buffer(4 * ITEMS), np.int32(256)
    return pair(source % ("", ""), source % ("f", "f"), arguments)


@case("double-in-a-polynomial", "double-constants")
def double_in_a_polynomial() -> tuple[Variant, Variant]:
    source = """
    kernel void series(global const float *restrict x, global float *restrict y) {
        float t = x[get_global_id(0)], sum = 0;
        for (int k = 0; k < 100; k++) {
            sum += t * (1.0%s + t * (0.5%s + t * 0.1666%s));
            t *= 0.9f;
        }
        y[get_global_id(0)] = sum;
    }"""
    arguments = buffer(4 * ITEMS), buffer(4 * ITEMS)
    return pair(source % ("", "", ""), source % ("f", "f", "f"), arguments)


@case("histogram-in-global-memory", "global-atomics")
def histogram_in_global_memory() -> tuple[Variant, Variant]:
    before = """
    kernel void histogram(global int *total) {
        atomic_add(&total[(get_global_id(0) * 7) & 63], 1);
    }"""
    after = """
    kernel void histogram(global int *total) {
        local int sums[64];
        const int lid = get_local_id(0);
        if (lid < 64) sums[lid] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&sums[(get_global_id(0) * 7) & 63], 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < 64) atomic_add(&total[lid], sums[lid]);
    }"""
    return pair(before, after, (buffer(256),))


@case("count-in-global-memory", "global-atomics")
def count_in_global_memory() -> tuple[Variant, Variant]:
    before = """
    kernel void count(global const float *restrict x, global int *restrict total) {
        atomic_add(total, get_global_id(0) % 3 == 0);
    }"""
    after = """
    kernel void count(global const float *restrict x, global int *restrict total) {
        local int sum;
        if (get_local_id(0) == 0) sum = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&sum, get_global_id(0) % 3 == 0);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) == 0) atomic_add(total, sum);
    }"""
    return pair(before, after, (buffer(4 * ITEMS), buffer(4)), 4 * ITEMS)


@case("large-tile", "low-occupancy")
def large_tile() -> tuple[Variant, Variant]:
    source = """
    kernel void gather(global const float *restrict x, global float *restrict y, int n) {
        local float tile[%d];
        const int lid = get_local_id(0);
        float sum = 0;
        for (int k = 0; k < n; k++) {
            tile[lid + k %% 2 * 128] = x[k * get_global_size(0) + get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            sum += tile[(lid ^ 1) + k %% 2 * 128];
        }
        y[get_global_id(0)] = sum;
    }"""
    items = 1 << 18
    arguments = buffer(4 * 256 * items), buffer(4 * items), np.int32(256)
    return pair(source % 11000, source % 256, arguments, items, 128)


@case("upright-groups", "group-size")
def upright_groups() -> tuple[Variant, Variant]:
    source = """
    kernel void blur(global const float *restrict a, global float *restrict b, int n) {
        const int x = get_global_id(0), y = get_global_id(1);
        b[y * n + x] = 0.5f * a[y * n + x] + 1.0f;
    }"""
    arguments = buffer(4 * SIDE * SIDE), buffer(4 * SIDE * SIDE), np.int32(SIDE)
    upright, flat = ((SIDE, SIDE), (1, 256)), ((SIDE, SIDE), (32, 8))
    return launches(source, upright, arguments), launches(source, flat, arguments)


@case("narrow-groups", "group-size")
def narrow_groups() -> tuple[Variant, Variant]:
    source = """
    kernel void blend(global const float *restrict a, global float *restrict b, int n) {
        const int x = get_global_id(0), y = get_global_id(1);
        b[y * n + x] = 0.5f * a[y * n + x] + b[y * n + x];
    }"""
    arguments = buffer(4 * SIDE * SIDE), buffer(4 * SIDE * SIDE), np.int32(SIDE)
    narrow, flat = ((SIDE, SIDE), (2, 64)), ((SIDE, SIDE), (64, 4))
    return launches(source, narrow, arguments), launches(source, flat, arguments)


sound(
    "sound-copy",
    """kernel void copy(global const float *restrict a, global float *restrict b, int n) {
        b[get_global_id(0)] = a[get_global_id(0)];
    }""",
    ((4 * ITEMS,), (256,)),
)
sound(
    "sound-stencil",
    """kernel void stencil(global const float *restrict a, global float *restrict b, int n) {
        const int x = get_global_id(0), y = get_global_id(1);
        if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
            b[y * n + x] = 0.2f * (a[y * n + x] + a[y * n + x - 1] + a[y * n + x + 1]
                                   + a[y * n + x - n] + a[y * n + x + n]);
    }""",
    ((SIDE, SIDE), (32, 8)),
)
sound(
    "sound-product",
    """kernel void product(global const float *restrict a, global float *restrict b, int n) {
        local float left[16][16], right[16][16];
        const int x = get_local_id(0), y = get_local_id(1), side = 512;
        float sum = 0;
        for (int t = 0; t < side; t += 16) {
            left[y][x] = a[get_global_id(1) * side + t + x];
            right[y][x] = a[(t + y) * side + get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < 16; k++) sum += left[y][k] * right[k][x];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        b[get_global_id(1) * side + get_global_id(0)] = sum;
    }""",
    ((512, 512), (16, 16)),
)
sound(
    "sound-reduction",
    """kernel void total(global const float *restrict a, global float *restrict b, int n) {
        local float part[256];
        const int lid = get_local_id(0);
        part[lid] = a[get_global_id(0)];
        for (int s = 128; s > 0; s /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lid < s) part[lid] += part[lid + s];
        }
        if (lid == 0) b[get_group_id(0)] = part[0];
    }""",
    ((4 * ITEMS,), (256,)),
)
sound(
    "sound-bodies",
    """kernel void pull(global const float4 *restrict a, global float4 *restrict b, int n) {
        local float4 near[256];
        const int lid = get_local_id(0), items = 8192;
        const float4 mine = a[get_global_id(0)];
        float4 force = 0;
        for (int t = 0; t < items; t += 256) {
            near[lid] = a[t + lid];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < 256; k++) {
                const float4 d = near[k] - mine;
                force += d * native_rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        b[get_global_id(0)] = force;
    }""",
    ((1 << 16,), (256,)),
)
sound(
    "sound-fractal",
    """kernel void fractal(global const float *restrict a, global float *restrict b, int n) {
        const float cx = get_global_id(0) * 3.0f / n - 2.0f, cy = get_global_id(1) * 3.0f / n - 1.5f;
        float x = 0, y = 0;
        int k = 0;
        for (; k < 64 && x * x + y * y < 4.0f; k++) {
            const float next = x * x - y * y + cx;
            y = 2.0f * x * y + cy;
            x = next;
        }
        b[get_global_id(1) * n + get_global_id(0)] = k;
    }""",
    ((SIDE, SIDE), (32, 8)),
)
sound(
    "sound-bins",
    """kernel void bins(global const int *restrict a, global int *restrict b, int n) {
        local int sums[256];
        const int lid = get_local_id(0);
        sums[lid] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            atomic_add(&sums[(get_global_id(0) * 13 + k * 29) & 255], 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&b[lid], sums[lid]);
    }""",
    ((ITEMS,), (256,)),
)


if __name__ == "__main__":
    main()
