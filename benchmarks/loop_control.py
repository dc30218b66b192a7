"""What the control of loops costs: counting, comparing and branching, per trip and per entry.

    python benchmarks/loop_control.py --platform NVIDIA --json FILE

`long` loops have 1,024 trips of so many multiply-adds, given by an argument or by a literal. `inner` ones
run 256 times within another one, with so few trips that choosing between the copies of an unrolled body
and the trips that are left over takes most of the time.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

GROUP: Final = 256
ITEMS: Final = 132 * 16 * GROUP
"""Twice as many work-items as reside on an H200."""
READ_ITEMS: Final = 1 << 16
LONG_TRIPS: Final = 1024
OUTER_TRIPS: Final = 256
INNER_TRIPS: Final = (1, 2, 4, 5, 7, 8, 9, 12, 16, 20, 32, 64)
_LENGTHS: Final = (1, 2, 4, 6, 8, 16)
_LITERAL_LENGTHS: Final = (1, 2, 8)
_INNER: Final = {
    "multiply-add": "s = fma(s, x, 0.5f);",
    "near cache": "s = fma(from[j * 64 + l + k], from[k], s);",
    "local memory": "s = fma(part[l + k], x, s);",
    "long body": "".join(f"s = fma(s, x, {k}.5f);" for k in range(8)),
}
_NAMES: Final = ("s", "q", "u", "v")
_ROUNDS: Final = 12
_WARM_UP_ROUNDS: Final = 3


def sources() -> dict[str, str]:
    """Return the kernels `f` by name."""
    kernels = {}
    for trips, lengths in (("n", _LENGTHS), (str(LONG_TRIPS), _LITERAL_LENGTHS)):
        for length in lengths:
            body = "".join(
                f"{_NAMES[k % 4]} = fma({_NAMES[k % 4]}, x, {k}.5f);" for k in range(length)
            )
            kernels[f"long {length} {trips}"] = _kernel(
                f"for (int k = 0; k < {trips}; k++) {{ {body} }}"
            )
    for name, body in _INNER.items():
        loop = f"for (int k = 0; k < t; k++) {{ {body} }}"
        kernels[f"inner {name}"] = _kernel(f"for (int j = 0; j < n; j++) {{ {loop} s = s * x; }}")
    return kernels


def _kernel(loop: str) -> str:
    return f"""__kernel void f(
    __global float *restrict to, __global const float *restrict from, float x, int n, int t
) {{
    __local float part[512];
    int l = get_local_id(0);
    float s = l, q = 1, u = 2, v = 3;
    part[l] = x;
    part[l + 256] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    {loop}
    to[get_global_id(0)] = s + q + u + v;
}}
"""


def trips_of(name: str) -> tuple[int, tuple[int, ...]]:
    """Return the trips of a kernel's loop, and those of the loops within it."""
    return (OUTER_TRIPS, INNER_TRIPS) if name.startswith("inner") else (LONG_TRIPS, (0,))


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations of each kernel in ns, by the trips of its inner loop."""
    flags = cl.mem_flags
    written = cl.Buffer(queue.context, flags.WRITE_ONLY, 4 * ITEMS)
    zeros = np.zeros(READ_ITEMS, np.float32)
    read = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=zeros)
    found: dict[str, list[float]] = {}
    for name, source in sources().items():
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "f")
        outer, inner = trips_of(name)
        found[name] = []
        for trips in inner:
            kernel.set_args(written, read, np.float32(0.99), np.int32(outer), np.int32(trips))

            def launch(kernel: cl.Kernel = kernel) -> cl.Event:
                return cl.enqueue_nd_range_kernel(queue, kernel, (ITEMS,), (GROUP,))

            found[name].append(median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS))
    return {"ns": found}


if __name__ == "__main__":
    measure_to_file("What the control of loops costs.", _measure)
