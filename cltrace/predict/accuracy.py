"""How well models predict a set: the thesis's evaluation (Pöppl 2014, 6.3), and what is asked for since.

Launches that are too short to be told from their launch are scored apart, by the absolute error. A
launch that cannot be counted is not left out: it is scored with the geometric mean of the set's times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelError
from cltrace.events.workloads import Transfer
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounts
from cltrace.predict.measurements import Measurements, Timing
from cltrace.predict.models import MODELS, Cache, FittedModel, Prediction
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.ablation import ablated
from cltrace.predict.quotients import distance, quotient
from cltrace.predict.sets import SetLaunch, SetName, launches_of
from cltrace.predict.transfers import Transfers
from cltrace.profile import DeviceProfile

SHORT_NS: Final = 10_000.0
"""Launches below, in the mean of both measurements, are scored by their absolute error."""
LONG_BYTES: Final = 64 << 10
"""Transfers of so much are scored by their quotient."""
_RESAMPLES: Final = 1_000
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value, and the 95 % interval of resampling kernels."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """How well a model predicts. Quotients are predicted by measured, distances 1 or more.

    `geometric` is the geometric mean of the relative errors, each at least 1e-4; `within` the share of
    launches within a quarter, `coverage` that within the interval that the model states, None if none;
    `short_error_ns` the median absolute error of the short launches, None
    where there is none.
    """

    name: str
    launches: int
    mean: Interval
    deviation: Interval
    standard_error: float
    median: float
    median_distance: float
    geometric: float
    mape: float
    p90: float
    p99: float
    within: float
    coverage: float | None
    short: int
    short_error_ns: float | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A set whose launches have predictions by model, in ns. NaN where a launch cannot be counted.

    `bounds_ns` are what a model says a launch takes at least and at most, by model that says so;
    `ablated_ns` the predictions of the default model's stages; `cold_ns` are the times with emptied
    caches, NaN where they were not measured, and `predicted_cold_ns` what models say of these.
    `is_long` says which launches are scored by their quotient; `sizes` are work-items, or bytes,
    0 where a launch is not known.
    """

    families: tuple[str, ...]
    sizes: NDArray[np.int64]
    measured_ns: _Floats
    again_ns: _Floats
    is_long: NDArray[np.bool_]
    predicted_ns: Mapping[str, _Floats]
    bounds_ns: Mapping[str, tuple[_Floats, _Floats]]
    ablated_ns: Mapping[str, _Floats]
    cold_ns: _Floats
    predicted_cold_ns: Mapping[str, _Floats]
    refused: Mapping[str, str]
    """By launch: why it cannot be counted."""


def evaluated(measurements: Measurements, profile: DeviceProfile) -> Evaluated:
    """Predict all launches of a set. Raises: `ProfileError` if the profile is not fitted."""
    launches = launches_of(
        measurements.set_name, measurements.samples, measurements.seed, measurements.device
    )
    by_name = {(launch.family, launch.name): launch for launch in launches}
    timings = [one for one in measurements.timings if one.first_ns and one.second_ns]
    known = [(timing, by_name.get((timing.family, timing.name))) for timing in timings]
    if measurements.set_name is SetName.TRANSFERS:
        return _of_transfers(known, profile)
    return _of_launches(known, WorkloadCounts(measurements.device), profile)


_Known = Sequence[tuple[Timing, SetLaunch | None]]


def _of_launches(known: _Known, counting: WorkloadCounts, profile: DeviceProfile) -> Evaluated:
    models: dict[str, FittedModel] = {name: model.fitted(profile) for name, model in MODELS.items()}
    stages = ablated(OVERLAP.fitted(profile))
    table = _Table()
    refused: dict[str, str] = {}
    for timing, launch in known:
        counts = _counted(counting, launch)
        if isinstance(counts, str):
            refused[timing.name] = counts
        for name, model in models.items():
            warm = None if isinstance(counts, str) else model.predict(counts)
            cold = None if isinstance(counts, str) else model.predict(counts, Cache.COLD)
            table.add(name, warm, cold)
        for name, stage in stages.items():
            value = np.nan if isinstance(counts, str) else stage.predict(counts).duration_ns
            table.ablated.setdefault(name, []).append(value)
    return table.evaluated(known, refused, None)


def _of_transfers(known: _Known, profile: DeviceProfile) -> Evaluated:
    model = Transfers.of(profile)
    table = _Table()
    refused: dict[str, str] = {}
    is_long = []
    for timing, launch in known:
        if launch is None or not isinstance(launch.work, Transfer):
            refused[timing.name] = "the set has no such transfer any more since it was measured"
            table.add("transfers", None, None)
            is_long.append(True)
        else:
            table.add("transfers", model.predict(launch.work), None)
            is_long.append(launch.work.size_bytes >= LONG_BYTES)
    return table.evaluated(known, refused, is_long)


