"""Tracing from inside a program: the functions of `import cltrace`."""

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

from cltrace.events import DEFAULT_CALLSITE_DEPTH, MAX_CALLSITE_DEPTH
from cltrace.intercept import session
from cltrace.tracing_errors import CltraceError, TracingError

if TYPE_CHECKING:
    from cltrace.events.kinds import Timing
    from cltrace.power.sampler import ChosenReader, Sampler
    from cltrace.spool.settings import Settings
    from cltrace.trace.recording import Recording


_POWER_TAIL_S = 0.3
"""Time for which power is read after a block: sensors lag."""


class Tracing:
    """Tracing of this process while its `with` block runs. Single use.

    In a process that `cltrace run` traces, the block is recorded as a region instead.
    """

    def __init__(
        self, path: Path, settings: "Settings", *, force: bool, power: Sequence[str] = ()
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
            raise TracingError("this tracing was begun already: make another with cltrace.trace")
        self._pid = os.getpid()
        if session.is_recording_here():
            self._region = region(f"trace {self.path.name}")
            self._region.__enter__()
            return self
        from cltrace.trace import recording  # noqa: PLC0415 - 20 ms that `import cltrace` saves

        readers = self._choose_readers()
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
            from cltrace.power.reader_selection import make_sampler  # noqa: PLC0415 - loaded with its readers

            self._sampler = make_sampler(begun.parts, readers, None, "")
            self._sampler.start()
        return self

    def _choose_readers(self) -> "Sequence[ChosenReader]":
        """Return the readers of power. Raises: `PowerError`."""
        if not self._power:
            return ()
        from cltrace.power.reader_selection import choose_readers  # noqa: PLC0415 - imports numpy

        return choose_readers(self._power, None)

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
            return  # a fork does not end the tracing of its parent
        session.leave("stop")
        recording.end(begun, None, None)
        if self._sampler is not None:
            with contextlib.suppress(KeyboardInterrupt):
                self._sampler.follow(_POWER_TAIL_S)
            self._sampler.stop()
        finalise(begun.parts, begun.path)
        recording.discard_parts(begun.parts)


_started: list[Tracing] = []
"""The tracing between `start` and `stop`."""


def trace(
    path: str | Path,
    *,
    force: bool = False,
    timing: str = "event",
    include_kernels: Sequence[str] = (),
    exclude_kernels: Sequence[str] = (),
    callsite_depth: int = DEFAULT_CALLSITE_DEPTH,
    record_source: bool = True,
    record_arguments: bool = True,
    capture_bytes: int = 0,
    power: Sequence[str] = (),
) -> Tracing:
    """Trace this process within a `with` block and write the trace to `path` at its end.

    In a process that `cltrace run` traces, or within another such block, the block becomes a region of
    that tracing, and nothing is written to `path`. Earlier objects appear with their later uses only.

    `timing` is `event`, `callback` or `sync`; kernels are chosen by globs of their names; `capture_bytes`
    limits the recorded contents of host-written buffers; `power` are readers, as `--power` takes them.

    Raises: `ValueError`, `TypeError` for a wrong argument. On entering: `RefusedError` when `path` exists
    and `force` is false, `TracingError` when pyopencl is missing, `PowerError` for an unknown reader. On
    leaving: `OutputError`.
    """
    _check_numbers(callsite_depth, capture_bytes)
    from cltrace.spool.settings import Settings  # noqa: PLC0415 - `region` alone takes no such addresses

    settings = Settings(
        timing=_parse_timing(timing),
        include_kernels=_as_tuple(include_kernels),
        exclude_kernels=_as_tuple(exclude_kernels),
        callsite_depth=callsite_depth,
        record_source=record_source,
        record_arguments=record_arguments,
        force_profiling=timing == "event",
        follow_children=False,
        capture_bytes=capture_bytes,
    )
    return Tracing(Path(path), settings, force=force, power=_as_tuple(power))


def _check_numbers(callsite_depth: int, capture_bytes: int) -> None:
    if not 0 <= callsite_depth <= MAX_CALLSITE_DEPTH:
        raise ValueError(f"callsite_depth is {callsite_depth}: give 0 to {MAX_CALLSITE_DEPTH}")
    if capture_bytes < 0:
        raise ValueError(f"capture_bytes is {capture_bytes}: give 0 or more")


def _parse_timing(timing: str) -> "Timing":
    from cltrace.events.kinds import Timing  # noqa: PLC0415 - as in `trace`

    if timing not in set(Timing):
        raise ValueError(f"timing is {timing!r}: give one of {', '.join(Timing)}")
    return Timing(timing)


def _as_tuple(texts: Sequence[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise TypeError(f"give a tuple of texts: ({texts!r},)")
    return tuple(texts)


class TraceOptions(TypedDict, total=False):
    """Options of `trace` and `start`, by name."""

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
    """Trace this process until `stop`, or until the process ends. Options as for `trace`.

    Raises: as entering the block of `trace`, and `TracingError` when a tracing was begun already.
    """
    if _started:
        raise TracingError(f"a tracing into {_started[0].path} was begun already: stop it first")
    tracing = trace(path, **options)
    tracing.__enter__()
    _started.append(tracing)
    # This must run before the exit function of `session`: the last one registered runs first.
    atexit.register(_stop_at_exit)


def stop() -> Path:
    """End the tracing of `start` and return the path of its trace.

    Raises: `TracingError` without one, `OutputError`.
    """
    if not _started:
        raise TracingError("no tracing was begun: call cltrace.start first")
    atexit.unregister(_stop_at_exit)
    tracing = _started.pop()
    tracing.__exit__(None, None, None)
    return tracing.path


def _stop_at_exit() -> None:
    """Write the trace if the program did not call `stop`."""
    try:
        stop()
    except CltraceError as error:
        sys.stderr.write(f"cltrace: {error}\n")


def pause() -> None:
    """Pause recording until `resume`. Without a tracing it does nothing."""
    tracer = session.current()
    if tracer is not None:
        tracer.pause()


def resume() -> None:
    """Resume recording. Without a tracing it does nothing."""
    tracer = session.current()
    if tracer is not None:
        tracer.resume()


class region(contextlib.ContextDecorator):  # noqa: N801 - used like a function
    """Named region of the program, as a `with` block or a decorator. Untraced it does nothing.

    with cltrace.region("assembly"):
        ...
    """

    def __init__(self, name: str) -> None:
        self._name = str(name)
        self._entered_ns: dict[int, list[int]] = {}
        """Times of entry by thread: several threads may enter a region, and each repeatedly."""

    def __enter__(self) -> "region":
        self._entered_ns.setdefault(get_ident(), []).append(time.perf_counter_ns())
        return self

    def __exit__(self, *_: object) -> None:
        entered_ns = self._entered_ns[get_ident()].pop()
        tracer = session.current()
        if tracer is not None:
            tracer.record_region(self._name, entered_ns)

    def _recreate_cm(self) -> "region":
        return region(self._name)
