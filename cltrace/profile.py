"""Profiles: the measured performance of devices, as data with provenance.

A profile is a JSON file. It holds the mean times of every probe of the calibration suite, so that models
can be fitted again and readers can see the measurements.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from cltrace.errors import ProfileError
from cltrace.files import slug, write_atomically

SCHEMA: Final = 1
"""Version of the file format. Newer files are refused, older ones are read."""
_MAX_FILE_BYTES: Final = 64 << 20
_SHIPPED: Final = Path(__file__).with_name("profiles")
_Record = TypeVar("_Record")

_KEY_OF_FIELD: Final[Mapping[str, str]] = {
    "max_buffer_bytes": "most_buffer_bytes",
    "max_group_items": "most_group_items",
    "min_ns": "least_ns",
}
"""Keys in files, for the fields of `DeviceFacts` and `Point` that are stored under another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """Properties that a device's driver reports. Sizes are in bytes, the clock in MHz."""

    platform: str
    name: str
    vendor: str
    driver: str
    version: str
    kind: str
    compute_units: int
    clock_mhz: int
    global_bytes: int
    max_buffer_bytes: int
    local_bytes: int
    cache_bytes: int
    line_bytes: int
    max_group_items: int
    has_double: bool
    has_half: bool
    timer_resolution_ns: int

    @property
    def driver_major(self) -> str:
        """The first number of the driver's version. Costs may differ between major versions."""
        return driver_major(self.driver)

    @classmethod
    def from_json(cls, stored: object) -> "DeviceFacts":
        """Return the facts that `to_json` stored. Raises: `TypeError` for missing or unknown keys."""
        fields_by_key = stored_fields(cls)
        if not isinstance(stored, dict) or not stored.keys() <= fields_by_key.keys():
            raise TypeError(f"{stored!r:.60} does not describe a device")
        return cls(**{fields_by_key[key].name: value for key, value in stored.items()})

    def to_json(self) -> dict[str, str | int | bool]:
        """Return the facts by the keys that files use."""
        return {key: getattr(self, field.name) for key, field in stored_fields(type(self)).items()}


def stored_fields(kind: type[Any]) -> dict[str, Field[Any]]:
    """Return the fields of a record class by the keys under which files store them."""
    return {_KEY_OF_FIELD.get(field.name, field.name): field for field in fields(kind)}


