"""Records of profiles: a device, its measured points, and the costs that were fitted to them."""

import math
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any, Final

MAX_UNSETTLED_SHARE: Final = 0.25
"""Share of unsettled probes above which a profile is noisy."""
DEFAULT_PREFIX: Final = "default "
"""Beginning of the family of a cost that was not measured: a default stands for it."""
_MAX_COUNT: Final = 1 << 63
_KEY_OF_FIELD: Final[Mapping[str, str]] = {
    "max_buffer_bytes": "most_buffer_bytes",
    "max_group_items": "most_group_items",
    "min_ns": "least_ns",
}
"""Keys in files, for the fields of `DeviceFacts` and `Point` that are stored under another name."""
LATER_KEYS: Final = frozenset({"vector_floats"})
"""Keys that files of earlier versions lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """Properties that a device's driver reports. Sizes are in bytes, the clock in MHz.

    `vector_floats` are the numbers of type float in a vector register, 0 if not known.
    """

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
    vector_floats: int = 0

    @property
    def driver_major(self) -> str:
        """The first number of the driver's version. Costs may differ between major versions."""
        return driver_major(self.driver)

    def differences(
        self, *, platform: str, name: str, compute_units: int | None, driver: str
    ) -> tuple[str, ...]:
        """Return in words how another device differs; nothing if a profile of one is valid for it.

        Of drivers, the major version counts. None and "" are not known, and no difference.
        """
        pairs = (
            (self.name, name, name),
            (self.platform, platform, f"platform {platform}"),
            (self.compute_units, compute_units, f"{compute_units} compute units"),
            (self.driver_major, driver_major(driver), f"driver {driver}"),
        )
        return tuple(text for own, other, text in pairs if other not in {None, ""} and own != other)

    def differences_from(self, other: "DeviceFacts") -> tuple[str, ...]:
        """Return in words how another device differs, as `differences`."""
        return self.differences(
            platform=other.platform,
            name=other.name,
            compute_units=other.compute_units,
            driver=other.driver,
        )

    @classmethod
    def from_json(cls, stored: object) -> "DeviceFacts":
        """Return the facts that `to_json` stored.

        Raises: `TypeError` for missing or unknown keys, and for values that no driver reports.
        """
        fields_by_key = stored_fields(cls)
        if not isinstance(stored, dict) or not stored.keys() <= fields_by_key.keys():
            raise TypeError(f"{stored!r:.60} does not describe a device")
        for key, value in stored.items():
            kind = fields_by_key[key].type
            is_count = kind is int and type(value) is int and 0 <= value < _MAX_COUNT
            if type(value) is not kind or (kind is int and not is_count):
                raise TypeError(f"a device with {key} {value!r:.60} cannot be")
        facts = cls(**{fields_by_key[key].name: value for key, value in stored.items()})
        if not (facts.max_group_items and facts.max_buffer_bytes and facts.compute_units):
            raise TypeError("a device without work-items, units or memory cannot be")
        return facts

    def to_json(self) -> dict[str, str | int | bool]:
        """Return the facts by the keys that files use, without those that are not known."""
        values = {
            key: getattr(self, field.name) for key, field in stored_fields(type(self)).items()
        }
        return {key: value for key, value in values.items() if key not in LATER_KEYS or value}


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
class LeftOut:
    """Probes of a family for which a calibration had no time.

    `unmeasured` were not measured; `uncounted` were measured, and models were fitted without them.
    """

    family: str
    unmeasured: int
    uncounted: int = 0


@dataclass(frozen=True, slots=True)
class Provenance:
    """Version, date, effort and duration of the calibration that made a profile, and what it left out."""

    cltrace: str
    date: str
    effort: str
    seconds: float
    clocks: tuple[ClockReading, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted cost in `unit`. `error` is its standard error, `family` the probes that isolate it.

    The family of a default begins with `DEFAULT_PREFIX`.
    """

    value: float
    unit: str
    error: float
    family: str

    @property
    def is_default(self) -> bool:
        """True if the cost was not measured on the device."""
        return self.family.startswith(DEFAULT_PREFIX)

    @property
    def own_family(self) -> str:
        """Family that isolates the cost, measured or not."""
        return self.family.removeprefix(DEFAULT_PREFIX)


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

    @property
    def num_points(self) -> int:
        """Number of measured probes."""
        return sum(map(len, self.families.values()))

    @property
    def unsettled_share(self) -> float:
        """Share of the measured probes that did not settle; 0 if nothing was measured."""
        unsettled = sum(
            not point.is_settled for points in self.families.values() for point in points
        )
        return unsettled / self.num_points if unsettled else 0.0

    @property
    def is_noisy(self) -> bool:
        """True if so many probes did not settle that predictions are unreliable."""
        return self.unsettled_share > MAX_UNSETTLED_SHARE

    def points(self, family: str, series: str | None = None) -> tuple[Point, ...]:
        """Return the points of a family, or of one series of the family."""
        points = self.families.get(family, ())
        return tuple(point for point in points if series is None or point.series == series)
