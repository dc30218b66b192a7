"""Accuracy of models on a set of launches: the evaluation of the thesis (Pöppl 2014, 6.3), extended.

Launches that are no longer than the launch overhead are judged apart, by the absolute error. A launch
that cannot be counted is not left out: its prediction is the geometric mean of the set's times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelError, ProfileError
from cltrace.events.workloads import LaunchBeside, Transfer, Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.measurements import Measurements, SetTiming
from cltrace.predict.models import MODELS, Cache, FittedModel, Prediction
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.ablation import ablation_stages
from cltrace.predict.quotients import distance, quotient
from cltrace.predict.sets import SetLaunch, SetName, launches_of
from cltrace.predict.transfers import TransferModel
from cltrace.profile import DeviceProfile

SHORT_NS: Final = 10_000.0
"""Launches below this mean of both measurements are judged by their absolute error."""
FAR: Final = 2.0
"""Launches with a larger distance are counted as far off."""
LONG_BYTES: Final = 64 << 10
"""Transfers of at least this size are judged by their quotient."""
_RESAMPLES: Final = 1_000
_TRANSFERS: Final = "transfers"
"""Name under which transfers are predicted."""
_Floats: TypeAlias = NDArray[np.float64]
_TimedLaunches: TypeAlias = Sequence[tuple[SetTiming, SetLaunch | None]]
"""Timings with the launches of the set that they belong to; None where the set has none any more."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A value with its 95 % confidence interval, from resampling kernels."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Summary of a model's errors. Quotients are predicted by measured, distances 1 or more.

    `geometric` is the geometric mean of the relative errors, each at least 1e-4. `within` is the share of
    launches with an error of at most a quarter, `beyond` that with a distance above 2, `coverage` that
    inside the interval that the model states, None if it states none. `short_error_ns` is the median
    absolute error of the short launches, None without any.
    """

    name: str
    launches: int
    mean: ConfidenceInterval
    deviation: ConfidenceInterval
    standard_error: float
    median: float
    median_distance: float
    geometric: float
    mape: float
    p90: float
    p99: float
    within: float
    beyond: float
    coverage: float | None
    short: int
    short_error_ns: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Measured times of a set, and predictions by model, in ns. NaN where a launch cannot be counted.

    `names` and `families` are those of the launches or transfers, for which each array has an entry.
    `bounds_ns` are lower and upper bounds by model, for models that state them. `ablated_ns` are the
    predictions of the default model's stages. `cold_ns` are the times with emptied caches, NaN where they
    were not measured, and `predicted_cold_ns` their predictions. `is_long` marks the launches that are
    judged by their quotient. `sizes` are work-items, or bytes; 0 where the set has no such launch.
    `deviations_ns` are the standard deviations of the measured times, NaN where they are not known.
    """

    names: tuple[str, ...]
    families: tuple[str, ...]
    sizes: NDArray[np.int64]
    measured_ns: _Floats
    deviations_ns: _Floats
    again_ns: _Floats
    is_long: NDArray[np.bool_]
    predicted_ns: Mapping[str, _Floats]
    bounds_ns: Mapping[str, tuple[_Floats, _Floats]]
    ablated_ns: Mapping[str, _Floats]
    cold_ns: _Floats
    predicted_cold_ns: Mapping[str, _Floats]
    refused: Mapping[str, str]
    """By launch: the reason why it cannot be counted."""

    @property
    def are_transfers(self) -> bool:
        """True for transfers, whose `sizes` are bytes, False for launches."""
        return _TRANSFERS in self.predicted_ns


def evaluate(measurements: Measurements, profile: DeviceProfile) -> Evaluation:
    """Predict all launches of a set.

    Raises: `ProfileError` if the profile is not fitted, or of a CPU where the set is not, or the reverse.
    """
    launches = launches_of(
        measurements.set_name, measurements.samples, measurements.seed, measurements.device
    )
    by_name = {(launch.family, launch.name): launch for launch in launches}
    timings = [timing for timing in measurements.timings if timing.first_ns and timing.second_ns]
    timed = [(timing, by_name.get((timing.family, timing.name))) for timing in timings]
    if measurements.set_name is SetName.TRANSFERS:
        return _evaluate_transfers(timed, profile)
    _require_same_kind(measurements, profile)
    return _evaluate_launches(timed, WorkloadCounter(measurements.device), profile)


def _require_same_kind(measurements: Measurements, profile: DeviceProfile) -> None:
    """Raise a `ProfileError` where counts for the set's device need costs that the profile has not."""
    measured, fitted = measurements.device, profile.device
    if (measured.kind == "cpu") != (fitted.kind == "cpu"):
        raise ProfileError(
            f"the set was measured on a {measured.kind or 'device of no kind'}, {measured.name}, "
            f"and the profile is of a {fitted.kind}, {fitted.name}: name a profile of the same kind"
        )


