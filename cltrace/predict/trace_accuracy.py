"""Accuracy of predictions on the launches and transfers of traces.

Launches with the same counts are a configuration, which is scored by the median of its calls.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import ProfileError, TraceError
from cltrace.events.workloads import DIRECTION_OF
from cltrace.kernels import KernelCounts
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.predict.caveats import Caveat, profile_caveats
from cltrace.predict.models import DEFAULT, MODELS, Cache, FittedModel
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.diagnosis import diagnose
from cltrace.predict.scored_launches import ScoredLaunch
from cltrace.predict.trace_profile import ProfileChoice, TraceDevice, predict_devices
from cltrace.predict.traced_transfers import PredictedTransfers
from cltrace.predict.traces import (
    PredictedLaunch,
    PredictedTrace,
    launch_durations,
)
from cltrace.profile import DeviceProfile
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.reader import Trace
from cltrace.trace.started import started_at

_RECORDED: Final = """
    SELECT device_id, kind, coalesce(kernel, kind), count(*), coalesce(sum(duration_ns), 0)
    FROM v_command WHERE kind = 'kernel' OR size_bytes > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
_NO_TIME: Final = "no call has a measured time"
_DIGITS: Final = 8
_Durations: TypeAlias = Mapping[int, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class UnscoredCommands:
    """Launches of a kernel, or transfers of a kind, that are not scored, and the reason."""

    command: str
    calls: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceAccuracy:
    """Scored launches and transfers of a trace.

    `date` is that of the recording in UTC, "" if it is not known.
    `profiles` are those of its devices by label; `what_if` are the labels of the devices that are not
    those of their profiles. `recorded_ns` is the time of all kernel launches of the trace.
    `caveats` are those of predictions with the profiles.
    """

    trace: str
    profiles: tuple[tuple[str, DeviceProfile], ...]
    what_if: tuple[str, ...]
    launches: tuple[ScoredLaunch, ...]
    transfers: tuple[PredictedTransfers, ...]
    unscored: tuple[UnscoredCommands, ...]
    recorded_ns: float
    caveats: tuple[Caveat, ...] = ()
    date: str = ""


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Commands of a kind and name on a device: number of calls and their time. Kernels have names."""

    device_id: int
    kind: str
    name: str
    calls: int
    total_ns: int


def require_scorable(trace: Trace) -> None:
    """Raise `TraceError` for a trace without launches and transfers."""
    if not trace.rows(_RECORDED):
        raise TraceError(f"{trace.path} has no kernel launches and no transfers: nothing to score")


def score_trace(
    trace: Trace,
    name: str,
    choice: ProfileChoice,
    *,
    settings: CountingSettings | None = None,
    progress: Progress = no_progress,
) -> TraceAccuracy:
    """Score all launches and transfers of a trace, shown as `name`, on the devices with a profile.

    `settings` are those of counting, None for those of the environment.
    Raises: `ProfileError` if a profile is not fitted, `TraceError`.
    """
    # All models are scored, and that of the thesis predicts from the code as written.
    predictions = predict_devices(
        trace, choice, settings=settings, progress=progress, as_written=None
    )
    recorded = [_Recorded(*row) for row in trace.rows(_RECORDED) if isinstance(row[0], int)]
    launches: list[ScoredLaunch] = []
    unscored: list[UnscoredCommands] = []
    for (device, profile), prediction in zip(choice.chosen, predictions, strict=True):
        times = launch_durations(trace, (device.device_id,))
        launches += _DeviceScorer(name, device.label, profile, times).score(prediction)
        own = [row for row in recorded if row.device_id == device.device_id]
        unscored += _unscored(prediction, own)
    unscored += _without_profile(recorded, choice.missing)
    return TraceAccuracy(
        trace=name,
        profiles=tuple((device.label, profile) for device, profile in choice.chosen),
        what_if=tuple(
            device.label for device, profile in choice.chosen if device.name != profile.device.name
        ),
        launches=tuple(launches),
        transfers=tuple(_timed_transfers(predictions)),
        unscored=tuple(unscored),
        recorded_ns=float(sum(row.total_ns for row in recorded if row.kind == "kernel")),
        caveats=tuple(_caveats_of(choice, predictions)),
        date=_date(trace),
    )


def _date(trace: Trace) -> str:
    started = started_at(trace)
    return f"{started:%Y-%m-%d}" if started else ""


def _caveats_of(choice: ProfileChoice, predictions: Sequence[PredictedTrace]) -> Iterator[Caveat]:
    """Yield the caveats of the profiles, each with the label of its device."""
    for (device, profile), prediction in zip(choice.chosen, predictions, strict=True):
        for caveat in profile_caveats(profile, prediction.differences):
            yield replace(caveat, text=f"{device.label}: {caveat.text}")


def _timed_transfers(predictions: Sequence[PredictedTrace]) -> Iterator[PredictedTransfers]:
    for prediction in predictions:
        yield from (each for each in prediction.transfers if each.measured_ns)


class _DeviceScorer:
    """Scorer of the launches of a device of a trace, with the durations of their calls."""

    def __init__(self, trace: str, device: str, profile: DeviceProfile, times: _Durations) -> None:
        self._trace = trace
        self._device = device
        self._times = times
        self._models = dict(_fitted_models(profile))
        self._overlap = OVERLAP.for_device(profile)

    def score(self, prediction: PredictedTrace) -> Iterator[ScoredLaunch]:
        """Yield the launches that have a measured time."""
        for predicted in prediction.launches:
            if predicted.measured_ns:
                yield self._score(predicted, predicted.measured_ns)

    def _score(self, predicted: PredictedLaunch, measured_ns: float) -> ScoredLaunch:
        counts, cache, arrivals = predicted.counts, predicted.cache, predicted.arrivals
        durations = self._durations_ns(predicted)
        plain = ScoredLaunch(
            trace=self._trace,
            device=self._device,
            program=_identify_source(predicted),
            predicted=predicted,
            measured_ns=measured_ns,
            again_ns=_again_ns(measured_ns, durations),
            deviation_ns=float(np.std(durations)) if len(durations) > 1 else np.nan,
            by_model={
                DEFAULT: predicted.prediction.duration_ns,
                **self._predict_others(counts, cache),
            },
        )
        if not plain.is_outlier:
            return plain
        return replace(plain, causes=diagnose(self._overlap, counts, measured_ns, cache, arrivals))

    def _predict_others(self, counts: KernelCounts, cache: Cache) -> Mapping[str, float]:
        return {
            name: model.predict(counts, cache).duration_ns for name, model in self._models.items()
        }

    def _durations_ns(self, predicted: PredictedLaunch) -> NDArray[np.int64]:
        own = [self._times[number] for number in predicted.launch_ids if number in self._times]
        return np.concatenate(own)


def _again_ns(measured_ns: float, durations: NDArray[np.int64]) -> float:
    """Return the measured time, times the median of later by that of earlier calls; NaN for one."""
    earlier, later = np.array_split(durations, 2)
    if not len(later) or not np.median(earlier):
        return np.nan
    return measured_ns * float(np.median(later) / np.median(earlier))


def _fitted_models(profile: DeviceProfile) -> Iterator[tuple[str, FittedModel]]:
    """Yield the models beside the default one that a profile has parameters of."""
    for name, model in MODELS.items():
        if name != DEFAULT:
            with suppress(ProfileError):  # the default model is what is judged
                yield name, model.for_device(profile)


def _identify_source(predicted: PredictedLaunch) -> str:
    """Return the first digits of the hash of a kernel's source. Options and sizes are not part of it."""
    program = predicted.launch.program
    text = program.source if program is not None else ""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_DIGITS]


