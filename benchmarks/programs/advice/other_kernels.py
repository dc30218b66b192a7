"""Programs whose kernels do their work in a slow way, in other forms and sizes than those of `kernels`.

They were written after the rules, and no rule was changed for them.
"""

import numpy as np
from kernel_cases import launches, pair, sound
from workload import Variant, buffer, case, main


@case("sums-of-rows", "uncoalesced-access")
def sums_of_rows() -> tuple[Variant, Variant]:
    source = """
    kernel void ridges(global const double *restrict a, global double *restrict b, int n) {
        const int i = get_global_id(0), slice = get_global_id(1);
        double most = -1e30;
        for (int k = 0; k < n; k += 2) most = fmax(most, a[(slice * n + %s) * n + %s]);
        b[slice * n + i] = most;
    }"""
    arguments = buffer(8 * 512 * 512 * 16), buffer(8 * 512 * 16), np.int32(512)
    sizes = (512, 16), (64, 1)
    return (
        launches(source % ("i", "k"), sizes, arguments),
        launches(source % ("k", "i"), sizes, arguments),
    )


@case("every-third-pixel", "uncoalesced-access")
def every_third_pixel() -> tuple[Variant, Variant]:
    before = """
    kernel void grey(global const float *restrict rgb, global float *restrict grey) {
        const int i = get_global_id(0) * 12;
        grey[get_global_id(0)] = 0.3f * rgb[i] + 0.6f * rgb[i + 7];
    }"""
    after = """
    kernel void grey(global const float *restrict rgb, global float *restrict grey) {
        const int i = get_global_id(0), n = get_global_size(0);
        grey[i] = 0.3f * rgb[i] + 0.6f * rgb[n + i];
    }"""
    items = 3 << 20
    return pair(before, after, (buffer(48 * items), buffer(4 * items)), items, 192)


@case("pairs-in-local-memory", "bank-conflicts")
def pairs_in_local_memory() -> tuple[Variant, Variant]:
    source = """
    kernel void steps(global float *restrict x, int n) {
        local float kept[128 * 16];
        const int lid = get_local_id(0);
        float value = x[get_global_id(0)];
        for (int k = 0; k < 16; k++) kept[%s] = value + k;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int r = 0; r < n; r++) value = value * 0.5f + kept[%s];
        x[get_global_id(0)] = value;
    }"""
    arguments = buffer(4 << 21), np.int32(96)
    before = source % ("lid * 16 + k", "lid * 16 + (r & 15)")
    after = source % ("k * 128 + lid", "(r & 15) * 128 + lid")
    return pair(before, after, arguments, 1 << 21, 128)


@case("one-of-three", "divergent-branch")
def one_of_three() -> tuple[Variant, Variant]:
    source = """
    kernel void mixed(global float *restrict x, int n) {
        const int i = get_global_id(0), kind = %s;
        float value = x[i];
        for (int k = 0; k < n; k++) {
            if (kind == 0) value = native_exp(value) * 0.25f + native_log(value + 3.0f);
            else if (kind == 1) value = rsqrt(value + 2.0f) + value / (value * value + 1.5f);
            else value = fmod(value + 1.7f, 3.1f);
        }
        x[i] = value;
    }"""
    arguments = buffer(4 * 3 << 19), np.int32(40)
    return pair(source % "i % 3", source % "i / 128 % 3", arguments, 3 << 19, 128)


@case("table-of-weights", "private-array")
def table_of_weights() -> tuple[Variant, Variant]:
    source = """
    kernel void weigh(global const uchar *restrict keys, global float *restrict y, int n) {
        const int i = get_global_id(0);
        float weights[12], sum = 0;
        for (int k = 0; k < 12; k++) weights[k] = 1.0f / (i + k + 1);
        for (int k = 0; k < n; k++) {
            const int key = (i + k * 3) %% 12;
            %s
        }
        y[i] = sum;
    }"""
    after = "for (int b = 0; b < 12; b++) sum += b == key ? weights[b] : 0.0f;"
    arguments = buffer(1 << 20), buffer(4 << 19), np.int32(160)
    return pair(source % "sum += weights[key];", source % after, arguments, 1 << 19, 64)


