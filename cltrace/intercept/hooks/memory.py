"""Hooks of the calls that create and free memory objects."""

from typing import Any

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag, Severity
from cltrace.intercept.hooks.call_hook import (
    Hook,
    HookedCall,
    HookFactory,
    copy_identity,
    make_hook,
)
from cltrace.intercept.hooks.contents import NO_CAPTURE, ContentCapture
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.memory import Registration
from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler


class MemoryHooks:
    """Factory of hooks that register the memory objects which a call of the program creates."""

    def __init__(self, recorder: Recorder, capture: ContentCapture = NO_CAPTURE) -> None:
        self._recorder = recorder
        self._has_noted_commands = False
        self._buffer_initialised = capture.buffer_initialised
        self._sub_buffer_created = capture.sub_buffer_created

    def buffer_constructor(self, original: Hook) -> Hook:
        """Return the hook of `Buffer.__init__`."""

        def record(call: HookedCall) -> None:
            number = self._register(Api.clCreateBuffer, call)
            hostbuf = call.argument(4, "hostbuf")
            if hostbuf is not None:
                self._buffer_initialised(number, hostbuf)

        return make_hook(self._recorder, original, Api.clCreateBuffer, record)

    def other_constructor(self, api: Api) -> HookFactory:
        """Return the hook factory of `Image._custom_init`, which makes images, or of `Pipe.__init__`."""

        def record(call: HookedCall) -> None:
            self._register(api, call)

        return lambda original: make_hook(self._recorder, original, api, record)

    def sub_buffer(self, original: Hook) -> Hook:
        """Return the hook of `Buffer.get_sub_region` and `Buffer.__getitem__`."""
        memory = self._recorder.memory

        def record(call: HookedCall) -> None:
            parent_id = memory.id_of(call.args[0])
            registration = self._recorder.make_registration(call.span[0])
            number = memory.register(call.result, registration, parent_id)
            self._sub_buffer_created(number, parent_id)
            row = CallRow(Api.clCreateSubBuffer, subject_id=number, size_bytes=call.result.size)
            self._recorder.record_call(row, call.span)

        return make_hook(self._recorder, original, Api.clCreateSubBuffer, record)

    def allocation(self, original: Hook) -> Hook:
        """Return the hook of pyopencl's allocators and pools, which create memory in C++ code."""

        def record(call: HookedCall) -> None:
            registration = self._recorder.make_registration(call.span[0])
            match call.result:
                case cl.MemoryObjectHolder():
                    self._note_commands_of(call.args[0])
                    self._register_allocation(call.result, registration, call.span)
                case cl.SVMPointer():
                    self._svm_number(call.result, 0, call.span)
                case _:
                    pass

        return make_hook(self._recorder, original, None, record)

    def svm_constructor(self, original: Hook) -> Hook:
        """Return the hook of `SVMAllocation.__init__`."""

        def record(call: HookedCall) -> None:
            context_id = self._recorder.registry.context_id(call.argument(1, "context"))
            number = self._svm_number(call.args[0], context_id, call.span)
            size_bytes = call.args[0].size or 0
            row = CallRow(Api.clSVMAlloc, subject_id=number, size_bytes=size_bytes)
            self._recorder.record_call(row, call.span)

        return make_hook(self._recorder, original, Api.clSVMAlloc, record)

    def svm_release(self, command_hook: HookFactory | None) -> HookFactory:
        """Return the hook factory of `SVMAllocation.release`, or of `enqueue_release`.

        `command_hook` is given for `enqueue_release`: it records the command.
        """
        recorder = self._recorder

        def wrap(original: Hook) -> Hook:
            release = original if command_hook is None else command_hook(original)

            def hook(allocation: Any, *args: Any, **kwargs: Any) -> Any:
                enter = recorder.clock()
                try:
                    address, queue = self._svm_address_and_queue(allocation)
                    result = release(allocation, *args, **kwargs)
                    span = (enter, recorder.clock())
                    is_enqueued = command_hook is not None
                    self._svm_released(address, queue, span, is_enqueued=is_enqueued)
                    return result
                except BaseException as error:
                    hide_own_frames(error)
                    raise

            return copy_identity(original, hook)

        return wrap

    def release(self, original: Hook) -> Hook:
        """Return the hook of `MemoryObject.release`, by which a program frees memory at once."""

        def record(call: HookedCall) -> None:
            self._recorder.record_call(CallRow(Api.clReleaseMemObject), call.span)
            self._recorder.memory.note_releases()

        return make_hook(self._recorder, original, Api.clReleaseMemObject, record)

    def _register(self, api: Api, call: HookedCall) -> int:
        holder = call.args[0]
        registration = self._recorder.make_registration(call.span[0])
        number = self._recorder.memory.register(holder, registration)
        row = CallRow(api, subject_id=number, size_bytes=int(holder.size))
        self._recorder.record_call(row, call.span)
        return number

    def _note_commands_of(self, allocator: Any) -> None:
        """Note once that an allocator enqueues commands of its own."""
        if isinstance(allocator, _cl.ImmediateAllocator) and not self._has_noted_commands:
            self._has_noted_commands = True
            message = "an ImmediateAllocator enqueues commands that are not recorded"
            self._recorder.note(Severity.NOTE, "immediate-allocator", message)

    def _register_allocation(
        self, holder: cl.MemoryObjectHolder, registration: Registration, span: tuple[int, int]
    ) -> None:
        """Register a buffer from an allocator or a pool, which may have been handed out before."""
        memory = self._recorder.memory
        if not memory.is_registered(holder.int_ptr):
            number = memory.register(holder, registration)
            row = CallRow(Api.clCreateBuffer, subject_id=number, size_bytes=int(holder.size))
            self._recorder.record_call(row, span)

    def _svm_address_and_queue(self, allocation: Any) -> tuple[int, Any]:
        """Return the address of an allocation, and the queue that it is bound to."""
        try:
            return (allocation.svm_ptr if self._recorder.gate else 0), allocation._queue
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            return 0, None  # it was released before: the release itself raises an error

    def _svm_released(
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

    def _svm_number(self, allocation: Any, context_id: int, span: tuple[int, int]) -> int:
        memory = self._recorder.memory
        number = memory.svm_id(allocation.svm_ptr)
        if number and not context_id:
            return number
        registration = self._recorder.make_registration(span[0])
        size_bytes = allocation.size or 0
        return memory.register_svm(allocation.svm_ptr, size_bytes, context_id, registration)
