"""The hot path: launch of a kernel by calling it.

pyopencl generates a function for each kernel object that sets the arguments and enqueues. A *launch
path* replaces it: a function with the same signature, generated too, that calls pyopencl's function
between two clock readings and appends one row to the log of the path.

A row has the times, the event, the *circumstance* of the launch and its arguments. The circumstance is a
number for call site, thread, queue and NDRange (`circumstances`). Most launches of a kernel have that of
the last, so they are compared with it first. Arguments change from launch to launch, so they are stored
as they are: the handle of a memory object, a number itself. The drain turns them into words
(`argument_columns`).

The code of a path is chosen at the kernel's first call, by the types of its arguments. A launch whose
arguments have other types is recorded by a slower way.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import FunctionType
from typing import Any, Final, Protocol
from weakref import ref

import numpy as np
import pyopencl as cl
from pyopencl.tools import VectorArg

from cltrace.events.records import ArgumentSlot
from cltrace.intercept.objects.argument_columns import (
    ArgumentColumn,
    ArgumentNumbers,
    BytesColumn,
    IntegerColumn,
    NumberColumn,
    RealColumn,
    ScalarColumn,
)
from cltrace.intercept.objects.arguments import (
    BUFFER,
    IMAGE,
    LOCAL,
    NULL,
    QUEUE,
    SAMPLER,
    SVM,
    is_of_program,
    sampler_bits,
    scalar_slot,
)
from cltrace.intercept.objects.stacks import STACK_TEXT
from cltrace.intercept.tracebacks import GENERATED_FILENAME

_TEMPLATE: Final = """\
def make(inner, launch_unrecorded, recorder, log, number_of, record_slowly, kinds):
    gate, clock, threads = recorder.gate, recorder.clock, recorder.threads
    getframe, sites = recorder.getframe, recorder.sites
    program_codes, place = sites.program_codes, sites.place
    Activation, locate = sites.stacks.activation_type, sites.stacks.locate
    handles, observe = recorder.memory.numbers, recorder.memory.observe
    registry = recorder.registry
    queues, finalised, queue_handle = registry.queues, registry.finalised, registry.queue_handle
    next_mark, add_waits = recorder.sink.next_mark, recorder.add_waits
    sample_hook_time, launch_failed = recorder.sample_hook_time, recorder.launch_failed
    lose_command, is_from_signal_handler = recorder.lose_command, recorder.is_from_signal_handler
    rows, active_logs, log_key = log.rows, recorder.sink.active_logs, id(log)
    extend = rows.extend
    last_code = last_size = last_local = last_offset = last_groups = None
    last_at = last_thread = last_address = circumstance = -1
    {types} = kinds
    def enqueue(self, queue, global_size, local_size, {parameters}global_offset=None,
                g_times_l=False, allow_empty_ndrange=False, wait_for=None):
        nonlocal last_code, last_size, last_local, last_offset, last_groups, last_at, last_thread
        nonlocal last_address, circumstance
        if not gate:
            return launch_unrecorded(self, queue, global_size, local_size, {parameters}global_offset,
                                     g_times_l, allow_empty_ndrange, wait_for)
        event = None
        enter = clock()
        try:
            event = inner(self, queue, global_size, local_size, {parameters}global_offset,
                          g_times_l, allow_empty_ndrange, wait_for)
            leave = clock()
            try:
                if {is_plain}:
                    {call_site}
                    thread, address = threads.number, queue.int_ptr
                    {statements}
                    size = global_size if type(global_size) is tuple else tuple(global_size)
                    local = local_size
                    if local is not None and type(local) is not tuple:
                        local = tuple(local)
                    offset = global_offset
                    if offset is not None and type(offset) is not tuple:
                        offset = tuple(offset)
                    if not (at == last_at and code is last_code and size == last_size
                            and local == last_local and address == last_address
                            and thread == last_thread and offset == last_offset
                            and g_times_l is last_groups):
                        if finalised or address not in queues:
                            address = queue_handle(queue)
                        circumstance = number_of(code, at, thread, address, size, local, offset,
                                                 g_times_l)
                        last_code, last_at, last_thread, last_address = code, at, thread, address
                        last_size, last_local, last_offset = size, local, offset
                        last_groups = g_times_l
                    {mark}
                    if not rows:
                        active_logs[log_key] = log
                    extend((enter, leave, circumstance, mark, event, {values}))
                    if not leave & 63:
                        sample_hook_time(leave)
                    return event
            except (TypeError, ValueError) as fault:
                # Sizes that cannot be compared or numbered are recorded slowly.
                if is_from_signal_handler(fault):
                    raise
            except Exception as fault:
                lose_command(fault)
                return event
            record_slowly((enter, leave), event, queue, (global_size, local_size, global_offset,
                          g_times_l, allow_empty_ndrange), wait_for, ({parameters}))
            return event
        except BaseException as error:
            launch_failed(error, event, enter, queue)
            raise
    return enqueue
