"""`cltrace accuracy`: compare predictions with measurements, for whole sets of kernels."""

import argparse
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_positive
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measurement_file_arguments
from cltrace.commands.shared.messages import progress_bar, say
from cltrace.errors import MissingExtraError
from cltrace.predict.accuracy import evaluate
from cltrace.predict.measurements import (
    Measurements,
    measure_set,
    read_measurements,
    write_measurements,
)
from cltrace.predict.sets import SetName, launches_of
from cltrace.profile import load_profile, profile_for
from cltrace.report.accuracy import accuracy_report
from cltrace.report.accuracy_figures import draw_accuracy


@dataclass(frozen=True, slots=True)
class _Plan:
    """The device and the launches to measure.

    Attributes:
        device: part of the device's name or its platform's.
        set_name: the set of launches.
        num_samples: the number of launches.
        seed: the seed of random kernels.
        is_cold: True to measure with empty caches, too.
    """

    device: str
    set_name: SetName
    num_samples: int
    seed: int
    is_cold: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `accuracy`."""
    parser.add_argument(
        "--set",
        dest="set_name",
        choices=[str(name) for name in SetName],
        default=str(SetName.RESTRICTED),
        help="measure this set of launches (default restricted)",
    )
    parser.add_argument(
        "--samples",
        metavar="N",
        type=parse_positive,
        default=1000,
        help="measure N launches (default 1000)",
    )
    parser.add_argument(
        "--seed", metavar="S", type=int, default=1, help="generate random kernels from this seed"
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="use the device whose name or platform contains NAME",
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="use this profile, by name or path (default: the device's own)",
    )
    parser.add_argument("--cold", action="store_true", help="measure with empty caches, too")
    add_measurement_file_arguments(parser, "predict")
    parser.add_argument("--plot", metavar="DIR", type=Path, help="write figures to DIR")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Measure, predict and compare."""
    path: Path | None = arguments.measured
    profile_name: str | None = arguments.profile
    named = load_profile(profile_name) if profile_name is not None else None
    if path is None:
        plan = _Plan(
            arguments.device,
            SetName(arguments.set_name),
            arguments.samples,
            arguments.seed,
            arguments.cold,
        )
        needs_profile = arguments.measure_only is None and named is None
        measurements = _measure(plan, needs_profile=needs_profile)
    else:
        measurements = read_measurements(path)
    if arguments.measure_only is not None:
        write_measurements(measurements, arguments.measure_only)
        return 0
    profile = named if named is not None else profile_for(measurements.device)
    evaluation = evaluate(measurements, profile)
    document = accuracy_report(measurements, profile, evaluation)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if arguments.plot is not None:
        for figure in draw_accuracy(measurements, evaluation, arguments.plot):
            say(f"wrote {figure}")
    return 0


def _measure(plan: _Plan, *, needs_profile: bool) -> Measurements:
    """Measure launches. Raises: `ProfileError` if the device `needs_profile` and has none."""
    try:
        from cltrace.measure import Bench, device_facts, find_device  # noqa: PLC0415 - loads pyopencl
    except ImportError as error:
        raise MissingExtraError("accuracy", "pocl", error) from error
    device = find_device(plan.device)
    if needs_profile:
        profile_for(device_facts(device))
    with Bench(device) as bench, progress_bar() as bar:
        launches = launches_of(plan.set_name, plan.num_samples, plan.seed, bench.facts)
        task = bar.add_task("measuring", total=2 * len(launches))
        timings = measure_set(
            bench,
            launches,
            lambda done, _: bar.update(task, completed=done),
            with_cold=plan.is_cold,
        )
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        return Measurements(bench.facts, plan.set_name, plan.seed, plan.num_samples, date, timings)
