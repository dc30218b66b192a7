"""The interface of models, and their predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from cltrace.errors import ProfileError
from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels import KernelCounts
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.profile import DeviceProfile, Parameter


class Cache(StrEnum):
    """State of a device's caches when a launch begins."""

    WARM = "warm"
    """They hold what the same launch left there."""
    COLD = "cold"
    """They hold nothing that the launch needs."""


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of a launch's time, in ns."""

    name: str
    time_ns: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted time of a launch in ns, its parts, and the part that limits it.

    `interval_ns` are the lower and upper bound that the model states, None if it states none.
    """

    duration_ns: float
    limiter: str
    parts: tuple[Part, ...]
    interval_ns: tuple[float, float] | None = None


class FittedModel(Protocol):
    """A model with the costs of a device."""

    def predict(
        self,
        counts: KernelCounts,
        cache: Cache = Cache.WARM,
        arrivals: Sequence[Arrival] = (STEADY,),
    ) -> Prediction:
        """Predict the time of a launch from its counts, for a state of the caches and of the device.

        Models without these predict the same for all states.
        """


@dataclass(frozen=True, slots=True)
class Fit:
    """Result of fitting a model to a calibration: its parameters by name, and the probes' fitted times.

    `fitted_ns` holds, by family, a value for each of its points; None for points that are not fitted.
    `uncounted` are the numbers of probes, by family, that there was no time to count.
    """

    parameters: Mapping[str, Parameter]
    fitted_ns: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    uncounted: Mapping[str, int] = field(default_factory=dict)


class Model(Protocol):
    """A kind of model, which is fitted to calibrations and read from profiles."""

    @property
    def name(self) -> str:
        """Name of the model in profiles and on the command line."""

    def fit(self, profile: DeviceProfile, deadline: Deadline = NEVER) -> Fit:
        """Fit the model to a calibration, as well as it can until the deadline.

        Defaults stand for costs of families that the calibration left out.
        Raises: `ProfileError` if another family is missing.
        """

    def for_device(self, profile: DeviceProfile) -> FittedModel:
        """Return the model with the parameters that a profile stores.

        Raises: `ProfileError` if it stores none, or damaged ones.
        """


def stored_parameters(profile: DeviceProfile, model: str) -> Mapping[str, Parameter]:
    """Return the parameters of a model in a profile. Raises: `ProfileError` if there are none."""
    parameters = profile.parameters.get(model)
    if parameters is None:
        raise ProfileError("the profile is not fitted: run `cltrace calibrate --from FILE`")
    return parameters
