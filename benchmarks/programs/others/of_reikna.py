"""Transforms, products, sums, scans and random numbers, with reikna."""

import numpy as np
import pyopencl as cl
from device import choose_device, choose_sizes, repeat
from reikna.algorithms import Reduce, Scan, Transpose, predicate_sum
from reikna.cbrng import CBRNG
from reikna.cluda import ocl_api
from reikna.fft import FFT, FFTShift
from reikna.linalg import EntrywiseNorm, MatrixMul


def main() -> None:
    """Run each algorithm at its sizes."""
    _, _, device = choose_device()
    thread = ocl_api().Thread(cl.CommandQueue(cl.Context([device])))
    random = np.random.default_rng(1)
    for side in choose_sizes(512, 2048):
        field = thread.to_device(random.random((side, side)).astype(np.complex64))
        result = thread.empty_like(field)
        for name, plan in (
            ("fft", FFT(field)),
            ("shift", FFTShift(field)),
            ("turn", Transpose(field)),
        ):
            run = plan.compile(thread)
            repeat(name, lambda r=run, o=result, i=field: r(o, i))
        matrix = thread.to_device(random.random((side, side)).astype(np.float32))
        product = thread.empty_like(matrix)
        multiply = MatrixMul(matrix, matrix).compile(thread)
        repeat("product", lambda r=multiply, o=product, i=matrix: r(o, i, i))
    for count in choose_sizes(1 << 18, 1 << 22):
        line = thread.to_device(random.random(count).astype(np.float32))
        single, scanned = thread.array((), np.float32), thread.empty_like(line)
        for name, plan, out in (
            ("sum", Reduce(line, predicate_sum(np.float32)), single),
            ("scan", Scan(line, predicate_sum(np.float32)), scanned),
            ("norm", EntrywiseNorm(line), single),
        ):
            run = plan.compile(thread)
            repeat(name, lambda r=run, o=out, i=line: r(o, i))
        numbers = CBRNG.uniform_float(line, 1, sampler_kwds={"low": 0, "high": 1}, seed=1)
        generate = numbers.compile(thread)
        counters = thread.to_device(numbers.create_counters())
        repeat("random", lambda r=generate, c=counters, o=scanned: r(c, o))
    thread.synchronize()


if __name__ == "__main__":
    main()
