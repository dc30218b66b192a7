"""Cost of the driver's profiling per launch: the same launches on queues with and without it."""

import statistics
import time
from typing import Final

import numpy as np
import pyopencl as cl

_SOURCE: Final = "kernel void cltrace_surcharge(global int *one) { one[0] = 1; }"
_LAUNCHES: Final = 500
_ROUNDS: Final = 7


def measure_profiling_cost(device: cl.Device) -> tuple[float, float, int]:
    """Return the median host ns per launch without and with profiling, and the launches of each kind.

    The rounds of both kinds alternate. Call it only where nothing of cltrace is installed, or while
    recording is paused. Raises: `pyopencl.Error`.
    """
    context = cl.Context([device])
    kernel = cl.Kernel(cl.Program(context, _SOURCE).build(), "cltrace_surcharge")
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, np.dtype(np.int32).itemsize)
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    queues = (cl.CommandQueue(context, device), cl.CommandQueue(context, device, profiling))
    for queue in queues:
        _time_round(kernel, queue, buffer)
    times = [[_time_round(kernel, queue, buffer) for queue in queues] for _ in range(_ROUNDS)]
    plain, profiled = (statistics.median(column) for column in zip(*times, strict=True))
    return plain, profiled, _LAUNCHES * _ROUNDS


def _time_round(kernel: cl.Kernel, queue: cl.CommandQueue, buffer: cl.Buffer) -> float:
    begin = time.perf_counter_ns()
    for _ in range(_LAUNCHES):
        kernel(queue, (1,), None, buffer)
    elapsed_ns = time.perf_counter_ns() - begin
    queue.finish()
    return elapsed_ns / _LAUNCHES
