"""The hot path: launch of a kernel by calling it.

pyopencl generates a function for each kernel object that sets the arguments and enqueues. A *launch
path* replaces it: a function with the same signature, generated too, that calls pyopencl's function
between two clock readings and appends one row. Besides the times, the row has one number, the
*circumstance* of the launch. It is looked up under a key of the arguments and the call site; a new key
is interned once (`launch_paths`).

The parts of the key are chosen at the kernel's first call, by the types of its arguments: the address
of a memory object, a whole number itself, a float itself unless it is zero (0.0 and -0.0 compare equal).
An argument whose type changes later is described in full. The other parts are the call site, the queue
and the thread. Most launches equal the last launch of their kernel, so they are compared with it first:
that is cheaper than a look-up of the key.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import CodeType, FunctionType
from typing import Any, Final, Protocol

import numpy as np
import pyopencl as cl
from pyopencl.tools import VectorArg

from cltrace.intercept.objects.arguments import Description, describe, describe_declared
from cltrace.intercept.tracebacks import GENERATED_FILENAME

_TEMPLATE: Final = """\
def make(inner, launch_unrecorded, recorder, cache, intern, record_slowly, kinds):
    gate, clock, extend = recorder.gate, recorder.clock, recorder.add_launch
    get_thread, getframe, locate = recorder.get_thread, recorder.getframe, recorder.sites.locate
    describe, signed_zero = recorder.describe, recorder.signed_zero
    sample_hook_time, launch_failed = recorder.sample_hook_time, recorder.launch_failed
    stop_on_fault, circumstances = recorder.stop_on_fault, cache.circumstances
    is_from_signal_handler = recorder.is_from_signal_handler
    last = nothing = (None,) * {last_length}
    {types} = kinds
    def forget_last():
        nonlocal last
        last = nothing
    cache.forget_last = forget_last
    def enqueue(self, queue, global_size, local_size, {parameters}global_offset=None,
                g_times_l=False, allow_empty_ndrange=False, wait_for=None):
        nonlocal last
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
                    thread, address = get_thread(), queue.int_ptr
                    {keys}
                    ({last_keys}last_code, last_at, last_size, last_local, last_thread,
                     last_address, circumstance) = last
                    if not ({same_keys}at == last_at and code is last_code
                            and (global_size is last_size or global_size == last_size)
                            and (local_size is last_local or local_size == last_local)
                            and address == last_address and thread == last_thread):
                        key = ({key_names}id(code), at, global_size, local_size, address, thread)
                        try:
                            circumstance = circumstances[key]
                        except KeyError:
                            circumstance = intern(
                                key, queue, (global_size, local_size), ({parameters}))
                        last = ({key_names}code, at, global_size, local_size, thread, address,
                                circumstance)
                    extend((enter, leave, circumstance, event))
                    if not leave & 63:
                        sample_hook_time(leave)
                    return event
            except (TypeError, ValueError) as fault:
                # A list or an array cannot be part of a key: record such sizes slowly.
                if is_from_signal_handler(fault):
                    raise
            except Exception as fault:
                stop_on_fault(fault)
                return event
            record_slowly((enter, leave), event, queue, (global_size, local_size, global_offset,
                          g_times_l, allow_empty_ndrange), wait_for, ({parameters}))
            return event
        except BaseException as error:
            launch_failed(error, event, enter, queue)
            raise
    return enqueue
