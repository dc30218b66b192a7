"""Random kernels: lock-step execution, numpy and PoCL compute the same, bit by bit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from numpy.typing import NDArray

from cltrace.kernels import BufferArgument, execute, parse
from cltrace.kernels.compiler import Form
from cltrace.kernels.generate.domain_iterations import SETS, domain_iterations, matrix_of
from cltrace.kernels.generate.programs import GLOBAL_SIZE, LOCAL_SIZE, random_programs

pytestmark = pytest.mark.opencl
HEIGHT, WIDTH = 24, 32
Array = NDArray[Any]


def on_device(
    queue: cl.CommandQueue, source: str, options: Sequence[str], kernel: str, size: int, local: int,
    arrays: Sequence[Array],
) -> list[Array]:  # fmt: skip
    program = cl.Program(queue.context, source).build(options=list(options))
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, flags, hostbuf=array) for array in arrays]
    cl.Kernel(program, kernel)(queue, (size,), (local,), *buffers)
    found = [np.empty_like(array) for array in arrays]
    for array, buffer in zip(found, buffers, strict=True):
        cl.enqueue_copy(queue, array, buffer)
    return found


@pytest.fixture(scope="module")
def queue() -> cl.CommandQueue:
    platform = next(p for p in cl.get_platforms() if p.name == "Portable Computing Language")
    return cl.CommandQueue(cl.Context(platform.get_devices()[:1]))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("part", range(4))
def test_domain_iterations_agree_with_numpy_and_pocl(
    queue: cl.CommandQueue, name: str, part: int
) -> None:
    matrix = matrix_of(HEIGHT, WIDTH)
    for kernel in domain_iterations(SETS[name], 15, seed=100 + part):
        options = kernel.options(HEIGHT, WIDTH)
        expected = kernel.reference(matrix)
        program = parse(kernel.source, options)
        size = matrix.size
        device = on_device(
            queue, kernel.source, options, kernel.name, size, 64, [matrix, np.zeros_like(matrix)]
        )[1]
        for form in (Form.OPTIMISED, Form.WRITTEN):
            outputs, notes = execute(
                program, kernel.name, (size,), (64,),
                [BufferArgument(matrix.nbytes, matrix), BufferArgument(matrix.nbytes, matrix * 0)],
                form=form,
            )  # fmt: skip
            found = outputs[1].view(np.float32).reshape(matrix.shape)
            assert not notes
            np.testing.assert_array_equal(found, expected, err_msg=kernel.source)
        # PoCL divides as OpenCL allows by default: 2.5 units in the last place of each division.
        np.testing.assert_allclose(device, expected, rtol=2e-5, atol=1e-3, err_msg=kernel.source)


@pytest.mark.parametrize("part", range(8))
def test_programs_with_control_flow_agree_with_pocl(queue: cl.CommandQueue, part: int) -> None:
    numbers = np.random.default_rng(5)
    arrays = [
        numbers.integers(0, 1 << 32, 2 * GLOBAL_SIZE, np.uint32),
        np.zeros(2 * GLOBAL_SIZE, np.uint32),
        numbers.random(2 * GLOBAL_SIZE, np.float32),
    ]
    for program in random_programs(12, seed=part):
        device = on_device(
            queue, program.source, ("-w",), program.name, GLOBAL_SIZE, LOCAL_SIZE, arrays
        )
        parsed = parse(program.source)
        for form in (Form.OPTIMISED, Form.WRITTEN):
            outputs, notes = execute(
                parsed, program.name, (GLOBAL_SIZE,), (LOCAL_SIZE,),
                [BufferArgument(array.nbytes, array) for array in arrays],
                form=form,
            )  # fmt: skip
            assert not notes
            for number in (1, 2):
                found = outputs[number].view(arrays[number].dtype)
                np.testing.assert_array_equal(found, device[number], err_msg=program.source)
