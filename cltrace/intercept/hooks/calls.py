"""Hooks of the host calls that enqueue, and of those that wait."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import Severity
from cltrace.intercept.hooks.call_hook import HookedCall, HookFactory, make_hook
from cltrace.intercept.hooks.call_shapes import CallShape
from cltrace.intercept.hooks.contents import NO_CAPTURE, ContentCapture
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.tracebacks import is_from_signal_handler


class CallHooks:
    """Factory of hooks. A hook records a call without its arguments if it cannot describe them."""

    def __init__(self, recorder: Recorder, capture: ContentCapture = NO_CAPTURE) -> None:
        self._recorder = recorder
        self._command_enqueued = capture.command_enqueued
        self._undescribed: set[Api] = set()
        self._maps: dict[int, tuple[int, int]] = {}

    def enqueue(self, api: Api, shape_of: Callable[..., CallShape]) -> HookFactory:
        """Return the hook factory of an enqueueing entry point; `shape_of` describes its arguments."""

        def record(call: HookedCall) -> None:
            shape = self._describe(api, shape_of, call)
            row = self._row(api, shape, call.result)
            self._recorder.record_call(
                row, call.span, event=_find_event(call.result), wait_for=shape.wait_for
            )
            self._command_enqueued(row, call)

        return lambda original: make_hook(self._recorder, original, api, record)

    def unmap(self, shape_of: Callable[..., CallShape]) -> HookFactory:
        """Return the hook factory of `MemoryMap.release`."""
        api = Api.clEnqueueUnmapMemObject

        def record(call: HookedCall) -> None:
            shape = self._describe(api, shape_of, call)
            buffer_id, size_bytes = self._maps.pop(id(call.args[0]), (0, -1))
            queue = shape.queue or call.result.command_queue
            handle = self._recorder.registry.queue_handle(queue)
            row = CallRow(api, handle, target_buffer_id=buffer_id, size_bytes=size_bytes)
            self._recorder.record_call(
                row, call.span, event=_find_event(call.result), wait_for=shape.wait_for
            )

        return lambda original: make_hook(self._recorder, original, api, record)

    def on_queue(self, api: Api) -> HookFactory:
        """Return the hook factory of `CommandQueue.finish` and `flush`."""

        def record(call: HookedCall) -> None:
            handle = self._recorder.registry.queue_handle(call.args[0])
            self._recorder.record_call(CallRow(api, handle), call.span)

        return lambda original: make_hook(self._recorder, original, api, record)

    def on_event(self, api: Api) -> HookFactory:
        """Return the hook factory of `Event.wait`, `Event.set_callback` and `UserEvent.set_status`."""

        def record(call: HookedCall) -> None:
            self._recorder.record_call(CallRow(api), call.span, wait_for=[call.args[0]])

        return lambda original: make_hook(self._recorder, original, api, record)

    def on_events(self, api: Api) -> HookFactory:
        """Return the hook factory of `wait_for_events`."""

        def record(call: HookedCall) -> None:
            events = call.args[0] if call.args else next(iter(call.kwargs.values()))
            self._recorder.record_call(CallRow(api), call.span, wait_for=events)

        return lambda original: make_hook(self._recorder, original, api, record)

    def _describe(
        self, api: Api, shape_of: Callable[..., CallShape], call: HookedCall
    ) -> CallShape:
        try:
            return shape_of(*call.args, **call.kwargs)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            if api not in self._undescribed:
                self._undescribed.add(api)
                message = f"the arguments of {api.name} are not recorded: {error!r}"
                self._recorder.note(Severity.WARNING, "arguments-not-recorded", message)
            return CallShape(call.args[0] if call.args else None)

    def _row(self, api: Api, shape: CallShape, result: Any) -> CallRow:
        source_id, target_id = self._memory_id(shape.source), self._memory_id(shape.target)
        size_bytes = int(shape.size_bytes)
        if isinstance(result, tuple) and isinstance(result[0], np.ndarray):
            size_bytes = result[0].nbytes if size_bytes < 0 else size_bytes
            self._maps[id(result[0].base)] = (target_id, size_bytes)
        return CallRow(
            api,
            self._recorder.registry.queue_handle(shape.queue),
            source_buffer_id=source_id,
            target_buffer_id=target_id,
            size_bytes=size_bytes,
            source_offset_bytes=int(shape.source_offset_bytes),
            target_offset_bytes=int(shape.target_offset_bytes),
            flags=shape.flags,
        )

    def _memory_id(self, memory: Any) -> int:
        match memory:
            case cl.MemoryObjectHolder():
                return self._recorder.memory.id_of(memory)
            case cl.SVMPointer():
                return self._recorder.memory.svm_id(memory.svm_ptr)
            case _:
                return 0


def _find_event(result: Any) -> cl.Event | None:
    """Return the event that an entry point returned, alone or beside a mapped array."""
    if isinstance(result, tuple):
        result = next((item for item in result if isinstance(item, cl.Event)), None)
    return result if isinstance(result, cl.Event) else None
