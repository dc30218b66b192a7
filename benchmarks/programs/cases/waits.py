"""Markers, barriers, waits, and the calls on events."""

from collections.abc import Callable
from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl

from benchmarks.programs.cases.case import (
    CALL_TARGET_US,
    Case,
    Loop,
    collect,
    entry_point,
    repeat,
)
from benchmarks.programs.cases.environment import Environment

_COMPLETE: Final = cl.command_execution_status.COMPLETE


def _marker(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: cl.enqueue_marker(queue))


def _marker_after_event(environment: Environment) -> Loop:
    queue, events = environment.queue, [cl.enqueue_marker(environment.queue)]
    return repeat(lambda: cl.enqueue_marker(queue, wait_for=events))


def _barrier(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: cl.enqueue_barrier(queue))


def _barrier_after_event(environment: Environment) -> Loop:
    queue, events = environment.queue, [cl.enqueue_marker(environment.queue)]
    return repeat(lambda: cl.enqueue_barrier(queue, wait_for=events))


# The entry points of OpenCL 1.1, which pyopencl calls on platforms of that version.


def _old_marker(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: _cl._enqueue_marker(queue))  # noqa: SLF001 - see above


def _old_barrier(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: _cl._enqueue_barrier(queue))  # noqa: SLF001 - see above


def _old_wait(environment: Environment) -> Loop:
    is_pocl = "Portable Computing" in environment.device.platform.name
    environment.require(not is_pocl, "PoCL lacks clEnqueueWaitForEvents and ends the process")
    queue, events = environment.queue, [cl.enqueue_marker(environment.queue)]
    return repeat(lambda: _cl._enqueue_wait_for_events(queue, events))  # noqa: SLF001 - see above


def _event_wait(environment: Environment) -> Loop:
    queue = environment.queue
    events: list[cl.Event] = []

    def before(count: int) -> None:
        events.extend(cl.enqueue_marker(queue) for _ in range(count))

    return repeat(lambda: events.pop().wait(), before)


def _wait_for_events(environment: Environment) -> Loop:
    queue = environment.queue
    events: list[cl.Event] = []

    def before(count: int) -> None:
        events.extend(cl.enqueue_marker(queue) for _ in range(count))

    return repeat(lambda: cl.wait_for_events([events.pop()]), before)


def _wait_for_4_events(environment: Environment) -> Loop:
    events = [cl.enqueue_marker(environment.queue) for _ in range(4)]
    return repeat(lambda: cl.wait_for_events(events))


def _finish(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: queue.finish())


def _flush(environment: Environment) -> Loop:
    queue = environment.queue
    return repeat(lambda: queue.flush())


def _ignore(status: cl.command_execution_status) -> None:
    """Do nothing when an event is complete."""


def _set_callback(environment: Environment) -> Loop:
    queue = environment.queue
    events: list[cl.Event] = []

    def before(count: int) -> None:
        events.extend(cl.enqueue_marker(queue) for _ in range(count))

    return repeat(lambda: events.pop().set_callback(_COMPLETE, _ignore), before)


def _set_status(environment: Environment) -> Loop:
    context = environment.context
    events: list[cl.UserEvent] = []

    def before(count: int) -> None:
        events.extend(cl.UserEvent(context) for _ in range(count))

    return collect(lambda: events.pop().set_status(_COMPLETE), before)


def _profile(read: Callable[[cl.Event], object]) -> Callable[[Environment], Loop]:
    """Return the preparation of reads of the stamps of an event, on a queue with profiling."""

    def prepare(environment: Environment) -> Loop:
        queue = environment.make_queue(cl.command_queue_properties.PROFILING_ENABLE)
        kernel = environment.make_kernel("buffers_1")
        event: Any = kernel(queue, (1,), None, environment.make_buffer())
        event.wait()
        return repeat(lambda: read(event))

    return prepare


def _execution_status(environment: Environment) -> Loop:
    event = cl.enqueue_marker(environment.queue)
    return repeat(lambda: event.command_execution_status)


def _command_queue(environment: Environment) -> Loop:
    event = cl.enqueue_marker(environment.queue)
    return repeat(lambda: event.command_queue)


def _call(
    name: str, prepare: Callable[[Environment], Loop], hooks: tuple[str, ...], calls: int = 1000
) -> Case:
    return Case(name, prepare, hooks, calls, CALL_TARGET_US)


CASES: Final = (
    _call("marker", _marker, entry_point("_enqueue_marker_with_wait_list")),
    _call("marker, wait_for", _marker_after_event, entry_point("_enqueue_marker_with_wait_list")),
    _call("barrier", _barrier, entry_point("_enqueue_barrier_with_wait_list")),
    _call(
        "barrier, wait_for", _barrier_after_event, entry_point("_enqueue_barrier_with_wait_list")
    ),
    _call("marker of OpenCL 1.1", _old_marker, entry_point("_enqueue_marker")),
    _call("barrier of OpenCL 1.1", _old_barrier, entry_point("_enqueue_barrier")),
    _call("_enqueue_wait_for_events", _old_wait, entry_point("_enqueue_wait_for_events")),
    _call("Event.wait", _event_wait, ("Event.wait",)),
    _call("wait_for_events, 1 event", _wait_for_events, entry_point("wait_for_events")),
    _call("wait_for_events, 4 events", _wait_for_4_events, entry_point("wait_for_events")),
    _call("finish, an empty queue", _finish, ("CommandQueue.finish",)),
    Case("flush", _flush, ("CommandQueue.flush",)),
    Case("Event.set_callback", _set_callback, ("Event.set_callback",), calls=100),
    Case("UserEvent.set_status", _set_status, ("UserEvent.set_status",)),
    Case("event.profile.start", _profile(lambda event: event.profile.start), ()),
    Case(
        "get_profiling_info",
        _profile(lambda event: event.get_profiling_info(cl.profiling_info.START)),
        (),
    ),
    Case("command_execution_status", _execution_status, ()),
    Case("event.command_queue", _command_queue, ("Event.command_queue",)),
    Case(
        "event.reference_count",
        _profile(lambda event: event.reference_count),
        ("Event.reference_count",),
    ),
    Case(
        "Event.get_info(REFERENCE_COUNT)",
        _profile(lambda event: event.get_info(cl.event_info.REFERENCE_COUNT)),
        ("Event.get_info",),
    ),
)
