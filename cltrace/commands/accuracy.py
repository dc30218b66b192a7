"""`cltrace accuracy`: compare predictions with measurements, for sets of kernels or recorded programs."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.commands.shared.argument_types import parse_natural, parse_positive
from cltrace.commands.shared.counting_flags import add_counting_arguments, counting_settings
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measurement_file_arguments
from cltrace.commands.shared.messages import DelayedProgress, progress_bar, say
from cltrace.commands.shared.trace_argument import open_trace
from cltrace.domain.decisions import SIZE_EXPONENTS
from cltrace.domain.size_series import read_directory, time_series
from cltrace.errors import MissingExtraError, ProfileError, UsageError
from cltrace.predict.accuracy import Evaluation, evaluate
from cltrace.predict.measurements import (
    Measurements,
    measure_set,
    read_measurements,
    write_measurements,
)
from cltrace.predict.neighbours.evaluation import evaluate_together
from cltrace.predict.scored_launches import evaluate_launches
from cltrace.predict.sets import MAX_SAMPLES, SetName, launches_of
from cltrace.predict.trace_accuracy import TraceAccuracy, require_scorable, score_trace
from cltrace.predict.trace_profile import ProfileChoice, choose_profiles, devices_of_trace
from cltrace.profile import DeviceProfile, load_profile, profile_for
from cltrace.report.accuracy import accuracy_report
from cltrace.report.accuracy_figures import trace_origin, write_accuracy
from cltrace.report.neighbour_figures import write_together
from cltrace.report.neighbours import together_report
from cltrace.report.prediction import missing_notes
from cltrace.report.size_series import series_report, write_series
from cltrace.report.trace_accuracy import trace_accuracy_report
from cltrace.trace.reader import Trace

if TYPE_CHECKING:  # loads pyopencl
    from cltrace.measure import Bench

_DEFAULT_SAMPLES: Final = 1000
_DEFAULT_SEED: Final = 1
_DEFAULT_TOP: Final = 10
_ALL_TRACES: Final = "all-traces"
"""Name of the figures of several traces together."""
_OF_SETS: Final = {
    "set_name": "--set",
    "measured": "--from",
    "measure_only": "--measure-only",
    "samples": "--samples",
    "seed": "--seed",
    "device": "--device",
    "cold": "--cold",
}
"""Flags that mean nothing for a trace, by attribute."""


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
        "--trace",
        dest="traces",
        metavar="TRACE",
        type=Path,
        action="append",
        default=[],
        help="score the launches and transfers of this trace instead of a set (repeatable)",
    )
    _add_kernel_arguments(parser)
    _add_set_arguments(parser)
    parser.add_argument(
        "--profile",
        metavar="[DEVICE=]PROFILE",
        action="append",
        default=[],
        help="use this profile, by name or path; with --trace for the devices of its name, or for those "
        "whose names contain DEVICE (default: each device's own; repeatable)",
    )
    parser.add_argument("--plot", metavar="DIR", type=Path, help="write figures to DIR")
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        help="with --trace: show at most N kernels, outliers and commands that are not scored; 0 for all "
        f"(default {_DEFAULT_TOP})",
    )
    add_counting_arguments(parser)
    add_format_argument(parser)


def _add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of a directory of iterations."""
    parser.add_argument(
        "--kernels",
        metavar="DIR",
        type=Path,
        help="measure the domain iterations of DIR over sizes instead of a set, five times each",
    )
    parser.add_argument(
        "--largest",
        metavar="N",
        type=_parse_exponent,
        help=f"with --kernels: measure 2^{SIZE_EXPONENTS[0]} to 2^N elements "
        f"(default {SIZE_EXPONENTS[-1]})",
    )


