"""`cltrace run`: trace a command, then print the summary."""

import argparse
import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.commands.shared.command_line import split_command as split_command
from cltrace.commands.shared.inside_recording import record_captured, say_no_trace
from cltrace.commands.shared.messages import DelayedProgress, Speaker, error_stream
from cltrace.commands.shared.recording_flags import RecordingOptions, options_of
from cltrace.commands.shared.recording_flags import add_arguments as add_recording_arguments
from cltrace.errors import CltraceError, ExitStatus, RefusedError, UsageError
from cltrace.intercept.ranks import rank_of
from cltrace.runs.child import (
    MISSING_SCRIPT_STATUS,
    die_of_signal,
    find_missing_script,
    resolve_command,
    run_to_end,
    traced_environment,
)
from cltrace.runs.command_power import PowerRecording, choose_power_readers
from cltrace.runs.layer import prepare_layer
from cltrace.runs.trial_builds import (
    find_fault_here,
    find_intel_runtime,
    has_choice,
    name_working_device,
    warn_of_pocl,
)
from cltrace.spool.layout import process_directories, untraced_reasons
from cltrace.trace import recording
from cltrace.trace.file_names import default_name, expand_pattern
from cltrace.trace.recording import Recording

if TYPE_CHECKING:
    from cltrace.trace.reader import Trace

_EPILOG = """\
COMMAND is any program; FILE.py, -m MODULE and -c CODE run in this Python.
cltrace leaves the program's output, status and terminal alone, and prints its
own messages afterwards, on stderr.

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
    add_recording_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its status."""
    return run_traced(arguments.command, options_of(arguments))


def run_traced(
    words: Sequence[str], options: RecordingOptions, variables: Mapping[str, str] | None = None
) -> int:
    """Trace a command, given as the words after `run`, with more variables, and return its status."""
    given = {**os.environ, **(variables or {})}
    command = resolve_command(words)
    missing_script = find_missing_script(words)
    readers = choose_power_readers(options.power_readers, options.power_period_s)
    path = _output_path(words, options.output)
    say = Speaker(is_quiet=options.is_quiet).say
    _warn(given, say)
    layer = prepare_layer(options.settings, say)
    begun = recording.begin(
        path, words, options.settings, recorder_pid=os.getpid(), overwrite=options.is_forced
    )
    power = PowerRecording(begun.parts, readers, os.environ)
    try:
        layered = layer.environment(given, begun.parts, options.settings)
        follow_children = options.settings.follow_children
        environment = traced_environment(layered, begun.parts, follow_children=follow_children)
        modules = (*_END_MODULES, *_SUMMARY_MODULES) if options.shows_summary else _END_MODULES
        loading = threading.Thread(target=_load, args=(modules,), daemon=True)
        with _display(begun, is_live=options.is_live):

            def meanwhile() -> None:
                power.start()
                loading.start()

            status = run_to_end(command, environment, meanwhile)
    except (CltraceError, OSError):
        power.stop()
        shutil.rmtree(begun.parts, ignore_errors=True)
        raise
    if _was_refused(begun, status):
        power.stop()
        raise _discard_refused(begun)
    outcome = _Outcome(begun, status, power, loading, lambda: layer.explain_nothing(command))
    if missing_script and _has_run_nothing(outcome):
        return _discard_failed_start(outcome, missing_script, options)
    return _end(outcome, options)


