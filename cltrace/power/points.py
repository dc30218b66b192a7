"""Points: measured power of steady work, to which a model is fitted or with which it is compared."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from cltrace.errors import ProfileError
from cltrace.files import read_input, write_atomically
from cltrace.profile import DeviceFacts

SCHEMA: Final = 1
_MAX_RUNS: Final = 1 << 63
_MIN_S, _MAX_S = 1e-9, 3.2e9
"""Limits of a point's time: a nanosecond and a century."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMeasurement:
    """Steady work and its power in W.

    `name` and `trips` identify the work, and `group` its kind. `runs` runs took `seconds`, and each of
    them `device_ns` on the device (`None` where only the host timed it). `power_w` is the mean of the
    channel with most readings: of `readings` readings with the standard deviation `deviation_w`.
    `other_w` is the mean of a second channel of the same measurand, and `memory_w` that of the memory's
    channel, `None` without one. `clock_mhz` and `temperature_c` are the values at the end, and `warmed_c`
    is the temperature after the warm-up; `None` where they cannot be read.
    """

    name: str
    group: str
    trips: int
    runs: int
    seconds: float
    device_ns: float | None
    power_w: float
    deviation_w: float
    readings: int
    other_w: float | None
    memory_w: float | None
    clock_mhz: int | None
    temperature_c: int | None
    warmed_c: int | None = None

    @property
    def run_s(self) -> float:
        """Time per run, with the gap to the next run."""
        return self.seconds / max(self.runs, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerMeasurements:
    """Points of a device, with its powers at rest.

    `without_w` is the power before it had an OpenCL context, `idle_w` the power with a context after
    seconds without work, and `rested_w` the power soon after work.
    """

    device: DeviceFacts
    date: str
    channels: tuple[str, ...]
    without_w: float | None
    idle_w: float
    rested_w: float
    points: tuple[PowerMeasurement, ...]


def write_points(points: PowerMeasurements, path: Path) -> None:
    """Write points as JSON. Raises: `OutputError`."""
    names = [field.name for field in fields(PowerMeasurement)]
    stored = {
        "cltrace_power_points": SCHEMA,
        **{key: value for key, value in asdict(points).items() if key != "points"},
        "device": points.device.to_json(),
        "point": names,
        "points": [[_rounded(getattr(point, name)) for name in names] for point in points.points],
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False).replace("],[", "],\n[")
    write_atomically(text + "\n", path)


def read_points(path: Path) -> PowerMeasurements:
    """Read a file of `write_points`. Raises: `ProfileError` for another file."""
    try:
        stored: dict[str, Any] = json.loads(read_input(path))
        if stored["cltrace_power_points"] != SCHEMA:
            raise ProfileError(f"{path} was written by another version of cltrace")
        points = _points(stored["point"], stored["points"])
        without = stored["without_w"]
        return PowerMeasurements(
            device=DeviceFacts.from_json(stored["device"]),
            date=str(stored["date"]),
            channels=tuple(map(str, stored["channels"])),
            without_w=None if without is None else _watts(without),
            idle_w=_watts(stored["idle_w"]),
            rested_w=_watts(stored["rested_w"]),
            points=points,
        )
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ProfileError(f"{path} is not what `power calibrate --measure-only` writes") from error
    except (ValueError, ArithmeticError) as error:
        raise ProfileError(f"{path} holds no measured power of cltrace: {error}") from error


def _points(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[PowerMeasurement, ...]:
    points = []
    for row in rows:
        values: Mapping[str, Any] = dict(zip(names, row, strict=True))
        # Written so that it refuses NaN, too.
        is_measured = 1 <= values["runs"] < _MAX_RUNS and _MIN_S <= values["seconds"] < _MAX_S
        if not isinstance(values["name"], str) or not is_measured:
            raise ValueError(f"{values['name']!r} cannot have been measured")
        _watts(values["power_w"])
        points.append(PowerMeasurement(**values))
    return tuple(points)


def _watts(value: object) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise ValueError(f"{value!r} is no power")
    return float(value)


def _rounded(value: str | float | None) -> str | float | None:
    return float(f"{value:.7g}") if isinstance(value, float) else value
