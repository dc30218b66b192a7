"""`cltrace calibrate`: measure the costs of a device's operations, accesses, launches and transfers."""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.progress import BarColumn, TextColumn

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measurement_file_arguments, check_targets
from cltrace.commands.shared.messages import TaskProgress, progress_bar, say
from cltrace.commands.shared.process_age import process_age_s
from cltrace.errors import MissingExtraError, ProfileError, UsageError
from cltrace.files import find_output
from cltrace.predict.calibration import (
    Calibration,
    CalibrationProgress,
    MeasuredDevice,
    find_doubts,
    keep_settled,
    require_settled,
)
from cltrace.predict.caveats import incompleteness
from cltrace.predict.curves import require_scipy
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.fitting import fit_models
from cltrace.profile import (
    DeviceFacts,
    DeviceProfile,
    read_profile,
    user_profile_path,
    write_profile,
)
from cltrace.report.profile import profile_report
from cltrace.suite.calibration import Effort

_QUICK_S: Final = 60.0
"""Longest time of a quick calibration, from the start of the process to its end."""
_WRITING_S: Final = 8.0
"""Time kept for writing and printing the profile, and for the end of the process."""
_STARTS: Final = 1.5
"""Times as long as the process took to start, kept too: a start shows how busy the machine is."""
_MEASURING_SHARE: Final = 0.65
"""Share of the time for measuring; the rest is for counting the probes, and for the fit."""
_AGAIN: Final = "run the same command again on a quieter machine, which measures these anew"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The calibration to make.

    Attributes:
        device: part of the device's name or its platform's.
        effort: the number of points.
        target: the file to write, None for the user's own profile of the device.
        is_noise_accepted: True to keep probes of an earlier calibration that did not settle.
        deadline: the end of measuring and fitting.
    """

    device: str
    effort: Effort
    target: Path | None
    is_noise_accepted: bool
    deadline: Deadline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `calibrate`."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="use the device whose name or platform contains NAME",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write the profile to FILE (default: your own profile of the device)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure fewer points, end within a minute, and name what was left out",
    )
    parser.add_argument(
        "--noisy",
        action="store_true",
        help="write the profile even if more than a quarter of its probes did not settle",
    )
    add_measurement_file_arguments(parser, "fit models to")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Measure and fit, and print the profile."""
    output: Path | None = arguments.output
    measured: Path | None = arguments.measured
    measure_only: Path | None = arguments.measure_only
    deadline = _quick_deadline(process_age_s()) if arguments.quick else NEVER
    if measure_only is None:
        require_scipy()
    check_targets(output, measure_only)
    if measured is None:
        plan = _Plan(
            device=arguments.device,
            effort=Effort.QUICK if arguments.quick else Effort.FULL,
            target=measure_only or output,
            is_noise_accepted=arguments.noisy,
            deadline=deadline,
        )
        share = _MEASURING_SHARE if measure_only is None else 1.0
        profile, partial = _measure(plan, share)
        remedy = f"{_AGAIN}, or accept it with --noisy"
    else:
        profile, partial = read_profile(measured), None
        remedy = f"accept the measurements of {measured} with --noisy, or measure again"
    for text in incompleteness(profile):
        say(text)
    if measure_only is not None:
        _write(profile, measure_only, partial)
        return 0
    if not arguments.noisy:
        require_settled(profile, remedy)
    with TaskProgress("fitting models") as progress:
        progress(profile.device.name)
        profile = fit_models(profile, deadline)
    path = output or user_profile_path(profile.device)
    _write(profile, path, partial)
    say(f"wrote {path}")
    document = profile_report(profile)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _quick_deadline(start_s: float) -> Deadline:
    """Return the end of measuring and fitting, after a start of the process that took `start_s`."""
    return Deadline.after(_QUICK_S - start_s).before(_WRITING_S + _STARTS * start_s)


def _write(profile: DeviceProfile, path: Path, partial: Path | None) -> None:
    """Write a profile, and remove the file with a part of it."""
    write_profile(profile, path)
    if partial is not None:
        partial.unlink(missing_ok=True)


def _measure(plan: _Plan, share: float) -> tuple[DeviceProfile, Path]:
    """Measure a device in a share of the time, and return the file with the results so far, too.

    A calibration that was interrupted is continued. After one that was too noisy, what did not settle is
    measured anew.
    """
    try:
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.clocks import find_clock_source  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("calibrate", "pocl", error) from error
    with Bench(find_device(plan.device)) as bench:
        partial = _partial_path(plan.target, bench.facts)
        earlier = _read_partial(partial, bench.facts, plan.effort)
        if earlier is not None and earlier.is_noisy and not plan.is_noise_accepted:
            earlier = keep_settled(earlier)
        device = MeasuredDevice.of(bench, find_clock_source(bench.device))
        deadline = plan.deadline.first_part(share)
        run = Calibration(device, plan.effort, earlier, deadline)
        profile = _run(run, bench.facts.name, partial, earlier)
    return replace(profile, notes=(*profile.notes, *find_doubts(profile))), partial


def _run(
    run: Calibration, device: str, partial: Path, earlier: DeviceProfile | None
) -> DeviceProfile:
    """Measure with a progress bar, and write the results so far to `partial` after each family."""
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(None),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[left]}"),
    )
    profile = earlier
    with progress_bar(f"measuring {device}", *columns) as bar:
        task = bar.add_task("measuring", total=None, left="")

        def report(progress: CalibrationProgress) -> None:
            left = "" if progress.left_s is None else f"{progress.left_s:4.0f} s left"
            bar.update(
                task,
                description=progress.family,
                completed=progress.done,
                total=progress.total,
                left=left,
            )

        try:
            for extended in run.measure_families(report):
                profile = extended
                write_profile(profile, partial)
        except KeyboardInterrupt:
            raise UsageError(
                f"interrupted; the same command continues from {partial}"
                if profile is not None
                else "interrupted before anything was measured"
            ) from None
    if profile is None:
        raise UsageError("the suite has nothing to measure")
    return profile


def _partial_path(target: Path | None, device: DeviceFacts) -> Path:
    path = user_profile_path(device)
    if target is not None:
        place = find_output(target)
        path = path if place.is_stream else place.path
    return path.with_name(f"{path.name}.calibrating")


def _read_partial(path: Path, device: DeviceFacts, effort: Effort) -> DeviceProfile | None:
    if not path.is_file():
        return None
    try:
        profile = read_profile(path)
    except ProfileError:
        return None
    is_same = profile.device == device and profile.provenance.effort == effort.name.lower()
    return profile if is_same else None
