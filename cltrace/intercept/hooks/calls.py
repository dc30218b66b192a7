"""Hooks of the host calls that enqueue, and of those that wait."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import Severity
from cltrace.intercept.hooks.call_hook import HookedCall, HookFactory
from cltrace.intercept.hooks.call_shapes import CallShape
from cltrace.intercept.hooks.contents import ContentCapture
from cltrace.intercept.hooks.enqueue_hooks import (
    CommandParts,
    command_hook,
    queue_hook,
    unmap_hook,
    wait_hook,
)
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.tracebacks import is_from_signal_handler


class CallHooks:
    """Factory of hooks. A hook records a call without its arguments if it cannot describe them."""

    def __init__(self, recorder: Recorder, capture: ContentCapture | None = None) -> None:
        self._recorder = recorder
        self._capture = capture
        self._handles = recorder.memory.numbers
        self._undescribed: set[int] = set()
        self._maps: dict[int, tuple[int, int]] = {}

    def enqueue(self, api: Api, shape_of: Callable[..., CallShape]) -> HookFactory:
        """Return the hook factory of an enqueueing entry point; `shape_of` describes its arguments."""
        parts = CommandParts(
            self._memory_handle,
            self._undescribed_shape,
            self._note_map,
            None if self._capture is None else self._capture_command,
        )
        return lambda original: command_hook(self._recorder, original, api, shape_of, parts)

    def unmap(self, shape_of: Callable[..., CallShape]) -> HookFactory:
        """Return the hook factory of `MemoryMap.release`."""
        api = Api.clEnqueueUnmapMemObject

        def describe(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> tuple[Any, ...]:
            try:
                queue, wait_for, *_ = shape_of(*args, **kwargs)
            except Exception as error:
                queue, wait_for, *_ = self._undescribed_shape(int(api), args, error)
            handle, size_bytes = self._maps.pop(id(args[0]), (0, -1))
            return queue or result.command_queue, wait_for, handle, size_bytes

        return lambda original: unmap_hook(self._recorder, original, api, describe)

    def on_queue(self, api: Api) -> HookFactory:
        """Return the hook factory of `CommandQueue.finish` and `flush`."""
        return lambda original: queue_hook(self._recorder, original, api)

    def on_event(self, api: Api) -> HookFactory:
        """Return the hook factory of `Event.wait`, `Event.set_callback` and `UserEvent.set_status`."""
        return lambda original: wait_hook(self._recorder, original, api, lambda args, _: args[:1])

    def on_events(self, api: Api) -> HookFactory:
        """Return the hook factory of `wait_for_events`."""

        def events(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return (*args, *kwargs.values())[0]

        return lambda original: wait_hook(self._recorder, original, api, events)

    def _note_map(
        self, result: tuple[Any, ...], handle: int, size_bytes: int
    ) -> tuple[cl.Event | None, int]:
        """Note the array that a call mapped; return its event, and its size if the call gave none."""
        event = next((item for item in result if isinstance(item, cl.Event)), None)
        if isinstance(result[0], np.ndarray):
            size_bytes = result[0].nbytes if size_bytes < 0 else int(size_bytes)
            self._maps[id(result[0].base)] = (handle, size_bytes)
        return event, size_bytes

    def _undescribed_shape(self, api: int, args: tuple[Any, ...], error: Exception) -> CallShape:
        """Return the shape of a call whose arguments cannot be described, and note that once."""
        if is_from_signal_handler(error):
            raise error
        if api not in self._undescribed:
            self._undescribed.add(api)
            message = f"the arguments of {Api(api).name} are not recorded: {error!r}"
            self._recorder.note(Severity.WARNING, "arguments-not-recorded", message)
        return (args[0] if args else None, None, None, None, -1, 0, 0, 0)

    def _capture_command(
        self,
        api: int,
        target_handle: int,
        target_offset: Any,
        size_bytes: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> None:
        call = HookedCall((0, 0), args, kwargs, result)
        written = (target_handle, int(target_offset), int(size_bytes))
        if self._capture is not None:
            self._capture.command_enqueued(Api(api), *written, call)

    def _memory_handle(self, memory: Any, enter_ns: int) -> int:
        """Return the handle of a memory object in use since `enter_ns`, or a shared address; else 0."""
        if isinstance(memory, cl.MemoryObjectHolder):
            handle: int = memory.int_ptr
            if handle not in self._handles:
                self._recorder.memory.observe(memory, enter_ns)
            return handle
        return int(memory.svm_ptr) if isinstance(memory, cl.SVMPointer) else 0
