"""`cltrace power calibrate`: measure the energy of a device's work, and fit the energy model to it."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cltrace.commands.shared.measurement_flags import add_measurement_file_arguments, check_targets
from cltrace.commands.shared.messages import DelayedProgress, TaskProgress, say
from cltrace.commands.shared.power_measurement import (
    add_device_arguments,
    available_readers,
    metered,
)
from cltrace.errors import UsageError
from cltrace.power.calibration import QUICK, CalibrationDurations, PowerCalibration
from cltrace.power.model import Caches
from cltrace.power.model.evaluation import count_examples, transfer_energies
from cltrace.power.model.fitting import (
    IDLE_WITHOUT_CONTEXT,
    MODEL,
    Example,
    fit_energies,
    require_scipy,
)
from cltrace.power.points import PowerMeasurements, read_points, write_points
from cltrace.power.sampler import ChosenReader
from cltrace.power.workloads import PowerSet, find_set, set_probes
from cltrace.profile import (
    DeviceProfile,
    Parameter,
    choose_profile,
    user_profile_path,
    write_profile,
)

_MAX_IDLE_S = 2.0


@dataclass(frozen=True, slots=True)
class _Plan:
    """The device and the points to measure.

    Attributes:
        device: part of the device's name or its platform's.
        set_name: the set of points.
        pace: the duration of each point.
        profile: the name of the profile to fit, None for the device's.
        is_fitted: False to measure only.
    """

    device: str
    set_name: PowerSet
    pace: CalibrationDurations
    profile: str | None
    is_fitted: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power calibrate`."""
    add_device_arguments(parser)
    parser.add_argument(
        "--set",
        dest="set_name",
        choices=[str(power_set) for power_set in PowerSet],
        default=str(PowerSet.CALIBRATION),
        help="measure this set (default calibration)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure for 0.6 s each instead of 3, to try it out"
    )
    add_measurement_file_arguments(parser, "fit to", is_repeatable=True)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="add the energies to this profile (default: the device's)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write the profile to FILE (default: your own profile of the device)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Measure, or read measurements; fit, and write a profile."""
    measure_only: Path | None = arguments.measure_only
    check_targets(arguments.output, measure_only)
    if arguments.measured:
        sets = [read_points(path) for path in arguments.measured]
    else:
        plan = _Plan(
            arguments.device,
            PowerSet(arguments.set_name),
            QUICK if arguments.quick else CalibrationDurations(),
            arguments.profile,
            is_fitted=measure_only is None,
        )
        sets = [_measure(plan, available_readers(arguments.power, arguments.power_period))]
    if measure_only is not None:
        write_points(sets[0], measure_only)
        say(f"wrote {measure_only}: {len(sets[0].points)} points")
        return 0
    profile = choose_profile(arguments.profile, sets[0].device)
    target: Path = arguments.output or user_profile_path(profile.device)
    write_profile(_add_energies(profile, sets), target)
    say(f"wrote {target}; next: cltrace power predict TRACE --profile {target}")
    return 0


def _add_energies(profile: DeviceProfile, sets: Sequence[PowerMeasurements]) -> DeviceProfile:
    """Return the profile with the energies that fit the points."""
    examples: list[Example] = []
    more: dict[str, Parameter] = {}
    idle_w = sets[0].idle_w
    for points in sets:
        name = find_set([point.name for point in points.points], points.device)
        with DelayedProgress("counting") as progress:
            counted, refused = count_examples(points, name, profile, progress)
        examples += counted
        for text in refused:
            say(f"left out: {text}")
        if name is PowerSet.CALIBRATION:
            idle_w = points.idle_w
            for key, energy in transfer_energies(points).items():
                more[key] = Parameter(energy, "J/B", 0.0, "transfers")
            if points.without_w is not None:
                more[IDLE_WITHOUT_CONTEXT] = Parameter(points.without_w, "W", 0.0, "rest")
    if not examples:
        raise UsageError("no work of these points could be counted: there is nothing to fit to")
    model = fit_energies(examples, idle_w)
    parameters = {**profile.parameters, MODEL: {**model.parameters(), **more}}
    return replace(profile, parameters=parameters)


def _measure(plan: _Plan, readers: Sequence[ChosenReader]) -> PowerMeasurements:
    """Measure the power of each point."""
    begin_ns = time.perf_counter_ns()
    with metered(readers, "power calibrate") as meter:
        # The power without any context can be measured before one is made only.
        time.sleep(min(_MAX_IDLE_S, plan.pace.idle_s))
        without_ns = (begin_ns, time.perf_counter_ns())
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.clocks import find_clock_source  # noqa: PLC0415 - likewise

        with Bench(find_device(plan.device)) as bench:
            if plan.is_fitted:
                # The fit needs scipy and the caches: fail for want of either now, not after minutes.
                require_scipy()
                Caches.of(choose_profile(plan.profile, bench.facts))
            probes = set_probes(plan.set_name, bench.facts)
            run = PowerCalibration(bench, find_clock_source(bench.device), plan.pace)
            with TaskProgress(f"measuring the power of {bench.facts.name}") as progress:
                run.run(probes, lambda name, done, total: progress(f"{done}/{total} {name}"))
    for note in run.notes:
        say(note)
    return run.points(meter.channels(), without_ns)
