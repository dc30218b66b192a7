"""`cltrace power predict`: predict the energy of work, and compare it with measurements."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_natural
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import DelayedProgress, say
from cltrace.commands.shared.trace_argument import open_trace
from cltrace.errors import UsageError
from cltrace.power.energy import energy_of
from cltrace.power.model.evaluation import (
    EvaluatedExample,
    count_examples,
    cross_validate,
    evaluate,
)
from cltrace.power.model.fitting import Example, fit_energies, model_of
from cltrace.power.model.traces import model_trace
from cltrace.power.points import read_points
from cltrace.power.workloads import PowerSet, find_set
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.profile import DeviceProfile, choose_profile, load_profile
from cltrace.report.document import Document
from cltrace.report.energy_model import evaluation_report, modelled_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power predict`."""
    parser.add_argument(
        "trace",
        metavar="TRACE",
        nargs="?",
        type=Path,
        help="read this trace (default: the newest here)",
    )
    parser.add_argument(
        "--points",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="read the points of `power calibrate --measure-only` instead of a trace (repeatable), "
        "and predict programs by a model that was fitted without them",
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="use this profile, by name or path (default: the device's own)",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        default=20,
        help="show at most N rows; 0 for all (default 20)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print measured and predicted energies."""
    profile_name: str | None = arguments.profile
    top: int | None = arguments.top or None
    if arguments.points and arguments.trace is not None:
        raise UsageError("give a trace or --points, not both")
    if arguments.points:
        document = _predict_points(arguments.points, profile_name, top)
    else:
        document = _predict_trace(arguments.trace, profile_name, top)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _predict_trace(path: Path | None, profile_name: str | None, top: int | None) -> Document:
    with open_trace(path) as trace, DelayedProgress("counting") as progress:
        profile = load_profile(profile_name) if profile_name else profile_of_trace(trace).require()
        modelled = model_trace(trace, energy_of(trace), profile, progress)
        return modelled_report(profile, modelled, top)


def _predict_points(paths: Sequence[Path], profile_name: str | None, top: int | None) -> Document:
    profile: DeviceProfile | None = None
    examples: dict[PowerSet, list[Example]] = {}
    idle_w = 0.0
    with DelayedProgress("counting") as progress:
        for path in paths:
            points = read_points(path)
            if profile is None:
                profile = choose_profile(profile_name, points.device)
            name = find_set([point.name for point in points.points], points.device)
            counted, refused = count_examples(points, name, profile, progress)
            examples.setdefault(name, []).extend(counted)
            for text in refused:
                say(f"left out: {text}")
            idle_w = points.idle_w if not idle_w or name is PowerSet.CALIBRATION else idle_w
    if profile is None:
        raise UsageError("--points names no file")
    return _evaluate(profile, examples, idle_w, top)


def _evaluate(
    profile: DeviceProfile,
    examples: dict[PowerSet, list[Example]],
    idle_w: float,
    top: int | None,
) -> Document:
    """Return the evaluation of a model that was fitted without each program.

    Without probes to fit to, it is that of the profile's model.
    """
    probes = examples.get(PowerSet.CALIBRATION, [])
    suite = examples.get(PowerSet.SUITE, [])
    application = examples.get(PowerSet.APPLICATION, [])
    evaluated: dict[str, Sequence[EvaluatedExample]] = {}
    if not probes:
        model = model_of(profile)
        evaluated = {str(name): evaluate(model, rows) for name, rows in examples.items()}
        return evaluation_report(profile, model, evaluated, top)
    model = fit_energies([*probes, *suite], idle_w)
    evaluated["probes"] = evaluate(model, probes)
    if suite:
        evaluated["programs left out"] = cross_validate(probes, suite, idle_w)
    if application:
        evaluated["application"] = evaluate(model, application)
    return evaluation_report(profile, model, evaluated, top)
