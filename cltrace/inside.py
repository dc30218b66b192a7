"""Tracing from inside a program: what `import cltrace` offers."""

import atexit
import contextlib
import os
import sys
import time
from _thread import get_ident
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict, Unpack

from cltrace.errors import CltraceError, TracingError
from cltrace.events.kinds import Timing
from cltrace.intercept import session
from cltrace.spool.settings import Settings

if TYPE_CHECKING:
    from cltrace.power.sampler import ChosenReader, Sampler
    from cltrace.trace.recording import Recording


_POWER_TAIL_S = 0.3
"""Power is read for so long after a block: sensors follow with a delay."""


class Tracing:
    """A tracing of this process, from entering the `with` block to leaving it. Single use.

    In a process that `cltrace run` traces already, the block is recorded as a region instead.
    """

    def __init__(
        self, path: Path, settings: Settings, *, force: bool, power: Sequence[str] = ()
    ) -> None:
        self.path = path.absolute()
        self._settings = settings
        self._force = force
        self._power = power
        self._sampler: Sampler | None = None
        self._recording: Recording | None = None
        self._region: region | None = None
        self._pid = 0

    def __enter__(self) -> "Tracing":
        if self._pid:
            raise TracingError("a tracing is begun once: make another with cltrace.trace")
        self._pid = os.getpid()
        if session.is_recording_here():
            self._region = region(f"trace {self.path.name}")
            self._region.__enter__()
            return self
        from cltrace.trace import recording  # noqa: PLC0415 - 20 ms that `import cltrace` saves

        readers = self._readers()
        begun = recording.begin(
            self.path, sys.argv or ["python"], self._settings, recorder_pid=0, overwrite=self._force
        )
        try:
            session.join(begun.parts, self._settings)
            session.start()
        except ImportError as error:
            session.leave("failed")
            recording.discard_parts(begun.parts)
            raise TracingError(f"pyopencl cannot be imported: {error}") from error
        except BaseException:
            session.leave("failed")
            recording.discard_parts(begun.parts)
            raise
        self._recording = begun
        if readers:
            from cltrace.power.recording import sampler_for  # noqa: PLC0415 - loaded with its readers

            self._sampler = sampler_for(begun.parts, readers, None, "")
            self._sampler.start()
        return self

    def _readers(self) -> "Sequence[ChosenReader]":
        """The readers that are asked for. Raises: `PowerError`."""
        if not self._power:
            return ()
        from cltrace.power.recording import chosen_readers  # noqa: PLC0415 - imports numpy

        return chosen_readers(self._power, None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._region is not None:
            self._region.__exit__(kind, error, traceback)
            return
        try:
            self._finish()
        except CltraceError as failure:
            if error is None:
                raise
            error.add_note(f"cltrace: {failure}")

    def _finish(self) -> None:
        from cltrace.timeline.timekeeping import finalise  # noqa: PLC0415 - imports numpy and sqlite3
        from cltrace.trace import recording  # noqa: PLC0415 - 20 ms that `import cltrace` saves

        begun, self._recording = self._recording, None
        if begun is None or self._pid != os.getpid():
            return  # a copy of the process, made by a fork, does not end what the process began
        session.leave("stop")
        recording.end(begun, None, None)
        if self._sampler is not None:
            with contextlib.suppress(KeyboardInterrupt):
                self._sampler.follow(_POWER_TAIL_S)
            self._sampler.stop()
        finalise(begun.parts, begun.path)
        recording.discard_parts(begun.parts)


_started: list[Tracing] = []
"""The tracing that `start` began, until `stop` ends it."""


def trace(
    path: str | Path,
    *,
    force: bool = False,
    timing: str = "event",
    include_kernels: Sequence[str] = (),
    exclude_kernels: Sequence[str] = (),
    callsite_depth: int = 1,
    record_source: bool = True,
    record_arguments: bool = True,
    capture_bytes: int = 0,
    power: Sequence[str] = (),
) -> Tracing:
    """Trace this process within a `with` block and write the trace to `path` at its end.

    Objects that were made before are known by what uses them only. `timing` is `event`, `callback`
    or `sync`; `capture_bytes` is the most that is kept of buffers that the host wrote. `power` are
    readers, as `--power` has them.

    In a process that `cltrace run` traces, or within another such block, the block becomes a region of
    the tracing that is under way, and nothing is written to `path`.

    Raises: `ValueError`, `TypeError` for an argument that makes no sense. On entering:
    `RefusedError` when `path` exists and `force` is false, `TracingError` when pyopencl is missing,
    `PowerError` for a reader that is not known. On leaving: `OutputError`.
    """
    if callsite_depth < 0 or capture_bytes < 0:
        raise ValueError("callsite_depth and capture_bytes are 0 or more")
    settings = Settings(
        _timing(timing),
        _patterns(include_kernels),
        _patterns(exclude_kernels),
        callsite_depth,
        record_source=record_source,
        record_arguments=record_arguments,
        force_profiling=_timing(timing) is Timing.EVENT,
        follow_children=False,
        capture_bytes=capture_bytes,
    )
    return Tracing(Path(path), settings, force=force, power=_patterns(power))


def _timing(given: str) -> Timing:
    if given not in set(Timing):
        raise ValueError(f"timing is {given!r}: give one of {', '.join(Timing)}")
    return Timing(given)


def _patterns(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f"give patterns in a tuple: ({given!r},)")
    return tuple(given)


class TraceOptions(TypedDict, total=False):
    """The options of `trace` and `start`, by name."""

    force: bool
    timing: str
    include_kernels: Sequence[str]
    exclude_kernels: Sequence[str]
    callsite_depth: int
    record_source: bool
    record_arguments: bool
    capture_bytes: int
    power: Sequence[str]


def start(path: str | Path, **options: Unpack[TraceOptions]) -> None:
    """Begin to trace this process; `stop` ends it, or the end of the process. Options as for `trace`.

    Raises: as entering the block of `trace`, and `TracingError` when a tracing was begun already.
    """
    if _started:
        raise TracingError(f"a tracing into {_started[0].path} was begun already: stop it first")
    tracing = trace(path, **options)
    tracing.__enter__()
    _started.append(tracing)
    # After the end of what `session` does at exit: those who registered last come first.
    atexit.register(_stop_at_exit)


def stop() -> Path:
    """End the tracing that `start` began, and return the path of its trace.

    Raises: `TracingError` when there is none, `OutputError`.
    """
    if not _started:
        raise TracingError("no tracing was begun: call cltrace.start first")
    atexit.unregister(_stop_at_exit)
    tracing = _started.pop()
    tracing.__exit__(None, None, None)
    return tracing.path


def _stop_at_exit() -> None:
    """Write the trace of a tracing that the program never stopped."""
    try:
        stop()
    except CltraceError as error:
        sys.stderr.write(f"cltrace: {error}\n")


def pause() -> None:
    """Record nothing until `resume`. Without a tracing it does nothing."""
    tracer = session.current()
    if tracer is not None:
        tracer.pause()


def resume() -> None:
    """Record again. Without a tracing it does nothing."""
    tracer = session.current()
    if tracer is not None:
        tracer.resume()


class region(contextlib.ContextDecorator):  # noqa: N801 - used like a function
    """A named stretch of the program, as a `with` block or a decorator. Untraced it does nothing.

    with cltrace.region("assembly"):
        ...
    """

    def __init__(self, name: str) -> None:
        self._name = str(name)
        self._entered_ns: dict[int, list[int]] = {}
        """By thread: one region may be entered by several, and by one of them again."""

    def __enter__(self) -> "region":
        self._entered_ns.setdefault(get_ident(), []).append(time.perf_counter_ns())
        return self

    def __exit__(self, *_: object) -> None:
        entered_ns = self._entered_ns[get_ident()].pop()
        tracer = session.current()
        if tracer is not None:
            tracer.recorder.record_region(self._name, entered_ns)

    def _recreate_cm(self) -> "region":
        return region(self._name)
