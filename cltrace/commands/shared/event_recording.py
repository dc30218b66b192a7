"""Recording of the events inside one launch, for `cltrace kernel --events`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_positive
from cltrace.commands.shared.outputs import write_output_atomically
from cltrace.commands.shared.source_launch import parse_source
from cltrace.errors import OutputError, UsageError
from cltrace.files import find_output
from cltrace.kernels import Argument, Kernel, Machine, parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.traced_launches import TracedLaunch, usual_local_size
from cltrace.kernels.events.capture import DEFAULT_LIMITS, EventLimits, record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.events.files import is_events_file, write_events
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.limits import limit_counting
from cltrace.report.kernel_events import EventAnalysis
from cltrace.report.page.inside_kernel import render_inside_page, render_inside_pair
from cltrace.report.page.ownership import is_own_page
from cltrace.runs.device_events import record_on_device


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFlags:
    """Flags of a recording.

    Attributes:
        output: the file to write the events to, None for none.
        page: the page to write them as, None for none.
        against: the source of another version to show beside it, None for none.
        selection: the events to record.
        limits: limits of the recording.
        device: name of the device that executes the launch, None for the executor.
        cpu_s: limit on the CPU time, None for none.
    """

    output: Path | None
    page: Path | None
    against: Path | None
    selection: EventSelection
    limits: EventLimits
    device: str | None
    cpu_s: float | None


def add_event_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of a recording."""
    parser.add_argument(
        "--events",
        metavar="FILE",
        type=Path,
        help="record the branches and accesses of every work-item of one launch to FILE",
    )
    parser.add_argument(
        "--page",
        metavar="FILE.html",
        type=Path,
        help="record them, and write them as a page for the browser",
    )
    parser.add_argument(
        "--against",
        metavar="FILE.cl",
        type=Path,
        help="show the kernel of this source beside it on the page, launched in the same way",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="serve the page on this machine, and make it again whenever the source or a header changes",
    )
    parser.add_argument("--open", action="store_true", help="open the live page in the browser")
    _add_recorded(parser)
    parser.add_argument(
        "--max-events",
        metavar="N",
        type=parse_positive,
        default=DEFAULT_LIMITS.max_events,
        help="record whole work-groups with at most about N events "
        f"(default {DEFAULT_LIMITS.max_events:,})",
    )


def _add_recorded(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that say what is recorded, and where."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="execute the kernel on this OpenCL device (default: without a device)",
    )
    parser.add_argument(
        "--optimised",
        action="store_true",
        help="record the optimised code (default: the code as written)",
    )
    parser.add_argument(
        "--watch",
        metavar="NAME",
        action="append",
        default=[],
        help="record only accesses of this argument or variable",
    )
    parser.add_argument(
        "--emit",
        metavar="NAME=EXPR@LINE",
        action="append",
        default=[],
        help="record the value of an expression after this line: 'float sum[i]=a+b@12'",
    )