class _Table:
    """Predictions as they come, by model."""

    def __init__(self) -> None:
        self._warm: dict[str, list[float]] = {}
        self._cold: dict[str, list[float]] = {}
        self._bounds: dict[str, list[tuple[float, float]]] = {}
        self.ablated: dict[str, list[float]] = {}

    def add(self, name: str, warm: Prediction | None, cold: Prediction | None) -> None:
        """What a model says of the next launch; None where it cannot."""
        self._warm.setdefault(name, []).append(np.nan if warm is None else warm.duration_ns)
        self._cold.setdefault(name, []).append(np.nan if cold is None else cold.duration_ns)
        if warm is None or warm.interval_ns is not None:
            bounds = (np.nan, np.nan) if warm is None else warm.interval_ns
            self._bounds.setdefault(name, []).append(bounds or (np.nan, np.nan))

    def evaluated(
        self,
        known: _Known,
        refused: Mapping[str, str],
        is_long: Sequence[bool] | None,
    ) -> Evaluated:
        """All of it beside what was measured."""
        timings = [timing for timing, _ in known]
        first = np.asarray([timing.first_ns for timing in timings], np.float64)
        second = np.asarray([timing.second_ns for timing in timings], np.float64)
        long = (
            (first + second) / 2 >= SHORT_NS if is_long is None else np.asarray(is_long, np.bool_)
        )
        return Evaluated(
            families=tuple(timing.family for timing in timings),
            sizes=np.asarray([_size(launch) for _, launch in known], np.int64),
            measured_ns=first,
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
    return work.size_bytes if isinstance(work, Transfer) else work.work_items


def _counted(counting: WorkloadCounts, launch: SetLaunch | None) -> KernelCounts | str:
    """The counts of a launch, or why there are none."""
    if launch is None:
        return "the set has no such launch any more since it was measured"
    if isinstance(launch.work, Transfer):
        return "a transfer has no counts"
    try:
        return counting.count(launch.work)
    except KernelError as error:
        return str(error)


def scores(found: Evaluated) -> tuple[Score, ...]:
    """A score for each model, for the thesis's without its bias, and for measuring twice."""
    rows = [
        _score(name, predicted, found, found.bounds_ns.get(name))
        for name, predicted in _with_baseline(found).items()
    ]
    return (*rows, _score("measured again", found.again_ns, found, None))


def ablation(found: Evaluated) -> tuple[Score, ...]:
    """A score for each stage of the default model."""
    return tuple(
        _score(name, _guessed(values, found), found, None)
        for name, values in found.ablated_ns.items()
    )


def cold_scores(found: Evaluated) -> tuple[Score, ...]:
    """A score for each model of launches with emptied caches; none where these were not measured."""
    is_known = ~np.isnan(found.cold_ns)
    if not is_known.any():
        return ()
    cold = replace(
        found,
        measured_ns=np.where(is_known, found.cold_ns, 1.0),
        is_long=is_known & (found.cold_ns >= SHORT_NS),
    )
    return tuple(
        _score(name, _guessed(values, cold), cold, None)
        for name, values in found.predicted_cold_ns.items()
    )


def _trivial_ns(found: Evaluated) -> float:
    """The best guess of who knows nothing of a launch: the geometric mean of the set's times."""
    return float(np.exp(np.log(found.measured_ns).mean()))


def _guessed(values: _Floats, found: Evaluated) -> _Floats:
    """Predictions, with the best guess where there is none."""
    return np.where(np.isnan(values), _trivial_ns(found), values)


def _with_baseline(found: Evaluated) -> Mapping[str, _Floats]:
    """Predictions, with the set's geometric mean for what could not be counted."""
    whole = {name: _guessed(values, found) for name, values in found.predicted_ns.items()}
    thesis = whole.get("thesis")
    if thesis is not None:
        long = found.is_long
        bias = float(quotient(thesis[long], found.measured_ns[long]).mean()) if long.any() else 1.0
        whole["thesis without bias"] = thesis / bias
    return whole


def _score(
    name: str, predicted: _Floats, found: Evaluated, bounds: tuple[_Floats, _Floats] | None
) -> Score:
    long = found.is_long
    short = ~long
    errors = np.abs(predicted[short] - found.measured_ns[short])
    q = quotient(predicted[long], found.measured_ns[long])
    d = distance(predicted[long], found.measured_ns[long])
    families = [family for family, is_long in zip(found.families, long, strict=True) if is_long]
    if not len(q):
        q = d = np.ones(1)
        families = [""]
    off = np.abs(q - 1.0)
    mean, deviation = _resampled(q, families)
    return Score(
        name=name,
        launches=int(long.sum()),
        mean=mean,
        deviation=deviation,
        standard_error=deviation.value / np.sqrt(len(q)),
        median=float(np.median(q)),
        median_distance=float(np.median(d)),
        geometric=float(np.exp(np.log(np.maximum(off, 1e-4)).mean())),
        mape=float(off.mean()),
        p90=float(np.quantile(d, 0.9)),
        p99=float(np.quantile(d, 0.99)),
        within=float(np.mean(off <= 0.25)),
        coverage=_coverage(found, bounds),
        short=int(short.sum()),
        short_error_ns=float(np.median(errors)) if len(errors) else None,
    )


def _coverage(found: Evaluated, bounds: tuple[_Floats, _Floats] | None) -> float | None:
    if bounds is None or not found.is_long.any():
        return None
    low, high = (one[found.is_long] for one in bounds)
    measured = found.measured_ns[found.is_long]
    return float(np.mean((low <= measured) & (measured <= high)))


def _resampled(q: _Floats, families: Sequence[str]) -> tuple[Interval, Interval]:
    """Mean and deviation, with intervals over kernels: launches of one kernel are not independent."""
    names, owner = np.unique(np.asarray(families), return_inverse=True)
    count = np.bincount(owner).astype(np.float64)
    total = np.bincount(owner, weights=q)
    squares = np.bincount(owner, weights=q * q)
    chosen = np.random.default_rng(1).integers(0, len(names), (_RESAMPLES, len(names)))
    number = count[chosen].sum(axis=1)
    means = total[chosen].sum(axis=1) / number
    spreads = np.sqrt(np.maximum(squares[chosen].sum(axis=1) / number - means**2, 0.0))
    return _interval(float(q.mean()), means), _interval(float(q.std()), spreads)


def _interval(value: float, drawn: _Floats) -> Interval:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(value, float(low), float(high))
