"""Launches by calling a kernel object."""

from collections.abc import Callable, Iterator
from itertools import count, cycle
from typing import Any, Final

import numpy as np
import pyopencl as cl

from benchmarks.programs.cases.case import INVOKER, LAUNCH_TARGET_US, Call, Case, Loop, repeat
from benchmarks.programs.cases.environment import Environment

_TYPES_4: Final = (None, None, np.int32, np.float32)
_PAIR: Final = np.dtype([("first", np.int32), ("second", np.float32)])


def _same_arguments(kernel_name: str, buffers: int, scalars: int) -> Callable[[Environment], Loop]:
    """Return the preparation of launches whose arguments stay the same."""

    def prepare(environment: Environment) -> Loop:
        queue, kernel = environment.queue, environment.make_kernel(kernel_name)
        arguments: list[Any] = [environment.make_buffer() for _ in range(buffers)]
        arguments += [(np.int32, np.float32)[index % 2](3) for index in range(scalars)]
        return repeat(lambda: kernel(queue, (1,), None, *arguments))

    return prepare


def _declared_types(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("arguments_4", _TYPES_4)
    first, second = environment.make_buffer(), environment.make_buffer()
    return repeat(lambda: kernel(queue, (1,), None, first, second, 3, 2.5))


def _changing_scalar(
    kernel_name: str, convert: Callable[[int], Any], declared: Any = None
) -> Callable[[Environment], Loop]:
    """Return the preparation of launches with a new value of a scalar each time."""

    def prepare(environment: Environment) -> Loop:
        types = None if declared is None else (None, declared)
        queue, kernel = environment.queue, environment.make_kernel(kernel_name, types)
        buffer, numbers = environment.make_buffer(), count()
        return repeat(lambda: kernel(queue, (1,), None, buffer, convert(next(numbers))))

    return prepare


def _argument_sets(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("arguments_4")
    buffers = [environment.make_buffer() for _ in range(5)]
    sets = cycle(
        [
            (buffers[index], buffers[index + 1], np.int32(index), np.float32(index))
            for index in range(4)
        ]
    )
    return repeat(lambda: kernel(queue, (1,), None, *next(sets)))


def _swapped_buffers(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_2")
    first, second = environment.make_buffer(), environment.make_buffer()
    pairs = cycle([(first, second), (second, first)])
    return repeat(lambda: kernel(queue, (1,), None, *next(pairs)))


def _changing_global_size(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_1")
    buffer, sizes = environment.make_buffer(), count(1)
    # Without a local size PoCL would compile the kernel for each global size.
    return repeat(lambda: kernel(queue, (next(sizes),), (1,), buffer))


def _wait_list(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_1")
    buffer = environment.make_buffer()
    events: list[cl.Event] = []

    def before(_: int) -> None:
        events[:] = [cl.enqueue_marker(queue)]

    def run(launches: int) -> None:
        event = events[0]
        for _ in range(launches):
            event = kernel(queue, (1,), None, buffer, wait_for=[event])

    return Loop(run, before)


def _sizes(global_size: Any, local_size: Any, **further: Any) -> Callable[[Environment], Loop]:
    """Return the preparation of launches with sizes, and further keyword arguments."""

    def prepare(environment: Environment) -> Loop:
        queue, kernel = environment.queue, environment.make_kernel("buffers_1")
        buffer = environment.make_buffer()
        return repeat(lambda: kernel(queue, global_size, local_size, buffer, **further))

    return prepare


def _two_kernels(environment: Environment) -> Loop:
    queue, buffer = environment.queue, environment.make_buffer()
    kernels = cycle([environment.make_kernel("buffers_1"), environment.make_kernel("arguments_2")])
    arguments = cycle([(buffer,), (buffer, np.int32(3))])
    return repeat(lambda: next(kernels)(queue, (1,), None, *next(arguments)))


def _two_sites(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_1")
    buffer = environment.make_buffer()
    sites: Iterator[Call] = cycle(
        [
            lambda: kernel(queue, (1,), None, buffer),
            lambda: kernel(queue, (1,), None, buffer),
        ]
    )
    return repeat(lambda: next(sites)())


def _two_queues(environment: Environment) -> Loop:
    kernel, buffer = environment.make_kernel("buffers_1"), environment.make_buffer()
    queues = cycle([environment.queue, environment.make_queue()])
    return repeat(lambda: kernel(next(queues), (1,), None, buffer))


def _new_kernel_object(environment: Environment) -> Loop:
    queue, program = environment.queue, environment.program
    buffer = environment.make_buffer()
    return repeat(lambda: program.buffers_1(queue, (1,), None, buffer))


def _local_memory(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("local_argument")
    buffer = environment.make_buffer()
    make_local: Any = cl.LocalMemory
    return repeat(lambda: kernel(queue, (1,), None, buffer, make_local(64)))


def _structure(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("struct_argument")
    buffer, pair = environment.make_buffer(), np.zeros((), _PAIR)[()]
    return repeat(lambda: kernel(queue, (1,), None, buffer, pair))


def _shared_memory(environment: Environment) -> Loop:
    queue, kernel = environment.queue, environment.make_kernel("buffers_1")
    memory = environment.make_shared_memory()
    return repeat(lambda: kernel(queue, (1,), None, memory))


def _case(name: str, prepare: Callable[[Environment], Loop]) -> Case:
    return Case(name, prepare, INVOKER, target_us=LAUNCH_TARGET_US)


CASES: Final = (
    _case("1 argument", _same_arguments("buffers_1", 1, 0)),
    _case("2 arguments", _same_arguments("arguments_2", 1, 1)),
    _case("4 arguments", _same_arguments("arguments_4", 2, 2)),
    _case("8 arguments", _same_arguments("arguments_8", 4, 4)),
    _case("12 arguments", _same_arguments("arguments_12", 6, 6)),
    _case("4 arguments, declared types", _declared_types),
    _case("a Python int that changes", _changing_scalar("arguments_2", int, np.int32)),
    _case("a Python float that changes", _changing_scalar("float_argument", float, np.float32)),
    _case("a numpy scalar that changes", _changing_scalar("arguments_2", np.int32)),
    _case("4 argument sets in turn", _argument_sets),
    _case("2 buffers that swap places", _swapped_buffers),
    _case("a global size that changes", _changing_global_size),
    _case("wait_for", _wait_list),
    _case("global_offset", _sizes((1,), None, global_offset=(4,))),
    _case("sizes given as lists", _sizes([1], [1])),
    _case("a local size", _sizes((16,), (16,))),
    _case("3 dimensions", _sizes((1, 1, 1), (1, 1, 1))),
    _case("g_times_l", _sizes((1,), (1,), g_times_l=True)),
    _case("2 kernels in turn", _two_kernels),
    _case("2 call sites in turn", _two_sites),
    _case("2 queues in turn", _two_queues),
    _case("local memory", _local_memory),
    _case("a structure", _structure),
    _case("shared virtual memory", _shared_memory),
    Case(
        "prg.kernel(...)",
        _new_kernel_object,
        ("Kernel.__init__", *INVOKER),
        calls=100,
        target_us=LAUNCH_TARGET_US,
    ),
)
