"""Transforms, products and random numbers, with reikna.

Usage: transforms.py STEPS PROFILING PLATFORM.
"""

import sys

import numpy as np
from reikna.cluda import ocl_api
from reikna.fft import FFT
from reikna.linalg import MatrixMul
from request import read_request

SIDE = 128


def main() -> None:
    """Transform a field, multiply it with a matrix and transform it back, step by step."""
    request = read_request()
    thread = ocl_api().Thread(request.make_queue())
    random = np.random.default_rng(5)
    field = (random.random((SIDE, SIDE)) - 0.5).astype(np.complex64)
    matrix = np.eye(SIDE, dtype=np.complex64)
    transform = FFT(thread.array(field.shape, np.complex64)).compile(thread)
    on_device, turned = thread.to_device(field), thread.to_device(matrix)
    spectrum, result = thread.empty_like(on_device), thread.empty_like(on_device)
    multiply = MatrixMul(spectrum, turned, out_arr=result).compile(thread)
    for step in range(request.steps):
        transform(spectrum, on_device)
        multiply(result, spectrum, turned)
        transform(on_device, result, inverse=1)
        if step % 20 == 0:
            back = on_device.get()
    thread.synchronize()
    back = on_device.get()
    if not np.allclose(back, field, atol=1e-2):
        sys.exit("the field has changed")
    print(f"{np.abs(back).mean():.3f}")


if __name__ == "__main__":
    main()
