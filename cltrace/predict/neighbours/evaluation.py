"""Predicted and measured durations of launches beside others: the verification of the study, extended.

Models are trained on sets of three launches of the calibration's kernels, and tested on other kernels
(Büsser 2018, chapter 5: trained on three threads, tested on two and four).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import ProfileError
from cltrace.predict.measurements import Measurements
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.neighbours.fit import constants_of, launches_beside
from cltrace.predict.neighbours.models import Constants, neighbour_models
from cltrace.predict.neighbours.records import Beside
from cltrace.predict.sets import cases_beside
from cltrace.profile import DeviceProfile

AGAIN = "measured again"
"""Name of the second measurement among the models: the least error that one can have."""


@dataclass(frozen=True, slots=True)
class TogetherEvaluation:
    """Launches beside others, and their predicted increases by model in ns, an entry for each launch.

    `without_overlap` is the number of measured cases whose queues did not run at once.
    """

    launches: tuple[Beside, ...]
    increases_ns: Mapping[str, NDArray[np.float64]]
    constants: Mapping[str, Constants]
    without_overlap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourError:
    """Errors of a model on some launches.

    `mean` and `deviation` are of predicted by measured durations, `mape` is the mean of their relative
    errors, `increase_mape` that of the increases. `bias` is the mean of the errors by the duration alone.
    """

    model: str
    group: str
    launches: int
    mean: float
    deviation: float
    mape: float
    increase_mape: float
    bias: float


def evaluate_together(measurements: Measurements, profile: DeviceProfile) -> TogetherEvaluation:
    """Predict all launches of a set that ran beside others.

    Raises: `ProfileError` if the profile has no constants, or the set no launches beside others.
    """
    constants = constants_of(profile)
    if not constants:
        raise ProfileError(
            f"the profile of {profile.device.name} knows no launches beside others: measure them with "
            "`cltrace calibrate`"
        )
    times = {
        (timing.name, int(timing.family)): (timing.first_ns, timing.second_ns)
        for timing in measurements.timings
        if timing.first_ns is not None
    }
    device = measurements.device
    launches = tuple(launches_beside(cases_beside(device), times, device, profile))
    if not launches:
        raise ProfileError("no launches of the set ran at once: these queues do not overlap")
    models = neighbour_models(OVERLAP.for_device(profile).costs, launches)
    constants = {"share": {}, **constants}
    increases = {
        name: np.asarray([model.increase_ns(launch, constants[name]) for launch in launches])
        for name, model in models.items()
        if name in constants
    }
    missing = sum(timing.first_ns is None for timing in measurements.timings)
    return TogetherEvaluation(launches, increases, constants, missing)


def errors_by(
    evaluation: TogetherEvaluation, group_of: Callable[[Beside], str]
) -> Iterator[NeighbourError]:
    """Yield the errors of each model, and of measuring again, by groups of launches, in their order."""
    again = np.asarray(
        [
            np.nan if launch.again_ns is None else launch.again_ns - launch.alone_ns
            for launch in evaluation.launches
        ]
    )
    groups = [group_of(launch) for launch in evaluation.launches]
    for name, increases in {**evaluation.increases_ns, AGAIN: again}.items():
        for group in sorted(dict.fromkeys(groups)):
            chosen = [
                (launch, float(increase))
                for launch, increase, own in zip(
                    evaluation.launches, increases, groups, strict=True
                )
                if own == group and not np.isnan(increase)
            ]
            if chosen:
                yield _error(name, group, chosen)


def _error(model: str, group: str, chosen: Sequence[tuple[Beside, float]]) -> NeighbourError:
    alone = np.asarray([launch.alone_ns for launch, _ in chosen])
    beside = np.asarray([launch.beside_ns for launch, _ in chosen])
    predicted = alone + np.asarray([increase for _, increase in chosen])
    quotients = predicted / beside
    increases = np.maximum(np.abs(beside - alone), 1e-9)
    return NeighbourError(
        model=model,
        group=group,
        launches=len(chosen),
        mean=float(quotients.mean()),
        deviation=float(quotients.std()),
        mape=float(np.abs(quotients - 1.0).mean()),
        increase_mape=float((np.abs(predicted - beside) / increases).mean()),
        bias=float(((predicted - beside) / alone).mean()),
    )
