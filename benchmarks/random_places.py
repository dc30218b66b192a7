"""Times of reads at random places, by what is read and how much memory the places lie in.

python benchmarks/random_places.py --platform NVIDIA --json FILE
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

ITEMS: Final = 1 << 20
GROUP_ITEMS: Final = 256
MEMORY_BYTES: Final = 1 << 30
SIZES_MIB: Final = (1, 8, 20, 28, 36, 44, 60, 100, 300, 1000)
_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class RandomRead:
    """A read at a random place in each trip of a loop: elements of `element_bytes`, in `trips` trips."""

    element: str
    element_bytes: int
    expression: str
    trips: int


READS: Final[Mapping[str, RandomRead]] = {
    "numbers": RandomRead("float", 4, "a[j]", 16),
    "vectors": RandomRead("float4", 16, "a[j].x + a[j].w", 16),
    "two rows": RandomRead(
        "struct { double m[6]; }",
        48,
        " + ".join(f"(a[j + 1].m[{i}] - a[j].m[{i}]) * {i + 1}" for i in range(6)),
        16,
    ),
    "eight members": RandomRead(
        "struct { float m[8]; }", 32, " + ".join(f"a[j].m[{i}] * {i + 1}" for i in range(8)), 16
    ),
    "four of sixteen members": RandomRead(
        "struct { float m[16]; }", 64, " + ".join(f"a[j].m[{5 * i}]" for i in range(4)), 16
    ),
    "three members": RandomRead("struct { float x, y, z; }", 12, "a[j].x + a[j].y * a[j].z", 16),
}
"""Reads by name. Place `j` is in front of the last element."""


def source(name: str) -> str:
    """Return the kernel `f` of a read."""
    read = READS[name]
    return f"""typedef {read.element} element;
uint mixed(uint x) {{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}}
__kernel void f(__global const element *a, __global float *out, uint n) {{
    uint i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < {read.trips}; k++) {{
        uint j = mixed(i * 33u + k) % (n - 1);
        s += {read.expression};
    }}
    out[i] = s;
}}"""


def elements(name: str, size_mib: int) -> int:
    """Return the elements of memory of a size."""
    return (size_mib << 20) // READS[name].element_bytes


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns, by what is read and MiB."""
    memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, MEMORY_BYTES)
    out = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, 4 * ITEMS)
    cl.enqueue_fill_buffer(queue, memory, np.zeros(1, np.float32), 0, MEMORY_BYTES).wait()
    durations_ns: dict[str, dict[int, float]] = {}
    for name in READS:
        kernel = cl.Kernel(cl.Program(queue.context, source(name)).build(), "f")
        durations_ns[name] = {}
        for size_mib in SIZES_MIB:
            kernel.set_args(memory, out, np.uint32(elements(name, size_mib)))
            sizes = (ITEMS,), (GROUP_ITEMS,)
            durations_ns[name][size_mib] = median_kernel_ns(kernel, queue, sizes, _ROUNDS)
    return {"ns": durations_ns}


if __name__ == "__main__":
    measure_to_file("What reads at random places take.", _measure)