def _evaluate_launches(
    timed: _TimedLaunches, counting: WorkloadCounter, profile: DeviceProfile
) -> Evaluation:
    models: dict[str, FittedModel] = {
        name: model.for_device(profile) for name, model in MODELS.items()
    }
    stages = ablation_stages(OVERLAP.for_device(profile))
    table = _PredictionTable()
    refused: dict[str, str] = {}
    for timing, launch in timed:
        counts = _count(counting, launch)
        if isinstance(counts, str):
            refused[timing.name] = counts
        for name, model in models.items():
            warm = None if isinstance(counts, str) else model.predict(counts)
            cold = None if isinstance(counts, str) else model.predict(counts, Cache.COLD)
            table.add(name, warm, cold)
        for name, stage in stages.items():
            value = np.nan if isinstance(counts, str) else stage.predict(counts).duration_ns
            table.ablated.setdefault(name, []).append(value)
    return table.evaluation(timed, refused, None)


def _evaluate_transfers(timed: _TimedLaunches, profile: DeviceProfile) -> Evaluation:
    model = TransferModel.of(profile)
    table = _PredictionTable()
    refused: dict[str, str] = {}
    is_long = []
    for timing, launch in timed:
        if launch is None or not isinstance(launch.work, Transfer):
            refused[timing.name] = "the set has no such transfer any more since it was measured"
            table.add(_TRANSFERS, None, None)
            is_long.append(True)
        else:
            table.add(_TRANSFERS, model.predict(launch.work), None)
            is_long.append(launch.work.size_bytes >= LONG_BYTES)
    return table.evaluation(timed, refused, is_long)


class _PredictionTable:
    """Predictions by model, collected launch by launch."""

    def __init__(self) -> None:
        self._warm: dict[str, list[float]] = {}
        self._cold: dict[str, list[float]] = {}
        self._bounds: dict[str, list[tuple[float, float]]] = {}
        self.ablated: dict[str, list[float]] = {}

    def add(self, name: str, warm: Prediction | None, cold: Prediction | None) -> None:
        """Add a model's predictions of the next launch; None where it has none."""
        self._warm.setdefault(name, []).append(np.nan if warm is None else warm.duration_ns)
        self._cold.setdefault(name, []).append(np.nan if cold is None else cold.duration_ns)
        if warm is None or warm.interval_ns is not None:
            bounds = (np.nan, np.nan) if warm is None else warm.interval_ns
            self._bounds.setdefault(name, []).append(bounds or (np.nan, np.nan))

    def evaluation(
        self,
        timed: _TimedLaunches,
        refused: Mapping[str, str],
        is_long: Sequence[bool] | None,
    ) -> Evaluation:
        """Return the predictions with the measured times."""
        timings = [timing for timing, _ in timed]
        first = np.asarray([timing.first_ns for timing in timings], np.float64)
        second = np.asarray([timing.second_ns for timing in timings], np.float64)
        long = (
            (first + second) / 2 >= SHORT_NS if is_long is None else np.asarray(is_long, np.bool_)
        )
        return Evaluation(
            names=tuple(timing.name for timing in timings),
            families=tuple(timing.family for timing in timings),
            sizes=np.asarray([_size(launch) for _, launch in timed], np.int64),
            measured_ns=first,
            deviations_ns=np.asarray([timing.deviation_ns for timing in timings], np.float64),
            again_ns=second,
            is_long=long,
            predicted_ns={name: np.asarray(values) for name, values in self._warm.items()},
            bounds_ns={
                name: (np.asarray([low for low, _ in rows]), np.asarray([high for _, high in rows]))
                for name, rows in self._bounds.items()
                if len(rows) == len(timings)
            },
            ablated_ns={name: np.asarray(values) for name, values in self.ablated.items()},
            cold_ns=np.asarray([timing.cold_ns or np.nan for timing in timings], np.float64),
            predicted_cold_ns={name: np.asarray(values) for name, values in self._cold.items()},
            refused=refused,
        )


def _size(launch: SetLaunch | None) -> int:
    if launch is None:
        return 0
    work = launch.work
    match work:
        case Transfer():
            return work.size_bytes
        case LaunchBeside():
            return work.work.work_items
        case Workload():
            return work.work_items


def _count(counting: WorkloadCounter, launch: SetLaunch | None) -> KernelCounts | str:
    """Return the counts of a launch, or the reason why there are none."""
    if launch is None:
        return "the set has no such launch any more since it was measured"
    if not isinstance(launch.work, Workload):
        return "a transfer has no counts, nor has a launch among others"
    try:
        return counting.count(launch.work)
    except KernelError as error:
        return str(error)


def summarise_errors(evaluation: Evaluation) -> tuple[ErrorSummary, ...]:
    """Return a summary per model, of the thesis's model without its bias, and of measuring twice."""
    summaries = [
        _summarise(name, predicted, evaluation, evaluation.bounds_ns.get(name))
        for name, predicted in _with_unbiased_thesis(evaluation).items()
    ]
    return (*summaries, *summarise_repetition(evaluation))