@case("levels-without-restrict", "possible-aliasing")
def levels_without_restrict() -> tuple[Variant, Variant]:
    source = """
    kernel void levels(global const float %s t, global const float %s q, global float %s out, int n) {
        const int x = get_global_id(0), y = get_global_id(1), plane = 128 * 64;
        for (int z = 1; z < n; z++) {
            const int at = z * plane + y * 128 + x;
            out[at] = t[at] - t[at - plane] + 0.1f * q[at];
        }
    }"""
    data = [buffer(4 * 128 * 64 * 200) for _ in range(3)]
    arguments, sizes = (*data, np.int32(200)), ((128, 64), (32, 4))
    plain = launches(source % ("*", "*", "*"), sizes, arguments)
    return plain, launches(source % (("*restrict",) * 3), sizes, arguments)


@case("double-in-a-condition", "double-constants")
def double_in_a_condition() -> tuple[Variant, Variant]:
    source = """
    kernel void settle(global float *restrict x, int n) {
        float a = x[get_global_id(0)], b = a;
        for (int k = 0; k < n; k++) {
            b = b * 0.5%s + a;
            if (b > 1.25%s) b -= 1.5%s;
        }
        x[get_global_id(0)] = b;
    }"""
    arguments = buffer(4 << 20), np.int32(200)
    return pair(source % ("", "", ""), source % ("f", "f", "f"), arguments, 1 << 20, 128)


@case("largest-of-a-row", "global-atomics")
def largest_of_a_row() -> tuple[Variant, Variant]:
    before = """
    kernel void largest(global const int *restrict x, global int *restrict most, int n) {
        atomic_max(&most[(get_global_id(0) * 5) & 15], (int)get_global_id(0));
    }"""
    after = """
    kernel void largest(global const int *restrict x, global int *restrict most, int n) {
        local int own[16];
        const int lid = get_local_id(0);
        if (lid < 16) own[lid] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_max(&own[(get_global_id(0) * 5) & 15], (int)get_global_id(0));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < 16) atomic_max(&most[lid], own[lid]);
    }"""
    arguments = buffer(4), buffer(64), np.int32(1)
    return pair(before, after, arguments, 1 << 21, 512)


@case("hundred-kilobytes", "low-occupancy")
def hundred_kilobytes() -> tuple[Variant, Variant]:
    source = """
    kernel void chase(global const float *restrict x, global float *restrict y, int n) {
        local float kept[%d];
        const int lid = get_local_id(0);
        float sum = 0;
        kept[lid] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < n; k++) sum = native_sin(sum + kept[(lid + k) & 255]);
        y[get_global_id(0)] = sum;
    }"""
    arguments = buffer(4 << 19), buffer(4 << 19), np.int32(128)
    return pair(source % 26000, source % 256, arguments, 1 << 19)


@case("deep-groups", "group-size")
def deep_groups() -> tuple[Variant, Variant]:
    source = """
    kernel void decay(global const float *restrict a, global float *restrict b, int n) {
        const int at = (get_global_id(2) * n + get_global_id(1)) * n + get_global_id(0);
        b[at] = a[at] * 0.98f;
    }"""
    arguments = buffer(4 << 24), buffer(4 << 24), np.int32(256)
    deep, flat = ((256, 256, 256), (1, 8, 16)), ((256, 256, 256), (64, 2, 2))
    return launches(source, deep, arguments), launches(source, flat, arguments)


sound(
    "sound-scan",
    """kernel void scan(global const float *restrict a, global float *restrict b, int n) {
        local float part[2][256];
        const int lid = get_local_id(0);
        int side = 0;
        part[0][lid] = a[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 1; s < 256; s *= 2) {
            part[1 - side][lid] = part[side][lid] + (lid >= s ? part[side][lid - s] : 0.0f);
            side = 1 - side;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        b[get_global_id(0)] = part[side][lid];
    }""",
    ((1 << 21,), (256,)),
)
sound(
    "sound-waves",
    """kernel void waves(global const float4 *restrict a, global float4 *restrict b, int n) {
        const int i = get_global_id(0), items = get_global_size(0);
        const float4 x = a[i], y = a[(i + 64) & (items - 1)];
        b[i] = native_sin(x) * native_cos(y) + mad(x, y, 0.5f);
    }""",
    ((1 << 20,), (128,)),
)
sound(
    "sound-volume",
    """kernel void relax(global const float *restrict a, global float *restrict b, int n) {
        const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), s = 128;
        if (x == 0 || y == 0 || z == 0 || x == s - 1 || y == s - 1 || z == s - 1) return;
        const int i = (z * s + y) * s + x;
        b[i] = (a[i - 1] + a[i + 1] + a[i - s] + a[i + s] + a[i - s * s] + a[i + s * s]) / 6.0f;
    }""",
    ((128, 128, 128), (32, 4, 2)),
)


if __name__ == "__main__":
    main()
