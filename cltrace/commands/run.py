"""`cltrace run`: trace a command, then print the summary."""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from cltrace.commands.child import die_of, resolved, run_to_end, traced_environment
from cltrace.errors import CltraceError, ExitStatus, RefusedError
from cltrace.events.kinds import Timing
from cltrace.intercept.ranks import rank_of
from cltrace.trace import recording
from cltrace.trace.names import default_name, expanded
from cltrace.trace.recording import Recording
from cltrace.trace.spool.layout import process_directories, untraced_reasons
from cltrace.trace.spool.settings import Settings

_EPILOG = """\
COMMAND is any program; FILE.py, -m MODULE and -c CODE run in this Python. What the program prints,
returns and does to its terminal is its own; cltrace speaks afterwards, on stderr.

The exit status is the program's; a signal that killed it kills cltrace too. Before the program
started: 125 cltrace refused, 126 the command cannot be executed, 127 it was not found.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `run`."""
    parser.usage = (
        "cltrace run [options] [--] COMMAND... | FILE.py ... | -m MODULE ... | -c CODE ..."
    )
    parser.epilog = _EPILOG
    add_recording_arguments(parser)


def add_recording_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that say where and what to record."""
    out = parser.add_argument_group("output")
    out.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="the trace; %%p pid, %%h host, %%t time, "
        "%%n first free number, %%q{VAR} variable (default: PROGRAM-TIME-PID.cltrace)",
    )
    out.add_argument("-f", "--force", action="store_true", help="overwrite an existing trace")
    out.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    out.add_argument("--no-summary", action="store_true", help="do not print the summary")
    out.add_argument(
        "--strict",
        action="store_true",
        help="exit 125 when nothing was traced, whatever the program returned",
    )
    what = parser.add_argument_group("what to record")
    what.add_argument(
        "--include-kernel",
        metavar="GLOB",
        action="append",
        default=[],
        help="only kernels with such a name (repeatable)",
    )
    what.add_argument(
        "--exclude-kernel",
        metavar="GLOB",
        action="append",
        default=[],
        help="no kernels with such a name (repeatable)",
    )
    what.add_argument(
        "--callsite-depth",
        metavar="N",
        type=_natural,
        default=1,
        help="frames of the program to keep for each call (default 1)",
    )
    what.add_argument(
        "--no-source", action="store_true", help="keep no kernel source, headers and logs"
    )
    what.add_argument(
        "--no-args",
        action="store_true",
        help="keep no kernel arguments and no words of the command line but the first",
    )
    what.add_argument("--no-env", action="store_true", help="keep no environment variables")
    what.add_argument("--no-children", action="store_true", help="trace the first process only")
    what.add_argument(
        "--capture-buffers",
        metavar="MIB",
        type=_natural,
        default=0,
        help="keep buffers that the host wrote, up to so many MiB (default 0: off)",
    )
    when = parser.add_argument_group("when to record")
    when.add_argument(
        "--delay", metavar="S", type=_seconds, default=0.0, help="start after S seconds"
    )
    when.add_argument(
        "--duration", metavar="S", type=_seconds, help="stop after S seconds; the program goes on"
    )
    when.add_argument("--start-paused", action="store_true", help="wait for cltrace.resume()")
    when.add_argument("--max-events", metavar="N", type=_natural, help="pause after about N calls")
    how = parser.add_argument_group("how to record")
    how.add_argument(
        "--timing",
        choices=[method.value for method in Timing],
        default=Timing.EVENT.value,
        help="device events (default), completion callbacks, or waiting for every command",
    )
    how.add_argument(
        "--no-force-profiling",
        action="store_true",
        help="leave queues as the program makes them: commands of those without "
        "profiling have host times only",
    )
    how.add_argument(
        "--measure-overhead",
        action="store_true",
        help="measure what the driver's profiling costs, when the program ends",
    )


def split_command(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Our options, and the command behind them, whose options are its own."""
    takes_value = {
        option
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of options
        for option in action.option_strings
        if action.nargs is None
    }
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return list(words[:position]), list(words[position + 1 :])
        if word in {"-m", "-c"} or not word.startswith("-"):
            break
        position += 2 if word in takes_value else 1
    return list(words[:position]), list(words[position:])


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its status."""
    command = resolved(arguments.command)
    settings = settings_of(arguments)
    if arguments.output is None:
        path = Path(default_name(arguments.command, rank_of(os.environ)))
    else:
        path = expanded(arguments.output, os.environ)
    begun = recording.begin(
        path, arguments.command, settings, recorder_pid=os.getpid(), overwrite=arguments.force
    )
    try:
        environment = traced_environment(os.environ, begun.parts)
        returned = run_to_end(command, environment, _load_what_comes_after)
    except CltraceError:
        shutil.rmtree(begun.parts, ignore_errors=True)
        raise
    if _was_refused(begun, returned):
        said = "; ".join(next(iter(untraced_reasons(begun.parts).values()), []))
        shutil.rmtree(begun.parts, ignore_errors=True)
        raise RefusedError(said)
    return _after(begun, returned, arguments)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings that the flags of `add_recording_arguments` ask for."""
    return Settings(
        timing=Timing(arguments.timing),
        include_kernels=tuple(arguments.include_kernel),
        exclude_kernels=tuple(arguments.exclude_kernel),
        callsite_depth=arguments.callsite_depth,
        record_source=not arguments.no_source,
        record_arguments=not arguments.no_args,
        record_environment=not arguments.no_env,
        force_profiling=not arguments.no_force_profiling and arguments.timing == Timing.EVENT,
        follow_children=not arguments.no_children,
        delay_s=arguments.delay,
        duration_s=arguments.duration,
        start_paused=arguments.start_paused,
        max_commands=arguments.max_events,
        measure_overhead=arguments.measure_overhead,
        capture_bytes=arguments.capture_buffers << 20,
    )


