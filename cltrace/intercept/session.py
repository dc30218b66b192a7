"""Tracing of this process: its state, and the hooks on forks, ends and replacements of the process.

This module and `autostart` may be imported before pyopencl, and import it only to start tracing.
"""

import atexit
import operator
import os
import sys

# Not used here: `threading` tidies up after a fork, and must do so before our own forked-child hook
# starts a thread. Hooks run in the order in which the modules registered them.
import threading  # noqa: F401
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cltrace.intercept.children import report_untraced
from cltrace.intercept.preparation import Preparation
from cltrace.intercept.tracebacks import hide_own_frames
from cltrace.spool.layout import NOT_STARTED, ProcessIdentity, create_process_directory
from cltrace.tracing_errors import TracingError

if TYPE_CHECKING:
    from types import FrameType

    from cltrace.intercept.layer_tracer import LayerTracer
    from cltrace.intercept.tracer import Tracer
    from cltrace.spool.settings import Settings


class _State:
    """State of the tracing of this process.

    `parts` is set from the start, `tracer` once pyopencl is imported. `began_ns` is the begin of the
    whole recording, in host ns. `settings` is `None` where only the layer records. `endings` are hooked
    functions of `os` that end this process: name, original, hook.
    """

    def __init__(self) -> None:
        self.parts: Path | None = None
        self.directory: Path | None = None
        self.settings: Settings | None = None
        self.began_ns = 0
        self.tracer: Tracer | LayerTracer | None = None
        self.preparation: Preparation | None = None
        self.has_lifecycle_hooks = False
        self.endings: tuple[tuple[str, Callable[..., Any], Callable[..., Any]], ...] = ()


_state: Final = _State()


def current() -> "Tracer | LayerTracer | None":
    """Return the tracer of this process, or `None` while it does not trace."""
    return _state.tracer


def is_recording_here() -> bool:
    """Return whether this process belongs to a recording, traced already or not."""
    return _state.parts is not None


def join(
    parts: Path,
    settings: "Settings | None",
    began_ns: int | None = None,
    directory: Path | None = None,
) -> None:
    """Make this process a part of the recording in `parts`.

    `settings` may be `None` if the layer is to record: it reads its own. `began_ns` is the begin of the
    recording in host ns, `None` for now. `directory` is the process's own, if it has one already.

    Raises: `OSError`, `TracingError`.
    """
    if _state.parts is not None:
        raise TracingError(
            f"this process is being traced into {_state.parts} already: stop that first"
        )
    identity = ProcessIdentity.of(os.getpid())
    _state.directory = directory or create_process_directory(parts, identity)
    _state.parts, _state.settings = parts, settings
    _state.began_ns = time.perf_counter_ns() if began_ns is None else began_ns
    _install_lifecycle_hooks()


def start(library: Path | None = None) -> None:
    """Start to trace, by the layer in `library` if it is given, otherwise by hooks.

    pyopencl must be importable. Raises: `OSError`, `ImportError`, `LayerError`.
    """
    if _state.directory is None or _state.tracer is not None:
        return
    if _state.preparation is not None:
        _state.preparation.remove()
    if library is not None:
        from cltrace.intercept.layer_tracer import LayerTracer  # noqa: PLC0415 - imports pyopencl

        _state.tracer = LayerTracer(library, _state.directory)
    elif _state.settings is None:
        return
    else:
        from cltrace.intercept.tracer import Tracer  # noqa: PLC0415 - likewise

        _state.tracer = Tracer(_state.directory, _state.settings, _state.began_ns)
    _state.tracer.install()


def note_hooks() -> None:
    """Record that hooks serve in place of the layer, unless the user turned it off."""
    from cltrace.events.kinds import LayerUse, Severity  # noqa: PLC0415 - takes addresses
    from cltrace.intercept.tracer import Tracer  # noqa: PLC0415 - imports pyopencl

    settings = _state.settings
    if settings is None or settings.layer is LayerUse.OFF:
        return
    if isinstance(_state.tracer, Tracer):
        message = (
            "hooks of pyopencl recorded the calls: those of other libraries are not in the trace"
        )
        _state.tracer.recorder.note(Severity.NOTE, "recorded-by-hooks", message)


