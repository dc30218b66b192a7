"""What launches of a set took on a device: measured twice, apart from each other, and stored."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from cltrace.errors import DeviceError, ProfileError
from cltrace.events.workloads import Transfer
from cltrace.files import write_whole
from cltrace.measure import Bench, StopRule
from cltrace.measure.transfers import transfer_sample
from cltrace.predict.sets import SetLaunch, SetName
from cltrace.profile import DeviceFacts

SCHEMA: Final = 1
RULE: Final = StopRule(fewest=7, most=60, most_s=0.12, warm_runs=3)


@dataclass(frozen=True, slots=True)
class Timing:
    """What a launch took: medians in ns of two measurements with others between, and of a cold one.

    `deviation_ns` is that of single runs. None stands for what was not measured, or failed.
    """

    name: str
    family: str
    first_ns: float | None
    second_ns: float | None
    cold_ns: float | None
    deviation_ns: float


@dataclass(frozen=True, slots=True)
class Measurements:
    """The timings of a set, in its order."""

    device: DeviceFacts
    set_name: SetName
    seed: int
    samples: int
    date: str
    timings: tuple[Timing, ...]


def measured(
    bench: Bench,
    launches: Sequence[SetLaunch],
    report: Callable[[int, int], None],
    *,
    with_cold: bool,
) -> tuple[Timing, ...]:
    """Measure all launches, and then all again from the last to the first."""
    first: list[tuple[float | None, float]] = []
    cold: list[float | None] = []
    total = 2 * len(launches)
    for number, launch in enumerate(launches):
        report(number, total)
        first.append(_median(bench, launch))
        cold.append(_median(bench, launch, is_cold=True)[0] if with_cold else None)
    second: list[float | None] = []
    for number, launch in enumerate(reversed(launches)):
        report(len(launches) + number, total)
        second.append(_median(bench, launch)[0])
    return tuple(
        Timing(launch.name, launch.family, one[0], other, without, one[1])
        for launch, one, other, without in zip(launches, first, reversed(second), cold, strict=True)
    )


def _median(
    bench: Bench, launch: SetLaunch, *, is_cold: bool = False
) -> tuple[float | None, float]:
    try:
        if isinstance(launch.work, Transfer):
            sample = transfer_sample(bench, launch.work, RULE)
        else:
            sample = bench.launch(launch.work, RULE, cold=is_cold)
    except DeviceError:
        return None, 0.0
    return sample.median_ns, sample.deviation_ns


def write_measurements(measurements: Measurements, path: Path) -> None:
    """Raises: `OutputError`."""
    rows = [list(asdict(timing).values()) for timing in measurements.timings]
    stored = {
        "cltrace_measurements": SCHEMA,
        **{name: value for name, value in asdict(measurements).items() if name != "timings"},
        "timing": [field.name for field in fields(Timing)],
        "timings": rows,
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False).replace("],[", "],\n[")
    write_whole(text + "\n", path)


def read_measurements(path: Path) -> Measurements:
    """Raises: `ProfileError` for what is not such a file."""
    try:
        stored: dict[str, Any] = json.loads(path.read_bytes())
        if stored["cltrace_measurements"] != SCHEMA:
            raise ProfileError(f"{path} was written by another version of cltrace")
        names = stored["timing"]
        return Measurements(
            device=DeviceFacts(**stored["device"]),
            set_name=SetName(stored["set_name"]),
            seed=int(stored["seed"]),
            samples=int(stored["samples"]),
            date=str(stored["date"]),
            timings=tuple(_timing(dict(zip(names, row, strict=True))) for row in stored["timings"]),
        )
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise ProfileError(f"{path} holds no measurements of cltrace: {error}") from error


def _timing(values: dict[str, Any]) -> Timing:
    """A timing of finite times above 0. Raises: `ValueError`, `TypeError`."""
    if not isinstance(values["name"], str) or not isinstance(values["family"], str):
        raise TypeError("a launch has no name")
    timing = Timing(**values)
    for time_ns in (timing.first_ns, timing.second_ns, timing.cold_ns):
        if time_ns is not None and not (math.isfinite(time_ns) and time_ns > 0):
            raise ValueError(f"{timing.name} took {time_ns} ns")
    return timing
