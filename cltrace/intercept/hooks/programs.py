"""Hooks for what makes and builds programs."""

from typing import Any, Final, NamedTuple

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import ProgramOrigin
from cltrace.intercept.hooks.call_hook import Call, Hook, Wrap, hooked, named_as
from cltrace.intercept.hooks.call_shapes import byte_count
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.objects.programs import source_behind_cache, text_of
from cltrace.intercept.tracebacks import hide_own_frames

_FROM_SOURCE: Final = 2
"""A program from a source is made of a context and a text; one from binaries names devices too."""


_HEADERS: Final = 2
"""The position of the headers among the arguments of `_Program.compile`, behind options and devices."""


class _Told(NamedTuple):
    """What a build was asked for. `headers` are names and programs that a source includes by them."""

    api: Api
    options: Any
    headers: Any = ()


class ProgramHooks:
    """Makes hooks that register programs and their builds."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def constructor(self, original: Hook) -> Hook:
        """`_Program.__init__`, from a source or from binaries."""

        def record(call: Call) -> None:
            program, *given = (*call.args, *call.kwargs.values())
            if len(given) == _FROM_SOURCE:
                api, origin = Api.clCreateProgramWithSource, ProgramOrigin.SOURCE
                source, binary_bytes = text_of(given[1]), 0
            else:
                api, origin = Api.clCreateProgramWithBinary, ProgramOrigin.BINARY
                source, binary_bytes = source_behind_cache() or "", sum(map(byte_count, given[2]))
            number = self._recorder.programs.created(
                program,
                origin,
                self._recorder.registry.context_id(given[0]),
                call.span[0],
                source=source,
                binary_bytes=binary_bytes,
            )
            self._recorder.record_call(CallRow(api, subject_id=number), call.span)

        return hooked(
            self._recorder, original, Api.clCreateProgramWithSource, record, self._unrecorded
        )

    def from_il(self, original: Hook) -> Hook:
        """`_create_program_with_il`."""
        api = Api.clCreateProgramWithIL

        def record(call: Call) -> None:
            self._made(api, ProgramOrigin.IL, call, binary_bytes=byte_count(call.args[1]))

        return hooked(self._recorder, original, api, record, self._unrecorded)

    def built_in(self, original: Hook) -> Any:
        """`_Program.create_with_built_in_kernels`."""
        api = Api.clCreateProgramWithBuiltInKernels

        def record(call: Call) -> None:
            self._made(api, ProgramOrigin.BUILT_IN, call)

        return staticmethod(hooked(self._recorder, original, api, record, self._unrecorded))

    def link(self, original: Hook) -> Any:
        """`_Program.link`, which makes a program and builds it."""
        api = Api.clLinkProgram

        def record(call: Call) -> None:
            parents = call.given(1, "programs", ())
            self._recorder.programs.created(
                call.result,
                ProgramOrigin.LINKED,
                self._recorder.registry.context_id(call.given(0, "context")),
                call.span[0],
                parents=parents,
            )
            told = _Told(api, call.given(2, "options", b""))
            self._built(told, call.result, call.span, 0)

        return staticmethod(hooked(self._recorder, original, api, record, self._unrecorded))

    def build(self, api: Api) -> Wrap:
        """`_Program._build` and `_Program.compile`; a failed one is recorded with its log."""
        recorder = self._recorder

        def wrap(original: Hook) -> Hook:
            def hook(program: Any, *args: Any, **kwargs: Any) -> Any:
                options = args[0] if args else kwargs.get("options", b"")
                headers = args[_HEADERS] if len(args) > _HEADERS else kwargs.get("headers", ())
                told = _Told(api, options, headers)
                enter = recorder.clock()
                try:
                    result = original(program, *args, **kwargs)
                    self._built_guarded(told, program, (enter, recorder.clock()), 0)
                    return result
                except BaseException as error:
                    if isinstance(error, cl.Error):
                        span = (enter, recorder.clock())
                        self._built_guarded(told, program, span, int(error.code))
                    hide_own_frames(error)
                    raise

            return named_as(original, hook)

        return wrap

    def _made(self, api: Api, origin: ProgramOrigin, call: Call, *, binary_bytes: int = 0) -> None:
        number = self._recorder.programs.created(
            call.result,
            origin,
            self._recorder.registry.context_id(call.given(0, "context")),
            call.span[0],
            binary_bytes=binary_bytes,
        )
        self._recorder.record_call(CallRow(api, subject_id=number), call.span)

    def _unrecorded(self, call: Call) -> None:
        """A program was made while recording is paused: its handle may have been another's."""
        made = call.args[0] if call.result is None else call.result
        self._recorder.programs.forget(made)

    def _built_guarded(self, told: _Told, program: Any, span: tuple[int, int], status: int) -> None:
        try:
            if self._recorder.gate:
                self._built(told, program, span, status)
        except Exception as fault:
            self._recorder.faulty(fault)

    def _built(self, told: _Told, program: Any, span: tuple[int, int], status: int) -> None:
        registry = self._recorder.registry
        devices = program.get_info(cl.program_info.DEVICES)
        number = self._recorder.programs.built(
            program,
            told.api,
            text_of(told.options) if self._recorder.settings.record_source else "",
            span,
            status,
            context_id=registry.context_id(program.get_info(cl.program_info.CONTEXT)),
            device_ids={registry.device_id(device): device for device in devices},
            # Whatever else can be gone through is used up by the call.
            headers=told.headers if isinstance(told.headers, (list, tuple)) else (),
        )
        self._recorder.record_call(CallRow(told.api, subject_id=number), span, status=status)
