"""`cltrace power calibrate`: measure what a device's work draws, and fit the energy model to it."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cltrace.commands.shared.measurement_flags import add_measured_arguments, check_targets
from cltrace.commands.shared.messages import progress, say
from cltrace.commands.shared.power_measurement import add_measuring_arguments, metered, readers
from cltrace.errors import UsageError
from cltrace.power.calibration import QUICK, Pace, PowerCalibration
from cltrace.power.model import Caches
from cltrace.power.model.evaluation import examples_of, transfers_of
from cltrace.power.model.fitting import MODEL, WITHOUT, Example, fitted
from cltrace.power.points import PowerPoints, read_points, write_points
from cltrace.power.workloads import PowerSet, probes_of, set_of
from cltrace.profile import (
    DeviceProfile,
    Parameter,
    chosen_profile,
    own_path,
    write_profile,
)

_WITHOUT_S = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power calibrate`."""
    add_measuring_arguments(parser)
    parser.add_argument(
        "--set",
        dest="set_name",
        choices=[str(one) for one in PowerSet],
        default=str(PowerSet.CALIBRATION),
        help="what to measure (default calibration)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="0.6 s each instead of 3: for trying out"
    )
    add_measured_arguments(
        parser,
        "measure, and leave fitting to --from",
        "fit to what --measure-only wrote, on any machine (repeatable)",
        is_repeatable=True,
    )
    parser.add_argument(
        "--profile", metavar="PROFILE", help="add the energies to this one (default: the device's)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the profile (default: your own)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Measure, or read what was measured; fit, and write a profile."""
    check_targets(arguments)
    if arguments.measured:
        found = [read_points(path) for path in arguments.measured]
    else:
        found = [_measured(arguments)]
    if arguments.measure_only is not None:
        write_points(found[0], arguments.measure_only)
        say(f"wrote {arguments.measure_only}: {len(found[0].points)} points")
        return 0
    profile = chosen_profile(arguments.profile, found[0].device)
    target: Path = arguments.output or own_path(profile.device)
    write_profile(_with_energies(profile, found), target)
    say(f"wrote {target}; next: cltrace power predict TRACE --profile {target}")
    return 0


def _with_energies(profile: DeviceProfile, found: Sequence[PowerPoints]) -> DeviceProfile:
    examples: list[Example] = []
    more: dict[str, Parameter] = {}
    idle_w = found[0].idle_w
    for points in found:
        name = set_of([one.name for one in points.points], points.device)
        some, refused = examples_of(points, name, profile)
        examples += some
        for text in refused:
            say(f"left out: {text}")
        if name is PowerSet.CALIBRATION:
            idle_w = points.idle_w
            for key, energy in transfers_of(points).items():
                more[key] = Parameter(energy, "J/B", 0.0, "transfers")
            if points.without_w is not None:
                more[WITHOUT] = Parameter(points.without_w, "W", 0.0, "rest")
    if not examples:
        raise UsageError("no work of these points could be counted: there is nothing to fit to")
    model = fitted(examples, idle_w)
    parameters = {**profile.parameters, MODEL: {**model.parameters(), **more}}
    return replace(profile, parameters=parameters)


def _measured(arguments: argparse.Namespace) -> PowerPoints:
    chosen = readers(arguments)
    pace = QUICK if arguments.quick else Pace()
    begin_ns = time.perf_counter_ns()
    with metered(chosen, "power calibrate") as meter:
        # Before anything makes a context: what the device draws for nobody.
        time.sleep(min(_WITHOUT_S, pace.idle_s))
        without_ns = (begin_ns, time.perf_counter_ns())
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.clocks import clocks_of  # noqa: PLC0415 - likewise

        with Bench(find_device(arguments.device)) as bench:
            if arguments.measure_only is None:
                # What the fit needs: it is to be missed now, not after minutes.
                Caches.of(chosen_profile(arguments.profile, bench.facts))
            probes = probes_of(PowerSet(arguments.set_name), bench.facts)
            run = PowerCalibration(bench, clocks_of(bench.device), pace)
            run.run(probes, lambda name, done, total: progress(f"{done}/{total} {name}"))
    progress("")
    for note in run.notes:
        say(note)
    return run.points(meter.channels(), without_ns)
