"""Which function a kernel object launches with: the lanes of `launches`, and when they are made."""

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
from cltrace.intercept.hooks.configurations import MOST_KEYS, Configurations, Ndrange
from cltrace.intercept.hooks.launches import (
    Known,
    LaneShape,
    described,
    key_kind,
    make_lane,
)
from cltrace.intercept.hooks.raw_invoker import (
    Unseen,
    accept,
    generator,
    native_view,
    with_namespace,
)
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.tracebacks import hide_own_frames

_FIXED_PARAMETERS: Final = 8
"""Of a function that pyopencl generates: the kernel, queue, global and local size before the arguments
of the kernel; offset, `g_times_l`, `allow_empty_ndrange` and `wait_for` behind them."""


@dataclass(frozen=True, slots=True)
class _Invoker:
    """What pyopencl generated for one kernel object.

    `inner` is `enqueue`, setting arguments and enqueueing past our hooks. `declared` are the types
    that the program declared for the arguments, `None` when it declared none.
    """

    name: str
    enqueue: FunctionType
    set_args: FunctionType
    inner: FunctionType
    declared: Sequence[Any] | None
    has_hidden_waits: bool


class Lanes:
    """Makes the functions that kernel objects launch with."""

    def __init__(
        self, recorder: Recorder, configurations: Configurations, bare: BareLaunches
    ) -> None:
        self.recorder = recorder
        self.configurations = configurations
        self._bare = bare
        self._native_enqueue = _cl.enqueue_nd_range_kernel
        self._view = native_view(self._native_enqueue)
        self._waits_view = native_view(self._enqueue_noting_waits)
        self._unseen = Unseen()
        self._noted = threading.local()
        self._circumstances: dict[tuple[int, ...], int] = {}
        self._next_circumstance = count(1).__next__
        self._add_circumstance = recorder.sink.extender(CIRCUMSTANCES)

    def wrap_generator(self, generate: FunctionType) -> Callable[..., tuple[Any, Any]]:
        """What to put in the place of `pyopencl.invoker.generate_enqueue_and_set_args`."""
        # It warns of too many arguments at a stack level that counts its callers: the check is done
        # from here, at the depth that it expects, and left out where it stands.
        check = generate.__globals__.get("_check_arg_size", accept)
        unchecked = with_namespace(generate, {"_check_arg_size": accept})
        generate_unseen = generator(generate)

        def generate_enqueue_and_set_args(
            function_name: str,
            num_passed_args: int,
            num_cl_args: int,
            arg_types: Any,
            *args: Any,
            **kwargs: Any,
        ) -> tuple[Any, Any]:
            devices = kwargs["devs"] if "devs" in kwargs else args[-1]
            told = (function_name, num_passed_args, num_cl_args, arg_types, *args)
            try:
                check(function_name, num_cl_args, arg_types, devices)
                enqueue, set_args = unchecked(*told, **kwargs)
            except BaseException as error:
                hide_own_frames(error)
                raise
            generate_again = partial(generate_unseen, *told, **kwargs)
            enqueue = self._wrapped(function_name, arg_types, enqueue, set_args, generate_again)
            return enqueue, set_args

        return generate_enqueue_and_set_args

    def _wrapped(
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
            has_hidden_waits = any(isinstance(one, VectorArg) for one in declared or ())
            view = self._waits_view if has_hidden_waits else self._view
            inner = self._unseen.function(enqueue, view, generate_again)
            invoker = _Invoker(name, enqueue, set_args, inner, declared, has_hidden_waits)
            return self._unopened(invoker)
        except Exception as fault:
            self.recorder.faulty(fault)
            return enqueue

    def _unopened(self, invoker: _Invoker) -> Callable[..., Any]:
        """What a kernel object launches with until its first launch says what its lane must know."""

        def close_lane(kernel: cl.Kernel) -> None:
            kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                enqueue, invoker.set_args
            )

        def enqueue(kernel: cl.Kernel, *args: Any, **kwargs: Any) -> Any:
            try:
                lane = self._open(kernel, invoker, args, close_lane)
                kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                    lane, invoker.set_args
                )
                return lane(kernel, *args, **kwargs)
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
        """The lane of a kernel object; where nothing is to be recorded, pyopencl's own function."""
        recorder, settings = self.recorder, self.recorder.settings
        if recorder.is_closed or not settings.records_kernel(invoker.name):
            return invoker.inner
        try:
            kernel_id = recorder.registry.kernel_id(kernel, invoker.name)
            argument_count = invoker.inner.__code__.co_argcount - _FIXED_PARAMETERS
            given = args[3 : 3 + argument_count]
            arguments = (*given, *[None] * (argument_count - len(given)))
            shape = LaneShape(
                argument_count,
                tuple(map(key_kind, arguments)) if settings.record_arguments else None,
                settings.callsite_depth,
                is_direct=settings.timing is Timing.EVENT and not invoker.has_hidden_waits,
            )
            types = tuple(map(type, arguments))
            owner = _LaneOwner(self, kernel_id, invoker)
            self._bare.lane_opened(kernel, owner.known, close)
            return make_lane(shape, invoker.inner, types, recorder, owner)
        except Exception as fault:
            recorder.faulty(fault)
            return invoker.inner

    def launch_id(
        self,
        kernel_id: int,
        ndrange: Ndrange,
        invoker: "_Invoker",
        arguments: tuple[Any, ...],
        user: Known,
    ) -> int:
        """The number of a launch configuration. `user` as in `Configurations.launch_id`."""
        found = None
        if self.recorder.settings.record_arguments:
            found = described(arguments, invoker.declared)
        return self.configurations.launch_id(kernel_id, ndrange, found, user)

    def circumstance(self, launch_id: int, queue: cl.CommandQueue) -> int:
        """The number of a launch configuration, called from here, by this thread, on `queue`."""
        recorder = self.recorder
        handle = recorder.registry.queue_handle(queue)
        where = (launch_id, recorder.here(), recorder.threads.number, handle)
        circumstance = self._circumstances.get(where)
        if circumstance is None:
            if len(self._circumstances) >= MOST_KEYS:
                self._circumstances.clear()
            self._circumstances[where] = circumstance = self._next_circumstance()
            self._add_circumstance((circumstance, *where))
        return circumstance

    # Wait lists that pyopencl puts together inside the function that it generates

    def _enqueue_noting_waits(self, *args: Any) -> cl.Event:
        self._noted.wait_for = args[5] if len(args) > 5 else None
        return self._native_enqueue(*args)

    def take_noted_waits(self, wait_for: Any) -> Any:
        """The wait list that pyopencl made of `wait_for`, if it made one in this thread just now."""
        noted = getattr(self._noted, "wait_for", None)
        self._noted.wait_for = None
        return wait_for if noted is None else noted


