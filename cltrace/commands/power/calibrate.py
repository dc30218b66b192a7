"""`cltrace power calibrate`: measure what a device's work draws, and fit the energy model to it."""

import argparse
import sys
import time
from pathlib import Path

from cltrace.commands.power.measuring import add_measuring_arguments, metered, readers, report
from cltrace.power.calibration import QUICK, Pace, PowerCalibration
from cltrace.power.points import PowerPoints, write_points
from cltrace.power.works import PowerSet, probes_of

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
    parser.add_argument(
        "--measure-only", metavar="FILE", type=Path, help="measure, and leave fitting to --from"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Measure."""
    found = _measured(arguments)
    write_points(found, arguments.measure_only)
    sys.stderr.write(f"cltrace: wrote {arguments.measure_only}: {len(found.points)} points\n")
    return 0


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
            probes = probes_of(PowerSet(arguments.set_name), bench.facts)
            run = PowerCalibration(bench, clocks_of(bench.device), pace)
            run.run(probes, lambda name, done, total: report(f"{done}/{total} {name}"))
    report("")
    for note in run.notes:
        sys.stderr.write(f"cltrace: {note}\n")
    return run.points(meter.channels(), without_ns)
