"""Flags of the verbs that trace: the output, the recorded data, the period and the method."""

import argparse
from dataclasses import dataclass

from cltrace.commands.shared.argument_types import (
    parse_natural,
    parse_period,
    parse_positive,
    parse_seconds,
)
from cltrace.errors import RefusedError
from cltrace.events import DEFAULT_CALLSITE_DEPTH, MAX_CALLSITE_DEPTH
from cltrace.events.kinds import LayerUse, Timing
from cltrace.spool.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """Options of a verb that traces a command.

    Attributes:
        output: the pattern of the trace's path, None for a default name.
        is_forced: True to overwrite an existing trace.
        is_quiet: True to print errors only.
        shows_summary: True to print the summary.
        is_live: True to show the display of activity.
        is_strict: True to fail if nothing was traced.
        settings: the settings of the recording.
        power_readers: the names of the readers of power.
        power_period_s: the period of their reads, None for their own.
        power_tail_s: the time for which they read after the program.
        color: `auto`, `always` or `never`.
    """

    output: str | None
    is_forced: bool
    is_quiet: bool
    shows_summary: bool
    is_live: bool
    is_strict: bool
    settings: Settings
    power_readers: tuple[str, ...]
    power_period_s: float | None
    power_tail_s: float
    color: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of recording."""
    _add_output(parser)
    _add_data(parser)
    _add_period(parser)
    _add_method(parser)
    add_power_arguments(parser)


def options_of(arguments: argparse.Namespace) -> RecordingOptions:
    """Return the options that the flags choose."""
    return RecordingOptions(
        output=arguments.output,
        is_forced=arguments.force,
        is_quiet=arguments.quiet,
        shows_summary=not arguments.quiet and not arguments.no_summary,
        is_live=arguments.live,
        is_strict=arguments.strict,
        settings=settings_of(arguments),
        power_readers=tuple(arguments.power),
        power_period_s=arguments.power_period,
        power_tail_s=arguments.power_tail,
        color=arguments.color,
    )


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Return the settings of the recording that the flags choose. Raises: `RefusedError`."""
    _check_inside(arguments)
    return Settings(
        timing=Timing(arguments.timing),
        layer=LayerUse(arguments.layer),
        include_kernels=tuple(arguments.include_kernel),
        exclude_kernels=tuple(arguments.exclude_kernel),
        callsite_depth=arguments.callsite_depth,
        record_source=not arguments.no_source,
        record_arguments=not arguments.no_args,
        record_environment=not arguments.no_env,
        keep_secrets=arguments.keep_secrets,
        force_profiling=not arguments.no_force_profiling and arguments.timing == Timing.EVENT,
        follow_children=not arguments.no_children,
        delay_s=arguments.delay,
        duration_s=arguments.duration,
        start_paused=arguments.start_paused,
        max_commands=arguments.max_events,
        measure_overhead=arguments.measure_overhead,
        capture_contents=arguments.capture_buffers != 0,
        capture_bytes=(arguments.capture_buffers or 0) << 20,
        inside_kernel=arguments.inside[0],
        inside_launch=arguments.inside[1],
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="write the trace to PATH; %%p pid, %%h host, %%t time, "
        "%%n first free number, %%q{VAR} variable (default: PROGRAM-TIME-PID.cltrace)",
    )
    group.add_argument("-f", "--force", action="store_true", help="overwrite an existing trace")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    group.add_argument("--no-summary", action="store_true", help="do not print the summary")
    group.add_argument(
        "--live",
        action="store_true",
        help="show kernel rates and device activity while it runs, if stderr is a terminal",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="exit 125 if nothing was traced, whatever the program returned",
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recorded data")
    group.add_argument(
        "--include-kernel",
        metavar="GLOB",
        action="append",
        default=[],
        help="record only kernels whose names match (repeatable)",
    )
    group.add_argument(
        "--exclude-kernel",
        metavar="GLOB",
        action="append",
        default=[],
        help="record no kernels whose names match (repeatable)",
    )
    group.add_argument(
        "--callsite-depth",
        metavar="N",
        type=_parse_depth,
        default=DEFAULT_CALLSITE_DEPTH,
        help=f"record at most N frames of the program per call, up to {MAX_CALLSITE_DEPTH}: "
        "1 the line only, 0 none "
        f"(default {DEFAULT_CALLSITE_DEPTH})",
    )
    _add_omissions(group)
    group.add_argument("--no-children", action="store_true", help="trace the first process only")
    _add_contents(group)


def _add_contents(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--capture-buffers",
        metavar="MIB",
        type=parse_natural,
        help="record the contents of host-written buffers: up to MIB MiB beside small ones of up to "
        "64 KiB (default: small ones and larger ones that hold indices; 0: none)",
    )
    group.add_argument(
        "--inside",
        metavar="KERNEL[:N]",
        type=_parse_inside,
        default=("", 1),
        help="afterwards, execute the first (the N-th) launch of a kernel again on its device, and "
        "record what each work-item does to NAME.events",
    )


def _parse_inside(text: str) -> tuple[str, int]:
    """Return a glob of kernel names and the number of a launch, 1 without one."""
    pattern, sign, number = text.rpartition(":")
    if not sign:
        return text, 1
    if not pattern:
        raise argparse.ArgumentTypeError(f"{text!r} is not KERNEL or KERNEL:N")
    return pattern, parse_positive(number)


def _check_inside(arguments: argparse.Namespace) -> None:
    """Raise `RefusedError` for flags that leave out what `--inside` needs."""
    flags = {
        "--no-source": arguments.no_source,
        "--no-args": arguments.no_args,
        "--capture-buffers": bool(arguments.capture_buffers),
    }
    for name, is_given in flags.items():
        if arguments.inside[0] and is_given:
            raise RefusedError(f"--inside cannot be combined with {name}")


def _parse_depth(text: str) -> int:
    """Return a number of frames."""
    depth = parse_natural(text)
    if depth > MAX_CALLSITE_DEPTH:
        raise argparse.ArgumentTypeError(f"{depth} is too large: give 0 to {MAX_CALLSITE_DEPTH}")
    return depth


def _add_omissions(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--no-source",
        action="store_true",
        help="record no kernel source, headers, build options or logs",
    )
    group.add_argument(
        "--keep-secrets",
        action="store_true",
        help="store what looks like tokens, keys or passwords in command lines and build options",
    )
    group.add_argument(
        "--no-args",
        action="store_true",
        help="record no kernel arguments, and of the command line the first word only",
    )
    group.add_argument("--no-env", action="store_true", help="record no environment variables")


def _add_period(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recording period")
    group.add_argument(
        "--delay", metavar="S", type=parse_seconds, default=0.0, help="start after S seconds"
    )
    group.add_argument(
        "--duration",
        metavar="S",
        type=parse_seconds,
        help="stop after S seconds; the program continues",
    )
    group.add_argument(
        "--start-paused", action="store_true", help="record after cltrace.resume() only"
    )
    group.add_argument(
        "--max-events", metavar="N", type=parse_positive, help="pause after about N calls"
    )


def _add_method(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recording method")
    group.add_argument(
        "--timing",
        choices=[method.value for method in Timing],
        default=Timing.EVENT.value,
        help="time by device events (default), by completion callbacks, or by waiting for "
        "every command",
    )
    group.add_argument(
        "--layer",
        choices=[use.value for use in LayerUse],
        default=LayerUse.AUTO.value,
        help="record with the OpenCL layer where that is possible (auto, default), refuse where it "
        "is not (on), or record pyopencl's calls with hooks in Python (off)",
    )
    group.add_argument(
        "--no-force-profiling",
        action="store_true",
        help="leave queues as the program makes them: commands of queues without "
        "profiling have host times only",
    )
    group.add_argument(
        "--measure-overhead",
        action="store_true",
        help="measure the cost of the driver's profiling when the program ends",
    )


def add_power_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of power readings during the command."""
    group = parser.add_argument_group("power")
    group.add_argument(
        "--power",
        metavar="READER",
        action="append",
        default=[],
        help="read power with rapl, nvml, hwmon, exec:CMD, or auto for all available "
        "(repeatable; see `cltrace power list`)",
    )
    group.add_argument(
        "--power-period",
        metavar="S",
        type=parse_period,
        help="read every S seconds (default: the reader's own period)",
    )
    group.add_argument(
        "--power-tail",
        metavar="S",
        type=parse_seconds,
        default=1.0,
        help="continue to read for S seconds after the program (default 1)",
    )
