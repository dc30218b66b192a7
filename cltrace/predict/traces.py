"""Predicted times of the launches and transfers of a trace, with their measured times."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelError
from cltrace.events.workloads import Arrival
from cltrace.kernels import KernelCounts
from cltrace.kernels.compiler import BOTH_FORMS, CodeForm
from cltrace.kernels.counts.traced_launches import (
    TracedLaunch,
    traced_launches,
)
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.launches.counter import TracedLaunchCounter, paused_collection
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.kernels.machine import Machine
from cltrace.predict.launch_states import LaunchStates
from cltrace.predict.models import (
    DEFAULT,
    MODELS,
    Cache,
    FittedModel,
    Part,
    Prediction,
    forms_of,
)
from cltrace.predict.neighbours.traced import (
    LaunchesAtOnce,
    NeighbourTime,
    TracedGroup,
    neighbour_times,
    runs_of,
)
from cltrace.predict.traced_transfers import PredictedTransfers, predict_transfers
from cltrace.profile import DeviceProfile
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.reader import Trace

_TIMES: Final = """
    SELECT launch_id, duration_ns FROM v_command
    WHERE launch_id IS NOT NULL AND duration_ns IS NOT NULL {on_devices} ORDER BY command_id
"""
_CALLS: Final = """
    SELECT launch_id, count(*) FROM v_command
    WHERE launch_id IS NOT NULL {on_devices} GROUP BY launch_id
