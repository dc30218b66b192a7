"""`cltrace kernel`: count the work of kernels, from a source or from the launches of a trace."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from cltrace.commands.shared.argument_types import parse_natural, parse_positive
from cltrace.commands.shared.counting_flags import add_counting_arguments, counting_settings
from cltrace.commands.shared.documents import add_format_argument, print_document, print_json
from cltrace.commands.shared.event_recording import (
    EventFlags,
    add_event_arguments,
    check_event_flags,
    event_flags,
    other_version,
    record_launch,
    render_events,
    traced_launch_ready,
    write_event_page,
)
from cltrace.commands.shared.followed_files import included_files
from cltrace.commands.shared.live_page import serve_live
from cltrace.commands.shared.messages import DelayedProgress, say
from cltrace.commands.shared.source_launch import (
    SourceLaunch,
    add_source_launch_arguments,
    find_launches,
    header_directories,
    read_program,
    source_launch,
)
from cltrace.commands.shared.trace_argument import open_trace
from cltrace.errors import UsageError
from cltrace.kernels import BufferArgument, Machine, count
from cltrace.kernels.counts.traced_launches import TracedLaunch, traced_launches
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.kernels.limits import limit_counting
from cltrace.predict.models.thesis import THESIS, Thesis
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.profile import DeviceProfile, load_profile
from cltrace.report.document import Document
from cltrace.report.kernel import kernel_report, program_report, register_targets
from cltrace.report.kernel_events import EventAnalysis, analyse_events, events_report
from cltrace.report.profile_caveats import caveat_facts
from cltrace.report.traced_kernel import launch_report
from cltrace.similar_names import suggest_name

_DEFAULT_TOP: Final = 5
_DEFAULT_EVENT_ROWS: Final = 10


@dataclass(frozen=True, slots=True)
class _Target:
    """The kernels to count, and the device to count for.

    Attributes:
        file: the source or the trace.
        kernel: a glob of kernel names.
        num_cores: the cores of the CPU to count for, None for a GPU.
        profile: the profile of the device to count for, None for none.
    """

    file: Path
    kernel: str
    num_cores: int | None
    profile: DeviceProfile | None

    def machine(self, profile: DeviceProfile | None) -> Machine:
        """Return the machine to count for, by default that of `profile`."""
        if self.num_cores is not None:
            return Machine.of_cpu(self.num_cores)
        return Machine() if profile is None else machine_of(profile.device)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `kernel`."""
    parser.add_argument(
        "file", metavar="FILE.cl|TRACE", type=Path, help="read this source or trace"
    )
    parser.add_argument(
        "--kernel", metavar="GLOB", default="*", help="count only kernels whose names match"
    )
    add_source_launch_arguments(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="count for the device of a profile, with times (default, for a trace: its device's)",
    )
    parser.add_argument(
        "--cpu",
        metavar="CORES",
        type=parse_positive,
        help="count for a CPU with this number of cores (default: a GPU)",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        help=f"show at most N launches of a trace; 0 for all (default {_DEFAULT_TOP}; all as JSON)",
    )
    add_event_arguments(parser)
    add_counting_arguments(parser)
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the work of kernels."""
    profile_name: str | None = arguments.profile
    profile = load_profile(profile_name) if profile_name is not None else None
    target = _Target(arguments.file, arguments.kernel, arguments.cpu, profile)
    settings = counting_settings(arguments)
    is_source = target.file.suffix in {".cl", ".ocl", ".clh"}
    check_event_flags(arguments)
    if arguments.events is not None or arguments.page is not None or arguments.live:
        return _record(
            arguments, target, event_flags(arguments, settings.cpu_s), is_source=is_source
        )
    if is_source:
        launch = source_launch(arguments)
        documents = _count_source(target, launch, settings.cpu_s)
    else:
        max_launches = _DEFAULT_TOP if arguments.top is None else arguments.top or None
        if arguments.top is None and arguments.format == "json":
            max_launches = None
        documents = _count_trace(target, max_launches, settings)
    if arguments.format == "json":
        print_json(list(documents), is_list=not is_source)
        return 0
    for document in documents:
        print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _record(
    arguments: argparse.Namespace, target: _Target, flags: EventFlags, *, is_source: bool
) -> int:
    """Record the events of one launch, and print what they show."""
    if arguments.live:
        return serve_live(
            lambda: render_events(*_analyse(arguments, target, flags, is_source=is_source)),
            lambda: _followed_files(target, source_launch(arguments), flags),
            opens=arguments.open,
        )
    analysis, second = _analyse(arguments, target, flags, is_source=is_source)
    top = _DEFAULT_EVENT_ROWS if arguments.top is None else arguments.top or None
    report = events_report(analysis, second, top=None if arguments.format == "json" else top)
    print_document(report, color=arguments.color, output_format=arguments.format)
    if flags.page is not None:
        write_event_page(analysis, second, flags.page, is_forced=False)
    for path in filter(None, (flags.output, flags.page)):
        say(f"wrote {path}")
    return 0


def _followed_files(target: _Target, launch: SourceLaunch, flags: EventFlags) -> Sequence[Path]:
    """Return the files whose changes make a live page again."""
    directories = header_directories(target.file, launch)
    sources = [target.file, *([] if flags.against is None else [flags.against])]
    files = (path for source in sources for path in included_files(source, directories))
    return list(dict.fromkeys(files))


def _analyse(
    arguments: argparse.Namespace, target: _Target, flags: EventFlags, *, is_source: bool
) -> tuple[EventAnalysis, EventAnalysis | None]:
    """Return the events of one launch, and those of the other version if there is one."""
    ready, machine = _single_launch(arguments, target, is_source=is_source)
    analysis = analyse_events(record_launch(ready, machine, flags))
    if flags.against is None:
        return analysis, None
    other = other_version(ready, flags.against)
    return analysis, analyse_events(record_launch(other, machine, replace(flags, output=None)))


def _single_launch(
    arguments: argparse.Namespace, target: _Target, *, is_source: bool
) -> tuple[KernelLaunch, Machine]:
    """Return the launch whose events are recorded, and the device that it is for."""
    if is_source:
        machine, described = target.machine(target.profile), source_launch(arguments)
        program = read_program(target.file, described)
        launches = find_launches(program, target.file, target.kernel, described, machine)
        _check_single(launch.kernel for launch in launches)
        return launches[0], machine
    traced, profile = _read_launches(target)
    _check_single(launch.kernel for launch in traced)
    machine = target.machine(profile)
    return traced_launch_ready(max(traced, key=_captured_buffers), machine), machine


def _captured_buffers(launch: TracedLaunch) -> int:
    """Return the number of buffers whose contents the trace has."""
    buffers = (item for item in launch.arguments if isinstance(item, BufferArgument))
    return sum(item.contents is not None for item in buffers)


def _check_single(kernels: Iterable[str]) -> None:
    """Raise `UsageError` for launches of several kernels."""
    names = sorted(set(kernels))
    if len(names) > 1:
        raise UsageError(
            f"events are recorded of one kernel: --kernel chooses of {', '.join(names)}"
        )


def _with_caveats(document: Document, profile: DeviceProfile | None) -> Document:
    """Return a report with the caveats of the profile that its times are from."""
    if profile is None:
        return document
    return replace(document, facts=[*document.facts, *caveat_facts(profile)])


def _costs(profile: DeviceProfile | None) -> Thesis | None:
    return THESIS.for_device(profile) if profile is not None else None


def _count_source(target: _Target, launch: SourceLaunch, cpu_s: float | None) -> Iterable[Document]:
    """Yield the counts of a source's kernels, or its kernels where nothing is launched."""
    program = read_program(target.file, launch)
    if launch.global_size is None:
        yield program_report(program)
        return
    machine = target.machine(target.profile)
    for ready in find_launches(program, target.file, target.kernel, launch, machine):
        name = ready.kernel
        try:
            with limit_counting(cpu_s):
                counts = count(
                    program,
                    name,
                    ready.global_size,
                    ready.local_size,
                    ready.arguments,
                    machine=machine,
                )
        except ValueError as error:  # sizes or arguments that no launch can have
            raise UsageError(f"{name} cannot be launched so: {error}") from error
        code = program.code(name, register_targets(machine))
        yield _with_caveats(kernel_report(code, counts, _costs(target.profile)), target.profile)


