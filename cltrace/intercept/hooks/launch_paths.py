"""Launch paths of kernel objects: opening and closing of the functions that `launches` generates."""

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import CodeType, FunctionType
from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl
from pyopencl.tools import VectorArg

from cltrace.events.kinds import Timing
from cltrace.events.tables import CIRCUMSTANCES
from cltrace.intercept.hooks.bare_launches import BareLaunches
from cltrace.intercept.hooks.configurations import MAX_KEYS, Configurations, LaunchSizes
from cltrace.intercept.hooks.launches import (
    CircumstanceCache,
    PathShape,
    describe_all,
    key_kind,
    make_launch_path,
)
from cltrace.intercept.hooks.raw_invoker import (
    RawInvokers,
    copy_with_globals,
    do_nothing,
    make_native_view,
    make_raw_generator,
)
from cltrace.intercept.hooks.recorder import Recorder
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
    has_hidden_waits: bool


class LaunchPaths:
    """Factory of the launch paths of kernel objects."""

    def __init__(
        self, recorder: Recorder, configurations: Configurations, bare: BareLaunches
    ) -> None:
        self.recorder = recorder
        self.configurations = configurations
        self._bare = bare
        self._native_enqueue = _cl.enqueue_nd_range_kernel
        self._view = make_native_view(self._native_enqueue)
        self._waits_view = make_native_view(self._enqueue_noting_waits)
        self._raw_invokers = RawInvokers()
        self._noted = threading.local()
        self._circumstances: dict[tuple[int, ...], int] = {}
        self._next_circumstance = count(1).__next__
        self._add_circumstance = recorder.sink.extender(CIRCUMSTANCES)

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
            has_hidden_waits = any(isinstance(kind, VectorArg) for kind in declared or ())
            view = self._waits_view if has_hidden_waits else self._view
            inner = self._raw_invokers.make(enqueue, view, generate_again)
            invoker = _Invoker(name, enqueue, set_args, inner, declared, has_hidden_waits)
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
            shape = PathShape(
                argument_count,
                tuple(map(key_kind, arguments)) if settings.record_arguments else None,
                settings.callsite_depth,
                is_direct=settings.timing is Timing.EVENT and not invoker.has_hidden_waits,
            )
            types = tuple(map(type, arguments))
            owner = _KernelPath(self, kernel_id, invoker)
            self._bare.path_opened(kernel, owner.cache, close)
            return make_launch_path(shape, invoker.inner, types, recorder, owner)
        except Exception as fault:
            recorder.stop_on_fault(fault)
            return invoker.inner

    def launch_id(
        self,
        kernel_id: int,
        sizes: LaunchSizes,
        invoker: "_Invoker",
        arguments: tuple[Any, ...],
        user: CircumstanceCache,
    ) -> int:
        """Return the number of a launch configuration. `user` as in `Configurations.launch_id`."""
        descriptions = None
        if self.recorder.settings.record_arguments:
            descriptions = describe_all(arguments, invoker.declared)
        return self.configurations.launch_id(kernel_id, sizes, descriptions, user)

    def circumstance(self, launch_id: int, queue: cl.CommandQueue) -> int:
        """Return the number of a launch configuration on `queue`, at this site and in this thread."""
        recorder = self.recorder
        handle = recorder.registry.queue_handle(queue)
        key = (launch_id, recorder.current_site(), recorder.threads.number, handle)
        circumstance = self._circumstances.get(key)
        if circumstance is None:
            if len(self._circumstances) >= MAX_KEYS:
                self._circumstances.clear()
            self._circumstances[key] = circumstance = self._next_circumstance()
            self._add_circumstance((circumstance, *key))
        return circumstance

    # Wait lists that pyopencl builds inside the generated function

    def _enqueue_noting_waits(self, *args: Any) -> cl.Event:
        self._noted.wait_for = args[5] if len(args) > 5 else None
        return self._native_enqueue(*args)

    def take_noted_waits(self, wait_for: Any) -> Any:
        """Return the wait list that pyopencl just built in this thread, else `wait_for`."""
        noted = getattr(self._noted, "wait_for", None)
        self._noted.wait_for = None
        return wait_for if noted is None else noted


class _KernelPath:
    """Owner of one kernel object's launch path. The path calls it off the hot path."""

    def __init__(self, paths: LaunchPaths, kernel_id: int, invoker: _Invoker) -> None:
        self.cache: Final = CircumstanceCache()
        self._paths = paths
        self._recorder = paths.recorder
        self._kernel_id = kernel_id
        self._invoker = invoker

    def intern(
        self,
        key: Any,
        queue: cl.CommandQueue,
        sizes: tuple[Any, Any],
        arguments: tuple[Any, ...],
    ) -> int:
        """Return the circumstance of a plain launch, and store it in the cache under `key`."""
        launch_id = self._launch_id(LaunchSizes(*sizes), arguments)
        circumstance = self._paths.circumstance(launch_id, queue)
        self._recorder.threads.add_user(self.cache)
        sites = self._recorder.sites
        # The site of a call from inside a library is farther out than the frame in the key.
        if sites.depth != 1 or not sites.is_library(_caller_of_path()):
            if len(self.cache.circumstances) >= MAX_KEYS:
                self.cache.forget()
            self.cache.circumstances[key] = circumstance
        return circumstance

    def record_slowly(
        self,
        span: tuple[int, int],
        event: cl.Event,
        queue: cl.CommandQueue,
        sizes: tuple[Any, Any, Any, Any, Any],
        wait_for: Any,
        arguments: tuple[Any, ...],
    ) -> None:
        """Record a launch that is not plain."""
        try:
            launch_sizes = LaunchSizes(*sizes)
            waits = self._paths.take_noted_waits(wait_for)
            launch_id = self._launch_id(launch_sizes, arguments)
            self._paths.configurations.record(launch_id, launch_sizes, queue, span, event, waits)
        except Exception as fault:
            self._recorder.stop_on_fault(fault)

    def launch_unrecorded(self, kernel: cl.Kernel, *args: Any) -> Any:
        """Launch without recording; when tracing is over, restore the kernel as pyopencl made it."""
        try:
            if self._recorder.is_closed:
                kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                    self._invoker.enqueue, self._invoker.set_args
                )
                # pyopencl's own function calls the hooks that are installed now, if any.
                return self._invoker.enqueue(kernel, *args)
            self._recorder.tallies.commands_skipped += 1
            return self._invoker.inner(kernel, *args)
        except BaseException as error:
            hide_own_frames(error)
            raise

    def _launch_id(self, sizes: LaunchSizes, arguments: tuple[Any, ...]) -> int:
        return self._paths.launch_id(self._kernel_id, sizes, self._invoker, arguments, self.cache)


def _caller_of_path() -> CodeType:
    """Return the code that called the launch path, which called the caller of this function."""
    return sys._getframe(3).f_code
