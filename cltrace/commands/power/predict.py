"""`cltrace power predict`: the energy model held against a trace, or against measured works."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cltrace.commands.shared.argument_types import natural
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import opened
from cltrace.errors import UsageError
from cltrace.power.energy import energy_of
from cltrace.power.model.evaluation import Judged, examples_of, judged, left_out
from cltrace.power.model.fitting import Example, fitted, model_of
from cltrace.power.model.traces import modelled
from cltrace.power.points import read_points
from cltrace.power.workloads import PowerSet, set_of
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.profile import DeviceProfile, chosen_profile, load_profile
from cltrace.report.document import Document
from cltrace.report.energy_model import judged_report, modelled_report

if TYPE_CHECKING:
    from collections.abc import Sequence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power predict`."""
    parser.add_argument(
        "trace", metavar="TRACE", nargs="?", type=Path, help="a trace (default: the newest here)"
    )
    parser.add_argument(
        "--points",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="instead of a trace what `power calibrate --measure-only` wrote (repeatable): programs "
        "are predicted by a model that was fitted without them",
    )
    parser.add_argument(
        "--profile", metavar="PROFILE", help="name or path (default: the device's own)"
    )
    parser.add_argument(
        "--top", metavar="N", type=natural, default=20, help="most rows; 0 for all (default 20)"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print measured beside predicted."""
    if arguments.points and arguments.trace is not None:
        raise UsageError("give a trace or --points, not both")
    document = _of_points(arguments) if arguments.points else _of_trace(arguments)
    print_document(document, color=arguments.color, form=arguments.format)
    return 0


def _of_trace(arguments: argparse.Namespace) -> Document:
    with opened(arguments.trace) as trace:
        wanted: str | None = arguments.profile
        profile = load_profile(wanted) if wanted else profile_of_trace(trace).needed()
        found = modelled(trace, energy_of(trace), profile)
        return modelled_report(profile, found, arguments.top or None)


def _of_points(arguments: argparse.Namespace) -> Document:
    profile: DeviceProfile | None = None
    examples: dict[PowerSet, list[Example]] = {}
    idle_w = 0.0
    for path in arguments.points:
        points = read_points(path)
        if profile is None:
            profile = chosen_profile(arguments.profile, points.device)
        name = set_of([one.name for one in points.points], points.device)
        some, refused = examples_of(points, name, profile)
        examples.setdefault(name, []).extend(some)
        for text in refused:
            sys.stderr.write(f"cltrace: left out: {text}\n")
        idle_w = points.idle_w if not idle_w or name is PowerSet.CALIBRATION else idle_w
    if profile is None:
        raise UsageError("--points names no file")
    return _judged(profile, examples, idle_w, arguments.top or None)


def _judged(
    profile: DeviceProfile,
    examples: dict[PowerSet, list[Example]],
    idle_w: float,
    top: int | None,
) -> Document:
    """Programs by a model that has not seen them where there are probes; else by the profile's."""
    probes = examples.get(PowerSet.CALIBRATION, [])
    suite = examples.get(PowerSet.SUITE, [])
    application = examples.get(PowerSet.APPLICATION, [])
    found: dict[str, Sequence[Judged]] = {}
    if not probes:
        model = model_of(profile)
        found = {str(name): judged(model, some) for name, some in examples.items()}
        return judged_report(profile, model, found, top)
    model = fitted([*probes, *suite], idle_w)
    found["probes"] = judged(model, probes)
    if suite:
        found["programs left out"] = left_out(probes, suite, idle_w)
    if application:
        found["application"] = judged(model, application)
    return judged_report(profile, model, found, top)
