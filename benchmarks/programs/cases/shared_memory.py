"""Shared virtual memory: allocation, release, copies, fills, maps and migrations."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyopencl as cl
from pyopencl import tools

from benchmarks.programs.cases.case import (
    CALL_TARGET_US,
    Case,
    Loop,
    collect,
    entry_point,
    repeat,
)
from benchmarks.programs.cases.environment import FLOAT, SIZE_BYTES, Environment

_FLAGS: Final = cl.svm_mem_flags.READ_WRITE


def _release(environment: Environment) -> Loop:
    environment.require_shared_memory()
    context = environment.context
    return repeat(lambda: cl.SVMAllocation(context, SIZE_BYTES, 0, _FLAGS).release())


def _drop(environment: Environment) -> Loop:
    environment.require_shared_memory()
    context = environment.context
    return repeat(lambda: cl.svm_empty(context, _FLAGS, 1024, FLOAT))


def _enqueue_release(environment: Environment) -> Loop:
    environment.require_shared_memory()
    context, queue = environment.context, environment.queue
    allocations: list[cl.SVMAllocation] = []

    def before(count: int) -> None:
        # PoCL 3.0 reads them when it frees their memory, so they live until the next call of `before`.
        allocations[:] = [cl.SVMAllocation(context, SIZE_BYTES, 0, _FLAGS) for _ in range(count)]

    def run(count: int) -> list[object]:
        return [allocation.enqueue_release(queue) for allocation in allocations[:count]]

    return Loop(run, before)


def _write(environment: Environment) -> Loop:
    queue, memory = environment.queue, environment.make_shared_memory()
    host = environment.make_host_array()
    return collect(lambda: cl.enqueue_copy(queue, memory, host))


def _read(environment: Environment) -> Loop:
    queue, memory = environment.queue, environment.make_shared_memory()
    host = environment.make_host_array()
    return collect(lambda: cl.enqueue_copy(queue, host, memory))


def _copy(environment: Environment) -> Loop:
    queue, source = environment.queue, environment.make_shared_memory()
    target = environment.make_shared_memory()
    return collect(lambda: cl.enqueue_copy(queue, target, source, is_blocking=False))


def _fill(environment: Environment) -> Loop:
    queue, memory = environment.queue, environment.make_shared_memory()
    zero: Any = np.float32(0)
    return collect(lambda: cl.enqueue_svm_memfill(queue, memory, zero))


def _map(environment: Environment) -> Loop:
    queue, memory = environment.queue, environment.make_shared_memory()
    return collect(lambda: memory.map_ro(queue))


def _unmap(environment: Environment) -> Loop:
    queue, memory = environment.queue, environment.make_shared_memory()
    maps: list[Any] = []

    def before(count: int) -> None:
        maps.extend(memory.map_ro(queue) for _ in range(count))

    return collect(lambda: maps.pop().release(), before)


def _migrate(environment: Environment) -> Loop:
    version = environment.device.platform.version
    environment.require(version >= "OpenCL 2.1", "the platform is older than OpenCL 2.1")
    queue, memories = environment.queue, [environment.make_shared_memory()]
    flags: Any = cl.mem_migration_flags.HOST
    return collect(lambda: cl.enqueue_svm_migrate_mem(queue, memories, flags))


def _allocate(environment: Environment) -> Loop:
    environment.require_shared_memory()
    allocator = tools.SVMAllocator(environment.context)
    return repeat(lambda: allocator(SIZE_BYTES))


def _allocate_from_pool(environment: Environment) -> Loop:
    environment.require_shared_memory()
    pool = tools.SVMPool(tools.SVMAllocator(environment.context))
    return repeat(lambda: pool(SIZE_BYTES))


def _case(
    name: str, prepare: Callable[[Environment], Loop], function: str, calls: int = 1000
) -> Case:
    return Case(name, prepare, entry_point(function), calls, CALL_TARGET_US)


_ALLOCATION: Final = ("SVMAllocation.__init__",)

CASES: Final = (
    Case("SVMAllocation(), release()", _release, (*_ALLOCATION, "SVMAllocation.release")),
    Case("svm_empty, dropped", _drop, _ALLOCATION),
    Case("enqueue_release", _enqueue_release, ("SVMAllocation.enqueue_release",)),
    _case("write, blocking", _write, "_enqueue_svm_memcpy", 500),
    _case("read, blocking", _read, "_enqueue_svm_memcpy", 500),
    _case("copy, not blocking", _copy, "_enqueue_svm_memcpy"),
    _case("fill", _fill, "_enqueue_svm_memfill"),
    _case("map", _map, "_enqueue_svm_map", 500),
    _case("unmap", _unmap, "_enqueue_svm_unmap"),
    Case("migrate", _migrate, entry_point("_enqueue_svm_migrate_mem")),
    Case("SVMAllocator, dropped", _allocate, ("SVMAllocator.__call__",)),
    Case("SVMPool, dropped", _allocate_from_pool, ("SVMPool.__call__",)),
)
