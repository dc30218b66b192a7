"""What functions of floats take, as they are and with the options that allow approximations.

    python benchmarks/functions.py --platform NVIDIA --json FILE

Each kernel calls a function in 64 trips of a loop, each with the result of the one before.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

ITEMS: Final = 1 << 20
GROUP_ITEMS: Final = 256
TRIPS: Final = 64
OPTIONS: Final = ("", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations")
_VECTORS: Final = {2: "(float2)(x, y)", 3: "(float3)(x, y, z)", 4: "(float4)(x, y, z, w)"}
_OTHERS: Final = {2: "(float2)(b, x)", 3: "(float3)(b, x, y)", 4: "(float4)(b, x, y, z)"}
_OF_ONE: Final = (
    *("sin", "cos", "tan", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sqrt"),
    *("asin", "acos", "cosh", "tanh", "erf", "cbrt", "expm1", "log1p", "floor", "rint", "round"),
    *("sinpi", "cospi", "half_sin", "half_exp", "half_recip", "native_sin", "native_exp"),
    *("native_log", "native_sqrt", "native_rsqrt", "native_recip", "native_tan"),
)
EXPRESSIONS: Final = {
    **{name: f"{name}(x)" for name in _OF_ONE},
    **{
        f"{name} of {count}": f"{name}({vector})"
        for name in ("length", "fast_length")
        for count, vector in _VECTORS.items()
    },
    **{
        f"{name} of {count}": f"{name}({vector}, {_OTHERS[count]})"
        for name in ("distance", "fast_distance", "dot")
        for count, vector in _VECTORS.items()
    },
    **{
        f"{name} of {count}": f"{name}({vector}).x + {name}({vector}).y"
        for name in ("normalize", "fast_normalize")
        for count, vector in _VECTORS.items()
    },
    **{f"pown by {exponent}": f"pown(x, {exponent})" for exponent in (2, 3, 4, 7)},
    "quotient": "b / x",
    "reciprocal": "1.0f / x",
    "native_divide": "native_divide(b, x)",
    "pow": "pow(x, b)",
    "powr": "powr(x, b)",
    "native_powr": "native_powr(x, b)",
    "sincos": "sincos(x, &c) + c",
    "fract": "fract(x, &c) + c",
    "modf": "modf(x, &c)",
    "rootn": "rootn(x, 3)",
    "remainder": "remainder(x, b)",
    "hypot": "hypot(x, b)",
    "fma": "fma(x, b, y)",
    "clamp": "clamp(x, 0.1f, b)",
}
"""Expressions of `x`, which changes with the trips, and of four numbers that do not."""
_ROUNDS: Final = 5


def source(name: str) -> str:
    """Return the kernel `f` of an expression."""
    return f"""__kernel void f(__global const float *in, __global float *out, float b, int n) {{
    int i = get_global_id(0);
    float v = in[i], y = in[i + 1], z = in[i + 2], w = in[i + 3], s = 0;
    for (int k = 0; k < n; k++) {{
        float c = 0, x = v + s * 1e-6f;
        s += {EXPRESSIONS[name]};
    }}
    out[i] = s;
}}"""


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns, by options and expression."""
    flags = cl.mem_flags
    numbers = (np.random.default_rng(1).random(ITEMS + 3) * 0.5 + 0.25).astype(np.float32)
    values = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=numbers)
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, 4 * ITEMS)
    durations_ns: dict[str, dict[str, float]] = {}
    for options in OPTIONS:
        durations_ns[options] = {}
        for name in EXPRESSIONS:
            program = cl.Program(queue.context, source(name)).build(options=options.split())
            kernel = cl.Kernel(program, "f")
            kernel.set_args(values, out, np.float32(0.7), np.int32(TRIPS))
            sizes = (ITEMS,), (GROUP_ITEMS,)
            durations_ns[options][name] = median_kernel_ns(kernel, queue, sizes, _ROUNDS)
    return {"ns": durations_ns}


if __name__ == "__main__":
    measure_to_file("What functions of floats take.", _measure)
