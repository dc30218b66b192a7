"""Reads, writes, copies, fills and migrations of buffers."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyopencl as cl

from benchmarks.programs.cases.case import (
    CALL_TARGET_US,
    Case,
    Loop,
    collect,
    entry_point,
    repeat,
)
from benchmarks.programs.cases.environment import SIZE_BYTES, Environment

_RECTANGLE: Final = {
    "buffer_origin": (0, 0, 0),
    "host_origin": (0, 0, 0),
    "region": (64, 16, 1),
    "buffer_pitches": (128, 2048),
    "host_pitches": (128, 2048),
}
_RECTANGLES: Final = {
    "src_origin": (0, 0, 0),
    "dst_origin": (0, 0, 0),
    "region": (64, 16, 1),
    "src_pitches": (128, 2048),
    "dst_pitches": (128, 2048),
}


def _write(**further: Any) -> Callable[[Environment], Loop]:
    """Return the preparation of writes with further keyword arguments."""

    def prepare(environment: Environment) -> Loop:
        queue, buffer = environment.queue, environment.make_buffer()
        host = environment.make_host_array()
        return collect(lambda: cl.enqueue_copy(queue, buffer, host, **further))

    return prepare


def _read(**further: Any) -> Callable[[Environment], Loop]:
    """Return the preparation of reads with further keyword arguments."""

    def prepare(environment: Environment) -> Loop:
        queue, buffer = environment.queue, environment.make_buffer()
        host = environment.make_host_array()
        return collect(lambda: cl.enqueue_copy(queue, host, buffer, **further))

    return prepare


def _dropped_write(environment: Environment) -> Loop:
    """Prepare writes that do not block, but whose events wait for them when they are dropped."""
    queue, buffer = environment.queue, environment.make_buffer()
    host = environment.make_host_array()
    return repeat(lambda: cl.enqueue_copy(queue, buffer, host, is_blocking=False))


def _read_after_event(environment: Environment) -> Loop:
    queue, buffer = environment.queue, environment.make_buffer()
    host, event = environment.make_host_array(), cl.enqueue_marker(queue)
    return collect(lambda: cl.enqueue_copy(queue, host, buffer, wait_for=[event]))


def _copy(**further: Any) -> Callable[[Environment], Loop]:
    """Return the preparation of copies between buffers with further keyword arguments."""

    def prepare(environment: Environment) -> Loop:
        queue, source = environment.queue, environment.make_buffer()
        target = environment.make_buffer()
        return repeat(lambda: cl.enqueue_copy(queue, target, source, **further))

    return prepare


def _copy_after_event(environment: Environment) -> Loop:
    queue, source = environment.queue, environment.make_buffer()
    target, event = environment.make_buffer(), cl.enqueue_marker(queue)
    return repeat(lambda: cl.enqueue_copy(queue, target, source, wait_for=[event]))


def _copy_between_devices(environment: Environment) -> Loop:
    platform = environment.device.platform
    environment.require("AMD" in platform.name, "the platform is not AMD's")
    queue, source = environment.queue, environment.make_buffer()
    target = environment.make_buffer()
    return repeat(
        lambda: cl.enqueue_copy_buffer_p2p_amd(platform, queue, source, target, SIZE_BYTES)
    )


def _fill_buffer(environment: Environment) -> Loop:
    queue, buffer = environment.queue, environment.make_buffer()
    zero: Any = np.float32(0)
    return repeat(lambda: cl.enqueue_fill_buffer(queue, buffer, zero, 0, SIZE_BYTES))


def _fill(environment: Environment) -> Loop:
    queue, buffer = environment.queue, environment.make_buffer()
    zero: Any = np.float32(0)
    return repeat(lambda: cl.enqueue_fill(queue, buffer, zero, SIZE_BYTES))


def _migrate(environment: Environment) -> Loop:
    queue, buffers = environment.queue, [environment.make_buffer()]
    return repeat(lambda: cl.enqueue_migrate_mem_objects(queue, buffers))


def _case(
    name: str, prepare: Callable[[Environment], Loop], function: str, calls: int = 1000
) -> Case:
    return Case(name, prepare, entry_point(function), calls, CALL_TARGET_US)


CASES: Final = (
    _case("write, blocking", _write(), "_enqueue_write_buffer", 500),
    _case("write, not blocking", _write(is_blocking=False), "_enqueue_write_buffer"),
    _case("write, not blocking, dropped", _dropped_write, "_enqueue_write_buffer", 500),
    _case("read, blocking", _read(), "_enqueue_read_buffer", 500),
    _case("read, not blocking", _read(is_blocking=False), "_enqueue_read_buffer"),
    _case("read, blocking, wait_for", _read_after_event, "_enqueue_read_buffer", 500),
    _case("buffer to buffer", _copy(), "_enqueue_copy_buffer"),
    _case("buffer to buffer, wait_for", _copy_after_event, "_enqueue_copy_buffer"),
    _case(
        "buffer to buffer, a part",
        _copy(src_offset=1024, dst_offset=2048, byte_count=512),
        "_enqueue_copy_buffer",
    ),
    _case("write a rectangle", _write(**_RECTANGLE), "_enqueue_write_buffer_rect", 500),
    _case("read a rectangle", _read(**_RECTANGLE), "_enqueue_read_buffer_rect", 500),
    _case("copy a rectangle", _copy(**_RECTANGLES), "_enqueue_copy_buffer_rect"),
    _case("enqueue_fill_buffer", _fill_buffer, "_enqueue_fill_buffer"),
    _case("enqueue_fill", _fill, "_enqueue_fill_buffer"),
    _case("copy between AMD devices", _copy_between_devices, "enqueue_copy_buffer_p2p_amd"),
    Case("migrate", _migrate, entry_point("enqueue_migrate_mem_objects")),
)
