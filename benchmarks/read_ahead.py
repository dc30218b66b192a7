"""How far ahead a loop reads, by the form of its indices, and what waiting for several reads takes.

    python benchmarks/read_ahead.py --platform NVIDIA --json FILE

Each work-group is one warp, and few of them run, so that a trip takes as long as what it waits for. What
is read fits the shared cache. No compiler unrolls the loops `together N`, as they advance by an unknown
number: N reads begin together.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

ITEMS: Final = 1024
GROUP: Final = 32
TRIPS: Final = 1024
_ROUNDS: Final = 12
_WARM_UP_ROUNDS: Final = 2
_INTS: Final = "int i = get_global_id(0), n = get_global_size(0);"
_SIZES: Final = "size_t i = get_global_id(0), n = get_global_size(0);"
_FORMS: Final = {
    "int, global size": (_INTS, "int", "k * n + i", "float"),
    "int, twice an argument": ("int i = get_global_id(0);", "int", "2 * k * w + i", "float"),
    "uint, argument": ("uint i = get_global_id(0);", "uint", "k * m + i", "float"),
    "uint, row": ("uint i = get_global_id(0) & 31;", "uint", "i * length + k", "float"),
    "ulong counter": (_SIZES, "ulong", "k * n + i", "float"),
    "int, argument": ("int i = get_global_id(0);", "int", "k * w + i", "float"),
    "int, constant": ("int i = get_global_id(0) & 1023;", "int", "k * 1024 + i", "float"),
    "one place": ("", "uint", "k", "float"),
    "size_t": (_SIZES, "int", "k * n + i", "float"),
    "size_t, float2": (_SIZES, "int", "k * n + i", "float2"),
    "size_t, double": (_SIZES, "int", "k * n + i", "double"),
    "size_t, float4": (_SIZES, "int", "k * n + i", "float4"),
}
TOGETHER: Final = (1, 2, 4, 8, 16)


def sources() -> dict[str, str]:
    """Return the kernels `loop` by name."""
    loops = {name: _loop(*form) for name, form in _FORMS.items()}
    return loops | {f"together {count}": _together(count) for count in TOGETHER}


def _loop(before: str, counter: str, index: str, kind: str) -> str:
    parameters = f"__global const {kind} *a, __global {kind} *o, {counter} length, int w, uint m"
    body = f"for ({counter} k = 0; k < length; ++k) s += a[{index}];"
    return f"""__kernel void loop({parameters}) {{
    {before} {kind} s = 0; {body} o[get_global_id(0)] = s; }}"""


def _together(count: int) -> str:
    parameters = "__global const float *a, __global float *o, uint length, uint w, uint step"
    reads = " ".join(f"float r{at} = a[(k + {at}) * w + i];" for at in range(count))
    total = " + ".join(f"r{at}" for at in range(count))
    return f"""__kernel void loop({parameters}) {{
    uint i = get_global_id(0); float s = 0;
    for (uint k = 0; k < length; k += step) {{ {reads} s += {total}; }}
    o[i] = s; }}"""


def numbers(name: str, source: str) -> tuple[np.generic, ...]:
    """Return the arguments of a kernel behind its buffers."""
    length = np.uint64(TRIPS) if "ulong length" in source else np.uint32(TRIPS)
    last = int(name.split()[1]) if name.startswith("together") else ITEMS
    return length, np.uint32(ITEMS), np.uint32(last)


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median duration of each loop in ns, and print that of a trip."""
    flags = cl.mem_flags
    read = cl.Buffer(queue.context, flags.READ_WRITE, 16 * ITEMS * 2 * TRIPS)
    cl.enqueue_fill_buffer(queue, read, np.float32(1), 0, read.size)
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, 16 * ITEMS)
    measured = {}
    for name, source in sources().items():
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "loop")
        kernel.set_args(read, out, *numbers(name, source))
        measured[name] = round(_median_ns(queue, kernel), 1)
        print(f"{name:24} {measured[name] / TRIPS:7.1f} ns a trip")
    return {"ns": measured}


def _median_ns(queue: cl.CommandQueue, kernel: cl.Kernel) -> float:
    def launch() -> cl.Event:
        return cl.enqueue_nd_range_kernel(queue, kernel, (ITEMS,), (GROUP,))

    return median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS)


if __name__ == "__main__":
    measure_to_file("How far ahead a loop reads.", _measure)
