"""Arrays of pyopencl, and the kernels that it generates."""

from typing import Any, Final

import numpy as np
import pyopencl as cl
import pyopencl.array
from pyopencl import tools
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import InclusiveScanKernel

from benchmarks.programs.cases.case import INVOKER, Case, Loop, entry_point, repeat
from benchmarks.programs.cases.environment import Environment

_SUM_TARGET_US: Final = 12.0
_ITEMS: Final = 1024


def _make_array(environment: Environment) -> Any:
    return cl.array.to_device(environment.queue, np.ones(_ITEMS, np.float32))


def _add(environment: Environment) -> Loop:
    a, b = _make_array(environment), _make_array(environment)
    return repeat(lambda: a + b)


def _add_from_pool(environment: Environment) -> Loop:
    pool = tools.MemoryPool(tools.ImmediateAllocator(environment.queue))
    host = np.ones(_ITEMS, np.float32)
    a, b = (cl.array.to_device(environment.queue, host, allocator=pool) for _ in range(2))
    return repeat(lambda: a + b)


def _add_in_place(environment: Environment) -> Loop:
    a, b = _make_array(environment), _make_array(environment)

    def run(count: int) -> None:
        nonlocal a
        for _ in range(count):
            a += b

    return Loop(run)


def _multiply_by_number(environment: Environment) -> Loop:
    a = _make_array(environment)
    return repeat(lambda: 2 * a)


def _fill(environment: Environment) -> Loop:
    a = _make_array(environment)
    return repeat(lambda: a.fill(3))


def _zeros(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: cl.array.zeros(queue, _ITEMS, np.float32))


def _to_device(environment: Environment) -> Loop:
    queue, host = environment.queue, np.ones(_ITEMS, np.float32)
    return repeat(lambda: cl.array.to_device(queue, host))


def _get(environment: Environment) -> Loop:
    a = _make_array(environment)
    return repeat(lambda: a.get())


def _sum(environment: Environment) -> Loop:
    a = _make_array(environment)
    return repeat(lambda: cl.array.sum(a))


def _elementwise(environment: Environment) -> Loop:
    a, b = _make_array(environment), _make_array(environment)
    axpy = ElementwiseKernel(
        environment.context, "float *x, float *y, float a", "y[i] += a * x[i]", "axpy"
    )
    return repeat(lambda: axpy(a, b, 0.5))


def _reduction(environment: Environment) -> Loop:
    a, b = _make_array(environment), _make_array(environment)
    dot: Any = ReductionKernel(
        environment.context,
        np.float32,
        neutral="0",
        reduce_expr="a + b",
        map_expr="x[i] * y[i]",
        arguments="float *x, float *y",
    )
    return repeat(lambda: dot(a, b))


def _scan(environment: Environment) -> Loop:
    a = cl.array.to_device(environment.queue, np.zeros(_ITEMS, np.int32))
    scan: Any = InclusiveScanKernel(environment.context, np.dtype(np.int32), "a + b", neutral="0")
    return repeat(lambda: scan(a))


_BUFFER: Final = ("Buffer.__init__",)
_FILL: Final = entry_point("_enqueue_fill_buffer")
_WRITE: Final = entry_point("_enqueue_write_buffer")
_READ: Final = entry_point("_enqueue_read_buffer")

CASES: Final = (
    Case("a + b", _add, (*INVOKER, *_BUFFER), 500, _SUM_TARGET_US),
    Case("a + b, memory from a pool", _add_from_pool, (*INVOKER, "MemoryPool.__call__"), 500),
    Case("a += b", _add_in_place, INVOKER, 500),
    Case("2 * a", _multiply_by_number, (*INVOKER, *_BUFFER), 500),
    Case("a.fill", _fill, INVOKER, 500),
    Case("array.zeros", _zeros, (*_BUFFER, *_FILL), 500),
    Case("array.to_device", _to_device, (*_BUFFER, *_WRITE), 300),
    Case("a.get()", _get, _READ, 300),
    Case("array.sum", _sum, (*INVOKER, *_BUFFER), 100),
    Case("ElementwiseKernel", _elementwise, INVOKER, 500),
    Case("ReductionKernel", _reduction, (*INVOKER, *_BUFFER), 100),
    Case("InclusiveScanKernel", _scan, (*INVOKER, *_BUFFER), 100),
)