"""

_IS_PLAIN: Final = "not (wait_for or global_offset or g_times_l or allow_empty_ndrange)"
"""Condition under which the row of a launch is complete. Other launches are recorded slowly."""

_CALL_SITES: Final = {
    0: "code = at = None",
    1: "frame = getframe(1); code = frame.f_code; at = frame.f_lasti",
}
"""Code that determines the call site, by depth: the caller's code and the offset of the instruction in
it (`callsites` keeps the code alive, so its address is not reused)."""

_DEEP_CALL_SITE: Final = "code = None; at = locate(getframe(1))"

_KEY_PARTS: Final = {
    "address": "{a}.int_ptr if type({a}) is {t} else describe({a})",
    "value": "{a} if type({a}) is {t} else describe({a})",
    "real": "({a} or signed_zero({a})) if type({a}) is {t} else describe({a})",
    "size": "{a}.size if type({a}) is {t} else describe({a})",
    "other": "describe({a})",
}
_SAME: Final = {
    "address": "{k} == last_{k}",
    "value": "({k} is last_{k} or {k} == last_{k})",
    "real": "({k} is last_{k} or {k} == last_{k})",
    "size": "{k} == last_{k}",
    "other": "{k} == last_{k}",
}


@dataclass(frozen=True, slots=True)
class PathShape:
    """Properties that determine the code of a launch path.

    `key_kinds` has one word of `_KEY_PARTS` per argument, and is `None` when arguments are not recorded.
    `is_direct` is false when every launch is to be recorded slowly.
    """

    argument_count: int
    key_kinds: tuple[str, ...] | None
    callsite_depth: int
    is_direct: bool


def key_kind(argument: Any) -> str:
    """Return the word of `_KEY_PARTS` for an argument of this type."""
    match argument:
        case cl.MemoryObjectHolder():
            return "address"
        case bool() | int() | np.integer() | np.bool_():
            return "value"
        case float() | np.floating():
            return "real"
        case cl.LocalMemory():
            return "size"
        case _:
            return "other"


def signed_zero(zero: Any) -> Description:
    """Return the part of a key for a zero: 0.0 and -0.0 are different arguments."""
    return describe(zero)


@cache
def _compile_path(shape: PathShape) -> CodeType:
    return compile(path_source(shape), GENERATED_FILENAME, "exec")


def path_source(shape: PathShape) -> str:
    """Return the source of a launch path: a function `make` that returns the path."""
    names = [f"arg{position}" for position in range(shape.argument_count)]
    kinds = shape.key_kinds or ()
    keys = [f"key{position}" for position in range(len(kinds))]
    parts = [
        _KEY_PARTS[kind].format(a=name, t=f"type{position}")
        for position, (name, kind) in enumerate(zip(names, kinds, strict=False))
    ]
    same = [_SAME[kind].format(k=key) for key, kind in zip(keys, kinds, strict=True)]
    return _TEMPLATE.format(
        types=_joined(f"type{position}" for position in range(len(names))) or "_",
        parameters=_joined(names),
        is_plain=_IS_PLAIN if shape.is_direct else "False",
        call_site=_CALL_SITES.get(shape.callsite_depth, _DEEP_CALL_SITE),
        keys="; ".join(f"{key} = {part}" for key, part in zip(keys, parts, strict=True)) or "pass",
        key_names=_joined(keys),
        last_keys=_joined(f"last_{key}" for key in keys),
        last_length=len(keys) + 7,
        same_keys="".join(f"{comparison} and " for comparison in same),
    )


def _joined(names: Iterable[str]) -> str:
    """Return the names with a comma after each."""
    return "".join(f"{name}, " for name in names)


def make_launch_path(
    shape: PathShape,
    inner: FunctionType,
    argument_types: Sequence[type],
    recorder: Any,
    owner: "PathOwner",
) -> FunctionType:
    """Return a function with the name of `inner` that launches through `inner` and records."""
    namespace: dict[str, Any] = {}
    exec(_compile_path(shape), namespace)
    path: FunctionType = namespace["make"](
        inner,
        owner.launch_unrecorded,
        recorder,
        owner.cache,
        owner.intern,
        owner.record_slowly,
        tuple(argument_types),
    )
    # Python reports a wrong number of arguments under the function's name.
    path.__code__ = path.__code__.replace(co_name=inner.__name__, co_qualname=inner.__qualname__)
    path.__name__, path.__qualname__ = inner.__name__, inner.__qualname__
    return path


class CircumstanceCache:
    """Circumstances of a launch path by key. The path compares a launch with the last of them first.

    Keys have addresses of memory objects, queues and threads. When one of these is reused, `forget` is
    called.
    """

    __slots__ = ("__weakref__", "circumstances", "forget_last")

    def __init__(self) -> None:
        self.circumstances: dict[Any, int] = {}
        self.forget_last: Callable[[], None] = lambda: None

    def forget(self) -> None:
        """Drop all circumstances."""
        self.circumstances.clear()
        self.forget_last()


class PathOwner(Protocol):
    """Owner of a launch path: its cache, and the functions that it calls off the hot path."""

    @property
    def cache(self) -> CircumstanceCache:
        """The circumstances that the path has met."""

    def intern(
        self,
        key: Any,
        queue: cl.CommandQueue,
        sizes: tuple[Any, Any],
        arguments: tuple[Any, ...],
    ) -> int:
        """Return the circumstance of a plain launch that is not in the cache."""

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

    def launch_unrecorded(self, kernel: cl.Kernel, *args: Any) -> Any:
        """Launch without recording."""


def describe_all(
    arguments: Sequence[Any], declared: Sequence[Any] | None
) -> tuple[Description, ...]:
    """Return the descriptions of all arguments of a launch, one per parameter of the kernel.

    An array that was declared as an array is a memory object; its offset may be another argument.
    """
    if declared is None:
        return tuple(map(describe, arguments))
    descriptions: list[Description] = []
    pairs = zip(arguments, chain(declared, [None] * len(arguments)), strict=False)
    for argument, declaration in pairs:
        if not isinstance(declaration, VectorArg):
            descriptions.append(describe_declared(argument, declaration))
            continue
        descriptions.append(describe(argument.base_data))
        if declaration.with_offset:
            descriptions.append(describe(np.int64(argument.offset)))
    return tuple(descriptions)