def driver_major(driver: str) -> str:
    """Return the first number of a driver's version, or the whole version if it has no number."""
    match = re.search(r"\d+", driver)
    return match[0] if match is not None else driver


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Measured times of a probe, in ns. `x` is the parameter that its series varies.

    `deviation_ns` is the population's standard deviation. `is_settled` is true if the standard error of
    the mean reached the requested limit.
    """

    series: str
    x: float
    runs: int
    mean_ns: float
    deviation_ns: float
    median_ns: float
    min_ns: float
    is_settled: bool

    @property
    def standard_error_ns(self) -> float:
        """Standard error of the mean."""
        return self.deviation_ns / math.sqrt(max(self.runs, 1))


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A device's clock and temperature `at_s` seconds into the calibration, if they can be read."""

    at_s: float
    clock_mhz: int
    temperature_c: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """Version, date, effort and duration of the calibration that made a profile."""

    cltrace: str
    date: str
    effort: str
    seconds: float
    clocks: tuple[ClockReading, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted cost in `unit`. `error` is its standard error, `family` the probes that isolate it."""

    value: float
    unit: str
    error: float
    family: str


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A device's facts, its measured points by family, and the models fitted to them.

    `parameters` are by model and name. `residuals` are by model and family: for each point the natural
    logarithm of fitted / measured time, `None` for points that the model does not fit.
    """

    device: DeviceFacts
    provenance: Provenance
    families: Mapping[str, tuple[Point, ...]]
    parameters: Mapping[str, Mapping[str, Parameter]]
    residuals: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    notes: tuple[str, ...] = ()

    def fitted_times(self, model: str, family: str, series: str) -> tuple[tuple[float, float], ...]:
        """Return a model's fit of a series: (x, ns) of the points that it fits, sorted by x."""
        residuals = self.residuals.get(model, {}).get(family, ())
        points = self.points(family)
        if len(residuals) != len(points):
            return ()
        return tuple(
            sorted(
                (point.x, point.mean_ns * math.exp(residual))
                for point, residual in zip(points, residuals, strict=True)
                if residual is not None and point.series == series
            )
        )

    def points(self, family: str, series: str | None = None) -> tuple[Point, ...]:
        """Return the points of a family, or of one series of the family."""
        points = self.families.get(family, ())
        return tuple(point for point in points if series is None or point.series == series)


def load_profile(name_or_path: str | Path) -> DeviceProfile:
    """Load a profile by path, or by name from the user's profiles and then from the shipped ones.

    Raises: `ProfileError`.
    """
    path = Path(name_or_path)
    if path.suffix == ".json" or path.parent != Path():
        return read_profile(path)
    for directory in profile_directories():
        candidate = directory / f"{name_or_path}.json"
        if candidate.is_file():
            return read_profile(candidate)
    names = ", ".join(sorted(profile_paths())) or "none"
    raise ProfileError(
        f"there is no profile {name_or_path}; there are: {names}. "
        "Run `cltrace calibrate` to make one"
    )


def profile_directories() -> tuple[Path, ...]:
    """Return the directories to search for profiles: the user's, then the one shipped with cltrace."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "cltrace" / "profiles", _SHIPPED


def user_profile_path(device: DeviceFacts) -> Path:
    """Return the path of the user's own profile of a device."""
    return profile_directories()[0] / f"{slug(device.name)}.json"


def profile_paths() -> Mapping[str, Path]:
    """Return the paths of all profiles by name. A user's profile hides a shipped one of its name."""
    paths: dict[str, Path] = {}
    for directory in profile_directories():
        for path in sorted(directory.glob("*.json")):
            paths.setdefault(path.stem, path)
    return paths


def find_profile(platform: str, name: str, compute_units: int, driver: str) -> DeviceProfile | None:
    """Find the fitted profile of a device by platform, name, compute units and major driver version.

    Unreadable files are skipped; `cltrace profile list` names them.
    """
    for path in profile_paths().values():
        try:
            profile = read_profile(path)
        except ProfileError:
            continue
        device = profile.device
        is_same_device = (device.platform, device.name, device.compute_units) == (
            platform,
            name,
            compute_units,
        )
        is_same_driver = device.driver_major == driver_major(driver)
        if is_same_device and is_same_driver and profile.parameters:
            return profile
    return None


def profile_for(device: DeviceFacts) -> DeviceProfile:
    """Return the profile of a device. Raises: `ProfileError` if there is none."""
    profile = find_profile(device.platform, device.name, device.compute_units, device.driver)
    if profile is None:
        raise ProfileError(
            f"there is no profile of {device.name} ({device.platform}, driver {device.driver}): "
            "run `cltrace calibrate` to make one, or name another device's with --profile NAME"
        )
    return profile


def choose_profile(name: str | None, device: DeviceFacts) -> DeviceProfile:
    """Return the named profile, or the device's own if `name` is None. Raises: `ProfileError`."""
    return load_profile(name) if name else profile_for(device)


def read_profile(path: Path) -> DeviceProfile:
    """Read a profile from a file. Raises: `ProfileError` if it is not a profile, or a newer one."""
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ProfileError(f"{path} is too large for a profile")
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ProfileError(f"{path} cannot be read as a profile: {error}") from error
    if not isinstance(stored, dict) or not isinstance(stored.get("cltrace_profile"), int):
        raise ProfileError(f"{path} is no profile of cltrace")
    if stored["cltrace_profile"] > SCHEMA:
        raise ProfileError(
            f"{path} was written by a newer version of cltrace: update cltrace to read it"
        )
    try:
        return _profile_from_json(stored)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProfileError(f"{path} is damaged: {error}") from error


def write_profile(profile: DeviceProfile, path: Path) -> None:
    """Write a profile atomically. Raises: `OutputError`."""
    text = json.dumps(
        _profile_to_json(profile), indent=None, separators=(",", ":"), allow_nan=False
    )
    pretty = re.sub(r"(\]\]?,)(?=[\[\"])", r"\1\n", text)
    write_atomically(pretty + "\n", path)


def _profile_to_json(profile: DeviceProfile) -> Mapping[str, Any]:
    # Points are rows of values without keys, which keeps the file small.
    return {
        "cltrace_profile": SCHEMA,
        "device": profile.device.to_json(),
        "provenance": asdict(profile.provenance),
        "point": list(stored_fields(Point)),
        "families": {
            name: [[_rounded(value) for value in _point_values(point)] for point in points]
            for name, points in profile.families.items()
        },
        "parameters": {
            model: {name: asdict(parameter) for name, parameter in parameters.items()}
            for model, parameters in profile.parameters.items()
        },
        "residuals": {
            model: {
                family: [value if value is None else round(value, 4) for value in values]
                for family, values in families.items()
            }
            for model, families in profile.residuals.items()
        },
        "notes": profile.notes,
    }


def _point_values(point: Point) -> Iterator[str | float | bool]:
    for field in fields(Point):
        yield getattr(point, field.name)


def _rounded(value: str | float | bool) -> str | float | bool:  # noqa: FBT001 - a value of a row
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _profile_from_json(stored: Mapping[str, Any]) -> DeviceProfile:
    clocks = tuple(
        _record(ClockReading, reading) for reading in stored["provenance"].get("clocks", ())
    )
    provenance = _record(Provenance, {**stored["provenance"], "clocks": ()})
    keys = stored["point"]
    return DeviceProfile(
        device=_record(DeviceFacts, stored["device"]),
        provenance=replace(provenance, clocks=clocks),
        families=MappingProxyType(
            {
                str(family): tuple(_point(keys, row) for row in rows)
                for family, rows in stored["families"].items()
            }
        ),
        parameters=MappingProxyType(
            {
                str(model): {
                    str(name): _record(Parameter, values) for name, values in parameters.items()
                }
                for model, parameters in stored["parameters"].items()
            }
        ),
        residuals=MappingProxyType(
            {
                str(model): {
                    str(family): tuple(None if value is None else float(value) for value in values)
                    for family, values in families.items()
                }
                for model, families in stored["residuals"].items()
            }
        ),
        notes=tuple(map(str, stored.get("notes", ()))),
    )


def _point(keys: Sequence[str], row: Sequence[Any]) -> Point:
    return _record(Point, dict(zip(keys, row, strict=True)))


def _record(kind: type[_Record], stored: Mapping[str, Any]) -> _Record:
    """Return a record from stored values. Raises: `ValueError` for a value of a wrong type."""
    values = {}
    for key, field in stored_fields(kind).items():
        if key not in stored:
            continue
        value = stored[key]
        if field.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if field.type is float and not math.isfinite(value):
            raise ValueError(f"{key} is {value!r}")
        if field.type in {str, int, float, bool} and type(value) is not field.type:
            raise ValueError(f"{key} is {value!r}, not of type {field.type.__name__}")
        values[field.name] = value
    return kind(**values)
