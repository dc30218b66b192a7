"""Times of small private arrays at places that no compiler knows, and of shuffles by such masks.

    python benchmarks/selected_places.py --platform NVIDIA --json FILE

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

ITEMS: Final = 1 << 19
GROUP_ITEMS: Final = 256
FEW_TRIPS: Final = 64
MANY_TRIPS: Final = 320
_READ_SIZES: Final = (3, 4, 5, 6, 8, 12, 16)
_WRITE_SIZES: Final = (2, 3, 4, 5, 6, 8, 12)
_VECTORS: Final = (2, 4, 8, 16)
_ROUNDS: Final = 5


def _array(size: int) -> str:
    values = "".join(f" a[{place}] = in[i + {place}];" for place in range(size))
    return f"float a[{size}];{values}"


def _vector(size: int) -> str:
    return f"float{size} v = vload{size}(0, in + i); uint{size} m = convert_uint{size}(v);"


BODIES: Final[Mapping[str, tuple[str, str]]] = {
    **{f"read of {n}": (_array(n), f"s += a[(i + k) % {n}];") for n in _READ_SIZES},
    **{
        f"change of {n}": (_array(n), f"a[(i + k) % {n}] += 1.0f; s += a[0];") for n in _WRITE_SIZES
    },
    **{
        f"shuffle of {n}": (
            _vector(n),
            "m = m * 3u + (uint)k; v = shuffle(v, m) + 1.0f; s += v.s0;",
        )
        for n in _VECTORS
    },
    **{
        f"shuffle2 of {n}": (
            _vector(n),
            "m = m * 3u + (uint)k; v = shuffle2(v, v + 2.0f, m) + 1.0f; s += v.s0;",
        )
        for n in _VECTORS[:-1]
    },
}
"""What a kernel does before the loop, and in a trip of it, by name."""


def source(name: str) -> str:
    """Return the kernel `f` of a body."""
    before, trip = BODIES[name]
    return f"""__kernel void f(__global const float *in, __global float *out, int n) {{
    int i = get_global_id(0);
    float s = 0;
    {before}
    for (int k = 0; k < n; k++) {{
        {trip}
    }}
    out[i] = s;
}}"""


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the nanoseconds of all work-items for a trip, by body."""
    flags = cl.mem_flags
    numbers = (np.arange(ITEMS + 16) % 7).astype(np.float32)
    values = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=numbers)
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, 4 * ITEMS)
    trip_ns = {}
    for name in BODIES:
        kernel = cl.Kernel(cl.Program(queue.context, source(name)).build(), "f")
        times = []
        for trips in (FEW_TRIPS, MANY_TRIPS):
            kernel.set_args(values, out, np.int32(trips))
            times.append(median_kernel_ns(kernel, queue, ((ITEMS,), (GROUP_ITEMS,)), _ROUNDS))
        trip_ns[name] = (times[1] - times[0]) / (MANY_TRIPS - FEW_TRIPS)
    return {"ns": trip_ns}


if __name__ == "__main__":
    measure_to_file("What private arrays and shuffles take.", _measure)
