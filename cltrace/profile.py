"""What a device can do, as it was measured: data with provenance, not code.

A profile is a JSON file. It holds the raw means of every probe of the calibration suite, so that models
can be fitted again and readers can look at what was measured.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from cltrace.errors import ProfileError
from cltrace.files import file_name, write_whole

SCHEMA: Final = 1
"""The version of the file's form. Newer files are refused, older ones are read."""
_MOST_BYTES: Final = 64 << 20
_SHIPPED: Final = Path(__file__).with_name("profiles")
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What a device says of itself. Sizes are in bytes, the clock in MHz."""

    platform: str
    name: str
    vendor: str
    driver: str
    version: str
    kind: str
    compute_units: int
    clock_mhz: int
    global_bytes: int
    most_buffer_bytes: int
    local_bytes: int
    cache_bytes: int
    line_bytes: int
    most_group_items: int
    has_double: bool
    has_half: bool
    timer_resolution_ns: int

    @property
    def driver_major(self) -> str:
        """The first number of the driver's version: with another one, costs may be others."""
        return driver_major(self.driver)


def driver_major(driver: str) -> str:
    """The first number of a driver's version, or all of it where there is none."""
    found = re.search(r"\d+", driver)
    return found[0] if found is not None else driver


@dataclass(frozen=True, slots=True)
class Point:
    """A measured probe: `x` is what its series varies; times are in ns.

    `deviation_ns` is the population's. `is_settled` says that the standard error of the mean came below
    what was asked for.
    """

    series: str
    x: float
    runs: int
    mean_ns: float
    deviation_ns: float
    median_ns: float
    least_ns: float
    is_settled: bool

    @property
    def standard_error_ns(self) -> float:
        """Of the mean."""
        return self.deviation_ns / math.sqrt(max(self.runs, 1))


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A device's clock and temperature at a time of the measurement, where they can be read."""

    at_s: float
    clock_mhz: int
    temperature_c: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """How and when a profile was measured."""

    cltrace: str
    date: str
    effort: str
    seconds: float
    clocks: tuple[ClockReading, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted cost. `error` is its standard error, in its unit; `family` the probes that isolate it."""

    value: float
    unit: str
    error: float
    family: str


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A device: its facts, what was measured of it by family, and what models make of that.

    `parameters` are by model and name; `residuals`, by model and family, the logarithm of fitted by
    measured for each point, None for those that a model does not fit.
    """

    device: DeviceFacts
    provenance: Provenance
    families: Mapping[str, tuple[Point, ...]]
    parameters: Mapping[str, Mapping[str, Parameter]]
    residuals: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    notes: tuple[str, ...] = ()

    def fits(self, model: str, family: str, series: str) -> tuple[tuple[float, float], ...]:
        """What a model's fit says of a series: x and ns, for the points that it fits, by x."""
        left = self.residuals.get(model, {}).get(family, ())
        points = self.points(family)
        if len(left) != len(points):
            return ()
        return tuple(
            sorted(
                (point.x, point.mean_ns * math.exp(one))
                for point, one in zip(points, left, strict=True)
                if one is not None and point.series == series
            )
        )

    def points(self, family: str, series: str | None = None) -> tuple[Point, ...]:
        """The points of a family, of one series of it if named."""
        known = self.families.get(family, ())
        return tuple(point for point in known if series is None or point.series == series)


def load_profile(name_or_path: str | Path) -> DeviceProfile:
    """A profile by its path, or by its name among the user's profiles and then the shipped ones.

    Raises: `ProfileError`.
    """
    path = Path(name_or_path)
    if path.suffix == ".json" or path.parent != Path():
        return read_profile(path)
    for directory in profile_directories():
        candidate = directory / f"{name_or_path}.json"
        if candidate.is_file():
            return read_profile(candidate)
    there = ", ".join(sorted(profile_names())) or "none"
    raise ProfileError(
        f"there is no profile {name_or_path}; there are: {there}. `cltrace calibrate` makes one"
    )


def profile_directories() -> tuple[Path, ...]:
    """Where profiles are looked for: the user's data directory, and what comes with cltrace."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "cltrace" / "profiles", _SHIPPED


def own_path(device: DeviceFacts) -> Path:
    """Where the user's own profile of a device is kept."""
    return profile_directories()[0] / f"{file_name(device.name)}.json"


def profile_names() -> Mapping[str, Path]:
    """The profiles that there are, by name. A user's stands before a shipped one of its name."""
    found: dict[str, Path] = {}
    for directory in profile_directories():
        for path in sorted(directory.glob("*.json")):
            found.setdefault(path.stem, path)
    return found


def known_profile(
    platform: str, name: str, compute_units: int, driver: str
) -> DeviceProfile | None:
    """The fitted profile of such a device: platform, name, compute units and the driver's major version.

    What cannot be read is passed over; `cltrace profile list` names it.
    """
    for path in profile_names().values():
        try:
            profile = read_profile(path)
        except ProfileError:
            continue
        mine = profile.device
        is_it = (mine.platform, mine.name, mine.compute_units) == (platform, name, compute_units)
        if is_it and mine.driver_major == driver_major(driver) and profile.parameters:
            return profile
    return None


def profile_for(device: DeviceFacts) -> DeviceProfile:
    """The profile of such a device. Raises: `ProfileError` if there is none."""
    found = known_profile(device.platform, device.name, device.compute_units, device.driver)
    if found is None:
        raise ProfileError(
            f"there is no profile of {device.name} ({device.platform}, driver {device.driver}): "
            "`cltrace calibrate` makes one, --profile NAME takes another device's"
        )
    return found


def chosen_profile(wanted: str | None, device: DeviceFacts) -> DeviceProfile:
    """The profile that is named, else the device's own. Raises: `ProfileError`."""
    return load_profile(wanted) if wanted else profile_for(device)


def read_profile(path: Path) -> DeviceProfile:
    """A profile from a file. Raises: `ProfileError` for what is no profile, or a newer one."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ProfileError(f"{path} is too large for a profile")
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ProfileError(f"{path} cannot be read as a profile: {error}") from error
    if not isinstance(stored, dict) or not isinstance(stored.get("cltrace_profile"), int):
        raise ProfileError(f"{path} is no profile of cltrace")
    if stored["cltrace_profile"] > SCHEMA:
        raise ProfileError(f"{path} was written by a newer cltrace, which this one cannot read")
    try:
        return _profile(stored)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProfileError(f"{path} is damaged: {error}") from error


def write_profile(profile: DeviceProfile, path: Path) -> None:
    """Write a profile, whole or not at all. Raises: `OutputError`."""
    text = json.dumps(_stored(profile), indent=None, separators=(",", ":"), allow_nan=False)
    pretty = re.sub(r"(\]\]?,)(?=[\[\"])", r"\1\n", text)
    write_whole(pretty + "\n", path)


def _stored(profile: DeviceProfile) -> Mapping[str, Any]:
    """The file's form: points are rows without names, to be small."""
    return {
        "cltrace_profile": SCHEMA,
        "device": asdict(profile.device),
        "provenance": asdict(profile.provenance),
        "point": [field.name for field in fields(Point)],
        "families": {
            name: [[_rounded(value) for value in _values(point)] for point in points]
            for name, points in profile.families.items()
        },
        "parameters": {
            model: {name: asdict(one) for name, one in parameters.items()}
            for model, parameters in profile.parameters.items()
        },
        "residuals": {
            model: {
                family: [value if value is None else round(value, 4) for value in values]
                for family, values in by.items()
            }
            for model, by in profile.residuals.items()
        },
        "notes": profile.notes,
    }


def _values(point: Point) -> Iterator[str | float | bool]:
    for field in fields(Point):
        yield getattr(point, field.name)


def _rounded(value: str | float | bool) -> str | float | bool:  # noqa: FBT001 - a value of a row
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _profile(stored: Mapping[str, Any]) -> DeviceProfile:
    clocks = tuple(_record(ClockReading, one) for one in stored["provenance"].get("clocks", ()))
    provenance = _record(Provenance, {**stored["provenance"], "clocks": ()})
    names = stored["point"]
    return DeviceProfile(
        device=_record(DeviceFacts, stored["device"]),
        provenance=replace(provenance, clocks=clocks),
        families=MappingProxyType(
            {
                str(family): tuple(_point(names, row) for row in rows)
                for family, rows in stored["families"].items()
            }
        ),
        parameters=MappingProxyType(
            {
                str(model): {str(name): _record(Parameter, one) for name, one in by.items()}
                for model, by in stored["parameters"].items()
            }
        ),
        residuals=MappingProxyType(
            {
                str(model): {
                    str(family): tuple(None if one is None else float(one) for one in values)
                    for family, values in by.items()
                }
                for model, by in stored["residuals"].items()
            }
        ),
        notes=tuple(map(str, stored.get("notes", ()))),
    )


def _point(names: Sequence[str], row: Sequence[Any]) -> Point:
    return _record(Point, dict(zip(names, row, strict=True)))


def _record(kind: type[_Record], values: Mapping[str, Any]) -> _Record:
    """A record whose fields have the types that they are declared with."""
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    given = {name: values[name] for name in known if name in values}
    for name, value in given.items():
        wanted = known[name].type
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            given[name] = value = float(value)
        if wanted is float and not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}")
        if wanted in {str, int, float, bool} and type(value) is not wanted:
            raise ValueError(f"{name} is {value!r}, not of type {wanted.__name__}")
    return kind(**given)
