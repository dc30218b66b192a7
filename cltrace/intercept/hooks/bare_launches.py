"""Launches by `enqueue_nd_range_kernel`, whose arguments were set before by calls of their own."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple
from weakref import ref

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.intercept.hooks.call_hook import (
    Hook,
    HookedCall,
    HookFactory,
    copy_identity,
    make_hook,
)
from cltrace.intercept.hooks.circumstances import to_tuple
from cltrace.intercept.hooks.enqueue_hooks import QUEUE_TEXT, place_text
from cltrace.intercept.hooks.launch_contents import LaunchContents
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.hooks.single_launches import ArgumentSnapshot, SingleLaunches
from cltrace.intercept.objects.arguments import Frozen, memory_handle
from cltrace.intercept.tracebacks import GENERATED_FILENAME, hide_own_frames


class _OpenPath(NamedTuple):
    """An open launch path: an object that lives as long as the path, and its closing."""

    life: "ref[Any]"
    close: Callable[[cl.Kernel], None]


class _SetArguments:
    """Arguments that were set for a kernel, and the snapshot of them that the last launch used."""

    __slots__ = ("snapshot", "values")

    def __init__(self) -> None:
        self.values: dict[int, Frozen] = {}
        self.snapshot: ArgumentSnapshot | None = None


class _KernelFacts(NamedTuple):
    """Facts about a kernel handle. `kernel_id` is 0 if its launches are not recorded."""

    kernel_id: int
    argument_count: int


def _launch_arguments(
    queue: cl.CommandQueue,
    kernel: cl.Kernel,
    global_work_size: Any,
    local_work_size: Any,
    global_work_offset: Any = None,
    wait_for: Any = None,
    g_times_l: Any = None,
    allow_empty_ndrange: Any = None,
) -> tuple[Any, ...]:
    """Return the arguments of `enqueue_nd_range_kernel`, with its names and defaults."""
    size = global_work_size if type(global_work_size) is tuple else tuple(global_work_size)
    local, offset = to_tuple(local_work_size), to_tuple(global_work_offset)
    return queue, kernel, (size, local, offset, g_times_l, allow_empty_ndrange), wait_for


_TEMPLATE: Final = """\
def make(original, recorder, arguments_of, kernels, facts_of, set_arguments, take_snapshot,
         add, record_specially, is_special, note_failure):
    gate, clock, threads = recorder.gate, recorder.clock, recorder.threads
    getframe, sites = recorder.getframe, recorder.sites
    program_codes, place = sites.program_codes, sites.place
    Activation, locate = sites.stacks.activation_type, sites.stacks.locate
    registry, number_of = recorder.registry, recorder.circumstances.number
    queues, finalised, queue_handle = registry.queues, registry.finalised, registry.queue_handle
    next_mark, add_waits = recorder.sink.next_mark, recorder.add_waits
    sample_hook_time, lose_command = recorder.sample_hook_time, recorder.lose_command
    tallies = recorder.tallies
    last_code = last_sizes = None
    last_at = last_thread = last_queue = last_kernel = circumstance = -1
    def enqueue_nd_range_kernel(*args, **kwargs):
        nonlocal last_code, last_sizes, last_at, last_thread, last_queue, last_kernel, circumstance
        enter = clock()
        try:
            event = original(*args, **kwargs)
            leave = clock()
            try:
                if gate:
                    queue, kernel, sizes, wait_for = arguments_of(*args, **kwargs)
                    handle = kernel.int_ptr
                    kernel_id, argument_count = kernels.get(handle) or facts_of(kernel, handle)
                    if not kernel_id:
                        return event
                    arguments = set_arguments.get(handle)
                    snapshot = None if arguments is None else arguments.snapshot
                    if snapshot is None:
                        snapshot = take_snapshot(arguments, argument_count)
                    if is_special or sizes[4]:
                        record_specially(kernel_id, sizes, queue, getframe(1), enter, leave, event,
                                         wait_for, snapshot)
                        return event
                    {place}
                    {queue}
                    thread = threads.number
                    if not (at == last_at and code is last_code and sizes == last_sizes
                            and kernel_id == last_kernel and queue_id == last_queue
                            and thread == last_thread):
                        circumstance = number_of(kernel_id, code, at, thread, queue_id, sizes[0],
                                                 sizes[1], sizes[2], sizes[3])
                        last_code, last_at, last_kernel, last_queue = code, at, kernel_id, queue_id
                        last_thread, last_sizes = thread, sizes
                    mark = 0
                    if wait_for:
                        mark = next_mark()
                        add_waits(mark, wait_for)
                    add((enter, leave, circumstance, snapshot, mark, event))
                    if not leave & 63:
                        sample_hook_time(leave)
                else:
                    tallies.skip_command()
            except Exception as fault:
                lose_command(fault)
            return event
        except BaseException as error:
            note_failure(error, None, enter, args[0] if args else None)
            raise
    return enqueue_nd_range_kernel
