"""Images that a bench makes for a workload."""

import numpy as np

from cltrace.events.workloads import BufferInput, ImageInput, Workload
from cltrace.measure import Bench, find_device


def test_a_bench_makes_images() -> None:
    source = """
    __constant sampler_t plain = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;
    __kernel void copy(__read_only image2d_t in, __global float *out) {
        int x = get_global_id(0), y = get_global_id(1);
        out[y * 8 + x] = read_imagef(in, plain, (int2)(x, y)).x;
    }"""
    texels = np.arange(32, dtype=np.float32)
    inputs = (ImageInput(8, 4, contents=lambda: texels), BufferInput(128))
    with Bench(find_device("Portable")) as bench:
        (out,) = bench.results(Workload(source, "copy", (8, 4), (8, 1), inputs))
    assert out.view(np.float32).tolist() == texels.tolist()
