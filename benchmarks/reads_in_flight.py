"""Times of few warps that read in loops which are unrolled up to 64 times.

python benchmarks/reads_in_flight.py --platform NVIDIA --json FILE
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

ROWS: Final = 4224
COLUMNS: Final = 4096
GROUP_ITEMS: Final = 64
COPIES: Final = (4, 8, 16, 32, 64)
"""Copies of the body of a loop that `unroll` asks for."""
BODIES: Final[Mapping[str, str]] = {
    "column": "s += a[(k + u) * rows + i];",
    "powers": "s = fma(b, s, a[(k + u) * rows + i]);",
    "row": "s += a[i * columns + k + u];",
    "column and vector": "s += x[k + u] * a[(k + u) * rows + i];",
}
"""What a work-item does with each number of its row, or column, by name."""
_ROUNDS: Final = 5


def source(name: str, copies: int) -> str:
    """Return the kernel `f` of a body with so many copies of it."""
    return f"""__kernel void f(__global const float *restrict a, __global const float *restrict x,
                __global float *restrict out, int rows, int columns, float b) {{
    int i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < columns; k += {copies}) {{
        #pragma unroll
        for (int u = 0; u < {copies}; u++)
            {BODIES[name]}
    }}
    out[i] = s;
}}"""


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns, by body and copies."""
    flags = cl.mem_flags
    matrix, vector = (
        cl.Buffer(
            queue.context,
            flags.READ_ONLY | flags.COPY_HOST_PTR,
            hostbuf=np.ones(length, np.float32),
        )
        for length in (ROWS * COLUMNS, COLUMNS)
    )
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, 4 * ROWS)
    durations_ns: dict[str, dict[int, float]] = {name: {} for name in BODIES}
    for name, by_copies in durations_ns.items():
        for copies in COPIES:
            kernel = cl.Kernel(cl.Program(queue.context, source(name, copies)).build(), "f")
            kernel.set_args(matrix, vector, out, np.int32(ROWS), np.int32(COLUMNS), np.float32(0.5))
            sizes = (ROWS,), (GROUP_ITEMS,)
            by_copies[copies] = median_kernel_ns(kernel, queue, sizes, _ROUNDS)
    return {"ns": durations_ns}


if __name__ == "__main__":
    measure_to_file("What few warps take that read in unrolled loops.", _measure)
