"""Times of launches that begin in a given state of the device."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from time import perf_counter

from cltrace.events.workloads import ArrivingLaunch
from cltrace.measure.bench import Bench, device_ns
from cltrace.measure.repetition import Repetitions, StopRule, repeat


def time_arriving(
    bench: Bench, launch: ArrivingLaunch, rule: StopRule, clock: Callable[[], float] = perf_counter
) -> Repetitions:
    """Time a launch on the device that follows idle time, or is the first one of its program.

    `clock` returns seconds. Raises: `WorkloadError` if the workload cannot be built or run.
    """
    idle_s = launch.arrival.idle_ns * 1e-9

    def idle() -> None:
        """Wait as a program does that computes: a thread that sleeps would let the processor rest."""
        end_s = clock() + idle_s
        while clock() < end_s:
            pass

    if not launch.arrival.first_share:
        with bench.prepare(launch.work) as enqueue:

            def run() -> float:
                enqueue().wait()
                idle()
                return device_ns(enqueue())

            return repeat(run, rule)
    numbers = count()

    def run_first() -> float:
        source = f"{launch.work.source}\n// program {next(numbers)}\n"
        with bench.prepare(replace(launch.work, source=source)) as enqueue:
            idle()
            return device_ns(enqueue())

    return repeat(run_first, rule)