"""


class BareLaunches:
    """Hooks of the launches that use no launch path, and the arguments set for their kernels."""

    def __init__(self, recorder: Recorder, single_launches: SingleLaunches) -> None:
        self._recorder = recorder
        self._single_launches = single_launches
        self._memory = recorder.memory.numbers
        self._is_recorded = recorder.settings.record_arguments
        self._arguments: dict[int, _SetArguments] = {}
        self._facts: dict[int, _KernelFacts] = {}
        self._paths: dict[int, dict[int, _OpenPath]] = {}

    def wrap_enqueue(self, enqueue: Callable[..., cl.Event]) -> Callable[..., cl.Event]:
        """Return the replacement of `enqueue_nd_range_kernel`."""
        recorder, single = self._recorder, self._single_launches
        watch = single.watch
        if watch is not None:
            enqueue = self._watch_enqueue(enqueue, watch)
        source = _TEMPLATE.format(
            place=place_text(recorder.settings.callsite_depth), queue=QUEUE_TEXT
        )
        namespace: dict[str, Any] = {}
        exec(compile(source, GENERATED_FILENAME, "exec"), namespace)
        hook: Callable[..., cl.Event] = namespace["make"](
            *(enqueue, recorder, _launch_arguments, self._facts, self._facts_of),
            *(self._arguments, self._take_snapshot, recorder.sink.single_launches.extend),
            *(single.record, single.is_required, recorder.launch_failed),
        )
        return hook

    def _watch_enqueue(
        self, enqueue: Callable[..., cl.Event], watch: LaunchContents
    ) -> Callable[..., cl.Event]:
        """Return a function that shows each launch to `watch` before it enqueues."""

        def enqueue_watched(*args: Any, **kwargs: Any) -> cl.Event:
            try:
                queue, kernel, _, wait_for = _launch_arguments(*args, **kwargs)
                stored = self._arguments.get(kernel.int_ptr)
                values = () if stored is None else tuple(stored.values.values())
                watch.launching(kernel.function_name, queue, values, wait_for)
            except Exception as fault:
                watch.failed(fault)
            return enqueue(*args, **kwargs)

        return enqueue_watched

    def wrap_setter(self, store: Callable[..., None]) -> HookFactory:
        """Return a hook factory for a method of `Kernel` that sets arguments.

        `store` takes the arguments that were set before and those of the method, and stores the new
        ones. Arguments that are set during a pause are stored too: a launch that is recorded may use
        them.
        """
        recorder, arguments_of = self._recorder, self._arguments_of

        def wrap(setter: Hook) -> Hook:
            def hook(*args: Any, **kwargs: Any) -> None:
                try:
                    setter(*args, **kwargs)
                    try:
                        arguments = arguments_of(args[0])
                        if arguments is not None:
                            arguments.snapshot = None
                            store(arguments.values, *args[1:], **kwargs)
                    except Exception as fault:
                        recorder.stop_on_fault(fault)
                except BaseException as error:
                    # A failed call has set the arguments before the one at fault.
                    if args and isinstance(args[0], cl.Kernel):
                        self._arguments.pop(args[0].int_ptr, None)
                    hide_own_frames(error)
                    raise

            return copy_identity(setter, hook)

        return wrap

    def kernel_constructor(self, original: Hook) -> Hook:
        """Return the hook of `Kernel.__init__`."""

        def record(call: HookedCall) -> None:
            self._forget(call.args[0])
            self._recorder.registry.store_program(call.args[0], call.argument(1, "program"))
            self._recorder.record_call(CallRow(Api.clCreateKernel), call.span)

        return make_hook(
            self._recorder,
            original,
            Api.clCreateKernel,
            record,
            lambda call: self._forget(call.args[0]),
        )

    def all_kernels(self, original: Hook) -> Hook:
        """Return the hook of `_Program.all_kernels`, which makes an object for each kernel."""

        def forget(call: HookedCall) -> None:
            for kernel in call.result:
                self._forget(kernel)

        def record(call: HookedCall) -> None:
            forget(call)
            for kernel in call.result:
                self._recorder.registry.store_program(kernel, call.args[0])

        return make_hook(self._recorder, original, None, record, forget)

    def path_opened(
        self, kernel: cl.Kernel, life: object, close: Callable[[cl.Kernel], None]
    ) -> None:
        """Note that a kernel object launches by a launch path, which sets its arguments past the hooks.

        `life` lives as long as the path. `close` makes the next launch of the kernel object open its path
        anew.
        """
        self._arguments.pop(kernel.int_ptr, None)
        paths = self._paths.setdefault(kernel.int_ptr, {})
        paths[id(kernel)] = _OpenPath(ref(life), close)

    def _forget(self, kernel: cl.Kernel) -> None:
        """Drop what is known of an earlier kernel that had the handle of this new one."""
        self._facts.pop(kernel.int_ptr, None)
        self._arguments.pop(kernel.int_ptr, None)
        self._recorder.registry.forget_program(kernel)

    def _arguments_of(self, kernel: cl.Kernel) -> _SetArguments | None:
        """Return the arguments that are set for a kernel; `None` if they are not recorded."""
        if self._recorder.is_closed or not self._is_recorded:
            return None
        handle = kernel.int_ptr
        if handle in self._paths and not self._close_paths(kernel):
            return None
        arguments = self._arguments.get(handle)
        if arguments is None:
            arguments = self._arguments[handle] = _SetArguments()
        return arguments

    def _close_paths(self, kernel: cl.Kernel) -> bool:
        """Close the launch path of a kernel object; return whether no other object of the kernel has one.

        A launch by a path sets arguments too, so the path must be opened anew to notice that.
        """
        paths = self._paths[kernel.int_ptr]
        own = paths.pop(id(kernel), None)
        if own is not None and own.life() is not None:
            own.close(kernel)
        for other in [key for key, path in paths.items() if path.life() is None]:
            del paths[other]
        if not paths:
            del self._paths[kernel.int_ptr]
        return not paths

    def _facts_of(self, kernel: cl.Kernel, handle: int) -> _KernelFacts:
        """Return the facts about a kernel that is launched for the first time."""
        recorder, name = self._recorder, kernel.function_name
        kernel_id = 0
        if recorder.settings.records_kernel(name):
            kernel_id = recorder.registry.kernel_id(kernel, name)
        facts = self._facts[handle] = _KernelFacts(kernel_id, kernel.num_args)
        return facts

    def _take_snapshot(
        self, arguments: _SetArguments | None, argument_count: int
    ) -> ArgumentSnapshot | None:
        """Return the arguments of a kernel; `None` unless the setting of all of them was observed."""
        if not self._recorder.settings.record_arguments:
            return None
        if arguments is None:
            return ArgumentSnapshot({}) if not argument_count else None
        if len(arguments.values) != argument_count:
            return None
        for value in arguments.values.values():
            if type(value) is tuple and value[1] not in self._memory:
                self._recorder.memory.observe_handle(memory_handle(value), self._recorder.clock())
        snapshot = arguments.snapshot = ArgumentSnapshot(arguments.values.copy())
        return snapshot
