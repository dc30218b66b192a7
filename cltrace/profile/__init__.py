"""Profiles: the measured performance of devices, as data with provenance.

A profile is a JSON file. It holds the mean times of every probe of the calibration suite, so that models
can be fitted again and readers can see the measurements.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cltrace.errors import ProfileError
from cltrace.files import slug
from cltrace.profile.files import SCHEMA, read_profile, write_profile
from cltrace.profile.records import (
    DEFAULT_PREFIX,
    LATER_KEYS,
    MAX_UNSETTLED_SHARE,
    ClockReading,
    DeviceFacts,
    DeviceProfile,
    LeftOut,
    Parameter,
    Point,
    Provenance,
    driver_major,
    stored_fields,
)
from cltrace.similar_names import suggest_name

__all__ = [
    "DEFAULT_PREFIX",
    "LATER_KEYS",
    "MAX_UNSETTLED_SHARE",
    "SCHEMA",
    "ClockReading",
    "DeviceFacts",
    "DeviceProfile",
    "LeftOut",
    "Parameter",
    "Point",
    "Provenance",
    "choose_profile",
    "driver_major",
    "find_profile",
    "load_profile",
    "profile_directories",
    "profile_for",
    "profile_paths",
    "read_profile",
    "shipped_profile",
    "stored_fields",
    "user_profile_path",
    "write_profile",
]

_SHIPPED: Final = Path(__file__).parents[1] / "profiles"


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
    names = sorted(profile_paths())
    there_are = (
        suggest_name(str(name_or_path), names) or f"; there are: {', '.join(names) or 'none'}."
    )
    raise ProfileError(
        f"there is no profile {name_or_path}{there_are} Run `cltrace calibrate` to make one"
    )


def shipped_profile(kind: str) -> DeviceProfile:
    """Return the profile shipped with cltrace whose costs are defaults for a kind of device."""
    return read_profile(_SHIPPED / ("pocl-cpu.json" if kind == "cpu" else "nvidia-h200.json"))


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
        differences = profile.device.differences(
            platform=platform, name=name, compute_units=compute_units, driver=driver
        )
        if not differences and profile.parameters:
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
