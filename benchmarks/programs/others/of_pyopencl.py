"""Sorts, selections, random numbers and functions of arrays, with pyopencl."""

import numpy as np
import pyopencl as cl
import pyopencl.clmath as clmath
import pyopencl.clrandom as clrandom
from device import choose_device, choose_sizes, repeat
from pyopencl import algorithm
from pyopencl import array as cla
from pyopencl.bitonic_sort import BitonicSort
from pyopencl.elementwise import ElementwiseKernel


def main() -> None:
    """Run each algorithm at two sizes."""
    _, _, device = choose_device()
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    random = np.random.default_rng(6)
    sort = BitonicSort(context)
    radix = algorithm.RadixSort(context, "int *keys", key_expr="keys[i]", sort_arg_names=["keys"])
    poly = ElementwiseKernel(
        context, "float *y, const float *x, int trips",
        "float s = 0; for (int k = 0; k < trips; ++k) s = s * x[i] + k; y[i] = s;", "poly",
    )  # fmt: skip
    for count in choose_sizes(1 << 16, 1 << 22):
        keys = cla.to_device(queue, random.integers(0, 1 << 30, count).astype(np.int32))
        reals = cla.to_device(queue, random.random(count).astype(np.float32) + 0.1)
        doubles = cla.to_device(queue, random.random(count))
        result = cla.empty_like(reals)
        repeat("bitonic", lambda k=keys: sort(k.copy()))
        repeat("radix", lambda k=keys: radix(k))
        repeat("copy_if", lambda k=keys: algorithm.copy_if(k, "ary[i] % 3 == 0"))
        repeat("partition", lambda k=keys: algorithm.partition(k, "ary[i] > 1000"))
        repeat("unique", lambda k=keys: algorithm.unique(k))
        for function in (clmath.log, clmath.sqrt, clmath.tanh, clmath.exp):
            repeat(function.__name__, lambda f=function, r=reals: f(r))
        repeat("doubles", lambda d=doubles: clmath.sin(d))
        repeat("dot", lambda r=reals: cla.dot(r, r))
        repeat("least", lambda r=reals: cla.min(r))
        repeat("cumsum", lambda r=reals: cla.cumsum(r) if hasattr(cla, "cumsum") else None)
        places = cla.to_device(queue, random.permutation(count).astype(np.int32))
        repeat("take", lambda r=reals, k=places: cla.take(r, k))
        generator = clrandom.PhiloxGenerator(context)
        repeat("normal", lambda r=result, g=generator: g.fill_normal(r))
        for trips in (8, 64):
            repeat("poly", lambda y=result, x=reals, t=trips: poly(y, x, np.int32(t)))
    queue.finish()


if __name__ == "__main__":
    main()
