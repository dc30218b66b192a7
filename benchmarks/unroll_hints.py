"""What hints to unroll loops do: `#pragma unroll`, with and without a number.

    python benchmarks/unroll_hints.py --platform NVIDIA --json FILE

Each loop is measured without a hint, and with several. Few work-items show how many reads are in flight
together, many how fast they are moved.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

BYTES: Final = 4 << 25
SIZES: Final = ((4096, 64, 1000), (65536, 256, 256))
"""Work-items, those of a work-group, and trips."""
HINTS: Final = {
    "none": "",
    "unroll": "#pragma unroll\n",
    "unroll 1": "#pragma unroll 1\n",
    "unroll 4": "#pragma unroll 4\n",
    "unroll 8": "#pragma unroll 8\n",
}
_PLAIN: Final = "__global const float *a, __global float *o"
_RESTRICTED: Final = "__global const float *restrict a, __global float *restrict o"
_SUM: Final = "float s = 0; int i = get_global_id(0);"
LOOPS: Final = {
    "columns": (
        _PLAIN,
        f"{_SUM}\n%sfor (int k = 0; k < n; k++) s += a[k * items + i];\n o[i] = s;",
    ),
    "100 trips": (
        _PLAIN,
        f"{_SUM}\n%sfor (int k = 0; k < 100; k++) s += a[k * items + i];\n o[i] = s;",
    ),
    "largest": (
        _PLAIN,
        "float s = -1; int i = get_global_id(0);\n%sfor (int k = 0; k < n; k++) {"
        " float v = a[k * items + i]; if (v > s) s = v * 0.5f + s; }\n o[i] = s;",
    ),
    "copied": (
        _RESTRICTED,
        "int i = get_global_id(0);\n"
        "%sfor (int k = 0; k < n; k++) o[k * items + i] = a[k * items + i] * 2;",
    ),
    "local": (
        _PLAIN,
        "__local float t[256]; float s = 0; int i = get_global_id(0), l = get_local_id(0);"
        " t[l & 255] = a[i];barrier(CLK_LOCAL_MEM_FENCE);\n"
        "%sfor (int k = 0; k < 16 * n; k++) s += t[(k + l) & 255];\n o[i] = s;",
    ),
}
"""Arguments of each kernel, and its body with a place for the hint."""
_ROUNDS: Final = 5
_WARM_UP_ROUNDS: Final = 0


def source(loop: str, hint: str) -> str:
    """Return the kernel `f` of a loop with a hint."""
    arguments, body = LOOPS[loop]
    return f"__kernel void f({arguments}, int n, int items) {{\n{body % HINTS[hint]} }}"


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns at each size, by loop and hint."""
    a, o = (cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, BYTES) for _ in range(2))
    cl.enqueue_fill_buffer(queue, a, np.float32(1), 0, BYTES)
    found: dict[str, dict[str, list[float]]] = {}
    for loop in LOOPS:
        found[loop] = {}
        for hint in HINTS:
            kernel = cl.Kernel(cl.Program(queue.context, source(loop, hint)).build(), "f")
            found[loop][hint] = []
            for items, group, trips in SIZES:
                kernel.set_args(a, o, np.int32(trips), np.int32(items))

                def launch(
                    kernel: cl.Kernel = kernel, items: int = items, group: int = group
                ) -> cl.Event:
                    return cl.enqueue_nd_range_kernel(queue, kernel, (items,), (group,))

                found[loop][hint].append(median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS))
    return {"ns": found}


if __name__ == "__main__":
    measure_to_file("What hints to unroll loops do.", _measure)