def _read_launches(target: _Target) -> tuple[list[TracedLaunch], DeviceProfile | None]:
    """Return the launches of a trace, those with the most calls first, and the profile of its device.

    Raises: `UsageError` if no launch matches.
    """
    profile = target.profile
    with open_trace(target.file) as trace:
        if profile is None:
            profile = profile_of_trace(trace).profile
        traced = list(traced_launches(trace))
        launches = [launch for launch in traced if fnmatchcase(launch.kernel, target.kernel)]
    if not launches:
        suggestion = suggest_name(target.kernel, [launch.kernel for launch in traced])
        raise UsageError(
            f"{target.file} has no launch of {target.kernel} with its arguments{suggestion}"
        )
    return sorted(launches, key=lambda launch: -launch.calls), profile


def _count_trace(
    target: _Target, max_launches: int | None, settings: CountingSettings
) -> Iterable[Document]:
    """Yield the counts of a trace's launches, those with the most calls first."""
    launches, profile = _read_launches(target)
    machine, costs = target.machine(profile), _costs(profile)
    counter = TracedLaunchCounter(machine, settings, targets=register_targets(machine))
    with DelayedProgress("counting") as progress:
        counter.count_all(launches[:max_launches], progress)
    for launch in launches[:max_launches]:
        yield _with_caveats(launch_report(launch, counter, costs), profile)