def _unscored(
    prediction: PredictedTrace, recorded: Sequence[_Recorded]
) -> Iterator[UnscoredCommands]:
    """Yield the commands of a device that are not scored."""
    known: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    for kernel, calls, reason in prediction.refused:
        refused[kernel, reason] += calls
    for predicted in prediction.launches:
        known[predicted.launch.kernel] += predicted.launch.calls
        if not predicted.measured_ns:
            refused[predicted.launch.kernel, _NO_TIME] += predicted.launch.calls
    for kernel, calls, _ in prediction.refused:
        known[kernel] += calls
    for row in recorded:
        if row.kind == "kernel" and row.calls > known[row.name]:
            refused[row.name, "the arguments are not recorded"] += row.calls - known[row.name]
    for (kernel, reason), calls in refused.items():
        yield UnscoredCommands(kernel, calls, reason)
    yield from _unscored_transfers(prediction, recorded)


def _unscored_transfers(
    prediction: PredictedTrace, recorded: Sequence[_Recorded]
) -> Iterator[UnscoredCommands]:
    for row in recorded:
        if row.kind == "kernel":
            continue
        direction = DIRECTION_OF.get(row.kind)
        own = [each for each in prediction.transfers if each.direction is direction]
        untimed = sum(each.calls for each in own if not each.measured_ns)
        if direction is None:
            yield UnscoredCommands(row.kind, row.calls, "no model predicts commands of this kind")
        elif not own:
            yield UnscoredCommands(row.kind, row.calls, "the profile has no times of transfers")
        elif untimed:
            yield UnscoredCommands(row.kind, untimed, _NO_TIME)


def _without_profile(
    recorded: Sequence[_Recorded], missing: Sequence[TraceDevice]
) -> Iterator[UnscoredCommands]:
    names = {device.device_id: device.name for device in missing}
    for row in recorded:
        if row.device_id in names:
            reason = f"there is no profile of {names[row.device_id]}"
            yield UnscoredCommands(row.name, row.calls, reason)
