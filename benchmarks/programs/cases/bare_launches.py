"""Launches by `enqueue_nd_range_kernel`, and the calls that set arguments for them."""

from collections.abc import Callable
from itertools import count
from typing import Any, Final

import numpy as np
import pyopencl as cl
from pyopencl import _cl

from benchmarks.programs.cases.case import LAUNCH_TARGET_US, Case, Loop, entry_point, repeat
from benchmarks.programs.cases.environment import Environment

_LAUNCH: Final = entry_point("enqueue_nd_range_kernel")
_TYPES_4: Final = (None, None, np.int32, np.float32)


def _launch_only(*offset_and_more: Any) -> Callable[[Environment], Loop]:
    """Return the preparation of launches whose arguments were set before."""

    def prepare(environment: Environment) -> Loop:
        queue, kernel = environment.queue, environment.make_kernel("buffers_1")
        kernel.set_args(environment.make_buffer())
        sizes = ((1,), None, *offset_and_more)
        return repeat(lambda: cl.enqueue_nd_range_kernel(queue, kernel, *sizes))

    return prepare


def _wait_list(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_1")
    kernel.set_args(environment.make_buffer())
    events: list[cl.Event] = []

    def before(_: int) -> None:
        events[:] = [cl.enqueue_marker(queue)]

    def run(launches: int) -> None:
        event = events[0]
        for _ in range(launches):
            event = cl.enqueue_nd_range_kernel(queue, kernel, (1,), None, wait_for=[event])

    return Loop(run, before)


def _set_args(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("arguments_4")
    arguments = (environment.make_buffer(), environment.make_buffer(), np.int32(3), np.float32(2))

    def call() -> None:
        kernel.set_args(*arguments)
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)

    return repeat(call)


def _set_declared_args(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("arguments_4", _TYPES_4)
    arguments = (environment.make_buffer(), environment.make_buffer(), 3, 2.5)

    def call() -> None:
        kernel.set_args(*arguments)
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)

    return repeat(call)


def _set_complex_args(environment: Environment) -> Loop:
    queue = environment.queue
    kernel = environment.make_kernel("complex_argument", (None, np.complex64))
    buffer = environment.make_buffer()

    def call() -> None:
        kernel.set_args(buffer, 1 + 2j)
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)

    return repeat(call)


def _set_buffer(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_1")
    buffer = environment.make_buffer()

    def call() -> None:
        kernel.set_arg(0, buffer)
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)

    return repeat(call)


def _set_scalar(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("arguments_2")
    kernel.set_args(environment.make_buffer(), np.int32(0))
    numbers = count()

    def call() -> None:
        kernel.set_arg(1, np.int32(next(numbers)))
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)

    return repeat(call)


def _generated_code(environment: Environment) -> Loop:
    """Prepare launches by the calls of code that loopy generates."""
    queue = environment.queue
    kernel: Any = environment.make_kernel("arguments_4")
    first, second = environment.make_buffer(), environment.make_buffer()
    module: Any = _cl
    flags = (False, True)  # g_times_l, allow_empty_ndrange

    def call() -> None:
        kernel._set_arg_multi((0, first, 1, second))  # noqa: SLF001 - as generated code does
        kernel._set_arg_buf_pack_multi((2, b"i", 3, 3, b"f", 2.5))  # noqa: SLF001
        module.enqueue_nd_range_kernel(queue, kernel, (1,), None, None, None, *flags)

    return repeat(call)


def _set_null(environment: Environment) -> Loop:
    kernel: Any = environment.make_kernel("buffers_1")
    return repeat(lambda: kernel._set_arg_null(0))  # noqa: SLF001 - as generated code does


def _set_bytes(environment: Environment) -> Loop:
    kernel: Any = environment.make_kernel("arguments_2")
    number = np.int32(3)
    return repeat(lambda: kernel._set_arg_buf(1, number))  # noqa: SLF001 - as generated code does


def _set_shared_memory(environment: Environment) -> Loop:
    kernel: Any = environment.make_kernel("buffers_1")
    memory = environment.make_shared_memory()
    return repeat(lambda: kernel._set_arg_svm(0, memory))  # noqa: SLF001 - as generated code does


def _case(name: str, prepare: Callable[[Environment], Loop], *setters: str) -> Case:
    hooks = (*_LAUNCH, *(f"Kernel.{setter}" for setter in setters))
    return Case(name, prepare, hooks, target_us=LAUNCH_TARGET_US)


CASES: Final = (
    _case("launch only", _launch_only()),
    _case("launch only, global offset", _launch_only((4,))),
    _case("launch only, wait_for", _wait_list),
    _case("set_args", _set_args, "_set_arg_multi"),
    _case("set_args, declared", _set_declared_args, "_set_arg_multi", "_set_arg_buf_pack_multi"),
    _case("set_args, a complex number", _set_complex_args, "_set_arg_multi", "_set_arg_buf_multi"),
    _case("set_arg, a buffer", _set_buffer, "set_arg"),
    _case("set_arg, a changing scalar", _set_scalar, "set_arg"),
    _case("generated code", _generated_code, "_set_arg_multi", "_set_arg_buf_pack_multi"),
    Case("_set_arg_null, no launch", _set_null, ("Kernel._set_arg_null",)),
    Case("_set_arg_buf, no launch", _set_bytes, ("Kernel._set_arg_buf",)),
    Case("_set_arg_svm, no launch", _set_shared_memory, ("Kernel._set_arg_svm",)),
)