def _warn(environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Warn of a PoCL that cannot build programs here."""
    warning = warn_of_pocl(find_fault_here(), environment)
    if warning:
        say(f"warning: {warning}")


def _display(begun: Recording, *, is_live: bool) -> contextlib.AbstractContextManager[None]:
    """Return the display of `--live`, which does nothing without it."""
    if not is_live:
        return contextlib.nullcontext()
    from cltrace.commands.shared.live_display import live_display  # noqa: PLC0415 - imports numpy

    return live_display(begun.parts, error_stream())


def _output_path(words: Sequence[str], output: str | None) -> Path:
    if output is None:
        return Path(default_name(words, rank_of(os.environ)))
    try:
        return expand_pattern(output, os.environ)
    except UsageError as error:
        raise RefusedError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Result:
    """Result of a recording."""

    has_trace: bool
    has_calls: bool


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Recording of a command that has ended with `status`, and what is left to do.

    `loading` imports the modules of the end. `explain_nothing` tells why a trace is empty.
    """

    begun: Recording
    status: int
    power: PowerRecording
    loading: threading.Thread
    explain_nothing: Callable[[], str]


def _end(outcome: _Outcome, options: RecordingOptions) -> int:
    """Write the trace, print the messages, and end as the command ended."""
    speaker = Speaker(is_quiet=options.is_quiet)
    begun, status = outcome.begun, outcome.status
    result = _Result(has_trace=False, has_calls=False)
    try:
        try:
            recording.end(
                begun,
                max(status, 0) if status >= 0 else None,
                -status if status < 0 else None,
            )
        finally:
            messages = outcome.power.stop(options.power_tail_s if status >= 0 else 0.0)
            speaker.say_all(messages)
        outcome.loading.join()
        result = _finish(begun, options, speaker, outcome.explain_nothing)
        if options.settings.inside_kernel and result.has_trace:
            record_captured(begun.path, options, speaker)
    except (CltraceError, OSError, KeyboardInterrupt) as error:
        speaker.error(_unfinished_text(begun, error))
    except Exception as defect:
        if os.environ.get("CLTRACE_DEBUG"):
            raise
        speaker.error(
            f"internal error: {type(defect).__name__}: {defect}; the parts are kept in {begun.parts}"
        )
    if options.settings.inside_kernel and not result.has_trace:
        say_no_trace(begun.path, options, speaker)
    if options.is_strict and not result.has_calls:
        return _refuse_nothing(speaker)
    return _end_as_command(status)


def _unfinished_text(begun: Recording, error: BaseException) -> str:
    """Return the message of what prevented a trace, and how to make it."""
    finishing = f"`cltrace recover {begun.path}` finishes the trace"
    match error:
        case CltraceError():
            return f"{error}; the parts are kept: {finishing}"
        case OSError() if begun.parts.exists():
            return f"{begun.parts}: {error.strerror}; {finishing}"
        case OSError():
            return f"{begun.parts} was removed or renamed while the command ran: there is no trace"
        case _:
            return f"interrupted: {finishing}"


def _refuse_nothing(speaker: Speaker) -> int:
    """Say that `--strict` wants calls, and return its exit status."""
    speaker.error("--strict: no OpenCL call was traced")
    return int(ExitStatus.REFUSED)


def _end_as_command(status: int) -> int:
    """Return the command's status; end by the signal that killed it."""
    if status < 0:
        die_of_signal(-status)
        return 128 - status
    return status


def _finish(
    begun: Recording,
    options: RecordingOptions,
    speaker: Speaker,
    explain_nothing: Callable[[], str],
) -> _Result:
    # `_load` has loaded these while the command ran.
    from cltrace.timeline.timekeeping import finalise  # noqa: PLC0415
    from cltrace.trace.progress import no_progress  # noqa: PLC0415
    from cltrace.trace.reader import Trace  # noqa: PLC0415

    with DelayedProgress(f"writing {begun.path.name}") as progress:
        shown = no_progress if options.is_quiet else progress
        finalised = finalise(begun.parts, begun.path, progress=shown)
    has_processes = bool(process_directories(begun.parts))
    if not finalised.running_pids:
        recording.discard_parts(begun.parts)
    with Trace(begun.path) as trace:
        has_calls = bool(trace.rows("SELECT count(*) FROM v_api_rollup")[0][0])
        next_verb = _next_verb(trace, has_calls=has_calls)
        if has_calls and options.shows_summary:
            try:
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    _print_summary(trace, color=options.color)
            except CltraceError as error:
                speaker.error(f"the summary cannot be made: {error}")
            speaker.say("")
        reason = ""
        if not has_calls:
            reason = (
                "nothing was recorded: see `cltrace info`"
                if finalised.missing.stops
                else _reason_of_nothing(trace, has_processes=has_processes) or explain_nothing()
            )
    if reason:
        speaker.say(reason)
    for text in finalised.missing.stops:
        speaker.error(f"the trace is incomplete: {text}")
    _say_path(finalised.path, finalised.running_pids, speaker, next_verb)
    return _Result(has_trace=True, has_calls=has_calls)


def _print_summary(trace: "Trace", *, color: str) -> None:
    from cltrace.commands.shared.documents import print_document  # noqa: PLC0415 - loaded by `_load`
    from cltrace.report.summary import SummaryOptions, summary  # noqa: PLC0415 - likewise

    stream = error_stream()
    if stream is not None:
        document = summary(trace, SummaryOptions(top=8, is_brief=True))
        print_document(document, file=stream, color=color)


def _reason_of_nothing(trace: "Trace", *, has_processes: bool) -> str:
    """Return why the trace has no call, for a message; empty if no process reported in."""
    from cltrace.report.summary import skipped_text  # noqa: PLC0415 - loaded by `_load`, mostly

    processes, with_pyopencl, skipped = trace.rows(
        "SELECT count(*), count(nullif(pyopencl_version, '')), sum(commands_skipped) FROM v_process"
    )[0]
    if skipped:
        return f"nothing was recorded: {skipped_text(trace, skipped)}"
    if with_pyopencl:
        text = "pyopencl was imported, and no OpenCL call was recorded: see `cltrace info`"
        runtime = None if has_choice(os.environ) else find_intel_runtime()
        if runtime is None:
            return text
        return f"{text}; if no platform was found, {name_working_device([], runtime)}"
    if processes:
        return "OpenCL was loaded, and no call was recorded: see `cltrace info`"
    return "no traced process imported pyopencl" if has_processes else ""


def _next_verb(trace: "Trace", *, has_calls: bool) -> str:
    """Return the verb that shows more than the summary; empty for a trace that says nothing of OpenCL."""
    if not has_calls:
        return ""
    has_commands = bool(trace.rows("SELECT EXISTS (SELECT * FROM v_command)")[0][0])
    return "timeline" if has_commands else "info"


def _say_path(path: Path, running_pids: Sequence[int], speaker: Speaker, next_verb: str) -> None:
    if running_pids:
        pids = ", ".join(map(str, running_pids))
        speaker.say(
            f"process {pids} of this program still runs: `cltrace recover {_shorten(path)}` later "
            "adds its commands"
        )
    suggestion = f"; next: cltrace {next_verb} {_shorten(path)}" if next_verb else ""
    speaker.say(f"wrote {_shorten(path)}{suggestion}")


def _shorten(path: Path) -> str:
    """Return a path relative to the working directory, where it lies in that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _was_refused(begun: Recording, status: int) -> bool:
    """Return True if the command itself is an interpreter that cannot be traced."""
    return (
        status == ExitStatus.REFUSED
        and bool(untraced_reasons(begun.parts))
        and not process_directories(begun.parts)
    )


def _discard_refused(begun: Recording) -> RefusedError:
    """Remove the parts of a refused command, and return the error that says why it was refused."""
    reasons = "; ".join(next(iter(untraced_reasons(begun.parts).values()), []))
    shutil.rmtree(begun.parts, ignore_errors=True)
    return RefusedError(reasons)


def _has_run_nothing(outcome: _Outcome) -> bool:
    """Return True if a Python ended as one that cannot open its script, and nothing was recorded."""
    directories = process_directories(outcome.begun.parts)
    return outcome.status == MISSING_SCRIPT_STATUS and not any(
        any(directory.iterdir()) for directory, _ in directories
    )


def _discard_failed_start(outcome: _Outcome, script: str, options: RecordingOptions) -> int:
    """Remove the parts of a Python that could not open its script, and return the exit status."""
    outcome.power.stop()
    shutil.rmtree(outcome.begun.parts, ignore_errors=True)
    speaker = Speaker(is_quiet=options.is_quiet)
    speaker.say(f"{script} was not found: no trace is written")
    return _refuse_nothing(speaker) if options.is_strict else outcome.status


_END_MODULES: Final = ("trace.reader", "timeline.timekeeping")
_SUMMARY_MODULES: Final = ("commands.shared.documents", "report.summary")


def _load(modules: Sequence[str]) -> None:
    """Import the modules that the end needs, while the command runs.

    The end imports them again, and tells what is wrong with them.
    """
    with contextlib.suppress(Exception), _one_thread_for_algebra():
        for name in modules:
            import_module(f"cltrace.{name}")


@contextlib.contextmanager
def _one_thread_for_algebra() -> Iterator[None]:
    """Let numpy start no threads for linear algebra, which finalising does not use.

    OpenBLAS starts a thread per processor when numpy is imported, and each takes milliseconds.
    """
    if _THREADS_VARIABLE in os.environ or "numpy" in sys.modules:
        yield
        return
    os.environ[_THREADS_VARIABLE] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS_VARIABLE]


_THREADS_VARIABLE: Final = "OPENBLAS_NUM_THREADS"
