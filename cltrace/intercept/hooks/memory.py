"""Hooks for what makes and frees memory objects."""

from typing import TYPE_CHECKING, Any

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag, Severity
from cltrace.intercept.hooks.call_hook import Call, Hook, Wrap, hooked, named_as
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.memory import Birth
from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler

if TYPE_CHECKING:
    from collections.abc import Callable


class MemoryHooks:
    """Makes hooks that register the memory objects that a call of the program made."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._has_noted_commands = False
        self.initialised: Callable[[int, Any], None] = lambda *_: None
        """Called when a buffer is made from host data, with its number and the data."""
        self.divided: Callable[[int, int], None] = lambda *_: None
        """Called when a sub-buffer is made, with its number and its parent's."""

    def buffer_constructor(self, original: Hook) -> Hook:
        """`Buffer.__init__`."""

        def record(call: Call) -> None:
            number = self._made(Api.clCreateBuffer, call)
            hostbuf = call.given(4, "hostbuf")
            if hostbuf is not None:
                self.initialised(number, hostbuf)

        return hooked(self._recorder, original, Api.clCreateBuffer, record)

    def other_constructor(self, api: Api) -> Wrap:
        """`Image._custom_init`, which is what makes an image, and `Pipe.__init__`."""

        def record(call: Call) -> None:
            self._made(api, call)

        return lambda original: hooked(self._recorder, original, api, record)

    def sub_buffer(self, original: Hook) -> Hook:
        """`Buffer.get_sub_region` and `Buffer.__getitem__`."""
        memory = self._recorder.memory

        def record(call: Call) -> None:
            parent_id = memory.id_of(call.args[0])
            birth = self._recorder.birth(call.span[0])
            number = memory.created(call.result, birth, parent_id)
            self.divided(number, parent_id)
            row = CallRow(Api.clCreateSubBuffer, subject_id=number, size_bytes=call.result.size)
            self._recorder.record_call(row, call.span)

        return hooked(self._recorder, original, Api.clCreateSubBuffer, record)

    def allocation(self, original: Hook) -> Hook:
        """Pyopencl's allocators and pools, which make memory where Python cannot see it."""

        def record(call: Call) -> None:
            birth = self._recorder.birth(call.span[0])
            match call.result:
                case cl.MemoryObjectHolder():
                    self._note_commands_of(call.args[0])
                    self._allocated(call.result, birth, call.span)
                case cl.SVMPointer():
                    self._svm_known(call.result, 0, call.span)
                case _:
                    pass

        return hooked(self._recorder, original, None, record)

    def svm_constructor(self, original: Hook) -> Hook:
        """`SVMAllocation.__init__`."""

        def record(call: Call) -> None:
            context_id = self._recorder.registry.context_id(call.given(1, "context"))
            number = self._svm_known(call.args[0], context_id, call.span)
            size_bytes = call.args[0].size or 0
            row = CallRow(Api.clSVMAlloc, subject_id=number, size_bytes=size_bytes)
            self._recorder.record_call(row, call.span)

        return hooked(self._recorder, original, Api.clSVMAlloc, record)

    def svm_release(self, enqueued: Wrap | None) -> Wrap:
        """`SVMAllocation.release`; with `enqueued`, which records the command, `enqueue_release`."""
        recorder = self._recorder

        def wrap(original: Hook) -> Hook:
            release = original if enqueued is None else enqueued(original)

            def hook(allocation: Any, *args: Any, **kwargs: Any) -> Any:
                enter = recorder.clock()
                try:
                    address, queue = self._svm_about_to_go(allocation)
                    result = release(allocation, *args, **kwargs)
                    span = (enter, recorder.clock())
                    self._svm_released(address, queue, span, is_enqueued=enqueued is not None)
                    return result
                except BaseException as error:
                    hide_own_frames(error)
                    raise

            return named_as(original, hook)

        return wrap

    def release(self, original: Hook) -> Hook:
        """`MemoryObject.release`, by which a program lets go at once."""

        def record(call: Call) -> None:
            self._recorder.record_call(CallRow(Api.clReleaseMemObject), call.span)
            self._recorder.memory.look()

        return hooked(self._recorder, original, Api.clReleaseMemObject, record)

    def _made(self, api: Api, call: Call) -> int:
        holder = call.args[0]
        number = self._recorder.memory.created(holder, self._recorder.birth(call.span[0]))
        row = CallRow(api, subject_id=number, size_bytes=int(holder.size))
        self._recorder.record_call(row, call.span)
        return number

    def _note_commands_of(self, allocator: Any) -> None:
        """Note, once, that an allocator enqueues commands of its own."""
        if isinstance(allocator, _cl.ImmediateAllocator) and not self._has_noted_commands:
            self._has_noted_commands = True
            message = "an ImmediateAllocator enqueues commands that cannot be seen"
            self._recorder.note(Severity.NOTE, "immediate-allocator", message)

    def _allocated(
        self, holder: cl.MemoryObjectHolder, birth: Birth, span: tuple[int, int]
    ) -> None:
        """An allocator or a pool gave a buffer, which it may have had before."""
        memory = self._recorder.memory
        if not memory.is_known(holder.int_ptr):
            number = memory.created(holder, birth)
            row = CallRow(Api.clCreateBuffer, subject_id=number, size_bytes=int(holder.size))
            self._recorder.record_call(row, span)

    def _svm_about_to_go(self, allocation: Any) -> tuple[int, Any]:
        """The address of an allocation, and the queue that it is bound to."""
        try:
            return (allocation.svm_ptr if self._recorder.gate else 0), allocation._queue
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            return 0, None  # it was released before: the program is told so by the release

    def _svm_released(
        self, address: int, queue: Any, span: tuple[int, int], *, is_enqueued: bool
    ) -> None:
        """Shared virtual memory was freed: on the queue that it is bound to, if it is."""
        recorder = self._recorder
        try:
            recorder.memory.freed_svm(address, span[1])
            if is_enqueued:
                return
            if recorder.gate and queue is None:
                recorder.record_call(CallRow(Api.clSVMFree), span)
            elif recorder.gate:
                handle = recorder.registry.queue_handle(queue)
                flags = int(CallFlag.QUEUED_ONLY)
                recorder.record_call(CallRow(Api.clEnqueueSVMFree, handle, flags=flags), span)
        except Exception as fault:
            recorder.faulty(fault)

    def _svm_known(self, allocation: Any, context_id: int, span: tuple[int, int]) -> int:
        memory = self._recorder.memory
        known = memory.svm_id(allocation.svm_ptr)
        if known and not context_id:
            return known
        birth = self._recorder.birth(span[0])
        return memory.allocated_svm(allocation.svm_ptr, allocation.size or 0, context_id, birth)
