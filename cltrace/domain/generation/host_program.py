"""Host programs: Python that runs an iteration with pyopencl and numpy alone (Pöppl 2014, 3.2, C.2)."""

from typing import Final

from cltrace.domain.generation.kernel_source import KernelText
from cltrace.domain.language.tree import ArrayType
from cltrace.domain.shapes import Domain

_PROGRAM: Final = '''"""Run the domain iteration {name} over {domain} on an OpenCL device.

It needs pyopencl and numpy. The kernel is in {kernel_file}, beside this file.
"""

import sys
from pathlib import Path

import numpy as np
import pyopencl as cl

ELEMENTS = {elements}
RESULT_SHAPE = {shape}
MAX_GROUP = 1024


def group_size(largest):
    """Return the size of work-groups and the global size: a divisor, or padding where it is small."""
    limit = min(largest, MAX_GROUP)
    divisor = next(size for size in range(min(ELEMENTS, limit), 0, -1) if ELEMENTS % size == 0)
    if divisor >= min(64, limit) or ELEMENTS <= 64:
        return divisor, ELEMENTS
    group = min(256, limit)
    return group, -(-ELEMENTS // group) * group


def {function}({parameters}):
    """Return the result of the iteration."""
    device = context.devices[0]
    source = Path(__file__).with_name("{kernel_file}").read_text()
    program = cl.Program(context, source).build({options!r}.split())
    queue = cl.CommandQueue(context, device)
    buffers = []
    for array, dtype, shape in ({arrays}):
        array = np.ascontiguousarray(array, dtype)
        if array.shape != shape:
            raise ValueError(f"an array has the shape {{array.shape}}, not {{shape}}")
        buffer = cl.Buffer(context, cl.mem_flags.READ_ONLY, array.nbytes)
        cl.enqueue_copy(queue, buffer, array)
        buffers.append(buffer)
    result = np.empty(RESULT_SHAPE, "{result_dtype}")
    result_buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, result.nbytes)
    group, items = group_size(device.max_work_group_size)
    kernel = cl.Kernel(program, "{kernel}")
    kernel(queue, (items,), (group,), *buffers, {scalars}result_buffer)
    cl.enqueue_copy(queue, result, result_buffer)
    return result


def made_up(dtype, shape):
    """Return an array: 10 x + (9 - y) for two indices, else 1, 1.5, 2 and so on."""
    if len(shape) == 2:
        rows, columns = np.ogrid[: shape[0], : shape[1]]
        return (10 * rows + (9 - columns)).astype(dtype)
    return (np.arange(np.prod(shape)) % 4096 * 0.5 + 1).astype(dtype).reshape(shape)


if __name__ == "__main__":
    # Arguments are .npy files, in the order of the parameters; others are made up.
    specifications = [{specifications}]
    given = [np.load(path) for path in sys.argv[1:]]
    given += [made_up(*each) for each in specifications[len(given) :]]
    print({function}(cl.create_some_context(interactive=False), *given{numbers}))
'''


def host_program(
    name: str, kernel: KernelText, domain: Domain, result: ArrayType, options: str
) -> str:
    """Return the text of a host program whose kernel is in NAME.cl beside it.

    The kernel has a guard for the domain's end, so that any device's size of work-groups will do.
    """
    arrays = [f"array{number}" for number in range(len(kernel.arrays))]
    scalars = [scalar.name for scalar in kernel.scalars]
    rows = [
        f'({argument}, "{array.dtype}", {array.shape})'
        for argument, array in zip(arrays, kernel.arrays, strict=True)
    ]
    numbers = [f'np.dtype("{each.type.dtype}").type(1)' for each in kernel.scalars]
    passed = [f'np.dtype("{each.type.dtype}").type({each.name})' for each in kernel.scalars]
    return _PROGRAM.format(
        name=name,
        domain=domain,
        kernel_file=f"{name}.cl",
        elements=domain.elements,
        shape=domain.result_shape,
        function="iterate",
        parameters=", ".join(["context", *arrays, *scalars]),
        options=options,
        arrays="".join(f"{row}, " for row in rows),
        result_dtype=result.dtype,
        kernel=kernel.name,
        scalars="".join(f"{text}, " for text in passed),
        specifications=", ".join(f'("{array.dtype}", {array.shape})' for array in kernel.arrays),
        numbers="".join(f", {text}" for text in numbers),
    )
