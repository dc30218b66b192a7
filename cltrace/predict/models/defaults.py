"""Defaults for costs that a calibration had no time to measure: those of a profile that cltrace ships."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from cltrace.errors import ProfileError
from cltrace.profile import DEFAULT_PREFIX, DeviceProfile, Parameter, shipped_profile

LATER_COSTS: Final[Mapping[str, Parameter]] = {
    "texel": Parameter(4.04, "ns", 0.0, f"{DEFAULT_PREFIX}images"),
    "image change": Parameter(3_000.0, "ns", 0.0, f"{DEFAULT_PREFIX}image-changes"),
    "queued launch": Parameter(2_500.0, "ns", 0.0, f"{DEFAULT_PREFIX}queued launches"),
}
"""Costs of the overlap model that profiles of earlier versions lack, as an H200 has them.

A texel: four units for images in a compute unit read a texel per cycle each. An image change: the driver
binds images to a kernel, and binds others when the kernel is launched with others. A queued launch: the
device has fetched what it needs while the launch before was running.
"""
LATER_PROCESSOR_COSTS: Final[Mapping[str, Parameter]] = {
    "image read": Parameter(14.0, "ns", 0.0, f"{DEFAULT_PREFIX}images"),
    "image blend": Parameter(50.0, "ns", 0.0, f"{DEFAULT_PREFIX}images"),
    "image write": Parameter(12.0, "ns", 0.0, f"{DEFAULT_PREFIX}images"),
    "item operation": Parameter(0.09, "ns", 0.0, f"{DEFAULT_PREFIX}items"),
    "masked store": Parameter(0.0, "ns", 0.0, f"{DEFAULT_PREFIX}guards"),
    "misprediction": Parameter(5.0, "ns", 0.0, f"{DEFAULT_PREFIX}branches"),
}
"""The same of a CPU, as PoCL 3.0 has them on an AMD EPYC of 2024.

A store with a mask costs nothing more by default: it takes 10 to 20 ns there, but next to nothing on a
processor with masks of its own.
"""
FIXED_COSTS: Final[Mapping[str, Parameter]] = {
    "lock step groups": Parameter(2.0, "", 0.0, f"{DEFAULT_PREFIX}waves"),
    "p near": Parameter(1.47, "", 0.0, f"{DEFAULT_PREFIX}few-units"),
    "p phases": Parameter(1.0, "", 0.0, f"{DEFAULT_PREFIX}widths"),
    "loaded": Parameter(0.0, "", 0.0, f"{DEFAULT_PREFIX}widths"),
    "p local": Parameter(3.0, "", 0.0, f"{DEFAULT_PREFIX}local-banks"),
    "line read": Parameter(0.0, "ns", 0.0, f"{DEFAULT_PREFIX}few-units"),
    "line written": Parameter(0.0, "ns", 0.0, f"{DEFAULT_PREFIX}few-units"),
    "atomic alone": Parameter(5.0, "ns", 0.0, f"{DEFAULT_PREFIX}atomics"),
}
"""Costs of the overlap model that earlier versions did not fit, as near to what they had as there are."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """The families of a calibration that lack probes, and the defaults of a model's costs by name.

    Both are empty for a complete calibration, whose missing families are errors.
    """

    families: frozenset[str] = frozenset()
    defaults: Mapping[str, Parameter] = field(default_factory=dict)

    @classmethod
    def of(cls, profile: DeviceProfile, model: str, uncounted: Collection[str] = ()) -> "Gaps":
        """Return the gaps of a profile. `uncounted` are families with probes that were not counted."""
        families = frozenset(entry.family for entry in profile.provenance.left_out)
        families |= frozenset(uncounted)
        if not families:
            return cls()
        shipped = shipped_profile(profile.device.kind).parameters[model]
        defaults = {
            name: replace(parameter, error=0.0, family=f"{DEFAULT_PREFIX}{parameter.own_family}")
            for name, parameter in shipped.items()
        }
        return cls(families, defaults)

    def fit_or_default(
        self,
        families: Collection[str],
        names: Iterable[str],
        fit: Callable[[], Iterable[tuple[str, Parameter]]],
    ) -> Mapping[str, Parameter]:
        """Return the costs that `fit` yields, or the defaults of `names` if it fails for lack of probes.

        Raises: `ProfileError` or `ValueError` from `fit`, if none of `families` lacks probes.
        """
        try:
            return dict(fit())
        except (ProfileError, ValueError):
            if self.families.isdisjoint(families):
                raise
            return self.defaults_of(names)

    def defaults_of(self, names: Iterable[str]) -> Mapping[str, Parameter]:
        """Return the defaults of costs, without those that have none."""
        return {name: self.defaults[name] for name in names if name in self.defaults}

    def names_of(self, family: str) -> tuple[str, ...]:
        """Return the names of the costs that a family isolates, if it lacks probes."""
        if family not in self.families:
            return ()
        return tuple(
            name for name, parameter in self.defaults.items() if parameter.own_family == family
        )
