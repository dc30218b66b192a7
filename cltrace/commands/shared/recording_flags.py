"""The flags that say where and what to record: those of every verb that traces."""

import argparse

from cltrace.commands.shared.argument_types import natural, period, positive, seconds
from cltrace.events.kinds import Timing
from cltrace.spool.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags, which repeat where their help says so."""
    _add_output(parser)
    _add_what(parser)
    _add_when(parser)
    _add_how(parser)
    add_power_arguments(parser)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings that the flags ask for."""
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


def _add_output(parser: argparse.ArgumentParser) -> None:
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
        "--live",
        action="store_true",
        help="show kernel rates and device busy while it runs, if stderr is a terminal",
    )
    out.add_argument(
        "--strict",
        action="store_true",
        help="exit 125 when nothing was traced, whatever the program returned",
    )


def _add_what(parser: argparse.ArgumentParser) -> None:
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
        type=natural,
        default=1,
        help="frames of the program to keep for each call (default 1)",
    )
    _add_what_not(what)
    what.add_argument("--no-children", action="store_true", help="trace the first process only")
    what.add_argument(
        "--capture-buffers",
        metavar="MIB",
        type=natural,
        default=0,
        help="keep buffers that the host wrote, up to so many MiB (default 0: off)",
    )


def _add_what_not(what: argparse._ArgumentGroup) -> None:
    what.add_argument(
        "--no-source",
        action="store_true",
        help="keep no kernel source, headers, build options and logs",
    )
    what.add_argument(
        "--no-args",
        action="store_true",
        help="keep no kernel arguments and no words of the command line but the first",
    )
    what.add_argument("--no-env", action="store_true", help="keep no environment variables")


def _add_when(parser: argparse.ArgumentParser) -> None:
    when = parser.add_argument_group("when to record")
    when.add_argument(
        "--delay", metavar="S", type=seconds, default=0.0, help="start after S seconds"
    )
    when.add_argument(
        "--duration", metavar="S", type=seconds, help="stop after S seconds; the program goes on"
    )
    when.add_argument("--start-paused", action="store_true", help="wait for cltrace.resume()")
    when.add_argument("--max-events", metavar="N", type=positive, help="pause after about N calls")


def _add_how(parser: argparse.ArgumentParser) -> None:
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


def add_power_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which readers of power read beside the command."""
    power = parser.add_argument_group("power")
    power.add_argument(
        "--power",
        metavar="READER",
        action="append",
        default=[],
        help="read power while it runs: rapl, nvml, hwmon, exec:CMD, auto for all that can "
        "(repeatable; `cltrace power list` tells)",
    )
    power.add_argument(
        "--power-period",
        metavar="S",
        type=period,
        help="seconds between two reads (default: the reader's own)",
    )
    power.add_argument(
        "--power-tail",
        metavar="S",
        type=seconds,
        default=1.0,
        help="go on so long after the end of the program (default 1)",
    )
