"""Measured power of work that went on for seconds: what a model is fitted to, and held against."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from cltrace.errors import ProfileError
from cltrace.files import write_whole
from cltrace.profile import DeviceFacts

SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """Work that went on steadily, and its power in W.

    `name` and `trips` say which work it was, `group` of what kind. `runs` were done in `seconds`, each of
    which took `device_ns` on the device (None where only the host timed it). `power_w` is the mean of
    the channel that is read most often, of `readings` readings that deviate by `deviation_w`; `other_w`
    that of the other channel of the same thing, `memory_w` of the part that is memory, None without one.
    `clock_mhz` and `temperature_c` are as they were at its end, `warmed_c` is the temperature before it
    began to count; None where nothing tells.
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
        """How long a run took, with what was between it and the next."""
        return self.seconds / max(self.runs, 1)


@dataclass(frozen=True, slots=True)
class PowerPoints:
    """Points of a device, with the powers at rest.

    `without_w` is that before it had a context, `idle_w` with one that had nothing to do for seconds,
    `rested_w` soon after work.
    """

    device: DeviceFacts
    date: str
    channels: tuple[str, ...]
    without_w: float | None
    idle_w: float
    rested_w: float
    points: tuple[PowerPoint, ...]


def write_points(found: PowerPoints, path: Path) -> None:
    """Raises: `OutputError`."""
    names = [one.name for one in fields(PowerPoint)]
    stored = {
        "cltrace_power_points": SCHEMA,
        **{key: value for key, value in asdict(found).items() if key != "points"},
        "point": names,
        "points": [[_rounded(getattr(one, name)) for name in names] for one in found.points],
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False).replace("],[", "],\n[")
    write_whole(text + "\n", path)


def read_points(path: Path) -> PowerPoints:
    """Raises: `ProfileError` for what is not such a file."""
    try:
        stored: dict[str, Any] = json.loads(path.read_bytes())
        if stored["cltrace_power_points"] != SCHEMA:
            raise ProfileError(f"{path} was written by another version of cltrace")
        points = _points(stored["point"], stored["points"])
        without = stored["without_w"]
        return PowerPoints(
            device=DeviceFacts(**stored["device"]),
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


def _points(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[PowerPoint, ...]:
    found = []
    for row in rows:
        values: Mapping[str, Any] = dict(zip(names, row, strict=True))
        if not isinstance(values["name"], str) or values["runs"] < 1 or values["seconds"] <= 0:
            raise ValueError(f"{values['name']!r} cannot have been measured")
        _watts(values["power_w"])
        found.append(PowerPoint(**values))
    return tuple(found)


def _watts(value: object) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise ValueError(f"{value!r} is no power")
    return float(value)


def _rounded(value: str | float | None) -> str | float | None:
    return float(f"{value:.7g}") if isinstance(value, float) else value