def summarise_repetition(evaluation: Evaluation) -> tuple[ErrorSummary, ...]:
    """Return the summary of measuring twice; none if no launch was. NaN marks launches measured once."""
    is_repeated = ~np.isnan(evaluation.again_ns)
    if not is_repeated.any():
        return ()
    repeated = replace(
        evaluation,
        families=tuple(np.asarray(evaluation.families)[is_repeated].tolist()),
        measured_ns=evaluation.measured_ns[is_repeated],
        is_long=evaluation.is_long[is_repeated],
    )
    again = evaluation.again_ns[is_repeated]
    return (_summarise("measured again", again, repeated, None),)


def summarise_ablation(evaluation: Evaluation) -> tuple[ErrorSummary, ...]:
    """Return a summary per stage of the default model."""
    return tuple(
        _summarise(name, _fill_gaps(values, evaluation), evaluation, None)
        for name, values in evaluation.ablated_ns.items()
    )


def summarise_cold_errors(evaluation: Evaluation) -> tuple[ErrorSummary, ...]:
    """Return a summary per model of launches with emptied caches; none if these were not measured."""
    is_measured = ~np.isnan(evaluation.cold_ns)
    if not is_measured.any():
        return ()
    cold = replace(
        evaluation,
        measured_ns=np.where(is_measured, evaluation.cold_ns, 1.0),
        is_long=is_measured & (evaluation.cold_ns >= SHORT_NS),
    )
    return tuple(
        _summarise(name, _fill_gaps(values, cold), cold, None)
        for name, values in evaluation.predicted_cold_ns.items()
    )


def _fill_gaps(values: _Floats, evaluation: Evaluation) -> _Floats:
    """Return predictions, with the geometric mean of the set's times for launches without one."""
    mean_ns = float(np.exp(np.log(evaluation.measured_ns).mean()))
    return np.where(np.isnan(values), mean_ns, values)


def _with_unbiased_thesis(evaluation: Evaluation) -> Mapping[str, _Floats]:
    """Return predictions without gaps by model, and the thesis's divided by their mean quotient."""
    predicted = {
        name: _fill_gaps(values, evaluation) for name, values in evaluation.predicted_ns.items()
    }
    thesis = predicted.get("thesis")
    if thesis is not None:
        long = evaluation.is_long
        quotients = quotient(thesis[long], evaluation.measured_ns[long])
        bias = float(quotients.mean()) if long.any() else 1.0
        predicted["thesis without bias"] = thesis / bias
    return predicted


def _summarise(
    name: str,
    predicted: _Floats,
    evaluation: Evaluation,
    bounds: tuple[_Floats, _Floats] | None,
) -> ErrorSummary:
    long = evaluation.is_long
    short = ~long
    short_errors = np.abs(predicted[short] - evaluation.measured_ns[short])
    q = quotient(predicted[long], evaluation.measured_ns[long])
    d = distance(predicted[long], evaluation.measured_ns[long])
    families = [
        family for family, is_long in zip(evaluation.families, long, strict=True) if is_long
    ]
    if not len(q):
        q = d = np.ones(1)
        families = [""]
    errors = np.abs(q - 1.0)
    mean, deviation = _bootstrap(q, families)
    return ErrorSummary(
        name=name,
        launches=int(long.sum()),
        mean=mean,
        deviation=deviation,
        standard_error=deviation.value / np.sqrt(len(q)),
        median=float(np.median(q)),
        median_distance=float(np.median(d)),
        geometric=float(np.exp(np.log(np.maximum(errors, 1e-4)).mean())),
        mape=float(errors.mean()),
        p90=float(np.quantile(d, 0.9)),
        p99=float(np.quantile(d, 0.99)),
        within=float(np.mean(errors <= 0.25)),
        beyond=float(np.mean(d > FAR)),
        coverage=_coverage(evaluation, bounds),
        short=int(short.sum()),
        short_error_ns=float(np.median(short_errors)) if len(short_errors) else None,
    )


def _coverage(evaluation: Evaluation, bounds: tuple[_Floats, _Floats] | None) -> float | None:
    if bounds is None or not evaluation.is_long.any():
        return None
    low, high = (bound[evaluation.is_long] for bound in bounds)
    measured = evaluation.measured_ns[evaluation.is_long]
    return float(np.mean((low <= measured) & (measured <= high)))


def _bootstrap(
    q: _Floats, families: Sequence[str]
) -> tuple[ConfidenceInterval, ConfidenceInterval]:
    """Return mean and standard deviation. Kernels are resampled: their launches are not independent."""
    names, owner = np.unique(np.asarray(families), return_inverse=True)
    count = np.bincount(owner).astype(np.float64)
    total = np.bincount(owner, weights=q)
    squares = np.bincount(owner, weights=q * q)
    chosen = np.random.default_rng(1).integers(0, len(names), (_RESAMPLES, len(names)))
    number = count[chosen].sum(axis=1)
    means = total[chosen].sum(axis=1) / number
    spreads = np.sqrt(np.maximum(squares[chosen].sum(axis=1) / number - means**2, 0.0))
    return _interval(float(q.mean()), means), _interval(float(q.std()), spreads)


def _interval(value: float, samples: _Floats) -> ConfidenceInterval:
    low, high = np.quantile(samples, [0.025, 0.975])
    return ConfidenceInterval(value, float(low), float(high))
