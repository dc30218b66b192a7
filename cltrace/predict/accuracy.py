"""How well models predict a set: the thesis's evaluation (Pöppl 2014, 6.3), and what is asked for since.

Launches that are too short to be told from their launch are scored apart, by the absolute error. A
launch that cannot be counted is not left out: it is scored with the geometric mean of the set's times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelError
from cltrace.kernels import KernelCounts
from cltrace.predict.counting import WorkloadCounts
from cltrace.predict.measurements import Measurements
from cltrace.predict.models import MODELS
from cltrace.predict.quotients import distance, quotient
from cltrace.predict.sets import SetLaunch, launches_of
from cltrace.profile import DeviceProfile

SHORT_NS: Final = 10_000.0
"""Launches below, in the mean of both measurements, are scored by their absolute error."""
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
    launches within a quarter; `short_error_ns` the median absolute error of the short launches, None
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
    short: int
    short_error_ns: float | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A set whose launches have predictions by model, in ns. NaN where a launch cannot be counted."""

    families: tuple[str, ...]
    measured_ns: _Floats
    again_ns: _Floats
    predicted_ns: Mapping[str, _Floats]
    refused: Mapping[str, str]
    """By launch: why it cannot be counted."""

    @property
    def is_long(self) -> NDArray[np.bool_]:
        """Which launches took long enough in the mean of both measurements."""
        found: NDArray[np.bool_] = (self.measured_ns + self.again_ns) / 2 >= SHORT_NS
        return found


def evaluated(measurements: Measurements, profile: DeviceProfile) -> Evaluated:
    """Predict all launches of a set. Raises: `ProfileError` if the profile is not fitted."""
    launches = launches_of(
        measurements.set_name, measurements.samples, measurements.seed, measurements.device
    )
    by_name = {(launch.family, launch.name): launch for launch in launches}
    counting = WorkloadCounts(measurements.device)
    models = {name: model.fitted(profile) for name, model in MODELS.items()}
    predicted: dict[str, list[float]] = {name: [] for name in models}
    refused: dict[str, str] = {}
    known = [one for one in measurements.timings if one.first_ns and one.second_ns]
    for timing in known:
        launch = by_name.get((timing.family, timing.name))
        counts = _counted(counting, launch)
        if isinstance(counts, str):
            refused[timing.name] = counts
        for name, model in models.items():
            known_ns = np.nan if isinstance(counts, str) else model.predict(counts).duration_ns
            predicted[name].append(known_ns)
    return Evaluated(
        families=tuple(timing.family for timing in known),
        measured_ns=np.asarray([timing.first_ns for timing in known], np.float64),
        again_ns=np.asarray([timing.second_ns for timing in known], np.float64),
        predicted_ns={name: np.asarray(values) for name, values in predicted.items()},
        refused=refused,
    )


def _counted(counting: WorkloadCounts, launch: SetLaunch | None) -> KernelCounts | str:
    """The counts of a launch, or why there are none."""
    if launch is None:
        return "the set has no such launch any more since it was measured"
    try:
        return counting.count(launch.work)
    except KernelError as error:
        return str(error)


def scores(found: Evaluated) -> tuple[Score, ...]:
    """A score for each model, for the thesis's without its bias, and for measuring twice."""
    rows = [_score(name, predicted, found) for name, predicted in _with_baseline(found).items()]
    return (*rows, _score("measured again", found.again_ns, found))


def _with_baseline(found: Evaluated) -> Mapping[str, _Floats]:
    """Predictions, with the set's geometric mean for what could not be counted."""
    trivial = float(np.exp(np.log(found.measured_ns).mean()))
    whole = {
        name: np.where(np.isnan(values), trivial, values)
        for name, values in found.predicted_ns.items()
    }
    thesis = whole.get("thesis")
    if thesis is not None:
        long = found.is_long
        bias = float(quotient(thesis[long], found.measured_ns[long]).mean()) if long.any() else 1.0
        whole["thesis without bias"] = thesis / bias
    return whole


def _score(name: str, predicted: _Floats, found: Evaluated) -> Score:
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
        short=int(short.sum()),
        short_error_ns=float(np.median(errors)) if len(errors) else None,
    )


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
