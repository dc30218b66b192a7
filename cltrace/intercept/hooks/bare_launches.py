"""Launches by `enqueue_nd_range_kernel`, whose arguments were set before, one by one or together."""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import pyopencl as cl

from cltrace.intercept.hooks.argument_setters import Said
from cltrace.intercept.hooks.call_hook import Hook, Wrap, named_as
from cltrace.intercept.hooks.configurations import Configurations, Ndrange
from cltrace.intercept.hooks.launches import Known
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.objects.arguments import Description
from cltrace.intercept.tracebacks import hide_own_frames


class _Lane(NamedTuple):
    """An open lane: what lives as long as its kernel object, and what closes it."""

    known: ref[Known]
    close: Callable[[cl.Kernel], None]


class BareLaunches:
    """Hooks for the launches that no lane sees, and what is known of the arguments of their kernels."""

    def __init__(self, recorder: Recorder, configurations: Configurations) -> None:
        self._recorder = recorder
        self._configurations = configurations
        self._arguments: dict[int, dict[int, Description]] = {}
        self._lanes: dict[int, dict[int, _Lane]] = {}

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

    def wrap_setter(self, said: Callable[..., Said]) -> Wrap:
        """What wraps a method of `Kernel` that sets arguments, given what says which it set."""

        def wrap(setter: Hook) -> Hook:
            def hook(*args: Any, **kwargs: Any) -> None:
                try:
                    setter(*args, **kwargs)
                    self._remember(args[0], said, args[1:], kwargs)
                except BaseException as error:
                    # Of several, those before the one that failed are set.
                    if args and isinstance(args[0], cl.Kernel):
                        self._arguments.pop(args[0].int_ptr, None)
                    hide_own_frames(error)
                    raise

            return named_as(setter, hook)

        return wrap

    def lane_opened(
        self, kernel: cl.Kernel, known: Known, close: Callable[[cl.Kernel], None]
    ) -> None:
        """From now on a kernel object is launched by a lane, which sets its arguments unseen.

        `known` is the lane's: it lives as long as the kernel object. `close` makes the lane's next
        launch open it anew.
        """
        self._arguments.pop(kernel.int_ptr, None)
        lanes = self._lanes.setdefault(kernel.int_ptr, {})
        lanes[id(kernel)] = _Lane(ref(known), close)

    def _remember(
        self,
        kernel: cl.Kernel,
        said: Callable[..., Said],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        try:
            # While recording is paused arguments are set for what is recorded later.
            recorder = self._recorder
            if recorder.is_closed or not recorder.settings.record_arguments:
                return
            handle = kernel.int_ptr
            if handle in self._lanes and not self._close_lanes(kernel):
                return
            known = self._arguments.get(handle)
            if known is None:
                known = self._arguments[handle] = {}
            known.update(said(*args, **kwargs))
        except Exception as fault:
            self._recorder.faulty(fault)

    def _close_lanes(self, kernel: cl.Kernel) -> bool:
        """Close the lane of a kernel object; whether no other object of the same kernel has one.

        A launch by a lane sets arguments too, and must be seen to.
        """
        lanes = self._lanes[kernel.int_ptr]
        own = lanes.pop(id(kernel), None)
        if own is not None and own.known() is not None:
            own.close(kernel)
        for other in [key for key, lane in lanes.items() if lane.known() is None]:
            del lanes[other]
        if not lanes:
            del self._lanes[kernel.int_ptr]
        return not lanes

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
        if not self._recorder.settings.record_arguments:
            return None
        known = self._arguments.get(kernel.int_ptr, {})
        found = [known.get(position) for position in range(kernel.num_args)]
        return None if None in found else tuple(one for one in found if one is not None)
