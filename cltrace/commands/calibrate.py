"""`cltrace calibrate`: measure the costs of a device's operations, accesses, launches and transfers."""

import argparse
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, TextColumn

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measurement_file_arguments, check_targets
from cltrace.commands.shared.messages import progress_bar, say
from cltrace.errors import MissingExtraError, ProfileError, UsageError
from cltrace.predict import calibration
from cltrace.predict.curves import require_scipy
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
        "--quick", action="store_true", help="measure fewer points, in a minute at most"
    )
    add_measurement_file_arguments(parser, "fit models to")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Measure and fit, and print the profile."""
    output: Path | None = arguments.output
    measured: Path | None = arguments.measured
    measure_only: Path | None = arguments.measure_only
    if measure_only is None:
        require_scipy()
    check_targets(output, measure_only)
    if measured is None:
        effort = Effort.QUICK if arguments.quick else Effort.FULL
        profile, partial = _measure(arguments.device, effort, measure_only or output)
    else:
        profile, partial = read_profile(measured), None
    path = measure_only or output or user_profile_path(profile.device)
    if measure_only is None:
        profile = fit_models(profile)
    write_profile(profile, path)
    if partial is not None:
        partial.unlink(missing_ok=True)
    if measure_only is not None:
        return 0
    say(f"wrote {path}")
    document = profile_report(profile)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _measure(device: str, effort: Effort, target: Path | None) -> tuple[DeviceProfile, Path]:
    """Measure a device, and return the file with the results so far, too.

    A calibration that was interrupted is continued.
    """
    try:
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.clocks import find_clock_source  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("calibrate", "pocl", error) from error
    with Bench(find_device(device)) as bench:
        partial = _partial_path(target, bench.facts)
        earlier = _read_partial(partial, bench.facts, effort)
        run = calibration.Calibration(bench, effort, find_clock_source(bench.device), earlier)
        profile = _run(run, partial, earlier)
    return replace(profile, notes=(*profile.notes, *calibration.find_doubts(profile))), partial


def _run(
    run: calibration.Calibration, partial: Path, earlier: DeviceProfile | None
) -> DeviceProfile:
    """Measure with a progress bar, and write the results so far to `partial` after each family."""
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(None),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[left]}"),
    )
    profile = earlier
    with progress_bar(*columns) as bar:
        task = bar.add_task("measuring", total=None, left="")

        def report(progress: calibration.CalibrationProgress) -> None:
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
    path = target or user_profile_path(device)
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