"""

_CALL_SITES: Final = {
    0: "code, at = None, 0",
    1: """frame = getframe(1); code = frame.f_code
                    if code is not last_code and id(code) not in program_codes:
                        code, at = place(frame)
                    else:
                        at = frame.f_lasti""",
}
"""Code that determines the place of the call, by depth (`callsites`)."""

_MARK: Final = """mark = 0
                    if wait_for:
                        mark = next_mark(); add_waits(mark, wait_for)"""

_MARK_OF_ARRAYS: Final = """mark = 0
                    waits = [*(wait_for or ()), {events}]
                    if waits:
                        mark = next_mark(); add_waits(mark, waits)"""


@dataclass(frozen=True, slots=True)
class PathParameter:
    """Recording of an argument by a path.

    `condition` is the condition under which it can, `statement` is executed before the row is appended,
    and `values` are stored in it; `{a}` stands for the argument, `{t}` for its type at the first call.
    `columns` turn the values into words; a slot stands for an argument without a value.
    """

    condition: str
    columns: tuple[ArgumentColumn | ArgumentSlot, ...]
    values: tuple[str, ...] = ()
    statement: str = ""
    has_events: bool = False


_IS_OF_TYPE: Final = "type({a}) is {t}"
_CHECK_HANDLE: Final = "if {a}_handle not in handles: observe({object}, enter)"


def _memory(slot: ArgumentSlot) -> PathParameter:
    return PathParameter(
        _IS_OF_TYPE,
        (NumberColumn(slot),),
        ("{a}_handle",),
        "{a}_handle = {a}.int_ptr\n" + _CHECK_HANDLE.replace("{object}", "{a}"),
    )


def _array(declaration: Any) -> PathParameter:
    """Return how an array that was declared as an array is recorded: it is a memory object.

    Its offset may be another argument.
    """
    statement = "{a}_base = {a}.base_data; {a}_handle = {a}_base.int_ptr\n" + _CHECK_HANDLE
    columns: tuple[ArgumentColumn, ...] = (NumberColumn(BUFFER),)
    values: tuple[str, ...] = ("{a}_handle",)
    if declaration.with_offset:
        offset = np.dtype(np.int64)
        columns, values = (*columns, ScalarColumn(offset, offset)), (*values, "{a}.offset")
    return PathParameter(
        _IS_OF_TYPE, columns, values, statement.replace("{object}", "{a}_base"), has_events=True
    )


def _scalar(argument: Any, declared: Any) -> PathParameter:
    column: ArgumentColumn
    dtype = argument.dtype if isinstance(argument, np.generic) else np.asarray(argument).dtype
    try:
        target = None if declared is None else np.dtype(declared)
    except TypeError:
        target = None
    if dtype.hasobject or (target is not None and target.hasobject):
        raise _UnknownArgumentError
    match argument:
        case np.void():
            slot = scalar_slot(dtype.str, dtype.itemsize)
            return PathParameter(_IS_OF_TYPE, (BytesColumn(slot),), ("{a}.tobytes()",))
        case _ if target is not None:
            column = ScalarColumn(dtype, target)
        case np.generic():
            column = ScalarColumn(dtype, dtype)
        case bool() | int():
            column = IntegerColumn()
        case float():
            column = RealColumn()
        case _:
            raise _UnknownArgumentError
    return PathParameter(_IS_OF_TYPE, (column,), ("{a}",))


class _UnknownArgumentError(Exception):
    """An argument that a path does not record."""


def parameter_of(argument: Any, declared: Any = None) -> PathParameter | None:
    """Return how a path records arguments like this one; `None` if it does not."""
    try:
        parameter = _parameter(argument, declared)
    except _UnknownArgumentError:
        return None
    if is_of_program(type(argument)):
        # Kernel objects keep their paths where Python's collector does not look.
        return replace(parameter, condition=parameter.condition.replace("{t}", "{t}()"))
    return parameter


def _parameter(argument: Any, declared: Any) -> PathParameter:
    if isinstance(declared, VectorArg):
        if not isinstance(getattr(argument, "base_data", None), cl.MemoryObjectHolder):
            raise _UnknownArgumentError
        return _array(declared)
    match argument:
        case cl.MemoryObjectHolder():
            return _memory(IMAGE if isinstance(argument, cl.Image) else BUFFER)
        case None:
            return PathParameter("{a} is None", (NULL,))
        case np.generic() | bool() | int() | float():
            return _scalar(argument, declared)
        case _:
            return _object(argument)


def _object(argument: Any) -> PathParameter:
    match argument:
        case cl.LocalMemory():
            return PathParameter(_IS_OF_TYPE, (NumberColumn(LOCAL),), ("{a}.size",))
        case cl.Sampler():
            return PathParameter(_IS_OF_TYPE, (NumberColumn(SAMPLER),), ("sampler_bits({a})",))
        case cl.CommandQueue():
            return PathParameter(_IS_OF_TYPE, (QUEUE,))
        case cl.SVMPointer():
            return PathParameter(_IS_OF_TYPE, (NumberColumn(SVM),), ("{a}.svm_ptr",))
        case _:
            raise _UnknownArgumentError


@dataclass(frozen=True, slots=True)
class PathShape:
    """Properties that determine the code of a launch path.

    `parameters` are those of the arguments; an empty tuple records none. `is_direct` is false when every
    launch is to be recorded slowly.
    """

    argument_count: int
    parameters: tuple[PathParameter, ...]
    callsite_depth: int
    is_direct: bool


@cache
def _path_maker(shape: "PathShape") -> Callable[..., FunctionType]:
    """Return the function that makes launch paths of a shape."""
    namespace: dict[str, Any] = {"sampler_bits": sampler_bits}
    exec(compile(path_source(shape), GENERATED_FILENAME, "exec"), namespace)
    maker: Callable[..., FunctionType] = namespace["make"]
    return maker


def path_source(shape: PathShape) -> str:
    """Return the source of a launch path: a function `make` that returns the path."""
    names = [f"arg{position}" for position in range(shape.argument_count)]
    conditions = ["(not allow_empty_ndrange or 0 not in global_size)"]
    statements: list[str] = []
    values: list[str] = []
    events: list[str] = []
    for position, (name, parameter) in enumerate(zip(names, shape.parameters, strict=False)):
        words = {"a": name, "t": f"type{position}"}
        conditions.append(parameter.condition.format(**words))
        statements += parameter.statement.format(**words).splitlines()
        values += [value.format(**words) for value in parameter.values]
        if parameter.has_events:
            events.append(f"*{name}.events")
    return _TEMPLATE.format(
        types=_joined(f"type{position}" for position in range(len(names))) or "_",
        parameters=_joined(names),
        is_plain=" and ".join(conditions) if shape.is_direct else "False",
        call_site=_CALL_SITES.get(shape.callsite_depth, STACK_TEXT),
        statements=("\n" + " " * 20).join(statements) or "pass",
        mark=_MARK_OF_ARRAYS.format(events=", ".join(events)) if events else _MARK,
        values=_joined(values),
    )


def _joined(names: Iterable[str]) -> str:
    """Return the names with a comma after each."""
    return "".join(f"{name}, " for name in names)


class PathLog:
    """Rows of the launches of one launch path, flat: `HEAD_WIDTH` values and the arguments."""

    HEAD_WIDTH: Final = 5
    """Number of values before the arguments: entry, return, circumstance, mark and event."""

    def __init__(self, parameters: tuple[PathParameter, ...], *, has_arguments: bool) -> None:
        self.rows: list[Any] = []
        columns = tuple(column for parameter in parameters for column in parameter.columns)
        self.arguments = ArgumentNumbers(columns) if has_arguments else None

    @property
    def width(self) -> int:
        """The number of values in a row."""
        return self.HEAD_WIDTH + (self.arguments.values if self.arguments else 0)


def make_launch_path(
    shape: PathShape,
    inner: FunctionType,
    argument_types: Sequence[type],
    recorder: Any,
    owner: "PathOwner",
) -> FunctionType:
    """Return a function with the name of `inner` that launches through `inner` and records."""
    path = _path_maker(shape)(
        inner,
        owner.launch_unrecorded,
        recorder,
        owner.log,
        owner.number_circumstance,
        owner.record_slowly,
        tuple(ref(cls) if is_of_program(cls) else cls for cls in argument_types),
    )
    # Python reports a wrong number of arguments under the function's name.
    path.__code__ = path.__code__.replace(co_name=inner.__name__, co_qualname=inner.__qualname__)
    path.__name__, path.__qualname__ = inner.__name__, inner.__qualname__
    return path


class PathOwner(Protocol):
    """Owner of a launch path: its log, and the functions that it calls off the hot path."""

    @property
    def log(self) -> PathLog:
        """The rows of the path."""

    @property
    def number_circumstance(self) -> Callable[..., int]:
        """Returns the number of a circumstance, given all but the kernel."""

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

    def launch_unrecorded(self, kernel: cl.Kernel, *args: Any) -> Any:
        """Launch without recording."""
