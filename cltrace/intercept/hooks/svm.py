"""Hooks of the calls that allocate and free shared virtual memory."""

from typing import Any

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag, MemoryKind
from cltrace.intercept.hooks.call_hook import (
    Hook,
    HookedCall,
    HookFactory,
    copy_identity,
    make_hook,
)
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler


class SvmHooks:
    """Factory of hooks of `SVMAllocation`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def constructor(self, original: Hook) -> Hook:
        """Return the hook of `SVMAllocation.__init__`."""

        def record(call: HookedCall) -> None:
            context_id = self._recorder.registry.context_id(call.argument(1, "context"))
            number = number_svm(self._recorder, call.args[0], context_id, call.span)
            size_bytes = call.args[0].size or 0
            row = CallRow(Api.clSVMAlloc, subject_id=number, size_bytes=size_bytes)
            self._recorder.record_call(row, call.span)

        return make_hook(self._recorder, original, Api.clSVMAlloc, record)

    def release(self, command_hook: HookFactory | None) -> HookFactory:
        """Return the hook factory of `SVMAllocation.release`, or of `enqueue_release`.

        `command_hook` is given for `enqueue_release`: it records the command.
        """
        recorder = self._recorder

        def wrap(original: Hook) -> Hook:
            release = original if command_hook is None else command_hook(original)

            def hook(allocation: Any, *args: Any, **kwargs: Any) -> Any:
                enter = recorder.clock()
                try:
                    address, queue = self._address_and_queue(allocation)
                    result = release(allocation, *args, **kwargs)
                    span = (enter, recorder.clock())
                    is_enqueued = command_hook is not None
                    self._note_release(address, queue, span, is_enqueued=is_enqueued)
                    return result
                except BaseException as error:
                    hide_own_frames(error)
                    raise

            return copy_identity(original, hook)

        return wrap

    def _address_and_queue(self, allocation: Any) -> tuple[int, Any]:
        """Return the address of an allocation, and the queue that it is bound to."""
        try:
            return (allocation.svm_ptr if self._recorder.gate else 0), allocation._queue
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            return 0, None  # it was released before: the release itself raises an error

    def _note_release(
        self, address: int, queue: Any, span: tuple[int, int], *, is_enqueued: bool
    ) -> None:
        """Record that shared virtual memory was freed, on the queue that it is bound to, if any."""
        recorder = self._recorder
        try:
            recorder.memory.release_svm(address, span[1])
            if is_enqueued:
                return
            if recorder.gate and queue is None:
                recorder.record_call(CallRow(Api.clSVMFree), span)
            elif recorder.gate:
                handle = recorder.registry.queue_handle(queue)
                flags = int(CallFlag.QUEUED_ONLY)
                recorder.record_call(CallRow(Api.clEnqueueSVMFree, handle, flags=flags), span)
        except Exception as fault:
            recorder.stop_on_fault(fault)


def number_svm(recorder: Recorder, allocation: Any, context_id: int, span: tuple[int, int]) -> int:
    """Return the number of shared virtual memory, and register it if it is new.

    `context_id` is 0 for memory that may have been handed out before.
    """
    memory = recorder.memory
    number = memory.svm_id(allocation.svm_ptr)
    if number and not context_id:
        return number
    registration = recorder.make_registration(span[1])
    size_bytes = allocation.size or 0
    address = allocation.svm_ptr
    return memory.add(address, context_id, MemoryKind.SVM, 0, size_bytes, registration)
