"""`cltrace power characterise`: characterise the sensors of a device."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_seconds
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.measurement_flags import add_measurement_file_arguments, check_targets
from cltrace.commands.shared.messages import TaskProgress, say
from cltrace.commands.shared.power_measurement import (
    add_device_arguments,
    available_readers,
    metered,
)
from cltrace.errors import UsageError
from cltrace.power.characterise import (
    SENSORS,
    SensorCharacteristic,
    characterise_channels,
    run_phases,
    to_parameters,
)
from cltrace.power.stored_readings import read_readings, write_readings
from cltrace.profile import DeviceProfile, load_profile, write_profile
from cltrace.report.sensors import sensors_report

_LOAD_S = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power characterise`."""
    add_device_arguments(parser)
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=parse_seconds,
        default=4.0,
        help="run each square wave for S seconds (default 4)",
    )
    add_measurement_file_arguments(parser, "evaluate")
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="add the result to this profile, and write it to the file of -o",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the profile of --profile to FILE"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Switch work on and off, and characterise each channel's response."""
    check_targets(arguments.output, arguments.measure_only)
    profile = _load_profile(arguments.profile, arguments.output)
    if arguments.measured is not None:
        device, channels, phases = read_readings(arguments.measured)
    else:
        readers = available_readers(arguments.power, arguments.power_period)
        with metered(readers, "power characterise") as meter:
            from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
            from cltrace.measure.steady import switchable_load  # noqa: PLC0415 - likewise
            from cltrace.power.workloads import reference_load  # noqa: PLC0415 - with the others

            with Bench(find_device(arguments.device)) as bench:
                device = bench.facts
                task = f"switching the load of {device.name} on and off"
                with (
                    switchable_load(bench, reference_load(device)) as on,
                    TaskProgress(task) as progress,
                ):
                    phases = run_phases(
                        on,
                        time.sleep,
                        time.perf_counter_ns,
                        square_s=arguments.seconds,
                        load_s=min(_LOAD_S, 2 * arguments.seconds),
                        report=progress,
                    )
        channels = meter.channels()
    if arguments.measure_only is not None:
        write_readings(device, channels, phases, arguments.measure_only)
        return 0
    characteristics = characterise_channels(channels, phases)
    if profile is not None:
        _write_with_sensors(profile, characteristics, arguments.output)
    document = sensors_report(device, characteristics)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _load_profile(name: str | None, output: Path | None) -> DeviceProfile | None:
    """Return the profile to add the result to, None for none. Raises: `UsageError`, `ProfileError`."""
    if name is None:
        return None
    if output is None:
        raise UsageError("--profile needs -o: the file to write")
    return load_profile(name)


def _write_with_sensors(
    profile: DeviceProfile, characteristics: Sequence[SensorCharacteristic], target: Path
) -> None:
    """Write a profile with the characteristics of its sensors."""
    parameters = {**profile.parameters, SENSORS: to_parameters(characteristics)}
    write_profile(replace(profile, parameters=parameters), target)
    say(f"wrote {target}")