class _LaneOwner:
    """What the lane of one kernel object calls when a launch is new, not plain, or not recorded."""

    def __init__(self, lanes: Lanes, kernel_id: int, invoker: _Invoker) -> None:
        self.known: Final = Known()
        self._lanes = lanes
        self._recorder = lanes.recorder
        self._kernel_id = kernel_id
        self._invoker = invoker

    def intern(
        self,
        key: Any,
        queue: cl.CommandQueue,
        sizes: tuple[Any, Any],
        arguments: tuple[Any, ...],
    ) -> int:
        """The circumstance of a plain launch, which the lane will know by `key` from now on."""
        launch_id = self._number(Ndrange(*sizes), arguments)
        circumstance = self._lanes.circumstance(launch_id, queue)
        self._recorder.threads.used_by(self.known)
        sites = self._recorder.sites
        # A call from inside a library has its place further out, where the key does not look.
        if sites.depth != 1 or not sites.is_library(_caller_of_lane()):
            if len(self.known.circumstances) >= MOST_KEYS:
                self.known.forget()
            self.known.circumstances[key] = circumstance
        return circumstance

    def slow(
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
            ndrange = Ndrange(*sizes)
            waits = self._lanes.take_noted_waits(wait_for)
            launch_id = self._number(ndrange, arguments)
            self._lanes.configurations.record(launch_id, ndrange, queue, span, event, waits)
        except Exception as fault:
            self._recorder.faulty(fault)

    def idle(self, kernel: cl.Kernel, *args: Any) -> Any:
        """Launch without recording; when tracing is over, leave the kernel as pyopencl made it."""
        try:
            if self._recorder.is_closed:
                kernel._set_enqueue_and_set_args(  # type: ignore[attr-defined]
                    self._invoker.enqueue, self._invoker.set_args
                )
                # pyopencl's own function goes through whatever hooks there are now.
                return self._invoker.enqueue(kernel, *args)
            self._recorder.tallies.commands_skipped += 1
            return self._invoker.inner(kernel, *args)
        except BaseException as error:
            hide_own_frames(error)
            raise

    def _number(self, ndrange: Ndrange, arguments: tuple[Any, ...]) -> int:
        return self._lanes.launch_id(self._kernel_id, ndrange, self._invoker, arguments, self.known)


def _caller_of_lane() -> CodeType:
    """The code that called the lane which called the function that calls this."""
    return sys._getframe(3).f_code
