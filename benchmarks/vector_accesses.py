"""What reads and writes of vectors cost: by their width, their elements, and whether they are aligned.

    python benchmarks/vector_accesses.py --platform NVIDIA --json FILE

`aligned` kernels access an array of vectors, `unaligned` ones a scalar array by `vloadN` and `vstoreN`,
whose addresses are multiples of an element only. Each work-item fills, or copies, one vector.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

SIZE_BYTES: Final = 1 << 26
"""Bytes of each of the two arrays: more than the shared caches of GPUs of 2023 hold."""
GROUP: Final = 256
ELEMENTS: Final[dict[str, np.generic]] = {
    "float": np.float32(1),
    "int": np.int32(1),
    "uchar": np.uint8(1),
    "short": np.int16(1),
    "double": np.float64(1),
}
"""The number with which an array of each kind is filled."""
WIDTHS: Final = {
    "float": (2, 3, 4, 8, 16),
    "int": (8,),
    "uchar": (2, 4, 8, 16),
    "short": (4, 8, 16),
    "double": (2, 4),
}
_ROUNDS: Final = 14
_WARM_UP_ROUNDS: Final = 3


def sources() -> dict[str, str]:
    """Return the kernels `f` by name: what they do, the element, and its number."""
    kernels = {}
    for element, widths in WIDTHS.items():
        for count in widths:
            vector = f"{element}{count}"
            bodies = {
                "fill unaligned": (element, f"vstore{count}(({vector})(x), i, to);"),
                "copy unaligned": (element, f"vstore{count}(vload{count}(i, from), i, to);"),
                "fill aligned": (vector, f"to[i] = ({vector})(x);"),
                "copy aligned": (vector, "to[i] = from[i];"),
            }
            for name, (kind, body) in bodies.items():
                if count != 3 or "unaligned" in name:
                    kernels[f"{name} {element} {count}"] = _kernel(kind, element, body)
    return kernels


def _kernel(kind: str, element: str, body: str) -> str:
    return f"""__kernel void f(
    __global {kind} *restrict to, __global const {kind} *restrict from, {element} x
) {{
    int i = get_global_id(0);
    {body}
}}
"""


def items_of(name: str) -> int:
    """Return the work-items that cover an array, whole work-groups of them."""
    *_, element, count = name.split()
    return SIZE_BYTES // (ELEMENTS[element].itemsize * int(count)) // GROUP * GROUP


def number_of(name: str) -> np.generic:
    """Return the number with which a kernel fills its array."""
    return ELEMENTS[name.split()[-2]]


def _measure(queue: cl.CommandQueue) -> dict[str, float]:
    """Return the median durations of the kernels in ns."""
    arrays = [cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, SIZE_BYTES) for _ in range(2)]
    for array in arrays:
        cl.enqueue_fill_buffer(queue, array, np.zeros(1, np.float32), 0, SIZE_BYTES)
    found = {}
    for name, source in sources().items():
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "f")
        kernel.set_args(*arrays, number_of(name))
        items = items_of(name)

        def launch(kernel: cl.Kernel = kernel, items: int = items) -> cl.Event:
            return cl.enqueue_nd_range_kernel(queue, kernel, (items,), (GROUP,))

        found[name] = median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS)
    return found


if __name__ == "__main__":
    measure_to_file("What reads and writes of vectors cost.", lambda queue: {"ns": _measure(queue)})
