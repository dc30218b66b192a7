"""`cltrace power characterise`: what the sensors of a device are like."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cltrace.commands.shared.argument_types import seconds
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measured_arguments, check_targets
from cltrace.commands.shared.messages import progress
from cltrace.commands.shared.power_measurement import add_measuring_arguments, metered, readers
from cltrace.errors import UsageError
from cltrace.power.characterise import (
    SENSORS,
    Characteristic,
    characteristics,
    parameters_of,
    phases_of,
)
from cltrace.power.kept_readings import read_readings, write_readings
from cltrace.profile import DeviceProfile, load_profile, write_profile
from cltrace.report.sensors import sensors_report

_LOAD_S = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power characterise`."""
    add_measuring_arguments(parser)
    parser.add_argument(
        "--seconds", metavar="S", type=seconds, default=4.0, help="of each square wave (default 4)"
    )
    add_measured_arguments(
        parser,
        "write the readings, judge nothing",
        "judge what --measure-only wrote, on any machine",
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="keep it with this profile too, in the file that -o names",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the profile to write, with --profile"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Switch work on and off, and see how each channel follows."""
    check_targets(arguments)
    profile = _kept_with(arguments)
    if arguments.measured is not None:
        device, channels, phases = read_readings(arguments.measured)
    else:
        chosen = readers(arguments)
        with metered(chosen, "power characterise") as meter:
            from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
            from cltrace.measure.steady import switched  # noqa: PLC0415 - likewise
            from cltrace.power.workloads import known_load  # noqa: PLC0415 - with the others

            with Bench(find_device(arguments.device)) as bench:
                device = bench.facts
                with switched(bench, known_load(device)) as on:
                    phases = phases_of(
                        on, time.sleep, time.perf_counter_ns, square_s=arguments.seconds,
                        load_s=min(_LOAD_S, 2 * arguments.seconds), report=progress,
                    )  # fmt: skip
        progress("")
        channels = meter.channels()
    if arguments.measure_only is not None:
        write_readings(device, channels, phases, arguments.measure_only)
        return 0
    found = characteristics(channels, phases)
    if profile is not None:
        _keep(profile, found, arguments.output)
    print_document(sensors_report(device, found), color=arguments.color, form=arguments.format)
    return 0


def _kept_with(arguments: argparse.Namespace) -> DeviceProfile | None:
    """The profile that the result is kept with, None for none. Raises: `UsageError`, `ProfileError`."""
    if arguments.profile is None:
        return None
    if arguments.output is None:
        raise UsageError("--profile needs -o: the file to write")
    return load_profile(arguments.profile)


def _keep(profile: DeviceProfile, found: Sequence[Characteristic], target: Path) -> None:
    """Write a profile with what its sensors are like."""
    parameters = {**profile.parameters, SENSORS: parameters_of(found)}
    write_profile(replace(profile, parameters=parameters), target)
    sys.stderr.write(f"cltrace: wrote {target}\n")
