"""Counting, sorting and selecting of numbers, with pyopencl's algorithms.

Usage: scans.py STEPS PROFILING PLATFORM.
"""

import sys

import numpy as np
import pyopencl.array as cl_array
from pyopencl.algorithm import RadixSort, copy_if
from pyopencl.clrandom import PhiloxGenerator
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import InclusiveScanKernel
from request import read_request

NUMBERS = 1 << 16


def main() -> None:
    """Sort, sum up and select random numbers, and check them."""
    request = read_request()
    queue = request.make_queue()
    context = queue.context
    random = PhiloxGenerator(context, seed=3)
    scan = InclusiveScanKernel(context, np.int32, "a + b", neutral="0")
    norm = ReductionKernel(
        context, np.int64, neutral="0", reduce_expr="a + b", map_expr="x[i]", arguments="int *x"
    )
    sort = RadixSort(context, "int *keys", key_expr="keys[i]", sort_arg_names=["keys"])
    for _ in range(request.steps):
        numbers = random.uniform(queue, NUMBERS, np.int32, a=0, b=1 << 14)
        (ordered,), _ = sort(numbers, key_bits=14)
        sums = cl_array.empty_like(ordered)
        scan(ordered, sums)
        selected, count, _ = copy_if(ordered, "ary[i] > 100", queue=queue)
        if int(norm(ordered).get()) != int(sums[-1].get()) or not 0 < int(count.get()) <= NUMBERS:
            sys.exit("the sums differ")
        del selected
    host = ordered.get()
    if (host[1:] < host[:-1]).any():
        sys.exit("the numbers are not in order")
    print(int(host[-1]))


if __name__ == "__main__":
    main()
