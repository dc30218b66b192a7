"""Clocks of all devices of a process whose commands are in scratch files.

Passes over the commands, in order:

    survey          time spans of devices and of parts, first stamps of each part
    observation     when commands were observed to be complete; the last part first
    selection       faults that show without a fit; the other commands become observations of their device
    fits            one after another, each in passes over the device's observations
    faults          those of the selection and of the fits go into the commands' flags
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import FAULT_SHIFT, UNUSABLE_STAMPS, StampFault
from cltrace.timeline.clock_fit.points import ClockObservations
from cltrace.timeline.clock_fit.sources import StoredObservations
from cltrace.timeline.clocks import fit_stored_clock
from cltrace.timeline.columns import NEVER, Int64s
from cltrace.timeline.completions import CompletionObserver
from cltrace.timeline.grouping import groups
from cltrace.timeline.stamps import (
    STAGES,
    StampMoment,
    StampQuantum,
    find_intrinsic_faults,
    has_stamps,
    lacks_queueing,
)
from cltrace.trace.call_streams import SparseRows
from cltrace.trace.commands import ABSENT, QueueFacts, StoredHostCalls
from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import SortedRuns
from cltrace.trace.stored_columns import StoredColumns

_TIMES: Final = ("enter_host_ns", "return_host_ns")
_STAMPS: Final = tuple(f"{stage}_device_ns" for stage in STAGES)
_FIRST: Final = int(np.iinfo(np.int64).min)


def fit_stored_clocks(host_calls: StoredHostCalls, queues: QueueFacts) -> tuple[ClockSegment, ...]:
    """Fit the clocks of one process's devices, and set the faults in the flags of its commands.

    Device and queue numbers are those of `host_calls` and `queues`.
    """
    commands = host_calls.commands
    scratch = commands.scratch
    survey = _survey(commands, queues)
    observed = _observe(host_calls, queues, survey)
    faults = StoredColumns(scratch)
    devices = _select(commands, observed, queues, survey, faults)
    segments: list[ClockSegment] = []
    late = []
    for number, device in sorted(devices.items()):
        observations, quantum_ns = device.observations, device.quantum.value_ns
        fitted = fit_stored_clock(
            observations, scratch, device_id=number, quantum_ns=quantum_ns, unusable=device.faulty
        )
        digest = 0
        for column in observations.column_parts():
            digest = zlib.crc32(column.tobytes(), digest)
        segments += [
            replace(segment, quantum_ns=quantum_ns, input_hash=digest)
            for segment in fitted.segments
        ]
        late.append(SparseRows(fitted.fault_parts(), 1))
    _set_faults(commands, faults, late)
    return tuple(segments)


@dataclass(slots=True)
class _DeviceSurvey:
    """Time span of the host calls of a device, and its first stamps of each part that has any."""

    first_ns: int
    last_ns: int
    firsts: dict[int, StampMoment] = field(default_factory=dict)

    def next_after(self, part: int) -> StampMoment | None:
        """Return the first stamps of the parts after one."""
        return next((moment for number, moment in self.firsts.items() if number > part), None)


@dataclass(slots=True)
class _Survey:
    """Surveys of devices, and the latest return of all calls before each part."""

    devices: dict[int, _DeviceSurvey] = field(default_factory=dict)
    latest_return_ns: list[int] = field(default_factory=list)


def _survey(commands: StoredColumns, queues: QueueFacts) -> _Survey:
    survey, latest = _Survey(), _FIRST
    for number, part in enumerate(commands.parts(["queue_id", *_TIMES, *_STAMPS])):
        survey.latest_return_ns.append(latest)
        enter, returned = (part[name] for name in _TIMES)
        latest = max(latest, int(returned.max()))
        is_stamped = has_stamps(part)
        for device, members in groups(_look_up(queues.device_ids, part["queue_id"])):
            first, last = int(enter[members].min()), int(returned[members].max())
            device_survey = survey.devices.setdefault(device, _DeviceSurvey(first, last))
            device_survey.first_ns = min(device_survey.first_ns, first)
            device_survey.last_ns = max(device_survey.last_ns, last)
            stamped = members[is_stamped[members]]
            if len(stamped):
                device_survey.firsts[number] = StampMoment.of(part, int(stamped[0]))
    return survey


def _observe(host_calls: StoredHostCalls, queues: QueueFacts, survey: _Survey) -> StoredColumns:
    """Return the column `observed`: when each command was observed to be complete."""
    commands, calls = host_calls.commands, host_calls.calls
    observed = _observe_waits(host_calls)
    observer, next_calls = CompletionObserver(), len(calls) - 1
    names = ("queue_id", "flags", "complete_host_ns", *_TIMES)
    for number in reversed(range(len(commands))):
        part = commands.part(number, names)
        while next_calls >= 0:
            own = calls.part(next_calls, ("api", "status", "queue_id", *_TIMES))
            if own["enter_host_ns"][-1] < part["enter_host_ns"][0]:
                break
            observer.add_calls(own)
            next_calls -= 1
        keeps_order = _look_up(queues.keeps_order, part["queue_id"]).astype(np.bool_)
        waited = observed.part(number)["observed"]
        latest = survey.latest_return_ns[number]
        observed.put(number, {"observed": observer.observe(part, waited, keeps_order, latest)})
    return observed


def _observe_waits(host_calls: StoredHostCalls) -> StoredColumns:
    """Return the column `observed`: when a call that waited for single commands returned."""
    commands = host_calls.commands
    scratch = commands.scratch
    observed = StoredColumns(scratch)
    by_command = _waits_by_command(host_calls, scratch)
    waited = SparseRows(by_command.parts(), 1)
    for number, begin in enumerate(commands.first_rows()):
        count = len(commands.part(number, ["api"])["api"])
        # Of the waits for a command the earliest comes last.
        negative = waited.take(begin, begin + count)[:, 0]
        observed.append({"observed": np.where(negative == ABSENT, NEVER, -negative)})
    return observed


def _waits_by_command(host_calls: StoredHostCalls, scratch: Scratch) -> SortedRuns:
    """Return rows of command and negative return of the successful waits for it, in order."""
    by_call, by_command = SortedRuns(scratch, 2), SortedRuns(scratch, 2, keys=2)
    for pairs in host_calls.waits.parts():
        by_call.add(pairs)
    first = 0
    window = _Window(by_call)
    for part in host_calls.calls.parts(("api", "status", "return_host_ns")):
        end = first + len(part["api"])
        for rows in window.until(end):
            call = rows[:, 0] - first
            proves = (part["api"][call] == int(Api.clWaitForEvents)) & (part["status"][call] == 0)
            returned = -part["return_host_ns"][call[proves]]
            by_command.add(np.stack([rows[proves, 1], returned], axis=1))
        first = end
    return by_command


class _Window:
    """Sorted rows that are taken up to a key, part by part."""

    def __init__(self, runs: SortedRuns) -> None:
        self._parts = runs.parts()
        self._rows = np.empty((0, 2), np.int64)

    def until(self, end: int) -> "list[Int64s]":
        """Return the next rows whose first value is below `end`."""
        taken = []
        while True:
            count = int(np.searchsorted(self._rows[:, 0], end))
            taken.append(self._rows[:count])
            self._rows = self._rows[count:]
            if len(self._rows):
                return taken
            rows = next(self._parts, None)
            if rows is None:
                return taken
            self._rows = rows


@dataclass(slots=True)
class _Device:
    """Observations of a device's clock, the step of its stamps, and the number of faulty ones."""

    observations: StoredObservations
    quantum: StampQuantum = field(default_factory=StampQuantum)
    faulty: int = 0
    previous: StampMoment | None = None


