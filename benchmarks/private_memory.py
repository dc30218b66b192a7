"""Private arrays in memory, stores of parts of vectors, and tiles of a matrix.

    python benchmarks/private_memory.py --platform NVIDIA --json FILE

Private arrays are read, or changed and written, at one place for all work-items of a warp or at a place
for each. Those of all resident work-items take from 8 to 140 MB. Stores write vectors part by part,
and means over tiles keep a tile in private arrays, in loops of two trips.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

BYTES: Final = 1 << 27
ITEMS: Final = 1 << 19
TRIPS: Final = 64
_PRIVATE: Final = """
kernel void f(global const float *a, global float *out, uint step, int trips) {
    TYPE kept[LENGTH];
    uint i = get_global_id(0), at = i * step;
    for (int k = 0; k < LENGTH; ++k) kept[k] = (TYPE)(i + k);
    float sum = 0;
    LOOP
    out[i] = sum;
}
"""
_SUMS: Final = {
    "float": "kept[%s]",
    "float2": "kept[%s].x + kept[%s].y",
    "float4": "kept[%s].x + kept[%s].y + kept[%s].z + kept[%s].w",
}
SOURCES: Final = {
    "vectors of three": """
kernel void f(global const float *a, global float *out, uint width, int height) {
    size_t at = ((size_t)get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0);
    vstore3(vload3(at, a) * 0.5f, at, out);
}
""",
    "vectors and a rest": """
kernel void f(global const float *a, global float *out, uint length, int rows) {
    size_t row = (size_t)get_group_id(0) * length;
    uint vectors = (length - 1) / 4;
    for (uint i = get_local_id(0); i < vectors; i += get_local_size(0))
        vstore4(exp(vload4(i, a + row)), i, out + row);
    for (uint i = vectors * 4; i < length; ++i) out[row + i] = exp(a[row + i]);
}
""",
    "means of tiles": """
kernel void f(global const float *a, global float *out, uint width, int height) {
    float tile[4][8], means[2][4];
    uint x = get_global_id(0) * 8, y = get_global_id(1) * 4, image = get_global_id(2);
    for (uint j = 0; j < 4; ++j)
        for (uint i = 0; i < 8; ++i)
            tile[j][i] = x + i < width && y + j < height
                ? a[(image * height + y + j) * width + x + i] : 0;
    for (uint k = 0; k < 2; ++k)
        for (uint l = 0; l < 4; ++l) {
            means[k][l] = 0;
            for (uint j = 0; j < 2; ++j)
                for (uint i = 0; i < 2; ++i) means[k][l] += tile[j + k * 2][i + l * 2];
        }
    for (uint k = 0; k < 2; ++k)
        for (uint l = 0; l < 4; ++l)
            if (x / 2 + l < width / 2 && y / 2 + k < height / 2)
                out[(image * (height / 2) + y / 2 + k) * (width / 2) + x / 2 + l] = means[k][l] / 4;
}
""",
}
SIZES: Final = (
    ("vectors of three", (192, 192, 192), (16, 4, 1), (192, 192)),
    ("vectors of three", (1024, 1024, 8), (32, 8, 1), (1024, 1024)),
    ("vectors and a rest", (24576 * 128,), (128,), (512, 0)),
    ("vectors and a rest", (8192 * 128,), (128,), (4096, 0)),
    ("means of tiles", (16, 32, 1024), (8, 8, 1), (112, 112)),
    ("means of tiles", (128, 256, 16), (8, 8, 1), (1024, 1024)),
)

Launch = tuple[str, str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The name of a launch, its source, its global and local size, and its two numbers."""


def private_source(kind: str, length: int, *, is_read: bool) -> str:
    """Return a kernel with a private array that is read, or changed and then added up."""
    if is_read:
        loop = f"for (int t = 0; t < trips; ++t, at += 5u) sum += {_SUMS[kind]};"
        loop = loop.replace("%s", f"at & {length - 1}u")
    else:
        added = _SUMS[kind].replace("%s", "k")
        loop = f"for (int t = 0; t < trips; ++t, at += 5u) kept[at & {length - 1}u] += 1.5f;\n"
        loop += f"    for (int k = 0; k < {length}; ++k) sum += {added};"
    return _PRIVATE.replace("TYPE", kind).replace("LENGTH", str(length)).replace("LOOP", loop)


def launches() -> list[Launch]:
    """Return all launches."""
    private = [
        (
            f"{length} {kind} {'read' if is_read else 'changed'} {'apart' if step else 'alike'}",
            private_source(kind, length, is_read=is_read),
            (ITEMS,),
            (256,),
            (step, TRIPS),
        )
        for kind in _SUMS
        for length in (8, 32)
        for step in (0, 7)
        for is_read in (True, False)
    ]
    others = [
        (f"{key} {'x'.join(map(str, global_size))}", SOURCES[key], global_size, local_size, numbers)
        for key, global_size, local_size, numbers in SIZES
    ]
    return [*private, *others]


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns, by launch."""
    buffers = [cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, BYTES) for _ in range(2)]
    for buffer in buffers:
        cl.enqueue_fill_buffer(queue, buffer, np.float32(1), 0, BYTES)
    found: dict[str, float] = {}
    for name, source, global_size, local_size, (first, second) in launches():
        kernel = cl.Kernel(cl.Program(queue.context, source).build(), "f")
        kernel.set_args(*buffers, np.uint32(first), np.int32(second))
        found[name] = median_kernel_ns(kernel, queue, (global_size, local_size))
    return {"ns": found}


if __name__ == "__main__":
    measure_to_file("Private arrays in memory, parts of vectors, and tiles.", _measure)
