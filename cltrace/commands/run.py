"""`cltrace run`: trace a command, then print the summary."""

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.commands.shared import recording_flags
from cltrace.commands.shared.command_line import split_command as split_command
from cltrace.errors import CltraceError, ExitStatus, RefusedError, UsageError
from cltrace.intercept.ranks import rank_of
from cltrace.report.untrusted_text import plain
from cltrace.runs.child import die_of, resolved, run_to_end, traced_environment
from cltrace.runs.power_recording import PowerBeside, chosen
from cltrace.spool.layout import process_directories, untraced_reasons
from cltrace.trace import recording
from cltrace.trace.file_names import default_name, expanded
from cltrace.trace.recording import Recording

if TYPE_CHECKING:
    from cltrace.trace.reader import Trace

_EPILOG = """\
COMMAND is any program; FILE.py, -m MODULE and -c CODE run in this Python. What
the program prints, returns and does to its terminal is its own; cltrace speaks
afterwards, on stderr.

The exit status is the program's; a signal that killed it kills cltrace too.
Before the program started: 125 cltrace refused, 126 the command cannot be
executed, 127 it was not found.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `run`."""
    parser.usage = (
        "cltrace run [options] [--] COMMAND...\n"
        "       cltrace run [options] FILE.py ... | -m MODULE ... | -c CODE ..."
    )
    parser.epilog = _EPILOG
    recording_flags.add_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its status."""
    command = resolved(arguments.command)
    settings = recording_flags.settings_of(arguments)
    readers = chosen(arguments)
    path = _output_path(arguments)
    begun = recording.begin(
        path, arguments.command, settings, recorder_pid=os.getpid(), overwrite=arguments.force
    )
    power = PowerBeside(begun.parts, readers, os.environ)
    try:
        environment = traced_environment(
            os.environ, begun.parts, follow_children=settings.follow_children
        )
        is_silent = arguments.quiet or arguments.no_summary
        modules = _AFTERWARDS if is_silent else (*_AFTERWARDS, *_FOR_THE_SUMMARY)
        with _display(begun, is_live=arguments.live):

            def meanwhile() -> None:
                power.start()
                _load(modules)

            returned = run_to_end(command, environment, meanwhile)
    except CltraceError:
        power.stop()
        shutil.rmtree(begun.parts, ignore_errors=True)
        raise
    if _was_refused(begun, returned):
        power.stop()
        said = "; ".join(next(iter(untraced_reasons(begun.parts).values()), []))
        shutil.rmtree(begun.parts, ignore_errors=True)
        raise RefusedError(said)
    return _after(begun, returned, arguments, power)


def _display(begun: Recording, *, is_live: bool) -> contextlib.AbstractContextManager[None]:
    """The display of `--live`; nothing without it."""
    if not is_live:
        return contextlib.nullcontext()
    from cltrace.commands.shared.live_display import live_display  # noqa: PLC0415 - imports numpy

    return live_display(begun.parts, sys.stderr)


def _output_path(arguments: argparse.Namespace) -> Path:
    if arguments.output is None:
        return Path(default_name(arguments.command, rank_of(os.environ)))
    try:
        return expanded(arguments.output, os.environ)
    except UsageError as error:
        raise RefusedError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Traced:
    """What came of a recording, for the decisions at its end."""

    has_trace: bool
    has_calls: bool


def _after(
    begun: Recording, returned: int, arguments: argparse.Namespace, power: PowerBeside
) -> int:
    """Write the trace, say what there is to say, and end as the command ended."""
    say = _Speaker(is_quiet=arguments.quiet)
    traced = _Traced(has_trace=False, has_calls=False)
    try:
        try:
            recording.end(
                begun,
                max(returned, 0) if returned >= 0 else None,
                -returned if returned < 0 else None,
            )
        finally:
            say.lines(power.stop(arguments.power_tail if returned >= 0 else 0.0))
        traced = _finish(begun, arguments, say)
    except CltraceError as error:
        say.error(f"{error}; the parts are kept: `cltrace recover {begun.path}` finishes the trace")
    except OSError as error:
        say.error(
            f"{begun.parts}: {error.strerror}; `cltrace recover {begun.path}` finishes the trace"
        )
    except KeyboardInterrupt:
        say.error(f"interrupted: `cltrace recover {begun.path}` finishes the trace")
    except Exception as defect:
        if os.environ.get("CLTRACE_DEBUG"):
            raise
        say.error(
            f"internal error: {type(defect).__name__}: {defect}; the parts are kept in {begun.parts}"
        )
    if arguments.strict and not traced.has_calls:
        say.error("--strict: no OpenCL call was traced")
        return int(ExitStatus.REFUSED)
    if returned < 0:
        die_of(-returned)
        return 128 - returned
    return returned


def _finish(begun: Recording, arguments: argparse.Namespace, say: "_Speaker") -> _Traced:
    # `_load` has loaded these while the command ran.
    from cltrace.timeline.timekeeping import finalise  # noqa: PLC0415
    from cltrace.trace.reader import Trace  # noqa: PLC0415

    done = finalise(begun.parts, begun.path)
    has_python = bool(process_directories(begun.parts))
    if not done.running_pids:
        recording.discard_parts(begun.parts)
    with Trace(begun.path) as trace:
        has_calls = bool(trace.rows("SELECT count(*) FROM v_api_rollup")[0][0])
        if has_calls and not arguments.no_summary and not arguments.quiet:
            try:
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    _print_summary(trace, color=arguments.color)
            except CltraceError as error:
                say.error(f"the summary cannot be made: {error}")
            say.line("")
        why_nothing = "" if has_calls else _why_nothing(trace, has_python=has_python)
    if why_nothing:
        say.line(why_nothing)
    _say_where(done.path, done.running_pids, say)
    return _Traced(has_trace=True, has_calls=has_calls)


def _print_summary(trace: "Trace", *, color: str) -> None:
    from cltrace.commands.shared.documents import print_document  # noqa: PLC0415 - loaded by `_load`
    from cltrace.report.summary import SummaryOptions, summary  # noqa: PLC0415 - likewise

    document = summary(trace, SummaryOptions(top=8, is_brief=True))
    print_document(document, file=sys.stderr, color=color)


def _why_nothing(trace: "Trace", *, has_python: bool) -> str:
    processes, skipped = trace.rows(
        "SELECT count(pyopencl_version), sum(commands_skipped) FROM v_process"
    )[0]
    if skipped:
        return f"nothing was recorded: recording was paused while {skipped} commands were enqueued"
    if processes:
        return "pyopencl was imported, and no OpenCL call was recorded: see `cltrace info`"
    if has_python:
        return "no traced process imported pyopencl"
    return (
        "no Python process reported in: the command runs none, or runs it with -I, -E or -S or "
        "without our PYTHONPATH"
    )


def _say_where(path: Path, running_pids: Sequence[int], say: "_Speaker") -> None:
    if running_pids:
        pids = ", ".join(map(str, running_pids))
        say.line(
            f"process {pids} of this program still runs: `cltrace recover {_near(path)}` later adds "
            "what it does"
        )
    say.line(f"wrote {_near(path)}; next: cltrace summary {_near(path)}")


def _near(path: Path) -> str:
    """A path as short as it can be typed here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _write(text: str) -> None:
    """Write to stderr, if there is one that takes it: the command's status must come out."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


class _Speaker:
    """Lines of ours on stderr."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    def line(self, text: str) -> None:
        """Say something, unless we are to be quiet."""
        if not self._is_quiet:
            _write(f"cltrace: {plain(text)}\n" if text else "\n")

    def lines(self, texts: Sequence[str]) -> None:
        """Say some things, unless we are to be quiet."""
        for text in texts:
            self.line(text)

    def error(self, text: str) -> None:
        """Say something that must be known."""
        _write(f"cltrace: {plain(text)}\n")


def _was_refused(begun: Recording, returned: int) -> bool:
    """Whether the command itself was an interpreter that cannot be traced."""
    return (
        returned == ExitStatus.REFUSED
        and bool(untraced_reasons(begun.parts))
        and not process_directories(begun.parts)
    )


_AFTERWARDS: Final = ("trace.reader", "timeline.timekeeping")
_FOR_THE_SUMMARY: Final = ("commands.shared.documents", "report.summary")


def _load(modules: Sequence[str]) -> None:
    """Import what the end needs, while the command runs."""
    for name in modules:
        import_module(f"cltrace.{name}")
