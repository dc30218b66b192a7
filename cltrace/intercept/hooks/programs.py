"""Hooks of the calls that create and build programs."""

from typing import Any, Final, NamedTuple

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import ProgramOrigin
from cltrace.intercept.hooks.call_hook import (
    Hook,
    HookedCall,
    HookFactory,
    copy_identity,
    make_hook,
)
from cltrace.intercept.hooks.call_shapes import byte_count
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.source_text import decode_text, find_cached_source
from cltrace.intercept.tracebacks import hide_own_frames

_SOURCE_ARGUMENTS: Final = 2
"""Number of arguments of a program from source: context and text. One from binaries has devices too."""

_HEADERS: Final = 2
"""Position of the headers among the arguments of `_Program.compile`, after options and devices."""


class _BuildRequest(NamedTuple):
    """Arguments of a build. `headers` are pairs of the name of an included header and its program."""

    api: Api
    options: Any
    headers: Any = ()


class ProgramHooks:
    """Factory of hooks that register programs and their builds."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def constructor(self, original: Hook) -> Hook:
        """Return the hook of `_Program.__init__`, from a source or from binaries."""

        def record(call: HookedCall) -> None:
            program, *arguments = (*call.args, *call.kwargs.values())
            if len(arguments) == _SOURCE_ARGUMENTS:
                api, origin = Api.clCreateProgramWithSource, ProgramOrigin.SOURCE
                source, binary_bytes = decode_text(arguments[1]), 0
            else:
                api, origin = Api.clCreateProgramWithBinary, ProgramOrigin.BINARY
                source = find_cached_source() or ""
                binary_bytes = sum(map(byte_count, arguments[2]))
            number = self._recorder.programs.register(
                program,
                origin,
                self._recorder.registry.context_id(arguments[0]),
                call.span[0],
                source=source,
                binary_bytes=binary_bytes,
            )
            self._recorder.record_call(CallRow(api, subject_id=number), call.span)

        return make_hook(
            self._recorder, original, Api.clCreateProgramWithSource, record, self._unrecorded
        )

    def from_il(self, original: Hook) -> Hook:
        """Return the hook of `_create_program_with_il`."""
        api = Api.clCreateProgramWithIL

        def record(call: HookedCall) -> None:
            self._register(api, ProgramOrigin.IL, call, binary_bytes=byte_count(call.args[1]))

        return make_hook(self._recorder, original, api, record, self._unrecorded)

    def built_in(self, original: Hook) -> Any:
        """Return the hook of `_Program.create_with_built_in_kernels`."""
        api = Api.clCreateProgramWithBuiltInKernels

        def record(call: HookedCall) -> None:
            self._register(api, ProgramOrigin.BUILT_IN, call)

        return staticmethod(make_hook(self._recorder, original, api, record, self._unrecorded))

    def link(self, original: Hook) -> Any:
        """Return the hook of `_Program.link`, which creates a program and builds it."""
        api = Api.clLinkProgram

        def record(call: HookedCall) -> None:
            parents = call.argument(1, "programs", ())
            self._recorder.programs.register(
                call.result,
                ProgramOrigin.LINKED,
                self._recorder.registry.context_id(call.argument(0, "context")),
                call.span[0],
                parents=parents,
            )
            request = _BuildRequest(api, call.argument(2, "options", b""))
            self._record_build(request, call.result, call.span, 0)

        return staticmethod(make_hook(self._recorder, original, api, record, self._unrecorded))

    def build(self, api: Api) -> HookFactory:
        """Return the hook factory of `_Program._build` and `_Program.compile`.

        A failed build is recorded with its log.
        """
        recorder = self._recorder

        def wrap(original: Hook) -> Hook:
            def hook(program: Any, *args: Any, **kwargs: Any) -> Any:
                options = args[0] if args else kwargs.get("options", b"")
                headers = args[_HEADERS] if len(args) > _HEADERS else kwargs.get("headers", ())
                request = _BuildRequest(api, options, headers)
                enter = recorder.clock()
                try:
                    result = original(program, *args, **kwargs)
                    self._try_to_record(request, program, (enter, recorder.clock()), 0)
                    return result
                except BaseException as error:
                    if isinstance(error, cl.Error):
                        span = (enter, recorder.clock())
                        self._try_to_record(request, program, span, int(error.code))
                    hide_own_frames(error)
                    raise

            return copy_identity(original, hook)

        return wrap

    def _register(
        self, api: Api, origin: ProgramOrigin, call: HookedCall, *, binary_bytes: int = 0
    ) -> None:
        number = self._recorder.programs.register(
            call.result,
            origin,
            self._recorder.registry.context_id(call.argument(0, "context")),
            call.span[0],
            binary_bytes=binary_bytes,
        )
        self._recorder.record_call(CallRow(api, subject_id=number), call.span)

    def _unrecorded(self, call: HookedCall) -> None:
        """Drop the number of a handle that a program created during a pause may have reused."""
        program = call.args[0] if call.result is None else call.result
        self._recorder.programs.forget(program)

    def _try_to_record(
        self, request: _BuildRequest, program: Any, span: tuple[int, int], status: int
    ) -> None:
        try:
            if self._recorder.gate:
                self._record_build(request, program, span, status)
        except Exception as fault:
            self._recorder.stop_on_fault(fault)

    def _record_build(
        self, request: _BuildRequest, program: Any, span: tuple[int, int], status: int
    ) -> None:
        registry = self._recorder.registry
        devices = program.get_info(cl.program_info.DEVICES)
        number = self._recorder.programs.record_build(
            program,
            request.api,
            decode_text(request.options) if self._recorder.settings.record_source else "",
            span,
            status,
            context_id=registry.context_id(program.get_info(cl.program_info.CONTEXT)),
            device_ids={registry.device_id(device): device for device in devices},
            # The call has consumed any other kind of iterable.
            headers=request.headers if isinstance(request.headers, (list, tuple)) else (),
        )
        self._recorder.record_call(CallRow(request.api, subject_id=number), span, status=status)
