"""Measured times of a set of launches: each launch twice, with others between, and stored."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from cltrace.errors import DeviceError, ProfileError
from cltrace.events.workloads import LaunchBeside, Transfer
from cltrace.files import read_input, write_atomically
from cltrace.measure import Bench, StopRule
from cltrace.measure.beside import time_beside
from cltrace.measure.transfers import time_transfer
from cltrace.predict.sets import MAX_SAMPLES, SetLaunch, SetName
from cltrace.profile import DeviceFacts

SCHEMA: Final = 1
RULE: Final = StopRule(min_runs=7, max_runs=60, max_s=0.12, warm_runs=3)
RULE_BESIDE: Final = StopRule(min_runs=3, max_runs=20, max_s=0.12, warm_runs=1)
"""Rule for windows of several launches, of which each run is a median."""


@dataclass(frozen=True, slots=True)
class SetTiming:
    """Times of a launch in ns: medians of two separate measurements, and of one with cold caches.

    `deviation_ns` is the standard deviation of single runs. A time is None if it was not measured, or
    if the launch failed. The names of the fields are stored.
    """

    name: str
    family: str
    first_ns: float | None
    second_ns: float | None
    cold_ns: float | None
    deviation_ns: float


@dataclass(frozen=True, slots=True)
class Measurements:
    """The timings of a set in the order of its launches. The names of the fields are stored."""

    device: DeviceFacts
    set_name: SetName
    seed: int
    samples: int
    date: str
    timings: tuple[SetTiming, ...]


def measure_set(
    bench: Bench,
    launches: Sequence[SetLaunch],
    report: Callable[[int, int], None],
    *,
    with_cold: bool,
) -> tuple[SetTiming, ...]:
    """Measure all launches, and then all again from the last to the first."""
    first: list[tuple[float | None, float]] = []
    cold: list[float | None] = []
    total = 2 * len(launches)
    for number, launch in enumerate(launches):
        report(number, total)
        first.append(_median_ns(bench, launch))
        cold.append(_median_ns(bench, launch, is_cold=True)[0] if with_cold else None)
    second: list[float | None] = []
    for number, launch in enumerate(reversed(launches)):
        report(len(launches) + number, total)
        second.append(_median_ns(bench, launch)[0])
    return tuple(
        SetTiming(launch.name, launch.family, first_ns, second_ns, cold_ns, deviation_ns)
        for launch, (first_ns, deviation_ns), second_ns, cold_ns in zip(
            launches, first, reversed(second), cold, strict=True
        )
    )


def _median_ns(
    bench: Bench, launch: SetLaunch, *, is_cold: bool = False
) -> tuple[float | None, float]:
    """Return the median and the standard deviation of a launch; None and 0 if it fails."""
    try:
        match launch.work:
            case Transfer():
                repetitions = time_transfer(bench, launch.work, RULE)
            case LaunchBeside():
                repetitions = time_beside(bench, launch.work, RULE_BESIDE)
            case _:
                repetitions = bench.time_launch(launch.work, RULE, cold=is_cold)
    except DeviceError:
        return None, 0.0
    return repetitions.median_ns, repetitions.deviation_ns


def write_measurements(measurements: Measurements, path: Path) -> None:
    """Write measurements to a file. Raises: `OutputError`."""
    rows = [list(asdict(timing).values()) for timing in measurements.timings]
    stored = {
        "cltrace_measurements": SCHEMA,
        **{name: value for name, value in asdict(measurements).items() if name != "timings"},
        "device": measurements.device.to_json(),
        "timing": [field.name for field in fields(SetTiming)],
        "timings": rows,
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False).replace("],[", "],\n[")
    write_atomically(text + "\n", path)


def read_measurements(path: Path) -> Measurements:
    """Read measurements from a file. Raises: `ProfileError` for any other file."""
    try:
        stored: dict[str, Any] = json.loads(read_input(path))
        if stored["cltrace_measurements"] != SCHEMA:
            raise ProfileError(f"{path} was written by another version of cltrace")
        names = stored["timing"]
        return Measurements(
            device=DeviceFacts.from_json(stored["device"]),
            set_name=SetName(stored["set_name"]),
            seed=int(stored["seed"]),
            samples=_samples(stored["samples"]),
            date=str(stored["date"]),
            timings=tuple(_timing(dict(zip(names, row, strict=True))) for row in stored["timings"]),
        )
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise ProfileError(f"{path} holds no measurements of cltrace: {error}") from error


def _samples(stored: Any) -> int:
    """Return a number of launches. Raises: `ValueError` for one that no set has."""
    number = int(stored)
    if not 0 <= number <= MAX_SAMPLES:
        raise ValueError(f"{number:,} launches; at most {MAX_SAMPLES:,} are read")
    return number


def _timing(values: dict[str, Any]) -> SetTiming:
    """Return a timing whose times are finite and above 0. Raises: `ValueError`, `TypeError`."""
    if not isinstance(values["name"], str) or not isinstance(values["family"], str):
        raise TypeError("a launch has no name")
    timing = SetTiming(**values)
    for time_ns in (timing.first_ns, timing.second_ns, timing.cold_ns):
        if time_ns is not None and not (math.isfinite(time_ns) and time_ns > 0):
            raise ValueError(f"{timing.name} took {time_ns} ns")
    if not 0 <= timing.deviation_ns < math.inf:
        raise ValueError(f"{timing.name} deviates by {timing.deviation_ns} ns")
    return timing
