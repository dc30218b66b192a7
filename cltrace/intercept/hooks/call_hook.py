"""The one form that hooks have, launches of kernels excepted (`launches`)."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pyopencl as cl

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.intercept.hooks.recorder import CallRow, Recorder
from cltrace.intercept.tracebacks import hide_own_frames

Hook = Callable[..., Any]
"""What stands in the place of a function, a method or a constructor."""

Wrap = Callable[[Hook], Any]
"""What makes a hook of the original."""


class Call(NamedTuple):
    """A call that returned. `span` is when it was entered and left, in host ns.

    A method's or a constructor's instance is the first of `args`.
    """

    span: tuple[int, int]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    def given(self, position: int, name: str, default: Any = None) -> Any:
        """An argument that the program gave by position or by name."""
        if position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name, default)


def hooked(
    recorder: Recorder,
    original: Hook,
    api: Api | None,
    record: Callable[[Call], None],
    unrecorded: Callable[[Call], None] | None = None,
) -> Hook:
    """A hook that calls `original` and then `record`.

    The program sees what `original` returns or raises, whatever `record` does. A call that an
    OpenCL error ends is recorded as a failure of `api`; with `None` it is not. While recording is
    paused `unrecorded` is called instead of `record`.
    """
    gate, clock = recorder.gate, recorder.clock
    is_command = api in COMMAND_KINDS

    def hook(*args: Any, **kwargs: Any) -> Any:
        enter = clock()
        try:
            result = original(*args, **kwargs)
            leave = clock()
            note = record if gate else unrecorded
            if note is not None:
                try:
                    note(Call((enter, leave), args, kwargs, result))
                except Exception as fault:
                    recorder.faulty(fault)
            elif is_command:
                recorder.tallies.commands_skipped += 1
            return result
        except BaseException as error:
            if api is None:
                hide_own_frames(error)
            else:
                recorder.call_failed(error, _failed_row(recorder, api, args), enter)
            raise

    return named_as(original, hook)


def named_as(original: Hook, hook: Hook) -> Hook:
    """`hook`, with the names, the documentation and the signature of what it stands for."""
    for attribute in _ATTRIBUTES:
        value = getattr(original, attribute, None)
        if value is not None:
            setattr(hook, attribute, value)
    hook.__wrapped__ = original  # type: ignore[attr-defined]
    return hook


_ATTRIBUTES: Final = ("__name__", "__qualname__", "__doc__", "__module__")


def _failed_row(recorder: Recorder, api: Api, args: tuple[Any, ...]) -> CallRow:
    try:
        queue = next((one for one in args[:2] if isinstance(one, cl.CommandQueue)), None)
        return CallRow(api, recorder.registry.queue_handle(queue))
    except Exception as fault:
        recorder.faulty(fault)
        return CallRow(api)
