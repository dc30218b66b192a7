"""The hot path: launching a kernel by calling it.

pyopencl generates a function for each kernel object that sets the arguments and enqueues. A *lane*
is what we put in its place: a function with the same signature, generated too, that calls
pyopencl's own between two clock readings and appends one row. All that the row says beside the times
is one number, the *circumstance*, looked up under a key of what was passed; a key that is new is
interned once (`lanes`).

Parts of the key are chosen when the kernel is first called, by the types of its arguments: the
address of a memory object, a whole number itself, a float itself unless it is zero (0.0 and -0.0
compare equal). An argument of another type than at first is described in full. The rest of the key is
the place of the call, the queue and the thread. Mostly a launch is like the last one of its kernel, so
that is compared first: it is cheaper than to look a key up.
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
def make(inner, idle, recorder, known, intern, slow, kinds):
    gate, clock, extend = recorder.gate, recorder.clock, recorder.add_launch
    get_thread, getframe, locate = recorder.get_thread, recorder.getframe, recorder.sites.locate
    describe, signed_zero, sampled = recorder.describe, recorder.signed_zero, recorder.sampled
    failed, faulty, circumstances = recorder.launch_failed, recorder.faulty, known.circumstances
    is_from_signal_handler = recorder.is_from_signal_handler
    last = nothing = (None,) * {last_length}
    {types} = kinds
    def forget_last():
        nonlocal last
        last = nothing
    known.forget_last = forget_last
    def enqueue(self, queue, global_size, local_size, {parameters}global_offset=None,
                g_times_l=False, allow_empty_ndrange=False, wait_for=None):
        nonlocal last
        if not gate:
            return idle(self, queue, global_size, local_size, {parameters}global_offset,
                        g_times_l, allow_empty_ndrange, wait_for)
        event = None
        enter = clock()
        try:
            event = inner(self, queue, global_size, local_size, {parameters}global_offset,
                          g_times_l, allow_empty_ndrange, wait_for)
            leave = clock()
            try:
                if {is_plain}:
                    {place}
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
                        sampled(leave)
                    return event
            except (TypeError, ValueError) as fault:
                # A size that is a list or an array is no key: the slow way takes it.
                if is_from_signal_handler(fault):
                    raise
            except Exception as fault:
                faulty(fault)
                return event
            slow((enter, leave), event, queue, (global_size, local_size, global_offset, g_times_l,
                 allow_empty_ndrange), wait_for, ({parameters}))
            return event
        except BaseException as error:
            failed(error, event, enter, queue)
            raise
    return enqueue
"""

_IS_PLAIN: Final = "not (wait_for or global_offset or g_times_l or allow_empty_ndrange)"
"""What a launch must be for its row to say all; the rest goes the slow way."""

_PLACES: Final = {
    0: "code = at = None",
    1: "frame = getframe(1); code = frame.f_code; at = frame.f_lasti",
}
"""The place of a call, by depth: the caller's code and the offset of the instruction in it
(`callsites` keeps the code, so its address stays its own). Deeper, the number of the site."""

_DEEP_PLACE: Final = "code = None; at = locate(getframe(1))"

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
class LaneShape:
    """What the code of a lane depends on.

    `key_kinds` has one word of `_KEY_PARTS` an argument, and is `None` when arguments are not
    recorded. `is_direct` is false when every launch is to go the slow way.
    """

    argument_count: int
    key_kinds: tuple[str, ...] | None
    callsite_depth: int
    is_direct: bool


def key_kind(argument: Any) -> str:
    """Which part of a key stands for an argument of this type."""
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
    """What stands for a zero in a key: 0.0 and -0.0 are different arguments."""
    return describe(zero)


@cache
def _lane_code(shape: LaneShape) -> CodeType:
    names = [f"arg{position}" for position in range(shape.argument_count)]
    kinds = shape.key_kinds or ()
    keys = [f"key{position}" for position in range(len(kinds))]
    parts = [
        _KEY_PARTS[kind].format(a=name, t=f"type{position}")
        for position, (name, kind) in enumerate(zip(names, kinds, strict=False))
    ]
    same = [_SAME[kind].format(k=key) for key, kind in zip(keys, kinds, strict=True)]
    source = _TEMPLATE.format(
        types=_joined(f"type{position}" for position in range(len(names))) or "_",
        parameters=_joined(names),
        is_plain=_IS_PLAIN if shape.is_direct else "False",
        place=_PLACES.get(shape.callsite_depth, _DEEP_PLACE),
        keys="; ".join(f"{key} = {part}" for key, part in zip(keys, parts, strict=True)) or "pass",
        key_names=_joined(keys),
        last_keys=_joined(f"last_{key}" for key in keys),
        last_length=len(keys) + 7,
        same_keys="".join(f"{one} and " for one in same),
    )
    return compile(source, GENERATED_FILENAME, "exec")


def _joined(names: Iterable[str]) -> str:
    """The names with a comma behind each."""
    return "".join(f"{name}, " for name in names)


def make_lane(
    shape: LaneShape,
    inner: FunctionType,
    argument_types: Sequence[type],
    recorder: Any,
    owner: "LaneOwner",
) -> FunctionType:
    """A function that launches through `inner` and records. It has the name that `inner` has."""
    namespace: dict[str, Any] = {}
    exec(_lane_code(shape), namespace)
    lane: FunctionType = namespace["make"](
        inner,
        owner.idle,
        recorder,
        owner.known,
        owner.intern,
        owner.slow,
        tuple(argument_types),
    )
    # A wrong number of arguments is reported under the function's name.
    lane.__code__ = lane.__code__.replace(co_name=inner.__name__, co_qualname=inner.__qualname__)
    lane.__name__, lane.__qualname__ = inner.__name__, inner.__qualname__
    return lane


class Known:
    """The circumstances that a lane knows by key, and the last of them, which the lane compares first.

    Keys hold addresses of memory objects, queues and threads: when one of them comes to mean
    something else, `forget` is called.
    """

    __slots__ = ("__weakref__", "circumstances", "forget_last")

    def __init__(self) -> None:
        self.circumstances: dict[Any, int] = {}
        self.forget_last: Callable[[], None] = lambda: None

    def forget(self) -> None:
        """Know nothing any more."""
        self.circumstances.clear()
        self.forget_last()


class LaneOwner(Protocol):
    """What a lane knows, and what it calls for a new circumstance or when none will do."""

    @property
    def known(self) -> Known:
        """What the lane knows."""

    def intern(
        self,
        key: Any,
        queue: cl.CommandQueue,
        sizes: tuple[Any, Any],
        arguments: tuple[Any, ...],
    ) -> int:
        """The circumstance of a plain launch that the lane does not know."""

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

    def idle(self, kernel: cl.Kernel, *args: Any) -> Any:
        """Launch without recording."""


def described(arguments: Sequence[Any], declared: Sequence[Any] | None) -> tuple[Description, ...]:
    """The descriptions of all arguments of a launch, one for each parameter of the kernel.

    An array that was declared as one is a memory object, and its offset another argument.
    """
    if declared is None:
        return tuple(map(describe, arguments))
    found: list[Description] = []
    pairs = zip(arguments, chain(declared, [None] * len(arguments)), strict=False)
    for argument, one in pairs:
        if not isinstance(one, VectorArg):
            found.append(describe_declared(argument, one))
            continue
        found.append(describe(argument.base_data))
        if one.with_offset:
            found.append(describe(np.int64(argument.offset)))
    return tuple(found)
