"""Hooks of command queues: they enable profiling and hide that from the program."""

from typing import Any, Final

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.intercept.hooks.call_hook import (
    Hook,
    HookedCall,
    HookFactory,
    copy_identity,
    make_hook,
)
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.registry import FORCED_QUEUES, PROFILING_ENABLE
from cltrace.intercept.tracebacks import hide_own_frames

_PARAMETERS: Final = ("context", "device", "properties")
_PROPERTIES_KEY: Final = int(cl.queue_properties.PROPERTIES)


class QueueHooks:
    """Factory of the hooks of `pyopencl.CommandQueue`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def constructor(self, original: Hook) -> Hook:
        """Return the hook of `CommandQueue.__init__`: it enables profiling unless the user declined."""
        recorder = self._recorder

        def hook(queue: cl.CommandQueue, *args: Any, **kwargs: Any) -> None:
            enter = recorder.clock()
            try:
                requested = None
                if recorder.settings.force_profiling and not recorder.is_closed:
                    requested = _construct_profiling(original, queue, args, kwargs)
                if requested is None:
                    original(queue, *args, **kwargs)
                self._register(queue, requested, (enter, recorder.clock()))
            except BaseException as error:
                recorder.call_failed(error, CallRow(Api.clCreateCommandQueue), enter)
                raise

        return copy_identity(original, hook)

    def from_handle(self, original: Hook) -> Any:
        """Return the hook of `CommandQueue.from_int_ptr`, for queues that other code created."""

        def record(call: HookedCall) -> None:
            self._recorder.registry.forget_finalised(call.result)
            self._recorder.registry.queue_handle(call.result)

        return staticmethod(make_hook(self._recorder, original, None, record))

    def context_constructor(self, original: Hook) -> Hook:
        """Return the hook of `Context.__init__`."""
        registry = self._recorder.registry
        registry.watches_contexts = True

        def record(call: HookedCall) -> None:
            registry.forget_context(call.args[0])

        return make_hook(self._recorder, original, None, record, record)

    def context_from_handle(self, original: Hook) -> Any:
        """Return the hook of `Context.from_int_ptr`, for contexts that other code created."""
        registry = self._recorder.registry

        def record(call: HookedCall) -> None:
            registry.forget_context(call.result)

        return staticmethod(make_hook(self._recorder, original, None, record, record))

    def of_event(self, original: Any) -> Any:
        """Return the hook of `Event.command_queue`, which makes a new object for the queue."""
        registry, read = self._recorder.registry, original.fget

        def command_queue(event: cl.Event) -> cl.CommandQueue:
            try:
                queue: cl.CommandQueue = read(event)
            except BaseException as error:
                hide_own_frames(error)
                raise
            registry.forget_finalised(queue)
            return queue

        return property(command_queue, doc=original.__doc__)

    def finalise(self, original: Hook) -> Hook:
        """Return the hook of `CommandQueue._finalize`: the end of a `with` block."""

        def hook(queue: cl.CommandQueue) -> None:
            # Read the handle before the block ends: later reads make pyopencl warn.
            try:
                self._recorder.registry.store_finalised(queue)
            except Exception as fault:
                self._recorder.stop_on_fault(fault)
            try:
                original(queue)
            except BaseException as error:
                hide_own_frames(error)
                raise

        return copy_identity(original, hook)

    def info(self, original: Hook) -> Hook:
        """Return the hook of `CommandQueue.get_info`: it reports the properties that were requested."""
        registry = self._recorder.registry
        info = cl.command_queue_info
        hidden = {int(info.PROPERTIES), int(info.PROPERTIES_ARRAY)}

        def hook(queue: cl.CommandQueue, parameter: Any) -> Any:
            try:
                value = original(queue, parameter)
            except BaseException as error:
                hide_own_frames(error)
                raise
            if parameter not in hidden or not registry.has_forced_profiling(queue):
                return value
            return _without_profiling(value)

        return copy_identity(original, hook)

    def property_of(self, info: Any) -> HookFactory:
        """Return the factory of `CommandQueue.properties` and `properties_array`.

        pyopencl bound these to its own `get_info`.
        """
        return lambda _: property(lambda queue: queue.get_info(info))

    def _register(
        self, queue: cl.CommandQueue, requested: int | None, span: tuple[int, int]
    ) -> None:
        recorder = self._recorder
        try:
            if recorder.is_closed:
                return
            # A queue created during a pause is registered too, because its profiling was enabled here.
            if requested is not None and not requested & PROFILING_ENABLE:
                FORCED_QUEUES[queue.int_ptr] = requested
            else:
                FORCED_QUEUES.pop(queue.int_ptr, None)
            recorder.registry.register_queue(queue)
            if recorder.gate:
                recorder.record_call(CallRow(Api.clCreateCommandQueue, queue.int_ptr), span)
        except Exception as fault:
            self._recorder.stop_on_fault(fault)


def _construct_profiling(
    construct: Hook, queue: cl.CommandQueue, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | None:
    """Construct `queue` with profiling enabled and return the properties that were requested.

    Return `None` when the driver declines or the properties are not understood: nothing is constructed.
    """
    positional = dict(zip(_PARAMETERS, args, strict=False))
    if len(args) > len(_PARAMETERS) or positional.keys() & kwargs.keys():
        return None
    arguments = positional | kwargs
    try:
        numeric, changed = _with_profiling(arguments.get("properties", 0))
        construct(queue, **{**arguments, "properties": changed})
    except (cl.Error, TypeError, ValueError):
        return None
    return numeric


def _with_profiling(requested: Any) -> tuple[int, Any]:
    """Return the requested properties as a number, and in their own form with profiling enabled."""
    if isinstance(requested, int):
        return int(requested), int(requested) | PROFILING_ENABLE
    words = [int(word) for word in requested]
    if len(words) % 2 and words[-1] == 0:
        words.pop()
    pairs = dict(zip(words[::2], words[1::2], strict=True))
    numeric = pairs.get(_PROPERTIES_KEY, 0)
    pairs[_PROPERTIES_KEY] = numeric | PROFILING_ENABLE
    return numeric, [word for pair in pairs.items() for word in pair]


def _without_profiling(properties: Any) -> Any:
    """Return the result of `get_info` for a queue without the profiling that cltrace enabled."""
    if isinstance(properties, int):
        return properties & ~PROFILING_ENABLE
    words = [int(word) for word in properties]
    for position in range(0, len(words) - 1, 2):
        if words[position] == _PROPERTIES_KEY:
            words[position + 1] &= ~PROFILING_ENABLE
            if not words[position + 1]:
                del words[position : position + 2]
            break
    return words
