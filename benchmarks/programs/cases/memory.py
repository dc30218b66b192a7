"""Buffers, sub-buffers, pipes, allocators and pools: creation and release."""

from collections.abc import Callable
from typing import Any, Final

import pyopencl as cl
from pyopencl import tools

from benchmarks.programs.cases.case import Case, Loop, repeat
from benchmarks.programs.cases.environment import SIZE_BYTES, Environment

_BUFFER_TARGET_US: Final = 4.0
_READ_WRITE: Final = cl.mem_flags.READ_WRITE
_COPY: Final = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR


def _drop(environment: Environment) -> Loop:
    context = environment.context
    return repeat(lambda: cl.Buffer(context, _READ_WRITE, SIZE_BYTES))


def _release(environment: Environment) -> Loop:
    context = environment.context
    return repeat(lambda: cl.Buffer(context, _READ_WRITE, SIZE_BYTES).release())


def _copy_host_array(environment: Environment) -> Loop:
    context, host = environment.context, environment.make_host_array()
    return repeat(lambda: cl.Buffer(context, _COPY, hostbuf=host))


def _sub_region(environment: Environment) -> Loop:
    buffer = environment.make_buffer(2 * SIZE_BYTES)
    return repeat(lambda: buffer.get_sub_region(SIZE_BYTES, SIZE_BYTES))


def _slice(environment: Environment) -> Loop:
    buffer = environment.make_buffer(2 * SIZE_BYTES)
    return repeat(lambda: buffer[SIZE_BYTES:])


def _pipe(environment: Environment) -> Loop:
    pipe: Any = getattr(cl, "Pipe", None)
    environment.require(pipe, "pyopencl is built without pipes")
    try:
        supports_pipes: Any = environment.device.pipe_max_active_reservations
    except cl.Error:
        supports_pipes = 0
    environment.require(supports_pipes, "the device has no pipes")
    context = environment.context
    return repeat(lambda: pipe(context, _READ_WRITE, 16, 64))


def _allocate(make_allocator: Callable[[Environment], Any]) -> Callable[[Environment], Loop]:
    """Return the preparation of calls of an allocator, whose memory is freed at once."""

    def prepare(environment: Environment) -> Loop:
        allocator = make_allocator(environment)
        return repeat(lambda: allocator(SIZE_BYTES))

    return prepare


def _make_deferred(environment: Environment) -> Any:
    return tools.DeferredAllocator(environment.context)


def _make_immediate(environment: Environment) -> Any:
    return tools.ImmediateAllocator(environment.queue)


def _make_pool(environment: Environment) -> Any:
    return tools.MemoryPool(_make_immediate(environment))


def _allocate_from_pool(environment: Environment) -> Loop:
    pool = _make_pool(environment)
    return repeat(lambda: pool.allocate(SIZE_BYTES))


def _release_to_pool(environment: Environment) -> Loop:
    pool = _make_pool(environment)
    return repeat(lambda: pool.allocate(SIZE_BYTES).release())


_BUFFER: Final = ("Buffer.__init__",)
_ALLOCATOR: Final = ("AllocatorBase.__call__",)

CASES: Final = (
    Case("Buffer(), dropped", _drop, _BUFFER, target_us=_BUFFER_TARGET_US),
    Case(
        "Buffer(), release()",
        _release,
        (*_BUFFER, "MemoryObject.release"),
        target_us=_BUFFER_TARGET_US,
    ),
    Case("Buffer(hostbuf=...), dropped", _copy_host_array, _BUFFER, target_us=_BUFFER_TARGET_US),
    Case("get_sub_region, dropped", _sub_region, ("Buffer.get_sub_region",)),
    Case("buffer[start:], dropped", _slice, ("Buffer.__getitem__",)),
    Case("Pipe(), dropped", _pipe, ("Pipe.__init__",)),
    Case("DeferredAllocator, dropped", _allocate(_make_deferred), _ALLOCATOR),
    Case("ImmediateAllocator, dropped", _allocate(_make_immediate), _ALLOCATOR, calls=500),
    Case("MemoryPool.allocate, dropped", _allocate_from_pool, ("MemoryPool.allocate",)),
    Case("MemoryPool.allocate, release()", _release_to_pool, ("MemoryPool.allocate",)),
    Case("MemoryPool(), called", _allocate(_make_pool), ("MemoryPool.__call__",)),
)