def _select(
    commands: StoredColumns,
    observed: StoredColumns,
    queues: QueueFacts,
    survey: _Survey,
    faults: StoredColumns,
) -> dict[int, _Device]:
    """Return the devices with stamps, and store the faults that show without a fit."""
    devices = {
        device: _Device(StoredObservations(commands.scratch))
        for device, found in survey.devices.items()
        if device > 0 and found.firsts
    }
    first = 0
    names = ("queue_id", "execution_status", *_TIMES, *_STAMPS)
    for number, part in enumerate(commands.parts(names)):
        count = len(part["queue_id"])
        own = np.zeros(count, np.int64)
        columns = {**part, **observed.part(number), "position": np.arange(first, first + count)}
        for device, members in groups(_look_up(queues.device_ids, part["queue_id"])):
            if device in devices:
                whole = len(members) == count
                chosen = (
                    columns
                    if whole
                    else {name: column[members] for name, column in columns.items()}
                )
                following = survey.devices[device].next_after(number)
                own[members] = _select_part(
                    devices[device], chosen, survey.devices[device], following
                )
        faults.append({"faults": own})
        first += count
    return devices


def _select_part(
    device: _Device,
    commands: Mapping[str, Int64s],
    survey: _DeviceSurvey,
    following: StampMoment | None,
) -> Int64s:
    """Return the faults of a part of a device's commands, and keep the others as observations."""
    is_stamped = has_stamps(commands)
    faults = find_intrinsic_faults(
        commands,
        is_stamped,
        record_ns=float(max(survey.last_ns, 0)) - float(min(survey.first_ns, 0)),
        before=device.previous,
        after=following,
    )
    status = commands["execution_status"]
    is_failed = (status < 0) & (status != ABSENT)
    device.faulty += int((faults[~is_failed & ~lacks_queueing(commands)] != 0).sum())
    faults[is_stamped & is_failed] = int(StampFault.FAILED)
    stamped = np.flatnonzero(is_stamped)
    if len(stamped):
        device.previous = StampMoment.of(commands, int(stamped[-1]))
    usable = np.flatnonzero(is_stamped & (faults & int(UNUSABLE_STAMPS) == 0))
    device.quantum.add(commands, usable)
    device.observations.append(
        ClockObservations(
            enter_host_ns=commands["enter_host_ns"][usable],
            return_host_ns=commands["return_host_ns"][usable],
            queued_device_ns=commands["queued_device_ns"][usable],
            start_device_ns=commands["start_device_ns"][usable],
            end_device_ns=commands["end_device_ns"][usable],
            observed_host_ns=commands["observed"][usable],
            position=commands["position"][usable],
        )
    )
    return faults


def _set_faults(commands: StoredColumns, faults: StoredColumns, late: list[SparseRows]) -> None:
    """Set the faults in the flags of commands: those that showed without a fit, and the others."""
    for number, begin in enumerate(commands.first_rows()):
        own = faults.part(number)["faults"].copy()
        for rows in late:
            stored = rows.take(begin, begin + len(own))[:, 0]
            own |= np.where(stored == ABSENT, 0, stored)
        if own.any():
            flags = commands.part(number, ["flags"])["flags"]
            commands.update(number, {"flags": flags | own << FAULT_SHIFT})


def _look_up(table: Mapping[int, int], numbers: Int64s) -> Int64s:
    """Return the value of each number in `table`; 0 for a number that is not a key."""
    distinct, position = np.unique(numbers, return_inverse=True)
    values = [int(table.get(number, 0)) for number in distinct.tolist()]
    return np.array(values, np.int64)[position]
