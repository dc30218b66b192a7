"""Times of functions of `double`: in loops of one chain, of four, and of work-items nearly alone.

    python benchmarks/double_functions.py --platform NVIDIA --json FILE

Times are those of a trip of a loop: the difference between loops of many and of few trips.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

GROUP_ITEMS: Final = 256
FEW_TRIPS: Final = 32
MANY_TRIPS: Final = 160
FORMS: Final[Mapping[str, tuple[int, int]]] = {
    "one": (1 << 19, 1),
    "four": (1 << 17, 4),
    "alone": (132 * 32, 1),
}
"""Work-items, and chains of each, by the form of a loop."""
_OF_ONE: Final = (
    *("sin", "cos", "tan", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p"),
    *("sqrt", "rsqrt", "cbrt", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh"),
    *(
        "sinpi",
        "cospi",
        "tanpi",
        "erf",
        "erfc",
        "tgamma",
        "lgamma",
        "floor",
        "round",
        "logb",
        "sign",
    ),
)
EXPRESSIONS: Final[Mapping[str, str]] = {
    "sum": "x",
    **{name: f"{name}(x)" for name in _OF_ONE},
    "quotient": "b / x",
    "reciprocal": "1.0 / x",
    "two quotients": "x / y + x / z",
    "sine and cosine": "sin(x) + cos(x)",
    "sincos": "sincos(x, &c) + c",
    "acosh": "acosh(x + 1)",
    "atan2": "atan2(x, y)",
    "hypot": "hypot(x, y)",
    "pow": "pow(x, b)",
    "powr": "powr(x, b)",
    "pown by 2": "pown(x, 2)",
    "pown by 3": "pown(x, 3)",
    "rootn by 3": "rootn(x, 3)",
    "fmod": "fmod(b, x)",
    "remainder": "remainder(b, x)",
    "fmin": "fmin(x, y)",
    "fmax": "fmax(x, b)",
    "clamp": "clamp(x, b, y)",
    "maxmag": "maxmag(x, b)",
    "fdim": "fdim(x, b)",
    "mix": "mix(x, y, b)",
    "step": "step(b, x)",
    "smoothstep": "smoothstep(b, y, x)",
    "copysign": "copysign(x, y)",
    "fract": "fract(x * 9, &c) + c",
    "modf": "modf(x * 9, &c) + c",
    "ldexp": "ldexp(x, k & 3)",
    "nextafter": "nextafter(x, b)",
    "choice": "x > b ? x : y",
    "length of 2": "length((double2)(x, y))",
    "length of 3": "length((double3)(x, y, z))",
    "distance of 2": "distance((double2)(x, y), (double2)(z, b))",
    "normalize of 3": "normalize((double3)(x, y, z)).x",
    "to int and back": "(int)(x * 100)",
    "to float and back": "(float)x * 2.0f",
    "fma": "fma(x, fma(x, y, z), b)",
}
"""Expressions of `x`, which changes with the trips, and of three numbers that do not."""
_ROUNDS: Final = 5


def source(name: str, chains: int) -> str:
    """Return the kernel `f` of an expression, with its number of chains per work-item."""
    bodies = "\n".join(
        f"        {{ double c = 0, x = v + s{chain} * 1e-6 + {chain} * 1e-3;"
        f" s{chain} += {EXPRESSIONS[name]}; }}"
        for chain in range(chains)
    )
    sums = ", ".join(f"s{chain} = 0" for chain in range(chains))
    total = " + ".join(f"s{chain}" for chain in range(chains))
    return f"""__kernel void f(__global const double *in, __global double *out, double b, int n) {{
    int i = get_global_id(0);
    double v = in[i], y = in[i + 1], z = in[i + 2], {sums};
    for (int k = 0; k < n; k++) {{
{bodies}
    }}
    out[i] = {total};
}}"""


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the nanoseconds of a trip, by form and expression."""
    flags = cl.mem_flags
    most = max(items for items, _ in FORMS.values())
    numbers = np.random.default_rng(1).random(most + 2) * 0.5 + 0.25
    values = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=numbers)
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, 8 * most)
    trip_ns: dict[str, dict[str, float]] = {}
    for form, (items, chains) in FORMS.items():
        trip_ns[form] = {}
        for name in EXPRESSIONS:
            kernel = cl.Kernel(cl.Program(queue.context, source(name, chains)).build(), "f")
            group = min(GROUP_ITEMS, items // 132) if form == "alone" else GROUP_ITEMS
            times = []
            for trips in (FEW_TRIPS, MANY_TRIPS):
                kernel.set_args(values, out, np.float64(0.7), np.int32(trips))
                times.append(median_kernel_ns(kernel, queue, ((items,), (group,)), _ROUNDS))
            trip_ns[form][name] = (times[1] - times[0]) / (MANY_TRIPS - FEW_TRIPS)
    return {"ns": trip_ns}


if __name__ == "__main__":
    measure_to_file("What functions of numbers of 64 bits take.", _measure)
