"""What stores of the members of structures cost: by their size, and by the members that are written.

    python benchmarks/member_stores.py --platform NVIDIA --json FILE

Each work-item writes the first `members` numbers of its structure of `numbers` floats: `alone` nothing
else, `updated` after reading them, `beside` after reading those of another array. `row` writes eight
numbers in a loop, with so many operations before each. Of the three sizes, the last one exceeds the
shared caches of GPUs of 2023.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import device_facts, median_ns, open_queue

SIZES: Final = (1 << 19, 1 << 21, 1 << 24)
GROUP: Final = 256
NUMBERS: Final = (2, 3, 4, 5, 6, 8, 12, 16)
OPERATIONS: Final = (0, 8, 32)
_ROUNDS: Final = 14
_WARM_UP_ROUNDS: Final = 3
_KERNEL: Final = """__kernel void f(
    __global float *restrict to, __global const float *restrict from, float x
) {
    int i = get_global_id(0);
    %s
}
"""


def sources() -> dict[str, str]:
    """Return the kernels by name: what they read, the numbers of a structure, those written."""
    kernels = {}
    for numbers in NUMBERS:
        for members in range(1, min(numbers, 4) + 1):
            places = [f"i * {numbers} + {member}" for member in range(members)]
            bodies = {"alone": "".join(f"to[{place}] = x;" for place in places)}
            for name, array in (("updated", "to"), ("beside", "from")):
                read = "".join(f"float v{k} = {array}[{place}];" for k, place in enumerate(places))
                bodies[name] = read + "".join(
                    f"to[{place}] = v{k} + x;" for k, place in enumerate(places)
                )
            for name, body in bodies.items():
                kernels[f"{name} {numbers} {members}"] = _KERNEL % body
    for count in OPERATIONS:
        chain = "v = fma(v, x, 0.5f);" * count
        body = (
            f"float v = from[i]; for (int k = 0; k < 8; ++k) {{ {chain} to[i * 8 + k] = v + k; }}"
        )
        kernels[f"row 8 {count}"] = _KERNEL % body
    return kernels


def main() -> None:
    """Measure the kernels on the first device of a platform."""
    parser = argparse.ArgumentParser(description="What stores of members of structures cost.")
    parser.add_argument("--platform", required=True)
    parser.add_argument("--only", default="", help="the first word of the kernels to measure")
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    queue = open_queue(arguments.platform)
    facts = device_facts(queue)
    text = json.dumps({**facts, "sizes": SIZES, "ns": _measure(queue, arguments.only)}, indent=1)
    arguments.json.write_text(text + "\n", encoding="utf-8")


def _measure(queue: cl.CommandQueue, only: str) -> dict[str, list[float]]:
    """Return the median durations of each kernel in ns, by size."""
    size_bytes = 4 * max(NUMBERS) * max(SIZES)
    arrays = [cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size_bytes) for _ in range(2)]
    for array in arrays:
        cl.enqueue_fill_buffer(queue, array, np.zeros(1, np.float32), 0, size_bytes)
    medians_ns: dict[str, list[float]] = {}
    for name, source in sources().items():
        if only and name.split()[0] != only:
            continue
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "f")
        medians_ns[name] = []
        for items in SIZES:
            launch = partial(kernel, queue, (items,), (GROUP,), *arrays, np.float32(0.5))
            medians_ns[name].append(median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS))
    return medians_ns


if __name__ == "__main__":
    main()
