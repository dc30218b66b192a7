"""Search for the fastest group size of a kernel, with kernel_tuner.

Usage: tuning.py STEPS PROFILING PLATFORM. kernel_tuner's queue always has profiling. STEPS is the number
of launches per configuration.
"""

import sys

import numpy as np
from kernel_tuner import tune_kernel
from request import read_request

ITEMS = 1 << 18
SOURCE = """
kernel void add(global float *c, global const float *a, global const float *b, int n)
{
    const int begin = get_global_id(0) * PER_ITEM;
    for (int i = begin; i < begin + PER_ITEM && i < n; i++)
        c[i] = a[i] + b[i];
}
"""


def main() -> None:
    """Time all configurations, and check their results."""
    request = read_request()
    random = np.random.default_rng(6)
    a, b = (random.random(ITEMS, np.float32) for _ in range(2))
    results, _ = tune_kernel(
        "add",
        SOURCE,
        ITEMS,
        [np.zeros_like(a), a, b, np.int32(ITEMS)],
        {"block_size_x": [32, 64, 128, 256], "PER_ITEM": [1, 2, 4]},
        grid_div_x=["block_size_x", "PER_ITEM"],
        answer=[a + b, None, None, None],
        lang="OpenCL",
        platform=request.platform_number,
        iterations=request.steps,
        quiet=True,
    )
    times = [result["time"] for result in results]
    if not all(isinstance(time, float) for time in times):
        sys.exit("a configuration failed")
    print(len(times))


if __name__ == "__main__":
    main()
