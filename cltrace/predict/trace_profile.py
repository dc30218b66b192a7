"""The profiles of the devices that a trace was recorded on, and predictions with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from cltrace.errors import ProfileError
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.predict.models import DEFAULT
from cltrace.predict.traces import PredictedTrace, TracePredictor
from cltrace.profile import DeviceProfile, find_profile, load_profile
from cltrace.similar_names import suggest_name
from cltrace.trace.device_labels import device_labels, used_device_ids
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.reader import Trace

_MAX_SECONDS: Final = 20.0
_LAUNCHES_AS_WRITTEN: Final = 10
"""Launches that are counted as written: those whose cost types a report shows."""
"""Time limit of predicting a trace as a part of another report."""
_DEVICES: Final = "SELECT device_id, platform, name, compute_units, driver_version FROM v_device"


@dataclass(frozen=True, slots=True)
class TraceDevice:
    """Device of a trace, with its own fitted profile, if there is one. `label` tells it from others."""

    device_id: int
    label: str
    name: str
    profile: DeviceProfile | None


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """The profile of each device to predict, and the devices that have none."""

    chosen: tuple[tuple[TraceDevice, DeviceProfile], ...]
    missing: tuple[TraceDevice, ...]


@dataclass(frozen=True, slots=True)
class OwnProfile:
    """The profile of a trace's device; None without a profile, or with devices of several kinds."""

    profile: DeviceProfile | None
    devices: tuple[str, ...]

    def require(self) -> DeviceProfile:
        """Return the profile. Raises: `ProfileError` if there is none."""
        if self.profile is None:
            raise ProfileError(_missing_text(self.devices))
        return self.profile


def devices_of_trace(trace: Trace) -> tuple[TraceDevice, ...]:
    """Return the devices of a trace that have a queue; all devices if none has."""
    labels, used = device_labels(trace), set(used_device_ids(trace))
    rows = trace.rows(f"{_DEVICES} ORDER BY device_id")
    known: dict[tuple[str, str, object, str], DeviceProfile | None] = {}
    devices = []
    for number, platform, name, units, driver in rows:
        if used and number not in used:
            continue
        facts = (str(platform), str(name), units, str(driver))
        if facts not in known:
            known[facts] = find_profile(*facts) if isinstance(units, int) else None
        devices.append(TraceDevice(int(number), labels[int(number)], str(name), known[facts]))
    return tuple(devices)


def profile_of_trace(trace: Trace) -> OwnProfile:
    """Return the fitted profile of a trace's devices, if they are of one kind, which has a profile."""
    devices = devices_of_trace(trace)
    names = tuple(dict.fromkeys(device.name for device in devices))
    profiles = {id(device.profile): device.profile for device in devices}
    return OwnProfile(next(iter(profiles.values())) if len(profiles) == 1 else None, names)


def choose_profiles(devices: Sequence[TraceDevice], requests: Sequence[str]) -> ProfileChoice:
    """Return the profile to predict each device with.

    A request is `PROFILE`, for the devices of its name, or `DEVICE=PROFILE`, for those whose name or
    label is DEVICE, else for those whose labels contain it. If all devices have one name, a profile of
    another device predicts times there. A device without a request has its own profile.

    Raises: `ProfileError` if no device has a profile, a profile is of none of several devices, or no
    device is like DEVICE.
    """
    chosen: dict[int, DeviceProfile] = {
        device.device_id: device.profile for device in devices if device.profile is not None
    }
    plain = [request for request in requests if not _is_mapping(request)]
    for name in plain:
        chosen.update(_apply_profile(devices, name, is_only=len(plain) == 1))
    for request in requests:
        if _is_mapping(request):
            chosen.update(_apply_mapping(devices, request))
    if not chosen:
        raise ProfileError(_missing_text(tuple(dict.fromkeys(each.name for each in devices))))
    return ProfileChoice(
        tuple(
            (device, chosen[device.device_id]) for device in devices if device.device_id in chosen
        ),
        tuple(device for device in devices if device.device_id not in chosen),
    )


def predict_devices(
    trace: Trace,
    choice: ProfileChoice,
    model: str = DEFAULT,
    *,
    max_s: float | None = None,
    settings: CountingSettings | None = None,
    progress: Progress = no_progress,
    as_written: int | None = 0,
) -> tuple[PredictedTrace, ...]:
    """Predict the launches and transfers of each device of a trace with its profile.

    The code as written is counted of the `as_written` launches that take the longest, None for all.
    `settings` are those of counting, None for those of the environment.
    Raises: `ProfileError` if a profile is not fitted, `TraceError`.
    """
    predictor, began = TracePredictor(trace, settings, progress), monotonic()
    has_several = len(choice.chosen) + len(choice.missing) > 1
    predictions = []
    for device, profile in choice.chosen:
        rest_s = None if max_s is None else max(max_s - (monotonic() - began), 0.0)
        predictions.append(
            predictor.predict(
                profile,
                model,
                max_s=rest_s,
                device_ids=(device.device_id,),
                label=device.label if has_several else "",
                as_written=as_written,
            )
        )
    return tuple(predictions)


def predict_on_own_devices(trace: Trace, max_s: float = _MAX_SECONDS) -> tuple[PredictedTrace, ...]:
    """Predict a trace on each of its devices that has a valid profile of its own.

    Launches that are not predicted within `max_s` seconds are among the refused.
    """
    try:
        return predict_devices(
            trace,
            choose_profiles(devices_of_trace(trace), ()),
            max_s=max_s,
            as_written=_LAUNCHES_AS_WRITTEN,
        )
    except ProfileError:
        return ()


def _is_mapping(request: str) -> bool:
    return "=" in request and not Path(request).exists()


def _apply_profile(
    devices: Sequence[TraceDevice], name: str, *, is_only: bool
) -> Mapping[int, DeviceProfile]:
    profile = load_profile(name)
    names = list(dict.fromkeys(device.name for device in devices))
    own = [device for device in devices if device.name == profile.device.name]
    if not own and (len(names) > 1 or not is_only):
        raise ProfileError(
            f"{name} is a profile of {profile.device.name}, and the trace has {', '.join(names)}: "
            f"write --profile 'DEVICE={name}' with a part of the name of the device to predict with it"
        )
    return {device.device_id: profile for device in own or devices}


def _apply_mapping(devices: Sequence[TraceDevice], request: str) -> Mapping[int, DeviceProfile]:
    pattern, _, name = request.rpartition("=")
    matching = [device for device in devices if pattern in {device.label, device.name}] or [
        device for device in devices if pattern.lower() in device.label.lower()
    ]
    if not matching:
        labels = ", ".join(device.label for device in devices)
        words = [word for device in devices for word in (device.name, *device.name.split())]
        suggestion = suggest_name(pattern, words) or ":"
        raise ProfileError(
            f"no device of the trace is like {pattern!r}{suggestion} it has {labels}"
        )
    return dict.fromkeys((device.device_id for device in matching), load_profile(name))


def _missing_text(names: Sequence[str]) -> str:
    return (
        f"there is no profile of {', '.join(names) or 'the device of the trace'}: run "
        "`cltrace calibrate` there, or choose another device's with --profile NAME"
    )
