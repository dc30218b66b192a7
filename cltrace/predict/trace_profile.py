"""The profile of the device that a trace was recorded on, and what it says of the trace."""

from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.predict.traces import PredictedTrace, predicted_trace
from cltrace.profile import DeviceProfile, known_profile
from cltrace.trace.reader import Trace

_MOST_SECONDS: Final = 20.0
"""What predicting a trace may take where it is a part of something else."""
_DEVICES: Final = "SELECT DISTINCT platform, name, compute_units, driver_version FROM v_device"


@dataclass(frozen=True, slots=True)
class OwnProfile:
    """The profile of a trace's device; None where there is none, or no single device."""

    found: DeviceProfile | None
    devices: tuple[str, ...]

    def needed(self) -> DeviceProfile:
        """Raises: `ProfileError` where there is none."""
        if self.found is None:
            names = ", ".join(self.devices) or "the trace's device"
            raise ProfileError(
                f"there is no profile of {names}: `cltrace calibrate` makes one there, "
                "--profile NAME takes another device's"
            )
        return self.found


def profile_of_trace(trace: Trace) -> OwnProfile:
    """The fitted profile of the one device that a trace has, if there is such."""
    devices = trace.rows(_DEVICES)
    names = tuple(dict.fromkeys(str(row[1]) for row in devices))
    if len(devices) != 1 or not isinstance(devices[0][2], int):
        return OwnProfile(None, names)
    platform, name, units, driver = devices[0]
    return OwnProfile(known_profile(str(platform), str(name), units, str(driver)), names)


def own_predictions(trace: Trace, most_s: float = _MOST_SECONDS) -> PredictedTrace | None:
    """What a trace should take on its own device; None where there is no sound profile of it.

    What is not predicted after `most_s` seconds is among the refused.
    """
    profile = profile_of_trace(trace).found
    if profile is None:
        return None
    try:
        return predicted_trace(trace, profile, most_s=most_s)
    except ProfileError:
        return None