"""
_DEVICE_NAMES: Final = "SELECT name FROM v_device WHERE 1 {on_devices}"
_DEVICES: Final = """
    SELECT DISTINCT name, platform, compute_units, driver_version FROM v_device WHERE 1 {on_devices}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedLaunch:
    """Launches with the same counts: their median measured time, and their prediction.

    `launch` is one of their configurations with the calls of all, `launch_ids` are the ids of all.
    `measured_ns` is None if no call has a device time. `cache` is the state in which the launches before
    them mostly leave the device's caches, `arrivals` the states of the device at some calls. `counts`
    are those on the profile's device. `neighbours` is what launches at the same time cost all calls,
    None where there were none, or on another device than the recorded one.
    """

    launch: TracedLaunch
    launch_ids: tuple[int, ...]
    measured_ns: float | None
    total_ns: float
    cache: Cache
    arrivals: Sequence[Arrival]
    prediction: Prediction
    counts: KernelCounts
    neighbours: NeighbourTime | None = None

    def beside(self, neighbours: NeighbourTime) -> "PredictedLaunch":
        """Return the launch with what neighbours cost a call in the mean, a part of its prediction."""
        alone, calls = self.prediction, max(self.launch.calls, 1)
        longer_ns = neighbours.longer_ns / calls
        bounds = alone.interval_ns
        if bounds is not None:
            low_ns, high_ns = neighbours.interval_ns
            bounds = (bounds[0] + low_ns / calls, bounds[1] + high_ns / calls)
        parts = (*alone.parts, Part("neighbours", longer_ns))
        is_largest = longer_ns >= max(part.time_ns for part in parts)
        prediction = replace(
            alone,
            duration_ns=alone.duration_ns + longer_ns,
            limiter="neighbours" if is_largest else alone.limiter,
            parts=parts,
            interval_ns=bounds,
        )
        return replace(self, prediction=prediction, neighbours=neighbours)

    @property
    def weight_ns(self) -> float:
        """The longer of the measured and the predicted time of all calls."""
        return max(self.total_ns, self.launch.calls * self.prediction.duration_ns)

    @property
    def is_outside(self) -> bool:
        """True if the measured time is outside of the predicted interval."""
        bounds = self.prediction.interval_ns
        if self.measured_ns is None or bounds is None:
            return False
        return not bounds[0] <= self.measured_ns <= bounds[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTrace:
    """The predictions of a trace, or of some of its devices.

    `refused` are kernels without a prediction, their calls, and the reason. `recorded_on` are the names
    of the devices, `differences` say in words how they differ from the profile's. `label` tells the
    device from others of the trace; "" for a prediction of the whole. `at_once` is what ran at the same
    time on the recorded device, `device_ids` are those of its devices, empty for all.
    """

    profile: DeviceProfile
    model: str
    launches: tuple[PredictedLaunch, ...]
    transfers: tuple[PredictedTransfers, ...]
    refused: tuple[tuple[str, int, str], ...]
    recorded_on: tuple[str, ...] = ()
    label: str = ""
    differences: tuple[str, ...] = ()
    at_once: tuple[LaunchesAtOnce, ...] = ()
    device_ids: tuple[int, ...] = ()

    @property
    def is_what_if(self) -> bool:
        """True if the profile is that of another device than the recorded one."""
        return _is_what_if(self.profile, self.recorded_on)


def predict_trace(
    trace: Trace,
    profile: DeviceProfile,
    model: str = DEFAULT,
    *,
    max_s: float | None = None,
    settings: CountingSettings | None = None,
    progress: Progress = no_progress,
) -> PredictedTrace:
    """Predict all launches and transfers of a trace on the device of a profile.

    Launches that are not counted within `max_s` seconds are among the refused; None for no limit.
    `settings` are those of counting, None for those of the environment.
    Raises: `ProfileError` if the profile is not fitted, `TraceError`.
    """
    predictor = TracePredictor(trace, settings, progress)
    return predictor.predict(profile, model, max_s=max_s)


class TracePredictor:
    """Predictor of a trace on several devices. Launches are read once, and counted once per machine.

    `settings` are those of counting, None for those of the environment.
    """

    def __init__(
        self,
        trace: Trace,
        settings: CountingSettings | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self._trace = trace
        self._settings = settings
        self._progress = progress
        self._launches = list(traced_launches(trace))
        self._counters: dict[tuple[Machine, frozenset[CodeForm]], TracedLaunchCounter] = {}

    def predict(
        self,
        profile: DeviceProfile,
        model: str = DEFAULT,
        *,
        max_s: float | None = None,
        device_ids: Sequence[int] = (),
        label: str = "",
        as_written: int | None = 0,
    ) -> PredictedTrace:
        """Predict the launches and transfers on some devices of the trace, on all without `device_ids`.

        The code as written is counted of the `as_written` launches that take the longest, if it can be;
        None for all, of which others are refused. Raises: `ProfileError`, `TraceError`.
        """
        fitted, machine = MODELS[model].for_device(profile), machine_of(profile.device)
        counter = self._counter_of(machine, BOTH_FORMS if as_written is None else forms_of(model))
        on_devices, launches = _condition(device_ids), self._launches_on(device_ids)
        end_s = None if max_s is None else monotonic() + max_s
        counter.count_all(launches, self._progress, max_s=max_s)
        groups, refused = _group_launches(launches, counter, end_s)
        devices, names = self._recorded_on(on_devices)
        what_if = _is_what_if(profile, names)
        states = LaunchStates.of(self._trace, launches, machine, on_devices, is_what_if=what_if)
        times = launch_durations(self._trace, device_ids)
        predicted = [group.predict(times, states, fitted) for group in groups]
        at_once = self._add_neighbours(predicted, profile, on_devices, end_s)
        self._count_written(predicted, as_written, counter, end_s)
        return PredictedTrace(
            profile=profile,
            model=model,
            launches=tuple(predicted),
            transfers=tuple(predict_transfers(self._trace, profile, on_devices)),
            refused=tuple(refused),
            recorded_on=names,
            label=label,
            differences=_differences(profile, devices),
            at_once=at_once,
            device_ids=tuple(device_ids),
        )

    def _recorded_on(self, on_devices: str) -> tuple[Sequence[Sequence[object]], tuple[str, ...]]:
        """Return the devices that fulfil an SQL condition, and their names."""
        devices = self._trace.rows(_DEVICES.format(on_devices=on_devices))
        return devices, tuple(dict.fromkeys(str(name) for name, *_ in devices))

    def _counter_of(self, machine: Machine, forms: frozenset[CodeForm]) -> TracedLaunchCounter:
        """Return the counter of launches on a machine in some code forms."""
        key = (machine, forms)
        if key not in self._counters:
            self._counters[key] = TracedLaunchCounter(machine, self._settings, forms=forms)
        return self._counters[key]

    def _count_written(
        self,
        predicted: list[PredictedLaunch],
        limit: int | None,
        counter: TracedLaunchCounter,
        end_s: float | None,
    ) -> None:
        """Add the counts as written to the launches that take the longest, as far as they can be counted.

        `limit` is their number, None for all.
        """
        order = sorted(range(len(predicted)), key=lambda index: -predicted[index].weight_ns)
        missing = [index for index in order[:limit] if predicted[index].counts.as_written is None]
        max_s = None if end_s is None else max(end_s - monotonic(), 0.0)
        launches = [predicted[index].launch for index in missing]
        counter.count_all(launches, self._progress, max_s=max_s, forms=BOTH_FORMS)
        for index in missing:
            launch = predicted[index].launch
            if end_s is None or monotonic() <= end_s or counter.is_counted(launch, BOTH_FORMS):
                with suppress(KernelError, MemoryError):
                    counts = counter.count_as_written(launch)
                    predicted[index] = replace(predicted[index], counts=counts)

    def _add_neighbours(
        self,
        predicted: list[PredictedLaunch],
        profile: DeviceProfile,
        on_devices: str,
        end_s: float | None,
    ) -> tuple[LaunchesAtOnce, ...]:
        """Add what neighbours cost to launches, no more of it from `end_s` on; return what ran at once.

        There are none on several devices, on others than the profile's, and without costs to share.
        """
        names = [name for (name,) in self._trace.rows(_DEVICE_NAMES.format(on_devices=on_devices))]
        if names != [profile.device.name] or DEFAULT not in profile.parameters:
            return ()
        groups = list(self._groups_of(predicted))
        runs = runs_of(self._trace, groups, on_devices)
        neighbours = neighbour_times(runs, groups, profile, end_s)
        for position, cost in neighbours.costs.items():
            predicted[position] = predicted[position].beside(cost)
        return neighbours.at_once

    def _groups_of(self, predicted: Sequence[PredictedLaunch]) -> Iterator[TracedGroup]:
        """Yield the launches of each prediction by the buffers that they use."""
        used = {launch.launch_id: frozenset(launch.buffers) for launch in self._launches}
        for number, each in enumerate(predicted):
            by_buffers: dict[frozenset[int], list[int]] = {}
            for launch_id in each.launch_ids:
                by_buffers.setdefault(used[launch_id], []).append(launch_id)
            for buffers, launch_ids in by_buffers.items():
                yield TracedGroup(
                    number, each.launch.kernel, tuple(launch_ids), each.counts, buffers
                )

    def _launches_on(self, device_ids: Sequence[int]) -> list[TracedLaunch]:
        """Return the launch configurations that ran on devices, with their calls there; all without."""
        if not device_ids:
            return self._launches
        calls = dict(self._trace.iterate(_CALLS.format(on_devices=_condition(device_ids))))
        return [
            replace(launch, calls=calls[launch.launch_id])
            for launch in self._launches
            if launch.launch_id in calls
        ]


def _is_what_if(profile: DeviceProfile, recorded_on: Sequence[str]) -> bool:
    """Return whether a profile is that of another device than the recorded ones, given by name."""
    return profile.device.name not in recorded_on


def _differences(profile: DeviceProfile, devices: Iterable[Sequence[object]]) -> tuple[str, ...]:
    """Return in words how the devices of a trace differ from that of a profile."""
    texts = (
        profile.device.differences(
            platform=str(platform or ""),
            name=str(name or ""),
            compute_units=units if isinstance(units, int) else None,
            driver=str(driver or ""),
        )
        for name, platform, units, driver in devices
    )
    return tuple(dict.fromkeys(text for each in texts for text in each))


def _condition(device_ids: Sequence[int]) -> str:
    """Return the SQL condition that a device is one of these; "" for all."""
    return f"AND device_id IN ({', '.join(map(str, device_ids))})" if device_ids else ""


@paused_collection()
def _group_launches(
    launches: Sequence[TracedLaunch], counting: TracedLaunchCounter, end_s: float | None
) -> tuple[Sequence["_Group"], Sequence[tuple[str, int, str]]]:
    """Return launches by their counts, and the refused ones: kernel, calls and reason.

    When the monotonic clock reads `end_s`, nothing more is counted.
    """
    groups: dict[tuple[str, int], _Group] = {}
    refused: list[tuple[str, int, str]] = []
    for launch in launches:
        if end_s is not None and monotonic() > end_s and not counting.is_counted(launch):
            refused.append(
                (launch.kernel, launch.calls, "not predicted in time: run `cltrace predict`")
            )
            continue
        try:
            counts = counting.count(launch)
        except (KernelError, MemoryError) as error:
            refused.append((launch.kernel, launch.calls, str(error)))
            continue
        groups.setdefault((launch.kernel, id(counts)), _Group(counts, [])).launches.append(launch)
    return tuple(groups.values()), refused


@dataclass(frozen=True, slots=True)
class _Group:
    """Launch configurations with the same counts, which do not depend on the numbers that differ."""

    counts: KernelCounts
    launches: list[TracedLaunch]

    def predict(
        self, times: Mapping[int, NDArray[np.int64]], states: LaunchStates, model: FittedModel
    ) -> PredictedLaunch:
        """Return the prediction of all of them as one."""
        ids = tuple(launch.launch_id for launch in self.launches)
        timed = [times[launch_id] for launch_id in ids if launch_id in times]
        durations = np.concatenate(timed) if timed else np.zeros(0, np.int64)
        cache, arrivals = states.cache(ids), states.arrivals_of(ids)
        return PredictedLaunch(
            launch=replace(self.launches[0], calls=sum(launch.calls for launch in self.launches)),
            launch_ids=ids,
            measured_ns=float(np.median(durations)) if len(durations) else None,
            total_ns=float(durations.sum()),
            cache=cache,
            arrivals=arrivals,
            prediction=model.predict(self.counts, cache, arrivals),
            counts=self.counts,
        )


def launch_durations(
    trace: Trace, device_ids: Sequence[int] = ()
) -> Mapping[int, NDArray[np.int64]]:
    """Return the durations of each launch configuration in ns, in their order, on some devices or all."""
    on_devices = _condition(device_ids)
    rows = np.asarray(
        [
            row
            for row in trace.iterate(_TIMES.format(on_devices=on_devices))
            if isinstance(row[0], int) and isinstance(row[1], int)
        ],
        np.int64,
    ).reshape(-1, 2)
    order = np.argsort(rows[:, 0], kind="stable")
    rows = rows[order]
    launches, begins = np.unique(rows[:, 0], return_index=True)
    return {
        int(launch): part
        for launch, part in zip(launches, np.split(rows[:, 1], begins[1:]), strict=False)
    }
