"""Common form of all hooks but those of kernel launches (`launches`)."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pyopencl as cl

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.tracebacks import hide_own_frames

Hook = Callable[..., Any]
"""Replacement of a function, a method or a constructor."""

HookFactory = Callable[[Hook], Any]
"""Function that makes a hook of the original."""


class HookedCall(NamedTuple):
    """A call that returned. `span` is its entry and its return, in host ns.

    The instance of a method or constructor is the first of `args`.
    """

    span: tuple[int, int]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument that the program passed by position or by name."""
        if position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name, default)


Record = Callable[[int, int, tuple[Any, ...], dict[str, Any], Any], None]
"""Function that records a call, given its entry and return in host ns, its arguments and its result."""


def make_hook(
    recorder: Recorder,
    original: Hook,
    api: Api | None,
    record: Callable[[HookedCall], None],
    unrecorded: Callable[[HookedCall], None] | None = None,
) -> Hook:
    """Return a hook that calls `original` and then `record` (`make_fast_hook`)."""

    def record_call(
        enter: int, leave: int, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        record(HookedCall((enter, leave), args, kwargs, result))

    return make_fast_hook(recorder, original, api, record_call, unrecorded)


def make_fast_hook(
    recorder: Recorder,
    original: Hook,
    api: Api | None,
    record: Record,
    unrecorded: Callable[[HookedCall], None] | None = None,
) -> Hook:
    """Return a hook that calls `original` and then `record`.

    The program gets the result or the exception of `original`, whatever `record` does. A call that an
    OpenCL error ends is recorded as a failure of `api`; with `None` it is not recorded. While recording
    is paused, `unrecorded` is called in place of `record`.
    """
    gate, clock = recorder.gate, recorder.clock
    is_command = api in COMMAND_KINDS
    stop = recorder.lose_command if is_command else recorder.stop_on_fault

    def hook(*args: Any, **kwargs: Any) -> Any:
        enter = clock()
        try:
            result = original(*args, **kwargs)
            leave = clock()
            try:
                if gate:
                    record(enter, leave, args, kwargs, result)
                elif unrecorded is not None:
                    unrecorded(HookedCall((enter, leave), args, kwargs, result))
                elif is_command:
                    recorder.tallies.skip_command()
            except Exception as fault:
                stop(fault)
            return result
        except BaseException as error:
            if api is None:
                hide_own_frames(error)
            else:
                recorder.call_failed(error, failed_row(recorder, api, args), enter)
            raise

    return copy_identity(original, hook)


def copy_identity(original: Hook, hook: Hook) -> Hook:
    """Return `hook` with the names, the documentation and the signature of `original`."""
    for attribute in _ATTRIBUTES:
        value = getattr(original, attribute, None)
        if value is not None:
            setattr(hook, attribute, value)
    hook.__wrapped__ = original  # type: ignore[attr-defined]
    return hook


_ATTRIBUTES: Final = ("__name__", "__qualname__", "__doc__", "__module__")


def failed_row(recorder: Recorder, api: Api, args: tuple[Any, ...]) -> CallRow:
    """Return the row of a call that an error ended."""
    try:
        queue = next((value for value in args[:2] if isinstance(value, cl.CommandQueue)), None)
        return CallRow(api, recorder.registry.queue_handle(queue))
    except Exception as fault:
        recorder.stop_on_fault(fault)
        return CallRow(api)
