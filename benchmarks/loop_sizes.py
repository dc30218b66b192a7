"""How far NVIDIA's compiler unrolls loops, by the size of their bodies.

    python benchmarks/loop_sizes.py --platform NVIDIA --json FILE

Nothing is run: the copies of each body are counted in the PTX of the programs.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file

TRIPS: Final = ("n", 4, 8, 16, 32, 64, 128, 256)
"""Numbers of trips of the loops; `n` is an argument."""
ELEMENTS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64)
"""Elements of the bodies."""
SHAPES: Final = {
    "loads": (r"ld\.global", "", "{each}", "s += a[k * {all} + {at}] * x;"),
    "integers": (r"mul\.lo\.s32", "", "u ^= k; {each}", "u = (u ^ (u >> 7)) * {odd}u;"),
    "local": (
        r"fma\.rn\.f32",
        "local float t[256]; t[get_local_id(0)] = a[get_global_id(0)]; barrier(1);",
        "{each}",
        "s = mad(t[(k + {at}) & 255], s, x);",
    ),
    "condition": (r"fma\.rn\.f32", "", "if (a[k] > x) {{ {each} }}", "s = mad(s, x, {at}.5f);"),
}
"""What the PTX has once per element, what comes before a loop, its body, and an element of the body."""


def name_of(shape: str, trips: str | int, elements: int) -> str:
    """Return the name of a kernel."""
    return f"{shape}_{trips}_{elements}"


def kernels(shape: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the source of each kernel of a shape."""
    _, before, body, element = SHAPES[shape]
    for trips in TRIPS:
        for elements in ELEMENTS:
            each = "".join(
                element.format(at=at, all=elements, odd=2 * at + 40503) for at in range(elements)
            )
            name = name_of(shape, trips, elements)
            yield (
                name,
                f"kernel void {name}(global const float *restrict a, global float *restrict y, float x,"
                f" int n, uint u) {{ float s = 0; {before} for (int k = 0; k < {trips}; k++)"
                f" {{ {body.format(each=each)} }} y[get_global_id(0)] = s + u; }}",
            )


def copies_in(ptx: str) -> dict[str, float]:
    """Return how often each kernel of a program has the elements of its body."""
    found: dict[str, float] = {}
    for text in re.split(r"\.entry ", ptx)[1:]:
        name = text[: text.index("(")].strip()
        shape, _, elements = name.split("_")
        found[name] = len(re.findall(SHAPES[shape][0], text)) / int(elements)
    return found


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Build the programs. Return the copies by kernel."""
    copies: dict[str, float] = {}
    for shape in SHAPES:
        source = "\n".join(text for _, text in kernels(shape))
        binary = cl.Program(queue.context, source).build().binaries[0]
        copies |= copies_in(binary.rstrip(b"\0").decode())
    return {"copies": copies}


if __name__ == "__main__":
    measure_to_file("Count the copies of loops' bodies in PTX.", _measure)
