"""`cltrace calibrate`: measure what a device's operations, accesses, launches and transfers cost."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measured_arguments, check_targets
from cltrace.errors import MissingExtraError, ProfileError, UsageError
from cltrace.predict import calibration
from cltrace.predict.curves import require_scipy
from cltrace.predict.fitting import fitted
from cltrace.profile import (
    DeviceFacts,
    DeviceProfile,
    own_path,
    read_profile,
    write_profile,
)
from cltrace.report.profile import profile_report
from cltrace.suite.calibration import Effort


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `calibrate`."""
    parser.add_argument(
        "--device", metavar="NAME", default="", help="part of a device's or platform's name"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="where to write the profile"
    )
    parser.add_argument("--quick", action="store_true", help="fewer points: a minute at most")
    add_measured_arguments(
        parser,
        "measure, and leave fitting to --from",
        "fit models to what --measure-only wrote, on any machine",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Measure and fit, and print the profile."""
    _check(arguments)
    measured: Path | None = arguments.measured
    if measured is None:
        profile, kept = _measured(arguments)
    else:
        profile, kept = read_profile(measured), None
    path = arguments.measure_only or arguments.output or own_path(profile.device)
    if arguments.measure_only is None:
        profile = fitted(profile)
    write_profile(profile, path)
    if kept is not None:
        kept.unlink(missing_ok=True)
    if arguments.measure_only is not None:
        return 0
    sys.stderr.write(f"cltrace: wrote {path}\n")
    print_document(profile_report(profile), color=arguments.color, form=arguments.format)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Find out what would fail in the end before anything is measured."""
    if arguments.measure_only is None:
        require_scipy()
    check_targets(arguments)


def _measured(arguments: argparse.Namespace) -> tuple[DeviceProfile, Path]:
    """Measure a device, and where it is kept until it is written.

    What an interrupted calibration left is gone on with.
    """
    try:
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.clocks import clocks_of  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("calibrate", "pocl", error) from error
    effort = Effort.QUICK if arguments.quick else Effort.FULL
    with Bench(find_device(arguments.device)) as bench:
        target = arguments.measure_only or arguments.output
        kept = _partial(target, bench.facts)
        earlier = _earlier(kept, bench.facts, effort)
        run = calibration.Calibration(bench, effort, clocks_of(bench.device), earlier)
        profile = _run(run, kept, earlier)
    return replace(profile, notes=(*profile.notes, *calibration.doubts(profile))), kept


def _run(run: calibration.Calibration, kept: Path, earlier: DeviceProfile | None) -> DeviceProfile:
    """Measure with a progress bar; what there is of it is kept after each family."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(None),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[left]}"),
    )
    profile = earlier
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("measuring", total=None, left="")

        def report(progress: calibration.Progress) -> None:
            left = "" if progress.left_s is None else f"{progress.left_s:4.0f} s left"
            bar.update(
                task,
                description=progress.family,
                completed=progress.done,
                total=progress.total,
                left=left,
            )

        try:
            for found in run.families(report):
                profile = found
                write_profile(profile, kept)
        except KeyboardInterrupt:
            raise UsageError(
                f"interrupted; the same command goes on from {kept}"
                if profile is not None
                else "interrupted before anything was measured"
            ) from None
    if profile is None:
        raise UsageError("the suite has nothing to measure")
    return profile


def _partial(target: Path | None, device: DeviceFacts) -> Path:
    wanted = target or own_path(device)
    return wanted.with_name(f"{wanted.name}.calibrating")


def _earlier(path: Path, device: DeviceFacts, effort: Effort) -> DeviceProfile | None:
    if not path.is_file():
        return None
    try:
        profile = read_profile(path)
    except ProfileError:
        return None
    same = profile.device == device and profile.provenance.effort == effort.name.lower()
    return profile if same else None
