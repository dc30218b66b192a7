"""Maps and unmaps of buffers."""

from typing import Any, Final

import numpy as np
import pyopencl as cl

from benchmarks.programs.cases.case import CALL_TARGET_US, Case, Loop, collect, entry_point
from benchmarks.programs.cases.environment import Environment

_SHAPE: Final = (1024,)
_FLOAT: Final = np.dtype(np.float32)


def _map(environment: Environment) -> Loop:
    queue, buffer, flags = environment.queue, environment.make_buffer(), cl.map_flags.READ
    return collect(lambda: cl.enqueue_map_buffer(queue, buffer, flags, 0, _SHAPE, _FLOAT))


def _map_without_blocking(environment: Environment) -> Loop:
    queue, buffer, flags = environment.queue, environment.make_buffer(), cl.map_flags.READ
    return collect(
        lambda: cl.enqueue_map_buffer(queue, buffer, flags, 0, _SHAPE, _FLOAT, is_blocking=False)
    )


def _unmap(environment: Environment) -> Loop:
    queue, buffer, flags = environment.queue, environment.make_buffer(), cl.map_flags.READ
    maps: list[Any] = []

    def before(count: int) -> None:
        for _ in range(count):
            mapped: Any = cl.enqueue_map_buffer(queue, buffer, flags, 0, _SHAPE, _FLOAT)
            maps.append(mapped[0].base)

    return collect(lambda: maps.pop().release(queue), before)


def _map_and_unmap(environment: Environment) -> Loop:
    queue, buffer, flags = environment.queue, environment.make_buffer(), cl.map_flags.READ

    def call() -> None:
        mapped: Any = cl.enqueue_map_buffer(queue, buffer, flags, 0, _SHAPE, _FLOAT)
        with mapped[0].base:
            pass

    return collect(call)


_MAP: Final = entry_point("enqueue_map_buffer")
_UNMAP: Final = ("MemoryMap.release",)

CASES: Final = (
    Case("map a buffer, blocking", _map, _MAP, 500, CALL_TARGET_US),
    Case("map a buffer, not blocking", _map_without_blocking, _MAP, 1000, CALL_TARGET_US),
    Case("unmap a buffer", _unmap, _UNMAP, 1000, CALL_TARGET_US),
    Case("map and unmap by `with`", _map_and_unmap, (*_MAP, *_UNMAP), 500, 2 * CALL_TARGET_US),
)
