"""Hooks of the calls that create and free memory objects."""

from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.apis import Api
from cltrace.events.kinds import MemoryKind, Severity
from cltrace.intercept.hooks.call_hook import (
    Hook,
    HookedCall,
    HookFactory,
    copy_identity,
    make_fast_hook,
    make_hook,
)
from cltrace.intercept.hooks.call_shapes import byte_count
from cltrace.intercept.hooks.contents import ContentCapture
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.hooks.svm import number_svm

_BUFFER: Final = MemoryKind.BUFFER
_READ_WRITE: Final = int(cl.mem_flags.READ_WRITE)
"""Access of a buffer whose creator names none."""


def _buffer_arguments(
    buffer: Any, context: Any, flags: Any, size: Any = 0, hostbuf: Any = None
) -> tuple[Any, Any, Any, Any, Any]:
    """Return the arguments of `Buffer.__init__`, with its names and defaults."""
    return buffer, context, flags, size, hostbuf


def _handle_or_zero(args: tuple[Any, ...]) -> int:
    """Return the handle of the memory object that a method was called on; 0 if it has none."""
    try:
        handle: int = args[0].int_ptr
    except (AttributeError, IndexError, TypeError, cl.Error):
        return 0
    return handle


class MemoryHooks:
    """Factory of hooks that register the memory objects which a call of the program creates."""

    def __init__(self, recorder: Recorder, capture: ContentCapture | None = None) -> None:
        self._recorder = recorder
        self._has_noted_commands = False
        self._capture = capture

    def buffer_constructor(self, original: Hook) -> Hook:
        """Return the hook of `Buffer.__init__`."""
        recorder, capture, add = self._recorder, self._capture, self._recorder.memory.add
        add_call, getframe, place = recorder.add_call, recorder.getframe, recorder.sites.place
        program_codes, depth = recorder.sites.program_codes, recorder.sites.depth
        context_id, api = recorder.registry.context_id, int(Api.clCreateBuffer)

        def record(
            enter: int, leave: int, args: tuple[Any, ...], kwargs: dict[str, Any], _result: Any
        ) -> None:
            buffer, context, flags, size_bytes, hostbuf = _buffer_arguments(*args, **kwargs)
            if not size_bytes and hostbuf is not None:
                size_bytes = byte_count(hostbuf)
            frame = getframe(2)
            if depth != 1 or id(frame.f_code) not in program_codes:
                code, instruction = place(frame)
            else:
                code, instruction = frame.f_code, frame.f_lasti
            thread, size_bytes = recorder.threads.number, int(size_bytes)
            # fmt: off
            number = add(buffer.int_ptr, context_id(context), _BUFFER, int(flags) or _READ_WRITE,
                         size_bytes, (leave, (code, instruction), thread, True))
            add_call((enter, leave, api, 0, code, instruction, thread, 0, 0, number, 0, 0,
                      size_bytes, 0, 0, 0, None))
            # fmt: on
            if capture is not None and hostbuf is not None:
                capture.buffer_initialised(number, hostbuf)
            if not leave & 63:
                recorder.sample_hook_time(leave)

        return make_fast_hook(recorder, original, Api.clCreateBuffer, record)

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
            registration = self._recorder.make_registration(call.span[1])
            number = memory.register(call.result, registration, parent_id)
            if self._capture is not None:
                self._capture.sub_buffer_created(number, parent_id)
            row = CallRow(Api.clCreateSubBuffer, subject_id=number, size_bytes=call.result.size)
            self._recorder.record_call(row, call.span)

        return make_hook(self._recorder, original, Api.clCreateSubBuffer, record)

    def allocation(self, original: Hook) -> Hook:
        """Return the hook of pyopencl's allocators and pools, which create memory in C++ code."""

        def record(call: HookedCall) -> None:
            match call.result:
                case cl.MemoryObjectHolder():
                    self._note_commands_of(call.args[0])
                    self._register_allocation(call.result, call.span)
                case cl.SVMPointer():
                    number_svm(self._recorder, call.result, 0, call.span)
                case _:
                    pass

        return make_hook(self._recorder, original, None, record)

    def release(self, original: Hook) -> Hook:
        """Return the hook of `MemoryObject.release`, by which a program frees memory at once."""
        recorder, api = self._recorder, Api.clReleaseMemObject
        add_call, getframe, place = recorder.add_call, recorder.getframe, recorder.sites.place
        gate, clock, note_release = recorder.gate, recorder.clock, recorder.memory.note_release

        def hook(*args: Any, **kwargs: Any) -> Any:
            # After the release the handle stands for nothing.
            handle = _handle_or_zero(args) if gate else 0
            enter = clock()
            try:
                result = original(*args, **kwargs)
                leave = clock()
                try:
                    if handle:
                        note_release(handle, enter, leave)
                        code, instruction = place(getframe(1))
                        # fmt: off
                        add_call((enter, leave, int(api), 0, code, instruction,
                                  recorder.threads.number, 0, 0, 0, 0, 0, -1, 0, 0, 0, None))
                        # fmt: on
                        if not leave & 63:
                            recorder.sample_hook_time(leave)
                except Exception as fault:
                    recorder.stop_on_fault(fault)
                return result
            except BaseException as error:
                recorder.call_failed(error, CallRow(api), enter)
                raise

        return copy_identity(original, hook)

    def _register(self, api: Api, call: HookedCall) -> int:
        holder = call.args[0]
        registration = self._recorder.make_registration(call.span[1])
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

    def _register_allocation(self, holder: cl.MemoryObjectHolder, span: tuple[int, int]) -> None:
        """Register a buffer from an allocator or a pool, which may have been handed out before."""
        memory = self._recorder.memory
        if not memory.is_registered(holder.int_ptr):
            number = memory.register(holder, self._recorder.make_registration(span[1]))
            row = CallRow(Api.clCreateBuffer, subject_id=number, size_bytes=int(holder.size))
            self._recorder.record_call(row, span)
