"""What a trip of a loop waits for: reads side by side, behind conditions, in blocks jumped over.

    python benchmarks/loop_waits.py --platform NVIDIA --json FILE

Each work-group is one warp, and few of them run, so that a trip takes as long as what it waits for. `dep`
reads at an address that it has read, `short` and `long` behind a condition with so many operations,
`nocond` without one; `after` and `open` only compute, with a condition and without one. `break` may end
the loop.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

ITEMS: Final = 1024
GROUP: Final = 32
TRIPS: Final = 680
_ROUNDS: Final = 12
_WARM_UP_ROUNDS: Final = 2
_LOOP: Final = """
__kernel void loop(__global const int *a, __global const float4 *b, __global float *out, int n) {
    int i = get_global_id(0);
    float v = 0;
    for (int j = 0; j < n; ++j) {
        int at = a[j * %d + i];
        %s
    }
    out[i] = v;
}
"""


def sources() -> dict[str, str]:
    """Return the loops by name."""
    read, made = "float4 r = b[at]; v += r.x;", "float4 r = (float4)(at, 1, 2, 3); v += r.x;"
    bodies = {"plain": "v += at;", "dep": read, "short": f"if (at >= 0) {{ {read} }}"}
    for count in (4, 8, 16, 24, 32, 64):
        bodies[f"long{count}"] = f"if (at >= 0) {{ {read} {_chain(count)} }}"
    for count in (16, 64):
        bodies[f"nocond{count}"] = f"{{ {read} {_chain(count)} }}"
        bodies[f"open{count}"] = f"{{ {made} {_chain(count)} }}"
    for count in (4, 16, 32, 64):
        bodies[f"after{count}"] = f"if (at >= 0) {{ {made} {_chain(count)} }}"
    bodies["break"] = "if (at < 0) break; v += at;"
    bodies["breakdep"] = f"if (at < 0) break; {read}"
    return {name: _LOOP % (ITEMS, body) for name, body in bodies.items()}


def _chain(count: int) -> str:
    """Return operations each of which needs the one before."""
    return " ".join(
        f"v = fma(v, r.{'xyzw'[number % 4]}, r.{'yzwx'[number % 4]});" for number in range(count)
    )


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median duration of a trip of each loop in ns, and print it."""
    flags = cl.mem_flags
    drawn = np.random.default_rng(1).integers(0, 1 << 18, TRIPS * ITEMS, dtype=np.int32)
    read = flags.READ_ONLY | flags.COPY_HOST_PTR
    indices = cl.Buffer(queue.context, read, hostbuf=drawn)
    vectors = cl.Buffer(queue.context, read, hostbuf=np.zeros((1 << 18, 4), np.float32))
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, 4 * ITEMS)
    per_trip = {}
    for name, source in sources().items():
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "loop")
        arrays = (indices, vectors, out)
        launch = partial(kernel, queue, (ITEMS,), (GROUP,), *arrays, np.int32(TRIPS))
        per_trip[name] = median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS) / TRIPS
        print(f"{name:10} {per_trip[name]:7.1f} ns a trip")
    return {"trips": TRIPS, "ns_per_trip": per_trip}


if __name__ == "__main__":
    measure_to_file("What a trip of a loop waits for.", _measure)
