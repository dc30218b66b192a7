"""Launches by `enqueue_nd_range_kernel`, whose arguments were set before, one by one or together."""

from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import ref

import pyopencl as cl

from cltrace.intercept.arguments import Description, describe
from cltrace.intercept.configurations import Configurations, Ndrange
from cltrace.intercept.hooking import named_as
from cltrace.intercept.launches import Known
from cltrace.intercept.recorder import Recorder
from cltrace.intercept.tracebacks import hide_own_frames


class BareLaunches:
    """Hooks for the launches that no lane sees, and what is known of the arguments of their kernels."""

    def __init__(self, recorder: Recorder, configurations: Configurations) -> None:
        self._recorder = recorder
        self._configurations = configurations
        self._arguments: dict[int, dict[int, Description]] = {}
        self._lanes: dict[int, ref[Known]] = {}

    def wrap_enqueue(self, enqueue: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        """What to put in the place of `enqueue_nd_range_kernel`."""
        recorder = self._recorder

        def enqueue_nd_range_kernel(*args: Any, **kwargs: Any) -> cl.Event:
            enter = recorder.clock()
            try:
                event = enqueue(*args, **kwargs)
                leave = recorder.clock()
                try:
                    if recorder.gate:
                        self._record((enter, leave), event, *args, **kwargs)
                    else:
                        recorder.tallies.commands_skipped += 1
                except Exception as fault:
                    recorder.faulty(fault)
                return event
            except BaseException as error:
                recorder.launch_failed(error, None, enter, args[0] if args else None)
                raise

        return enqueue_nd_range_kernel

    def wrap_set_arg(self, set_arg: Callable[..., None]) -> Callable[..., None]:
        """What to put in the place of `Kernel.set_arg`."""

        def hook(kernel: cl.Kernel, *args: Any, **kwargs: Any) -> None:
            try:
                set_arg(kernel, *args, **kwargs)
                given = {**dict(zip(("arg_index", "arg"), args, strict=False)), **kwargs}
                self._remember(kernel, {given["arg_index"]: given["arg"]})
            except BaseException as error:
                hide_own_frames(error)
                raise

        return named_as(set_arg, hook)

    def wrap_set_args(
        self, set_args: FunctionType, close_lane: Callable[[cl.Kernel], None] = lambda _: None
    ) -> Callable[..., None]:
        """What to put in the place of the function behind `Kernel.set_args`.

        `close_lane` is called first: a launch by a lane sets arguments too, and must be seen to.
        """

        def hook(kernel: cl.Kernel, *args: Any) -> None:
            try:
                set_args(kernel, *args)
                if self._has_lane(kernel):
                    close_lane(kernel)
                    del self._lanes[kernel.int_ptr]
                self._remember(kernel, dict(enumerate(args)))
            except BaseException as error:
                # Those before the one that failed are set.
                self._arguments.pop(kernel.int_ptr, None)
                hide_own_frames(error)
                raise

        hook.__name__, hook.__qualname__ = set_args.__name__, set_args.__qualname__
        return hook

    def lane_opened(self, kernel: cl.Kernel, known: Known) -> None:
        """From now on a kernel is launched by a lane, which sets its arguments unseen.

        `known` is the lane's: it lives as long as the kernel object.
        """
        self._arguments.pop(kernel.int_ptr, None)
        self._lanes[kernel.int_ptr] = ref(known)

    def _has_lane(self, kernel: cl.Kernel) -> bool:
        lane = self._lanes.get(kernel.int_ptr)
        return lane is not None and lane() is not None

    def _remember(self, kernel: cl.Kernel, arguments: dict[int, Any]) -> None:
        try:
            # While recording is paused arguments are set for what is recorded later.
            recorder = self._recorder
            if self._has_lane(kernel) or not recorder.settings.record_arguments:
                return
            if not recorder.is_closed:
                known = self._arguments.setdefault(kernel.int_ptr, {})
                known.update({index: describe(one) for index, one in arguments.items()})
        except Exception as fault:
            self._recorder.faulty(fault)

    def _record(
        self,
        span: tuple[int, int],
        event: cl.Event,
        queue: cl.CommandQueue,
        kernel: cl.Kernel,
        global_work_size: Any,
        local_work_size: Any,
        global_offset: Any = None,
        wait_for: Any = None,
        g_times_l: Any = None,
        allow_empty_ndrange: Any = None,
    ) -> None:
        name = kernel.function_name
        if not self._recorder.settings.records_kernel(name):
            return
        ndrange = Ndrange(
            global_work_size,
            local_work_size,
            global_offset,
            is_multiplied=bool(g_times_l),
            may_be_empty=bool(allow_empty_ndrange),
        )
        kernel_id = self._recorder.registry.kernel_id(kernel, name)
        launch_id = self._configurations.launch_id(kernel_id, ndrange, self._known(kernel))
        self._configurations.record(launch_id, ndrange, queue, span, event, wait_for)

    def _known(self, kernel: cl.Kernel) -> tuple[Description, ...] | None:
        """The arguments of a kernel; `None` unless all of them were seen."""
        known = self._arguments.get(kernel.int_ptr, {})
        positions = range(kernel.num_args)
        if not self._recorder.settings.record_arguments:
            return None
        if any(position not in known for position in positions):
            return None
        return tuple(known[position] for position in positions)
