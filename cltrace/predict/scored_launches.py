"""Launches and kernels of traces with their predictions, in the form of which models are scored.

Each launch configuration has the same weight, and so has each kernel among kernels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import Direction
from cltrace.predict.accuracy import (
    LONG_BYTES,
    SHORT_NS,
    ErrorSummary,
    Evaluation,
    summarise_errors,
)
from cltrace.predict.models import DEFAULT, MODELS
from cltrace.predict.models.overlap.diagnosis import PartFactor
from cltrace.predict.quotients import distance, quotient
from cltrace.predict.traced_transfers import PredictedTransfers
from cltrace.predict.traces import (
    PredictedLaunch,
)

KernelKey: TypeAlias = tuple[str, str, str]
OUTLIER_DISTANCE: Final = 1.25
"""Launches that are judged by their quotient are outliers from this distance on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredLaunch:
    """Launch configuration with a measured time, and its predictions by model in ns.

    `program` identifies its source, `device` is the label of its device. `measured_ns` is the median of
    its calls; `again_ns` is that times the quotient of the medians of later and earlier calls, NaN for a
    single call. `deviation_ns` is the standard deviation of its calls, NaN for a single one. `causes` are
    the parts that explain an outlier's error alone, the likeliest first.
    """

    trace: str
    device: str
    program: str
    predicted: PredictedLaunch
    measured_ns: float
    again_ns: float
    by_model: Mapping[str, float]
    deviation_ns: float = np.nan
    causes: tuple[PartFactor, ...] = ()

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self.predicted.launch.kernel

    @property
    def name(self) -> str:
        """Name of the kernel, with the work-items of each dimension."""
        return f"{self.kernel} {' × '.join(map(str, self.predicted.launch.global_size))}"

    @property
    def is_long(self) -> bool:
        """True if the launch is judged by its quotient."""
        return self.measured_ns >= SHORT_NS

    @property
    def is_outlier(self) -> bool:
        """True if the launch is judged by its quotient and far from its prediction."""
        return self.is_long and self.distance >= OUTLIER_DISTANCE

    @property
    def predicted_ns(self) -> float:
        """Time that the default model predicts."""
        return self.predicted.prediction.duration_ns

    @property
    def quotient(self) -> float:
        """Predicted by measured time."""
        return float(quotient(np.asarray(self.predicted_ns), np.asarray(self.measured_ns)))

    @property
    def distance(self) -> float:
        """Larger by smaller time."""
        return float(distance(np.asarray(self.predicted_ns), np.asarray(self.measured_ns)))


def evaluate_launches(launches: Sequence[ScoredLaunch]) -> Evaluation:
    """Return the launches in the form of which models are scored; families are kernels."""
    return _evaluation([[launch] for launch in launches])


def evaluate_kernels(launches: Sequence[ScoredLaunch]) -> Evaluation:
    """Return kernels in the form of which models are scored, with the geometric means of their times.

    A kernel is judged by its launches of 10 µs and more, if it has any. Intervals are of launches alone.
    """
    evaluation = _evaluation([_judged(same) for same in by_kernel(launches).values()])
    return replace(evaluation, bounds_ns={})


def by_kernel(launches: Sequence[ScoredLaunch]) -> Mapping[KernelKey, Sequence[ScoredLaunch]]:
    """Return the launches of each kernel: one name in one source on one device."""
    kernels: dict[KernelKey, list[ScoredLaunch]] = {}
    for launch in launches:
        kernels.setdefault((launch.kernel, launch.program, launch.device), []).append(launch)
    return kernels


def _judged(launches: Sequence[ScoredLaunch]) -> Sequence[ScoredLaunch]:
    return [launch for launch in launches if launch.is_long] or launches


def _evaluation(groups: Sequence[Sequence[ScoredLaunch]]) -> Evaluation:
    """Return an evaluation of groups of launches of one kernel, each by its geometric means."""
    models = [
        name
        for name in MODELS
        if all(name in launch.by_model for group in groups for launch in group)
    ]
    bounds = [group[0].predicted.prediction.interval_ns for group in groups]
    measured = _means([[launch.measured_ns for launch in group] for group in groups])
    return Evaluation(
        names=tuple(group[0].name for group in groups),
        families=tuple(
            f"{group[0].kernel} {group[0].program} {group[0].device}" for group in groups
        ),
        sizes=np.asarray(
            [prod(group[0].predicted.launch.global_size) for group in groups], np.int64
        ),
        measured_ns=measured,
        deviations_ns=np.asarray(
            [group[0].deviation_ns if len(group) == 1 else np.nan for group in groups], np.float64
        ),
        again_ns=_means([[launch.again_ns for launch in group] for group in groups]),
        is_long=np.asarray([group[0].is_long for group in groups], np.bool_),
        predicted_ns={
            name: _means([[launch.by_model[name] for launch in group] for group in groups])
            for name in models
        },
        bounds_ns={
            DEFAULT: (
                np.asarray([bound[0] if bound else np.nan for bound in bounds], np.float64),
                np.asarray([bound[1] if bound else np.nan for bound in bounds], np.float64),
            )
        },
        ablated_ns={},
        cold_ns=np.full(len(groups), np.nan),
        predicted_cold_ns={},
        refused={},
    )


def _means(groups: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the geometric mean of each group; a single time is kept to its last digit."""
    means = [group[0] if len(group) == 1 else np.exp(np.mean(np.log(group))) for group in groups]
    return np.asarray(means, np.float64)


def summarise_transfers(transfers: Sequence[PredictedTransfers]) -> tuple[ErrorSummary, ...]:
    """Return a summary of the transfers of each direction; those of a size have equal weight."""
    return tuple(
        summary
        for direction in Direction
        if any(each.direction is direction for each in transfers)
        for summary in summarise_errors(
            _evaluate_transfers([each for each in transfers if each.direction is direction])
        )
    )


def _evaluate_transfers(transfers: Sequence[PredictedTransfers]) -> Evaluation:
    """Return transfers of one direction in the form of which models are scored; families are sizes."""
    sizes = np.asarray([each.size_bytes for each in transfers], np.int64)
    unknown = np.full(len(transfers), np.nan)
    return Evaluation(
        names=tuple(str(each.direction) for each in transfers),
        families=tuple(str(each.size_bytes) for each in transfers),
        sizes=sizes,
        measured_ns=np.asarray([each.measured_ns for each in transfers], np.float64),
        deviations_ns=unknown,
        again_ns=unknown,
        is_long=sizes >= LONG_BYTES,
        predicted_ns={
            str(transfers[0].direction): np.asarray(
                [each.prediction.duration_ns for each in transfers], np.float64
            )
        },
        bounds_ns={},
        ablated_ns={},
        cold_ns=unknown,
        predicted_cold_ns={},
        refused={},
    )
