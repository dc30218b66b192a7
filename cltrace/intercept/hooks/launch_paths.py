"""Launch paths of kernel objects: opening and closing of the functions that `launches` generates."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from types import FunctionType
from typing import Any, Final, cast

import numpy as np
import pyopencl as cl
from pyopencl import _cl
from pyopencl.tools import VectorArg

from cltrace.intercept.hooks.bare_launches import BareLaunches
from cltrace.intercept.hooks.launches import (
    PathLog,
    PathShape,
    make_launch_path,
    parameter_of,
)
from cltrace.intercept.hooks.raw_invoker import (
    RawInvokers,
    copy_with_globals,
    do_nothing,
    make_native_view,
    make_raw_generator,
)
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.hooks.single_launches import ArgumentSnapshot, SingleLaunches
from cltrace.intercept.objects.arguments import Frozen, declare, freeze, memory_handle
from cltrace.intercept.tracebacks import hide_own_frames

_FIXED_PARAMETERS: Final = 8
"""Number of parameters of a generated function besides the kernel's arguments: kernel, queue, global and
local size before them; offset, `g_times_l`, `allow_empty_ndrange` and `wait_for` after them."""


@dataclass(frozen=True, slots=True)
class _Invoker:
    """Functions that pyopencl generated for one kernel object.

    `inner` does the same as `enqueue` but bypasses the hooks. `declared` are the types that the program
    declared for the arguments, `None` when it declared none.
    """

    name: str
    enqueue: FunctionType
    set_args: FunctionType
    inner: FunctionType
    declared: Sequence[Any] | None


class LaunchPaths:
    """Factory of the launch paths of kernel objects."""

    def __init__(
        self, recorder: Recorder, single_launches: SingleLaunches, bare: BareLaunches
    ) -> None:
        self.recorder: Final = recorder
        self.single_launches: Final = single_launches
        self._bare = bare
        self._view = make_native_view(_cl.enqueue_nd_range_kernel)
        self._raw_invokers = RawInvokers()

    def wrap_generator(self, generate: FunctionType) -> Callable[..., tuple[Any, Any]]:
        """Return the replacement of `pyopencl.invoker.generate_enqueue_and_set_args`."""
        # Its check for too many arguments warns at a stack level that counts the callers. So the check
        # is called from here, at the depth that it expects, and is disabled in the original.
        check = generate.__globals__.get("_check_arg_size", do_nothing)
        unchecked = copy_with_globals(generate, {"_check_arg_size": do_nothing})
        generate_raw = make_raw_generator(generate)

        def generate_enqueue_and_set_args(
            function_name: str,
            num_passed_args: int,
            num_cl_args: int,
            arg_types: Any,
            *args: Any,
            **kwargs: Any,
        ) -> tuple[Any, Any]:
            devices = kwargs["devs"] if "devs" in kwargs else args[-1]
            passed = (function_name, num_passed_args, num_cl_args, arg_types, *args)
            try:
                check(function_name, num_cl_args, arg_types, devices)
                enqueue, set_args = unchecked(*passed, **kwargs)
            except BaseException as error:
                hide_own_frames(error)
                raise
            generate_again = partial(generate_raw, *passed, **kwargs)
            enqueue = self._wrap(function_name, arg_types, enqueue, set_args, generate_again)
            return enqueue, set_args

        return generate_enqueue_and_set_args

    def _wrap(
        self,
        name: str,
        declared: Any,
        enqueue: FunctionType,
        set_args: FunctionType,
        generate_again: Callable[[], tuple[FunctionType, Any]],
    ) -> Callable[..., Any]:
        if self.recorder.is_closed:
            return enqueue
        try:
            inner = self._raw_invokers.make(enqueue, self._view, generate_again)
            invoker = _Invoker(name, enqueue, set_args, inner, declared)
            return self._make_opener(invoker)
        except Exception as fault:
            self.recorder.stop_on_fault(fault)
            return enqueue

    def _make_opener(self, invoker: _Invoker) -> Callable[..., Any]:
        """Return the function for the first launch of a kernel object, which opens its launch path."""

        def close_path(kernel: cl.Kernel) -> None:
            kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                enqueue, invoker.set_args
            )

        def enqueue(kernel: cl.Kernel, *args: Any, **kwargs: Any) -> Any:
            try:
                path = self._open(kernel, invoker, args, close_path)
                kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                    path, invoker.set_args
                )
                return path(kernel, *args, **kwargs)
            except BaseException as error:
                hide_own_frames(error)
                raise

        enqueue.__name__ = invoker.enqueue.__name__
        enqueue.__qualname__ = invoker.enqueue.__qualname__
        return enqueue

    def _open(
        self,
        kernel: cl.Kernel,
        invoker: _Invoker,
        args: tuple[Any, ...],
        close: Callable[[cl.Kernel], None],
    ) -> FunctionType:
        """Return the launch path of a kernel object; the raw invoker where nothing is to be recorded."""
        recorder, settings = self.recorder, self.recorder.settings
        if recorder.is_closed or not settings.records_kernel(invoker.name):
            return invoker.inner
        try:
            kernel_id = recorder.registry.kernel_id(kernel, invoker.name)
            argument_count = invoker.inner.__code__.co_argcount - _FIXED_PARAMETERS
            passed = args[3 : 3 + argument_count]
            arguments = (*passed, *[None] * (argument_count - len(passed)))
            is_recorded = settings.record_arguments
            declared = chain(invoker.declared or (), repeat(None))
            parameters = [
                parameter_of(argument, declaration)
                for argument, declaration in zip(arguments, declared, strict=False)
            ]
            usable = tuple(parameter for parameter in parameters if parameter is not None)
            shape = PathShape(
                argument_count,
                usable if is_recorded else (),
                settings.callsite_depth,
                is_direct=not self.single_launches.is_required
                and (not is_recorded or len(usable) == argument_count),
            )
            log = PathLog(shape.parameters, has_arguments=is_recorded)
            owner = _KernelPath(self, kernel_id, invoker, log)
            self._bare.path_opened(kernel, owner.life, close)
            types = tuple(map(type, arguments))
            return make_launch_path(shape, self._watched(invoker), types, recorder, owner)
        except Exception as fault:
            recorder.stop_on_fault(fault)
            return invoker.inner

    def _watched(self, invoker: _Invoker) -> FunctionType:
        """Return the raw invoker, which shows a launch beforehand to the capture that is to see it."""
        watch, inner = self.single_launches.watch, invoker.inner
        if watch is None:
            return inner

        def invoke(kernel: cl.Kernel, queue: cl.CommandQueue, *args: Any) -> Any:
            # The last argument of a launch path is what it waits for.
            try:
                watch.launching(invoker.name, queue, map(freeze, args[2:]), args[-1])
            except Exception as fault:
                watch.failed(fault)
            return inner(kernel, queue, *args)

        invoke.__name__, invoke.__qualname__ = inner.__name__, inner.__qualname__
        return cast("FunctionType", invoke)


class _Life:
    """Object that lives as long as a launch path."""


class _KernelPath:
    """Owner of one kernel object's launch path. The path calls it off the hot path."""

    def __init__(self, paths: LaunchPaths, kernel_id: int, invoker: _Invoker, log: PathLog) -> None:
        self.life: Final = _Life()
        self.log: Final = log
        self.number_circumstance: Final = partial(paths.recorder.circumstances.number, kernel_id)
        self._single_launches = paths.single_launches
        self._recorder = paths.recorder
        self._kernel_id = kernel_id
        self._invoker = invoker

    def record_slowly(
        self,
        span: tuple[int, int],
        event: cl.Event,
        queue: cl.CommandQueue,
        sizes: tuple[Any, Any, Any, Any, Any],
        wait_for: Any,
        arguments: tuple[Any, ...],
    ) -> None:
        """Record a launch that the path cannot record."""
        try:
            snapshot, waits = None, wait_for
            if self._recorder.settings.record_arguments:
                snapshot = self._take_snapshot(arguments, span[0])
            if self._invoker.declared:
                waits = [*(wait_for or ()), *_events_of(arguments, self._invoker.declared)]
            self._single_launches.record(
                *(self._kernel_id, sizes, queue, sys._getframe(2), *span),
                *(event, waits, snapshot),
            )
        except Exception as fault:
            self._recorder.lose_command(fault)

    def _take_snapshot(self, arguments: tuple[Any, ...], enter_ns: int) -> ArgumentSnapshot:
        frozen = freeze_all(arguments, self._invoker.declared)
        for argument in frozen:
            handle = memory_handle(argument)
            if handle:
                self._recorder.memory.observe_handle(handle, enter_ns)
        return ArgumentSnapshot(dict(enumerate(frozen)))

    def launch_unrecorded(self, kernel: cl.Kernel, *args: Any) -> Any:
        """Launch without recording; when tracing is over, restore the kernel as pyopencl made it."""
        try:
            if self._recorder.is_closed:
                kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                    self._invoker.enqueue, self._invoker.set_args
                )
                # pyopencl's own function calls the hooks that are installed now, if any.
                return self._invoker.enqueue(kernel, *args)
            self._recorder.tallies.skip_command()
            return self._invoker.inner(kernel, *args)
        except BaseException as error:
            hide_own_frames(error)
            raise


def freeze_all(arguments: Sequence[Any], declared: Sequence[Any] | None) -> tuple[Frozen, ...]:
    """Return all arguments of a launch, one or two per argument that was passed.

    An array that was declared as an array is a memory object; its offset may be another argument.
    """
    frozen: list[Frozen] = []
    for argument, declaration in zip(arguments, chain(declared or (), repeat(None)), strict=False):
        if isinstance(declaration, VectorArg):
            frozen.append(freeze(argument.base_data))
            if declaration.with_offset:
                frozen.append(np.int64(argument.offset))
        else:
            value = freeze(argument)
            frozen.append(value if declaration is None else declare(value, declaration))
    return tuple(frozen)


def _events_of(arguments: Sequence[Any], declared: Sequence[Any]) -> list[cl.Event]:
    """Return the events of arrays that were declared as arrays: pyopencl waits for them."""
    return [
        event
        for argument, declaration in zip(arguments, declared, strict=False)
        if isinstance(declaration, VectorArg)
        for event in argument.events
    ]
