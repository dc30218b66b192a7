"""What work-groups cost that do not divide among the compute units: some units run one more than others.

    python benchmarks/uneven_groups.py --platform NVIDIA --json FILE

Each kernel is limited by one part of a compute unit: its pipes, its near cache, its local memory, or the
latency of operations or reads. So many work-groups are launched, with as many resident on a unit as its
registers allow, and with as few as 47 KiB of local memory for each leave.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_ns

GROUP: Final = 256
GROUPS: Final = (
    66,
    132,
    140,
    165,
    198,
    230,
    264,
    270,
    330,
    400,
    528,
    540,
    600,
    700,
    800,
    1056,
    1070,
    1400,
    2112,
    2200,
)
LOCAL_BYTES: Final = (1024, 47 * 1024)
"""Local memory of a work-group: hardly any, and nearly all that OpenCL gives on GPUs of NVIDIA."""
ITEMS: Final = 4096
"""Items of the array that the kernels read."""
_BODIES: Final = {
    "pipes": """
    float v[8];
    for (int k = 0; k < 8; k++) v[k] = x * k;
    for (int n = 0; n < 256; n++) for (int k = 0; k < 8; k++) v[k] = v[k] * x + 0.5f;
    for (int k = 0; k < 8; k++) sum += v[k];""",
    "chains": "for (int n = 0; n < 1024; n++) sum = sum * x + 0.5f;",
    "near cache": "for (int n = 0; n < 128; n++) sum += from[(l * 16 + n) & 4095];",
    "local memory": "for (int n = 0; n < 128; n++) { part[l] += x; sum += part[(l * 8 + n) & 255]; }",
    "waits": "int at = l; for (int n = 0; n < 256; n++) at = (int)from[at] & 4095; sum += at;",
}
_ROUNDS: Final = 14
_WARM_UP_ROUNDS: Final = 3


def sources() -> dict[str, str]:
    """Return the kernels `f` by what limits them."""
    return {name: _kernel(body) for name, body in _BODIES.items()}


def _kernel(body: str) -> str:
    return f"""__kernel void f(
    __global float *restrict to, __global const float *restrict from, __local float *part, float x
) {{
    int l = get_local_id(0);
    float sum = 0;
    part[l] = x;
    {body}
    to[get_global_id(0)] = sum;
}}
"""


def contents() -> np.ndarray:
    """Return what the kernels read: for each item, the next one of a walk."""
    return ((np.arange(ITEMS) * 33 + 7) % ITEMS).astype(np.float32)


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns by kernel and local memory, in the order of `GROUPS`."""
    flags = cl.mem_flags
    written = cl.Buffer(queue.context, flags.WRITE_ONLY, 4 * GROUP * max(GROUPS))
    read = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=contents())
    found = {}
    for name, source in sources().items():
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "f")
        for local_bytes in LOCAL_BYTES:
            kernel.set_args(written, read, cl.LocalMemory(local_bytes), np.float32(0.999))
            medians_ns = []
            for groups in GROUPS:

                def launch(kernel: cl.Kernel = kernel, items: int = groups * GROUP) -> cl.Event:
                    return cl.enqueue_nd_range_kernel(queue, kernel, (items,), (GROUP,))

                medians_ns.append(median_ns(launch, _ROUNDS, _WARM_UP_ROUNDS))
            found[f"{name}, {local_bytes} B"] = medians_ns
    return {"groups": GROUPS, "ns": found}


if __name__ == "__main__":
    measure_to_file("What work-groups cost that do not divide among the compute units.", _measure)
