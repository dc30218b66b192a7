"""Hooks of queries for counts of references: the program sees those without cltrace's own."""

from collections.abc import Callable
from typing import Any, Final

import pyopencl as cl

from cltrace.intercept.hooks.call_hook import Hook, HookFactory, copy_identity
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.tracebacks import hide_own_frames

COUNTED: Final = (
    (cl.Context, int(cl.context_info.REFERENCE_COUNT)),
    (cl.CommandQueue, int(cl.command_queue_info.REFERENCE_COUNT)),
    (cl.Event, int(cl.event_info.REFERENCE_COUNT)),
)
"""Classes whose counts an unread event raises, by itself or in the driver, with the query's parameter."""


class ReferenceCounts:
    """Factory of the hooks.

    Before a count is read, `release_complete` releases the events of complete commands. It returns the
    number of references that are left to the event with a handle.
    """

    def __init__(self, recorder: Recorder, release_complete: Callable[[int], int]) -> None:
        self._recorder = recorder
        self._release_complete = release_complete

    def info(self, count_parameter: int) -> HookFactory:
        """Return the hook factory of a class's `get_info`."""

        def wrap(original: Hook) -> Hook:
            def hook(counted: Any, parameter: Any) -> Any:
                try:
                    if parameter == count_parameter:
                        return self._read(counted, lambda: original(counted, parameter))
                    return original(counted, parameter)
                except BaseException as error:
                    hide_own_frames(error)
                    raise

            return copy_identity(original, hook)

        return wrap

    def attribute(self, original: Any) -> Any:
        """Return the hook of a class's `reference_count`, which pyopencl bound to its own `get_info`."""

        def reference_count(counted: Any) -> Any:
            try:
                return self._read(counted, lambda: original.fget(counted))
            except BaseException as error:
                hide_own_frames(error)
                raise

        return property(reference_count, doc=original.__doc__)

    def _read(self, counted: Any, read: Callable[[], Any]) -> Any:
        own = 0
        try:
            # The event objects of other commands are kept themselves, so their counts are the same.
            is_copied = isinstance(counted, cl.NannyEvent)
            own = self._release_complete(counted.int_ptr if is_copied else 0)
        except Exception as fault:
            self._recorder.stop_on_fault(fault)
        return read() - own