def leave(ending: str) -> None:
    """End the tracing of this process. `ending` names the event that ends it."""
    tracer = _state.tracer
    if tracer is not None and tracer.outlives(ending):
        tracer.finish(ending)
        return
    _state.tracer = _state.parts = _state.directory = _state.settings = None
    if tracer is not None:
        tracer.finish(ending)
    _unhook_endings()
    if _state.preparation is not None:
        _state.preparation.install()


def prepare() -> None:
    """Enable profiling on queues that are created between tracings: the next tracing may need it."""
    if _state.preparation is None:
        _state.preparation = Preparation()
        _state.preparation.install()


def stop_preparing() -> None:
    """Create queues between tracings as the program asks."""
    if _state.preparation is not None:
        _state.preparation.remove()
        _state.preparation = None


def flush() -> None:
    """Write all rows that were recorded so far."""
    if _state.tracer is not None:
        _state.tracer.flush()


def _install_lifecycle_hooks() -> None:
    """Hook the ends of this process that Python can observe, and its forks."""
    _hook_endings()
    if _state.has_lifecycle_hooks:
        return
    _state.has_lifecycle_hooks = True
    atexit.register(leave, "exit")
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )


def _hook_endings() -> None:
    if _state.endings:
        return
    originals = {name: getattr(os, name) for name in ("_exit", "abort", "execv", "execve")}
    _state.endings = tuple(
        (
            name,
            original,
            _make_abort(original) if name == "abort" else _make_flushing(original, name),
        )
        for name, original in originals.items()
    )
    for name, _, hook in _state.endings:
        setattr(os, name, hook)


def _unhook_endings() -> None:
    """Restore the functions that the program has not replaced since."""
    for name, original, hook in _state.endings:
        if getattr(os, name) is hook:
            setattr(os, name, original)
    _state.endings = ()


def _make_flushing(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that writes the last rows and then ends this process image with `original`."""
    replaces_image = name.startswith("exec")

    def function(*args: Any, **kwargs: Any) -> Any:
        if replaces_image:
            if _state.tracer is not None:
                _state.tracer.about_to_exec()
        else:
            leave(name)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            hide_own_frames(error)
            raise

    function.__name__ = function.__qualname__ = original.__name__
    function.__doc__ = original.__doc__
    return function


def _make_abort(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that ends the tracing and then aborts, without a frame of Python.

    So the frames that `faulthandler` prints are the program's.
    """
    steps: tuple[Callable[[], Any], ...] = (partial(leave, "abort"), original)
    calls: map[Any] = map(operator.call, steps)
    function = partial(deque[Any](maxlen=0).extend, calls)
    for attribute in ("__name__", "__qualname__", "__doc__"):
        setattr(function, attribute, getattr(original, attribute))
    return function


def _before_fork() -> None:
    if _state.tracer is not None:
        _state.tracer.prepare_fork()


def _after_in_parent() -> None:
    if _state.tracer is not None:
        _state.tracer.forked_in_parent()


def _after_in_child() -> None:
    """Start a tracing of the child's own, or none."""
    tracer, parts, settings = _state.tracer, _state.parts, _state.settings
    if tracer is not None and tracer.records_forks:
        return
    _state.tracer = _state.parts = _state.directory = None
    if tracer is not None:
        tracer.forked_in_child()
    if parts is None or settings is None or not settings.follow_children or _is_for_exec():
        return
    try:
        join(parts, settings, _state.began_ns)
        if tracer is not None:
            start()
    except Exception as fault:  # the child belongs to the program: it goes on untraced
        report_untraced(parts, f"{NOT_STARTED}: {type(fault).__name__}: {fault}")
        if tracer is not None:
            tracer.fork_failed()


def _is_for_exec() -> bool:
    """Return whether `subprocess` made this child, which is about to execute another program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_execute_child" and code.co_filename == _SUBPROCESS_FILE:
            return True
        frame = frame.f_back
    return False


_SUBPROCESS_FILE: Final = str(Path(os.__file__).with_name("subprocess.py"))
