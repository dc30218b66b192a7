"""Times calls of pyopencl's entry points, a few cases at a turn.

Usage: timed_cases.py REQUEST. REQUEST is JSON: `platform`, a part of the platform's name; `subjects`, a
list; `calls_factor`, by which to multiply the numbers of calls; `has_profiling`, true for queues with
profiling; and `round`, a number that decides the processor.

Prepares all cases of the subjects and writes a line: the facts of the device. Then answers each line of
its input, a list of subjects and names of cases, with a line: for each case the CPU time of this thread
and the wall time per call, or the reason why it is not measured. Lines are JSON; those that it writes
begin with `timed_cases: `. Ends with its input.
"""

import contextlib
import gc
import json
import os
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.programs.cases import SUBJECTS
from benchmarks.programs.cases.case import Case, Loop
from benchmarks.programs.cases.environment import Environment, UnsupportedError

BATCH: Final = 100
"""Number of calls after which the queues are finished, outside the timed part."""

WARM_UP: Final = 4
"""Upper limit of the calls that are made before timed calls."""

MARK: Final = "timed_cases: "


def main() -> None:
    """Prepare the requested cases, and time them when they are asked for."""
    request = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    device = choose_device(request["platform"])
    profiling = cl.command_queue_properties.PROFILING_ENABLE if request["has_profiling"] else 0
    environment = Environment(device, int(profiling))
    prepared = {
        (subject, case.name): (case, prepare(case, environment))
        for subject in request["subjects"]
        for case in SUBJECTS[subject]
    }
    # Collections of garbage in the timed parts do not visit the objects of the preparation.
    gc.collect()
    gc.freeze()
    bind_to_processor(request["round"])
    answer(facts_of(device))
    for line in sys.stdin:
        keys = [(subject, name) for subject, name in json.loads(line)]
        factor = request["calls_factor"]
        answer([measure(*prepared[key], environment, factor) for key in keys])


def answer(values: object) -> None:
    """Write a line."""
    print(MARK + json.dumps(values), flush=True)


def bind_to_processor(number: int) -> None:
    """Bind all threads of this process to a processor.

    Where the driver's threads run beside this thread, a launch may have to wake them or wait for their
    locks. With PoCL this takes 4 µs of this thread per launch, in some processes and not in others.
    """
    processors = sorted(os.sched_getaffinity(0))
    for thread in Path("/proc/self/task").iterdir():
        # A thread may end meanwhile.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), {processors[number % len(processors)]})


def choose_device(platform_part: str) -> cl.Device:
    """Return the first device of the first platform whose name contains a text."""
    platforms = cl.get_platforms()
    for platform in platforms:
        if platform_part.lower() in platform.name.lower():
            return platform.get_devices()[0]
    names = ", ".join(platform.name for platform in platforms)
    sys.exit(f"no platform named {platform_part!r}: there are {names}")


def facts_of(device: cl.Device) -> Mapping[str, str]:
    """Return the names and versions of the device, its driver and the packages."""
    return {
        "name": device.name.strip(),
        "platform": device.platform.name,
        "platform_version": device.platform.version.strip(),
        "driver_version": device.driver_version,
        "pyopencl": cl.VERSION_TEXT,
    }


def prepare(case: Case, environment: Environment) -> Loop | str:
    """Return the loop of a case after a few calls, or the reason why it does not run here."""
    try:
        loop = case.prepare(environment)
        warm_up(loop, case, environment)
    except UnsupportedError as reason:
        return str(reason)
    except cl.Error as error:
        return f"the driver refused: {error}"
    return loop


def warm_up(loop: Loop, case: Case, environment: Environment) -> None:
    """Make a few calls, which are not timed."""
    time_batch(loop, min(WARM_UP, case.calls), environment)


def measure(
    case: Case, loop: Loop | str, environment: Environment, calls_factor: float
) -> Mapping[str, Any]:
    """Return the times per call in ns, or the reason why there are none."""
    if isinstance(loop, str):
        return {"reason": loop}
    calls = max(round(case.calls * calls_factor), 1)
    # The caches of the processor hold what the process of the turn before used.
    warm_up(loop, case, environment)
    gc.collect()
    cpu_ns = wall_ns = 0
    for begin in range(0, calls, BATCH):
        batch_cpu_ns, batch_wall_ns = time_batch(loop, min(BATCH, calls - begin), environment)
        cpu_ns += batch_cpu_ns
        wall_ns += batch_wall_ns
    return {"calls": calls, "cpu_ns": cpu_ns / calls, "wall_ns": wall_ns / calls}


def time_batch(loop: Loop, count: int, environment: Environment) -> tuple[int, int]:
    """Return the CPU time of this thread and the wall time of a number of calls, in ns."""
    loop.before(count)
    environment.finish()
    wall_begin_ns = time.perf_counter_ns()
    cpu_begin_ns = time.thread_time_ns()
    results = loop.run(count)
    cpu_ns = time.thread_time_ns() - cpu_begin_ns
    wall_ns = time.perf_counter_ns() - wall_begin_ns
    environment.finish()
    del results
    return cpu_ns, wall_ns


if __name__ == "__main__":
    main()
