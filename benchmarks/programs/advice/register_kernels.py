"""Programs whose kernels have too few registers, or too many, for GPUs. See `workload`."""

import numpy as np
from kernel_cases import ITEMS, launches
from workload import Variant, buffer, case, context, main

_EACH = "\n#pragma unroll\nfor (int j = 0; j < SIZE; j++) "
_BOTH = _EACH + "\n#pragma unroll\nfor (int l = 0; l < SIZE; l++) "
_HEAD = f"""
    kernel ATTRIBUTE void step(global const float *restrict a, global float *restrict b, int n) {{
        const int i = get_global_id(0);
        float v = 0, sum = 0, s[SIZE];
        {_EACH} s[j] = a[i + j * 64];"""
_TAIL = f"{_EACH} sum += s[j] * j; b[i] = sum + v; }}"
SUMS = f"""{_HEAD}
        for (int k = 0; k < n; k++) {{
            v = a[i + k * 32];
            {_EACH} s[j] = s[j] * v + s[(j + 1) % SIZE];
        }}
        {_TAIL}"""
WALK = f"""{_HEAD}
        int at = i;
        for (int k = 0; k < n; k++) {{
            at = ((int)a[at] + at * 1025 + k) & 0x1ffffff;
            v += at;
        }}
        {_EACH} s[j] *= v;
        {_TAIL}"""
TILE = f"""
    kernel void step(global const float *restrict a, global float *restrict b, int n) {{
        const int i = get_global_id(0);
        float sum = 0, s[SIZE * SIZE];
        {_BOTH} s[j * SIZE + l] = 0;
        for (int k = 0; k < n; k++) {{
            float x[SIZE], y[SIZE];
            {_EACH} x[j] = a[k * 4096 + (i >> 8) * SIZE + j];
            {_EACH} y[j] = a[k * 4096 + (i & 255) * SIZE + j];
            {_BOTH} s[j * SIZE + l] += x[j] * y[l];
        }}
        {_BOTH} sum += s[j * SIZE + l] * j;
        b[i] = sum;
    }}"""


def variant(
    source: str, size: int, *, limit: int = 0, attribute: str = "", items: int = ITEMS
) -> Variant:
    """Return a variant that launches a source with arrays of a size, and a limit on registers."""
    is_limited = limit and "NVIDIA" in context.devices[0].platform.name
    options = f"-cl-nv-maxrregcount={limit}" if is_limited else ""
    text = source.replace("SIZE", str(size)).replace("ATTRIBUTE", attribute)
    local = 1024 if attribute else 256
    arguments = buffer(1 << 28), buffer(4 * items), np.int32(256)
    return launches(text, ((items,), (local,)), arguments, options)


@case("limit-below-sums", "register-spills")
def limit_below_sums() -> tuple[Variant, Variant]:
    return variant(SUMS, 64, limit=32), variant(SUMS, 64)


@case("limit-below-tile", "register-spills")
def limit_below_tile() -> tuple[Variant, Variant]:
    return variant(TILE, 8, limit=64), variant(TILE, 8)


@case("large-required-groups", "register-spills")
def large_required_groups() -> tuple[Variant, Variant]:
    large = "__attribute__((reqd_work_group_size(1024, 1, 1)))"
    return variant(SUMS, 128, attribute=large), variant(SUMS, 128)


@case("wide-tile", "register-spills")
def wide_tile() -> tuple[Variant, Variant]:
    return variant(TILE, 18), variant(TILE, 9, items=4 * ITEMS)


@case("values-around-a-walk", "register-pressure")
def values_around_a_walk() -> tuple[Variant, Variant]:
    return variant(WALK, 128), variant(WALK, 128, limit=80)


@case("sound-tile", "")
def sound_tile() -> tuple[Variant, Variant]:
    return variant(TILE, 8), variant(TILE, 8)


@case("sound-walk", "")
def sound_walk() -> tuple[Variant, Variant]:
    return variant(WALK, 64), variant(WALK, 64)


if __name__ == "__main__":
    main()