def _add_set_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of sets. Those without a value are None, so that a trace can refuse them."""
    parser.add_argument(
        "--set",
        dest="set_name",
        metavar="NAME",
        choices=[str(name) for name in SetName],
        help=f"measure this set of launches: {', '.join(SetName)} (default restricted)",
    )
    parser.add_argument(
        "--samples",
        metavar="N",
        type=_parse_samples,
        help=f"measure N launches (default {_DEFAULT_SAMPLES}, at most {MAX_SAMPLES:,})",
    )
    parser.add_argument(
        "--seed", metavar="S", type=int, help="generate random kernels from this seed"
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="use the device whose name or platform contains NAME",
    )
    parser.add_argument(
        "--cold", action="store_true", default=None, help="measure with empty caches, too"
    )
    add_measurement_file_arguments(parser, "predict")


def _parse_samples(text: str) -> int:
    """Return a number of launches between 1 and `MAX_SAMPLES`."""
    number = parse_positive(text)
    if number > MAX_SAMPLES:
        raise argparse.ArgumentTypeError(f"{text} launches are too many: at most {MAX_SAMPLES:,}")
    return number


def _parse_exponent(text: str) -> int:
    """Return the exponent of a number of elements."""
    number = parse_positive(text)
    if number not in SIZE_EXPONENTS:
        limits = f"{SIZE_EXPONENTS[0]} to {SIZE_EXPONENTS[-1]}"
        raise argparse.ArgumentTypeError(f"2^{text[:20]} elements: give {limits}")
    return number


def execute(arguments: argparse.Namespace) -> int:
    """Measure, predict and compare; or score traces."""
    if arguments.kernels is not None:
        return _measure_kernels(arguments)
    if arguments.largest is not None:
        raise UsageError("--largest limits the sizes of --kernels: add it, or leave it out")
    if not arguments.traces:
        return _evaluate_set(arguments)
    for attribute, flag in _OF_SETS.items():
        value = getattr(arguments, attribute)
        # A setting may clear a switch, which is as if it were not given. A seed of 0 is given.
        if value is not None and value is not False:
            raise UsageError(f"--trace scores what a program recorded: leave out {flag}")
    scored, notes = _score_traces(arguments)
    top = _DEFAULT_TOP if arguments.top is None else arguments.top or None
    document = replace(trace_accuracy_report(scored, top), notes=notes)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if arguments.plot is not None:
        _draw_traces(scored, arguments.plot)
    return 0


def _measure_kernels(arguments: argparse.Namespace) -> int:
    """Measure the iterations of a directory over sizes, and draw a figure for each."""
    for attribute, flag in {"traces": "--trace", **_OF_SETS, "top": "--top"}.items():
        if attribute != "device" and getattr(arguments, attribute) not in (None, False, []):
            raise UsageError(f"--kernels measures the iterations of a directory: leave out {flag}")
    iterations = read_directory(arguments.kernels)
    named = _named_profile(arguments.profile)
    with _bench(arguments.device or "") as bench:
        profile = named if named is not None else profile_for(bench.facts)
        last = arguments.largest or SIZE_EXPONENTS[-1]
        exponents = [exponent for exponent in SIZE_EXPONENTS if exponent <= last]
        with progress_bar(f"measuring {bench.facts.name}") as bar:
            task = bar.add_task("measuring", total=len(iterations) * len(exponents))
            rows = []
            for row in time_series(iterations, profile, exponents, bench.time_runs):
                rows.append(row)
                bar.update(task, completed=len(rows))
        origin = f"{bench.facts.name}, measured {datetime.now(UTC):%Y-%m-%d}"
    document = series_report(rows, profile)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if arguments.plot is not None:
        for figure in write_series(rows, origin, arguments.plot):
            say(f"wrote {figure}")
    return 0


def _bench(device: str) -> "Bench":
    try:
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
    except ImportError as error:
        raise MissingExtraError("accuracy", "pocl", error) from error
    return Bench(find_device(device))


def _score_traces(arguments: argparse.Namespace) -> tuple[Sequence[TraceAccuracy], Sequence[str]]:
    """Score each trace; return the scores, and notes on devices without a profile."""
    paths: Sequence[Path] = arguments.traces
    names = _trace_names(paths)
    scored = []
    notes: list[str] = []
    for path, name in zip(paths, names, strict=True):
        with open_trace(path) as trace, DelayedProgress(f"scoring {name}") as progress:
            require_scorable(trace)
            choice = _choose_profiles(trace, path, arguments.profile, is_only=len(paths) == 1)
            notes += missing_notes(choice)
            settings = counting_settings(arguments)
            scored.append(score_trace(trace, name, choice, settings=settings, progress=progress))
    return scored, list(dict.fromkeys(notes))


def _trace_names(paths: Sequence[Path]) -> Sequence[str]:
    """Return a name for each trace: that of its file, with a number if another one has it.

    Raises: `UsageError` for a trace that is named twice.
    """
    names: list[str] = []
    for number, path in enumerate(paths):
        if path.resolve() in {other.resolve() for other in paths[:number]}:
            raise UsageError(f"--trace {path} is given twice: it would count double")
        choices = (path.stem, *(f"{path.stem}-{copy}" for copy in range(2, len(paths) + 2)))
        names.append(next(name for name in choices if name not in {*names, _ALL_TRACES}))
    return names


def _choose_profiles(
    trace: Trace, path: Path, requests: Sequence[str], *, is_only: bool
) -> ProfileChoice:
    """Return the profiles of a trace's devices; among several traces, one may have none.

    Raises: `ProfileError`.
    """
    devices = devices_of_trace(trace)
    if not is_only and not requests and all(device.profile is None for device in devices):
        return ProfileChoice((), devices)
    try:
        return choose_profiles(devices, requests)
    except ProfileError as error:
        raise ProfileError(f"{path}: {error}") from error


def _draw_traces(traces: Sequence[TraceAccuracy], directory: Path) -> None:
    """Draw the figures of each trace, and of all if there are several."""
    launches = {trace.trace: trace.launches for trace in traces}
    if len(traces) > 1:
        launches[_ALL_TRACES] = tuple(each for trace in traces for each in trace.launches)
    for name, scored in launches.items():
        if scored:
            own = [trace for trace in traces if name in (trace.trace, _ALL_TRACES)]
            _draw(name, trace_origin(own), evaluate_launches(scored), directory)


def _draw(name: str, origin: str, evaluation: Evaluation, directory: Path) -> None:
    for figure in write_accuracy(name, origin, evaluation, directory):
        say(f"wrote {figure}")


def _evaluate_set(arguments: argparse.Namespace) -> int:
    """Measure a set, or read its measurements; predict and compare."""
    if arguments.top is not None:
        raise UsageError("--top limits the tables of a trace: add --trace, or leave it out")
    named = _named_profile(arguments.profile)
    path: Path | None = arguments.measured
    if path is None:
        needs_profile = arguments.measure_only is None and named is None
        measurements = _measure(_plan(arguments), needs_profile=needs_profile)
    else:
        measurements = read_measurements(path)
    if arguments.measure_only is not None:
        write_measurements(measurements, arguments.measure_only)
        return 0
    profile = named if named is not None else profile_for(measurements.device)
    if measurements.set_name is SetName.TOGETHER:
        return _report_together(arguments, measurements, profile)
    evaluation = evaluate(measurements, profile)
    document = accuracy_report(measurements, profile, evaluation)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if arguments.plot is not None:
        origin = f"{measurements.device.name}, measured {measurements.date}"
        _draw(str(measurements.set_name), origin, evaluation, arguments.plot)
    return 0


def _report_together(
    arguments: argparse.Namespace, measurements: Measurements, profile: DeviceProfile
) -> int:
    """Print the errors of models of neighbours, and draw them."""
    evaluation = evaluate_together(measurements, profile)
    document = together_report(measurements, profile, evaluation)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if arguments.plot is not None:
        origin = f"{measurements.device.name}, measured {measurements.date}"
        for figure in write_together(origin, evaluation, arguments.plot):
            say(f"wrote {figure}")
    return 0


def _named_profile(names: Sequence[str]) -> DeviceProfile | None:
    """Return the profile that `--profile` names for a set; None without one. Raises: `UsageError`."""
    if len(names) > 1:
        raise UsageError("a set is of one device: give --profile once")
    return load_profile(names[0]) if names else None


def _plan(arguments: argparse.Namespace) -> _Plan:
    """Return what to measure, with defaults for what is not given."""
    return _Plan(
        device=arguments.device or "",
        set_name=SetName(arguments.set_name or SetName.RESTRICTED),
        num_samples=arguments.samples or _DEFAULT_SAMPLES,
        seed=_DEFAULT_SEED if arguments.seed is None else arguments.seed,
        is_cold=bool(arguments.cold),
    )


def _measure(plan: _Plan, *, needs_profile: bool) -> Measurements:
    """Measure launches. Raises: `ProfileError` if the device `needs_profile` and has none."""
    try:
        from cltrace.measure import Bench, device_facts, find_device  # noqa: PLC0415 - loads pyopencl
    except ImportError as error:
        raise MissingExtraError("accuracy", "pocl", error) from error
    device = find_device(plan.device)
    if needs_profile:
        profile_for(device_facts(device))
    with Bench(device) as bench, progress_bar(f"measuring {bench.facts.name}") as bar:
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
