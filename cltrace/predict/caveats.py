"""Caveats of predictions: reasons to doubt them that lie in the profile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cltrace.profile import DeviceProfile, LeftOut


@dataclass(frozen=True, slots=True)
class Caveat:
    """A reason to doubt predictions: the key of a fact, a label, and the text."""

    key: str
    label: str
    text: str

    def __str__(self) -> str:
        return f"{self.label}: {self.text}"


def profile_caveats(profile: DeviceProfile, differences: Sequence[str] = ()) -> tuple[Caveat, ...]:
    """Return the caveats of predictions with a profile.

    `differences` say how the device that the predictions are compared with differs from the profile's.
    """
    return (*_device_caveats(profile, differences), *_measurement_caveats(profile))


def incompleteness(profile: DeviceProfile) -> Iterator[str]:
    """Yield sentences on what a calibration left out, and on its noise."""
    yield from map(str, _measurement_caveats(profile))


def _device_caveats(profile: DeviceProfile, differences: Sequence[str]) -> Iterator[Caveat]:
    if differences:
        device = profile.device
        own = f"{device.name}, {device.compute_units} compute units, driver {device.driver}"
        text = f"measured on {own}; the recorded device differs: {', '.join(differences)}"
        yield Caveat("foreign_profile", "foreign profile", text)


def _measurement_caveats(profile: DeviceProfile) -> Iterator[Caveat]:
    if profile.is_noisy:
        share, count = profile.unsettled_share, profile.num_points
        text = f"{share:.0%} of {count:,} probes did not settle within 2 % of their mean"
        yield Caveat("noisy_profile", "noisy profile", text)
    left_out = profile.provenance.left_out
    if left_out:
        text = f"no time for {_probes_text(left_out)}"
        defaults = sum(
            cost.is_default for costs in profile.parameters.values() for cost in costs.values()
        )
        if defaults:
            text += f"; defaults stand for {defaults} costs"
        yield Caveat("left_out", "left out", text)


def _probes_text(left_out: Sequence[LeftOut]) -> str:
    total = sum(entry.unmeasured + entry.uncounted for entry in left_out)
    families = ", ".join(
        f"{entry.family} {entry.unmeasured + entry.uncounted}" for entry in left_out
    )
    return f"{total:,} probes ({families})"
