"""The profile of the device that a trace was recorded on, and predictions with it."""

from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.predict.traces import PredictedTrace, predict_trace
from cltrace.profile import DeviceProfile, find_profile
from cltrace.trace.reader import Trace

_MAX_SECONDS: Final = 20.0
"""Time limit of predicting a trace as a part of another report."""
_DEVICES: Final = "SELECT DISTINCT platform, name, compute_units, driver_version FROM v_device"


@dataclass(frozen=True, slots=True)
class OwnProfile:
    """The profile of a trace's device; None without a profile, or without a single device."""

    profile: DeviceProfile | None
    devices: tuple[str, ...]

    def require(self) -> DeviceProfile:
        """Return the profile. Raises: `ProfileError` if there is none."""
        if self.profile is None:
            names = ", ".join(self.devices) or "the trace's device"
            raise ProfileError(
                f"there is no profile of {names}: run `cltrace calibrate` there, "
                "or choose another device's with --profile NAME"
            )
        return self.profile


def profile_of_trace(trace: Trace) -> OwnProfile:
    """Return the fitted profile of a trace's device, if the trace has one device and it has a profile."""
    devices = trace.rows(_DEVICES)
    names = tuple(dict.fromkeys(str(row[1]) for row in devices))
    if len(devices) != 1 or not isinstance(devices[0][2], int):
        return OwnProfile(None, names)
    platform, name, units, driver = devices[0]
    return OwnProfile(find_profile(str(platform), str(name), units, str(driver)), names)


def predict_on_own_device(trace: Trace, max_s: float = _MAX_SECONDS) -> PredictedTrace | None:
    """Predict a trace on its own device; return None without a valid profile of it.

    Launches that are not predicted within `max_s` seconds are among the refused.
    """
    profile = profile_of_trace(trace).profile
    if profile is None:
        return None
    try:
        return predict_trace(trace, profile, max_s=max_s)
    except ProfileError:
        return None
