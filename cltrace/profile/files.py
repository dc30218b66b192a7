"""Files of profiles: JSON with a version."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from cltrace.errors import ProfileError
from cltrace.files import read_input, write_atomically
from cltrace.profile.records import (
    ClockReading,
    DeviceFacts,
    DeviceProfile,
    LeftOut,
    Parameter,
    Point,
    Provenance,
    stored_fields,
)

SCHEMA: Final = 1
"""Version of the file format. Newer files are refused, older ones are read."""
_MAX_FILE_BYTES: Final = 64 << 20
_Record = TypeVar("_Record")


def read_profile(path: Path) -> DeviceProfile:
    """Read a profile from a file. Raises: `ProfileError` if it is not a profile, or a newer one."""
    try:
        stored = json.loads(read_input(path, _MAX_FILE_BYTES))
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
        "provenance": _provenance_to_json(profile.provenance),
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


def _provenance_to_json(provenance: Provenance) -> Mapping[str, Any]:
    stored = asdict(provenance)
    if not provenance.left_out:
        del stored["left_out"]
    return stored


def _point_values(point: Point) -> Iterator[str | float | bool]:
    for field in fields(Point):
        yield getattr(point, field.name)


def _rounded(value: str | float | bool) -> str | float | bool:  # noqa: FBT001 - a value of a row
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _profile_from_json(stored: Mapping[str, Any]) -> DeviceProfile:
    provenance = _provenance(stored["provenance"])
    keys = stored["point"]
    return DeviceProfile(
        device=_record(DeviceFacts, stored["device"]),
        provenance=provenance,
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


def _provenance(stored: Mapping[str, Any]) -> Provenance:
    whole = _record(Provenance, {**stored, "clocks": (), "left_out": ()})
    return replace(
        whole,
        clocks=tuple(_record(ClockReading, reading) for reading in stored.get("clocks", ())),
        left_out=tuple(_record(LeftOut, entry) for entry in stored.get("left_out", ())),
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
