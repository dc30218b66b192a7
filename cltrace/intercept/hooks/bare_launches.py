"""Launches by `enqueue_nd_range_kernel`, whose arguments were set before by calls of their own."""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import pyopencl as cl

from cltrace.intercept.hooks.argument_setters import ArgumentsSet
from cltrace.intercept.hooks.call_hook import Hook, HookFactory, copy_identity
from cltrace.intercept.hooks.configurations import Configurations, LaunchSizes
from cltrace.intercept.hooks.launches import CircumstanceCache
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.objects.arguments import Description
from cltrace.intercept.tracebacks import hide_own_frames


class _OpenPath(NamedTuple):
    """An open launch path: its cache, which lives as long as the kernel object, and its closing."""

    cache: ref[CircumstanceCache]
    close: Callable[[cl.Kernel], None]


class BareLaunches:
    """Hooks of the launches that use no launch path, and the arguments set for their kernels."""

    def __init__(self, recorder: Recorder, configurations: Configurations) -> None:
        self._recorder = recorder
        self._configurations = configurations
        self._arguments: dict[int, dict[int, Description]] = {}
        self._paths: dict[int, dict[int, _OpenPath]] = {}

    def wrap_enqueue(self, enqueue: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        """Return the replacement of `enqueue_nd_range_kernel`."""
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
                    recorder.stop_on_fault(fault)
                return event
            except BaseException as error:
                recorder.launch_failed(error, None, enter, args[0] if args else None)
                raise

        return enqueue_nd_range_kernel

    def wrap_setter(self, arguments_of: Callable[..., ArgumentsSet]) -> HookFactory:
        """Return a hook factory for a method of `Kernel` that sets arguments.

        `arguments_of` takes the arguments of the method and returns the kernel arguments that it sets.
        """

        def wrap(setter: Hook) -> Hook:
            def hook(*args: Any, **kwargs: Any) -> None:
                try:
                    setter(*args, **kwargs)
                    self._remember(args[0], arguments_of, args[1:], kwargs)
                except BaseException as error:
                    # A failed call has set the arguments before the one at fault.
                    if args and isinstance(args[0], cl.Kernel):
                        self._arguments.pop(args[0].int_ptr, None)
                    hide_own_frames(error)
                    raise

            return copy_identity(setter, hook)

        return wrap

    def path_opened(
        self, kernel: cl.Kernel, cache: CircumstanceCache, close: Callable[[cl.Kernel], None]
    ) -> None:
        """Note that a kernel object launches by a launch path, which sets its arguments past the hooks.

        `cache` belongs to the path and lives as long as the kernel object. `close` makes the next
        launch of the kernel object open its path anew.
        """
        self._arguments.pop(kernel.int_ptr, None)
        paths = self._paths.setdefault(kernel.int_ptr, {})
        paths[id(kernel)] = _OpenPath(ref(cache), close)

    def _remember(
        self,
        kernel: cl.Kernel,
        arguments_of: Callable[..., ArgumentsSet],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        try:
            # Arguments set while recording is paused may be used by a launch that is recorded.
            recorder = self._recorder
            if recorder.is_closed or not recorder.settings.record_arguments:
                return
            handle = kernel.int_ptr
            if handle in self._paths and not self._close_paths(kernel):
                return
            arguments = self._arguments.get(handle)
            if arguments is None:
                arguments = self._arguments[handle] = {}
            arguments.update(arguments_of(*args, **kwargs))
        except Exception as fault:
            self._recorder.stop_on_fault(fault)

    def _close_paths(self, kernel: cl.Kernel) -> bool:
        """Close the launch path of a kernel object; return whether no other object of the kernel has one.

        A launch by a path sets arguments too, so the path must be opened anew to notice that.
        """
        paths = self._paths[kernel.int_ptr]
        own = paths.pop(id(kernel), None)
        if own is not None and own.cache() is not None:
            own.close(kernel)
        for other in [key for key, path in paths.items() if path.cache() is None]:
            del paths[other]
        if not paths:
            del self._paths[kernel.int_ptr]
        return not paths

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
        sizes = LaunchSizes(
            global_work_size,
            local_work_size,
            global_offset,
            is_multiplied=bool(g_times_l),
            may_be_empty=bool(allow_empty_ndrange),
        )
        kernel_id = self._recorder.registry.kernel_id(kernel, name)
        launch_id = self._configurations.launch_id(kernel_id, sizes, self._all_arguments(kernel))
        self._configurations.record(launch_id, sizes, queue, span, event, wait_for)

    def _all_arguments(self, kernel: cl.Kernel) -> tuple[Description, ...] | None:
        """Return the arguments of a kernel; `None` unless the setting of all of them was observed."""
        if not self._recorder.settings.record_arguments:
            return None
        arguments = self._arguments.get(kernel.int_ptr, {})
        described = [arguments.get(position) for position in range(kernel.num_args)]
        if None in described:
            return None
        return tuple(argument for argument in described if argument is not None)
