"""`cltrace accuracy`: predictions held against measurements, for whole sets of kernels."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from cltrace.commands.shared.argument_types import positive
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measured_arguments
from cltrace.errors import MissingExtraError
from cltrace.predict.accuracy import evaluated
from cltrace.predict.measurements import (
    Measurements,
    measured,
    read_measurements,
    write_measurements,
)
from cltrace.predict.sets import SetName, launches_of
from cltrace.profile import load_profile, profile_for
from cltrace.report.accuracy import accuracy_report
from cltrace.report.accuracy_figures import draw_accuracy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `accuracy`."""
    parser.add_argument(
        "--set",
        dest="set_name",
        choices=[str(name) for name in SetName],
        default=str(SetName.RESTRICTED),
        help="which launches (default restricted)",
    )
    parser.add_argument(
        "--samples", metavar="N", type=positive, default=1000, help="how many (default 1000)"
    )
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of random kernels")
    parser.add_argument(
        "--device", metavar="NAME", default="", help="part of a device's or platform's name"
    )
    parser.add_argument(
        "--profile", metavar="PROFILE", help="name or path (default: the device's own)"
    )
    parser.add_argument("--cold", action="store_true", help="measure with emptied caches too")
    add_measured_arguments(
        parser,
        "measure, and leave predicting to --from",
        "predict what --measure-only wrote, on any machine",
    )
    parser.add_argument("--plot", metavar="DIR", type=Path, help="write figures there")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Measure, predict and compare."""
    path: Path | None = arguments.measured
    wanted: str | None = arguments.profile
    named = load_profile(wanted) if wanted is not None else None
    measurements = _measured(arguments) if path is None else read_measurements(path)
    if arguments.measure_only is not None:
        write_measurements(measurements, arguments.measure_only)
        return 0
    profile = named if named is not None else profile_for(measurements.device)
    found = evaluated(measurements, profile)
    document = accuracy_report(measurements, profile, found)
    print_document(document, color=arguments.color, form=arguments.format)
    if arguments.plot is not None:
        for drawn in draw_accuracy(measurements, found, arguments.plot):
            sys.stderr.write(f"cltrace: wrote {drawn}\n")
    return 0


def _measured(arguments: argparse.Namespace) -> Measurements:
    try:
        from cltrace.measure import Bench, device_facts, find_device  # noqa: PLC0415 - loads pyopencl
    except ImportError as error:
        raise MissingExtraError("accuracy", "pocl", error) from error
    name = SetName(arguments.set_name)
    console = Console(stderr=True)
    device = find_device(arguments.device)
    if arguments.measure_only is None and arguments.profile is None:
        profile_for(device_facts(device))
    with (
        Bench(device) as bench,
        Progress(console=console, disable=not console.is_terminal) as bar,
    ):
        launches = launches_of(name, arguments.samples, arguments.seed, bench.facts)
        task = bar.add_task("measuring", total=2 * len(launches))
        timings = measured(
            bench,
            launches,
            lambda done, _: bar.update(task, completed=done),
            with_cold=arguments.cold,
        )
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        return Measurements(bench.facts, name, arguments.seed, arguments.samples, date, timings)