def check_event_flags(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for flags that have no effect without others."""
    is_recorded = arguments.events is not None or arguments.page is not None or arguments.live
    flags = {
        "--against": arguments.against is not None,
        "--optimised": arguments.optimised,
        "--watch": bool(arguments.watch),
        "--emit": bool(arguments.emit),
        "--device": arguments.device is not None,
    }
    for name, is_given in flags.items():
        if is_given and not is_recorded:
            raise UsageError(f"{name} is of recorded events: give --events, --page or --live, too")
    if arguments.open and not arguments.live:
        raise UsageError("--open opens the page of --live: give that, or use `cltrace view --open`")
    if arguments.live and arguments.page is not None:
        raise UsageError("--live serves the page itself: leave --page out")


def event_flags(arguments: argparse.Namespace, cpu_s: float | None) -> EventFlags:
    """Return the flags of a recording."""
    return EventFlags(
        output=arguments.events,
        page=arguments.page,
        against=arguments.against,
        selection=EventSelection(
            form=CodeForm.OPTIMISED if arguments.optimised else CodeForm.WRITTEN,
            watched=arguments.watch,
            emissions=arguments.emit,
        ),
        limits=replace(DEFAULT_LIMITS, max_events=arguments.max_events),
        device=arguments.device,
        cpu_s=cpu_s,
    )


def traced_launch_ready(launch: TracedLaunch, machine: Machine) -> KernelLaunch:
    """Return a launch of a trace with its program. Raises: `UsageError` without its source."""
    if launch.program is None:
        raise UsageError(
            f"the trace has no source of {launch.kernel}: record it without --no-source"
        )
    program = launch.program
    return KernelLaunch(
        program=parse(program.source, program.options, headers=program.headers),
        kernel=launch.kernel,
        global_size=launch.global_size,
        local_size=launch.local_size or usual_local_size(launch.global_size, machine),
        global_offset=launch.global_offset,
        arguments=TracedLaunchCounter(machine).current_arguments(launch),
    )


def other_version(launch: KernelLaunch, file: Path) -> KernelLaunch:
    """Return the launch of another version's kernel: the one of the same name, or its only one.

    Raises: `UsageError`, `KernelError`.
    """
    program = parse_source(file, launch.program.options, headers=launch.program.headers)
    names = list(program.kernels)
    if launch.kernel not in names and len(names) != 1:
        raise UsageError(
            f"{file} has no kernel {launch.kernel}: it has {', '.join(names) or 'none'}"
        )
    kernel = launch.kernel if launch.kernel in names else names[0]
    arguments = _arguments_by_name(launch, program.kernels[kernel], file)
    return replace(launch, program=program, kernel=kernel, arguments=arguments)


def _arguments_by_name(launch: KernelLaunch, kernel: Kernel, file: Path) -> Sequence[Argument]:
    """Return a launch's arguments in the order of another kernel's parameters.

    Parameters of other names take the place of those of the same types. Raises: `UsageError`.
    """
    own = launch.program.kernels[launch.kernel].parameters
    by_name = {
        parameter.name: argument for parameter, argument in zip(own, launch.arguments, strict=False)
    }
    names = [parameter.name for parameter in kernel.parameters]
    if set(names) == set(by_name):
        return [by_name[name] for name in names]
    if [parameter.type for parameter in own] == [parameter.type for parameter in kernel.parameters]:
        return launch.arguments
    raise UsageError(
        f"{kernel.name} of {file} has other parameters than {launch.kernel}: {', '.join(names) or 'none'}"
    )


def record_launch(launch: KernelLaunch, machine: Machine, flags: EventFlags) -> LaunchEvents:
    """Record the events of a launch, and write them if the flags name a file.

    Raises: `UsageError`, `KernelError`, `OutputError`.
    """
    if flags.output is not None:
        _check_output(flags.output)
    if flags.page is not None and flags.page.exists() and not is_own_page(flags.page):
        raise OutputError(f"{flags.page} exists and is no page of cltrace: name another one")
    try:
        with limit_counting(flags.cpu_s):
            if flags.device is None:
                events = record_events(
                    launch, flags.selection, machine=machine, limits=flags.limits
                )
            else:
                events = _record_on_device(launch, machine, flags, flags.device)
    except ValueError as error:  # sizes or arguments that no launch can have
        raise UsageError(f"{launch.kernel} cannot be launched so: {error}") from error
    if flags.output is not None:
        write_events(events, flags.output)
    return events


def _record_on_device(
    launch: KernelLaunch, machine: Machine, flags: EventFlags, device: str
) -> LaunchEvents:
    recorded = DeviceLaunch(launch, flags.selection, machine=machine)
    log = record_on_device(recorded, device, flags.limits.max_events)
    return recorded.events(log, flags.limits.max_events)


def render_events(analysis: EventAnalysis, second: EventAnalysis | None) -> str:
    """Return the page of a launch's events, or of two launches side by side."""
    return render_inside_page(analysis) if second is None else render_inside_pair(analysis, second)


def write_event_page(
    analysis: EventAnalysis, second: EventAnalysis | None, page: Path, *, is_forced: bool
) -> None:
    """Write events as a page; those of two launches side by side.

    Only an earlier page is overwritten, unless `is_forced`.

    Raises: `OutputError`.
    """
    text = render_events(analysis, second)
    write_output_atomically(
        page,
        lambda path: _write_text(path, text),
        lambda _: None,
        is_forced=is_forced,
        is_own=is_own_page,
    )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _check_output(path: Path) -> None:
    """Check that a file of events may be written. Raises: `OutputError`."""
    place = find_output(path)
    if not place.is_stream and place.path.exists() and not is_events_file(place.path):
        raise OutputError(f"{path} exists and is no file of events: name another one")