@dataclass(frozen=True, slots=True)
class _Traced:
    """What came of a recording, for the decisions at its end."""

    has_trace: bool
    has_calls: bool


def _after(begun: Recording, returned: int, arguments: argparse.Namespace) -> int:
    """Write the trace, say what there is to say, and end as the command ended."""
    say = _Speaker(is_quiet=arguments.quiet)
    traced = _Traced(has_trace=False, has_calls=False)
    try:
        recording.end(
            begun, max(returned, 0) if returned >= 0 else None, -returned if returned < 0 else None
        )
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
    sys.stderr.flush()
    if returned < 0:
        die_of(-returned)
        return 128 - returned
    return returned


def _finish(begun: Recording, arguments: argparse.Namespace, say: "_Speaker") -> _Traced:
    # `_load_what_comes_after` has loaded these while the command ran.
    from cltrace.commands.printing import print_document  # noqa: PLC0415
    from cltrace.report.summary import SummaryOptions, summary  # noqa: PLC0415
    from cltrace.trace.reader import Trace  # noqa: PLC0415
    from cltrace.trace.writer import finalise  # noqa: PLC0415

    done = finalise(begun.parts, begun.path)
    has_python = bool(process_directories(begun.parts))
    if not done.running_pids:
        recording.discard_parts(begun.parts)
    with Trace(begun.path) as trace:
        has_calls = bool(trace.rows("SELECT count(*) FROM v_api_rollup")[0][0])
        if has_calls and not arguments.no_summary and not arguments.quiet:
            document = summary(trace, SummaryOptions(top=8, is_brief=True))
            print_document(document, file=sys.stderr, color=arguments.color)
            say.line("")
    if not has_calls:
        say.line(_why_nothing(has_python=has_python))
    _say_where(done.path, done.running_pids, say)
    return _Traced(has_trace=True, has_calls=has_calls)


def _why_nothing(*, has_python: bool) -> str:
    if has_python:
        return "no OpenCL call was seen: the program did not use pyopencl"
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


class _Speaker:
    """Lines of ours on stderr."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    def line(self, text: str) -> None:
        """Say something, unless we are to be quiet."""
        if not self._is_quiet:
            sys.stderr.write(f"cltrace: {text}\n" if text else "\n")

    def error(self, text: str) -> None:
        """Say something that must be known."""
        sys.stderr.write(f"cltrace: {text}\n")


def _was_refused(begun: Recording, returned: int) -> bool:
    """Whether the command itself was an interpreter that cannot be traced."""
    return (
        returned == ExitStatus.REFUSED
        and bool(untraced_reasons(begun.parts))
        and not process_directories(begun.parts)
    )


def _load_what_comes_after() -> None:
    """Import what the end needs, while the command runs."""
    for name in ("commands.printing", "report.summary", "trace.reader", "trace.writer"):
        import_module(f"cltrace.{name}")


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no length of time")
    return number
