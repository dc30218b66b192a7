"""Hooks for command queues: they get profiling, and look as if they had not."""

from typing import Any, Final

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.intercept.hooks.call_hook import Call, Hook, Wrap, hooked, named_as
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.registry import FORCED_QUEUES, PROFILING_ENABLE
from cltrace.intercept.tracebacks import hide_own_frames

_PARAMETERS: Final = ("context", "device", "properties")
_PROPERTIES_KEY: Final = int(cl.queue_properties.PROPERTIES)


class QueueHooks:
    """Makes the hooks of `pyopencl.CommandQueue`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def constructor(self, original: Hook) -> Hook:
        """`CommandQueue.__init__`: adds profiling unless the user declined it."""
        recorder = self._recorder

        def hook(queue: cl.CommandQueue, *args: Any, **kwargs: Any) -> None:
            enter = recorder.clock()
            try:
                asked = None
                if recorder.settings.force_profiling and not recorder.is_closed:
                    asked = _construct_profiling(original, queue, args, kwargs)
                if asked is None:
                    original(queue, *args, **kwargs)
                self._made(queue, asked, (enter, recorder.clock()))
            except BaseException as error:
                recorder.call_failed(error, CallRow(Api.clCreateCommandQueue), enter)
                raise

        return named_as(original, hook)

    def from_handle(self, original: Hook) -> Any:
        """`CommandQueue.from_int_ptr`: a queue that others made."""

        def record(call: Call) -> None:
            self._recorder.registry.queue_wrapped(call.result)
            self._recorder.registry.queue_handle(call.result)

        return staticmethod(hooked(self._recorder, original, None, record))

    def of_event(self, original: Any) -> Any:
        """`Event.command_queue`, which makes a new object of the queue."""
        registry, read = self._recorder.registry, original.fget

        def command_queue(event: cl.Event) -> cl.CommandQueue:
            try:
                queue: cl.CommandQueue = read(event)
            except BaseException as error:
                hide_own_frames(error)
                raise
            registry.queue_wrapped(queue)
            return queue

        return property(command_queue, doc=original.__doc__)

    def finalise(self, original: Hook) -> Hook:
        """`CommandQueue._finalize`: the end of a `with` block."""

        def hook(queue: cl.CommandQueue) -> None:
            # Its handle is asked before the block ends: pyopencl warns of it afterwards.
            try:
                self._recorder.registry.queue_finalised(queue)
            except Exception as fault:
                self._recorder.faulty(fault)
            try:
                original(queue)
            except BaseException as error:
                hide_own_frames(error)
                raise

        return named_as(original, hook)

    def info(self, original: Hook) -> Hook:
        """`CommandQueue.get_info`: tells the properties that the program asked for."""
        registry = self._recorder.registry
        info = cl.command_queue_info
        hidden = {int(info.PROPERTIES), int(info.PROPERTIES_ARRAY)}

        def hook(queue: cl.CommandQueue, parameter: Any) -> Any:
            try:
                value = original(queue, parameter)
            except BaseException as error:
                hide_own_frames(error)
                raise
            if parameter not in hidden or not registry.is_forced(queue):
                return value
            return _without_profiling(value)

        return named_as(original, hook)

    def property_of(self, info: Any) -> Wrap:
        """`CommandQueue.properties` and `properties_array`, which pyopencl bound to its `get_info`."""
        return lambda _: property(lambda queue: queue.get_info(info))

    def _made(self, queue: cl.CommandQueue, asked: int | None, span: tuple[int, int]) -> None:
        recorder = self._recorder
        try:
            if recorder.is_closed:
                return
            # A queue made while recording is paused is known all the same: it has our profiling.
            if asked is not None and not asked & PROFILING_ENABLE:
                FORCED_QUEUES[queue.int_ptr] = asked
            else:
                FORCED_QUEUES.pop(queue.int_ptr, None)
            recorder.registry.queue_created(queue)
            if recorder.gate:
                recorder.record_call(CallRow(Api.clCreateCommandQueue, queue.int_ptr), span)
        except Exception as fault:
            self._recorder.faulty(fault)


def _construct_profiling(
    construct: Hook, queue: cl.CommandQueue, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | None:
    """Construct `queue` with profiling added and return the properties that were asked for.

    `None` when the driver declines or the properties are not understood: nothing is constructed.
    """
    positional = dict(zip(_PARAMETERS, args, strict=False))
    if len(args) > len(_PARAMETERS) or positional.keys() & kwargs.keys():
        return None
    given = positional | kwargs
    try:
        numeric, changed = _with_profiling(given.get("properties", 0))
        construct(queue, **{**given, "properties": changed})
    except (cl.Error, TypeError, ValueError):
        return None
    return numeric


def _with_profiling(asked: Any) -> tuple[int, Any]:
    """The properties asked for as a number, and the same in their own form with profiling added."""
    if isinstance(asked, int):
        return int(asked), int(asked) | PROFILING_ENABLE
    words = [int(word) for word in asked]
    if len(words) % 2 and words[-1] == 0:
        words.pop()
    pairs = dict(zip(words[::2], words[1::2], strict=True))
    numeric = pairs.get(_PROPERTIES_KEY, 0)
    pairs[_PROPERTIES_KEY] = numeric | PROFILING_ENABLE
    return numeric, [word for pair in pairs.items() for word in pair]


def _without_profiling(properties: Any) -> Any:
    """What `get_info` gives for a queue, without the bit that we added."""
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
