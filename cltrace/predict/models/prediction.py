"""What a model says of a launch, and what a model is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from cltrace.kernels import KernelCounts
from cltrace.profile import DeviceProfile, Parameter


class Cache(StrEnum):
    """What caches hold when a launch begins."""

    WARM = "warm"
    """What the same launch left there."""
    COLD = "cold"
    """Nothing that it needs."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a launch's time, in ns, by the name of what takes it."""

    name: str
    time_ns: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """How long a launch takes, in ns, of which parts, and which of them limits it.

    `interval_ns` is what the model says it takes at least and at most, None if it does not.
    """

    duration_ns: float
    limiter: str
    parts: tuple[Part, ...]
    interval_ns: tuple[float, float] | None = None


class FittedModel(Protocol):
    """A model with the costs of a device."""

    def predict(self, counts: KernelCounts, cache: Cache = Cache.WARM) -> Prediction:
        """What a launch takes that has to do what `counts` says, for a state of the caches.

        Models without caches say the same for all states.
        """


@dataclass(frozen=True, slots=True)
class Fit:
    """What a model makes of a calibration: its parameters by name, and what it says of the probes.

    `fitted_ns` has by family a value for each of its points, None for those that it does not fit.
    """

    parameters: Mapping[str, Parameter]
    fitted_ns: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


class Model(Protocol):
    """A kind of model: what it makes of a calibration, and what it then predicts."""

    @property
    def name(self) -> str:
        """What it is called in profiles and on the command line."""

    def fit(self, profile: DeviceProfile) -> Fit:
        """What it makes of what was measured. Raises: `ProfileError` if a family is missing."""

    def fitted(self, profile: DeviceProfile) -> FittedModel:
        """The model of a profile that has its parameters. Raises: `ProfileError` if it has none."""
