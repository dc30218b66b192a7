"""Clocks of all devices of a process, and faults of its commands' stamps."""

import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from cltrace.events.clocks import ClockSegment, ProcessClocks
from cltrace.events.kinds import UNUSABLE_STAMPS, StampFault
from cltrace.timeline.clock_fit.points import ClockObservations
from cltrace.timeline.clocks import fit_clock
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.completions import observe_completions
from cltrace.timeline.grouping import groups
from cltrace.timeline.stamps import STAGES, find_intrinsic_faults, find_quantum_ns
from cltrace.trace import writer
from cltrace.trace.commands import ABSENT, HostCalls, QueueFacts
from cltrace.trace.writer import FinalisedTrace


def finalise(parts: Path, path: Path) -> FinalisedTrace:
    """Write the trace at `path` from the spools in `parts`, with the devices on the host's clock.

    Raises: `SpoolError` when the parts cannot be read, `OutputError` when the trace cannot be written.
    """
    return writer.finalise(parts, path, fit_device_clocks)


def fit_device_clocks(host_calls: HostCalls, queues: QueueFacts) -> ProcessClocks:
    """Fit the clocks of one process's devices, and find the faults of its commands' stamps.

    Device and queue numbers are those of `host_calls` and `queues`.
    """
    commands = host_calls.commands
    faults = np.zeros(len(commands["api"]), np.int64)
    devices = _look_up(queues.device_ids, commands["queue_id"])
    keeps_order = _look_up(queues.keeps_order, commands["queue_id"]).astype(np.bool_)
    observed = observe_completions(commands, host_calls.calls, host_calls.waits, keeps_order)
    segments: list[ClockSegment] = []
    stamped = set(np.unique(devices[has_stamps(commands)]).tolist())
    for device, members in groups(devices):
        if device <= 0 or device not in stamped:
            continue
        columns = {name: column[members] for name, column in commands.items()}
        kept = _fit_device_clock(columns, observed[members], device)
        segments += kept.segments
        faults[members] = kept.faults
    return ProcessClocks(tuple(segments), faults)


def has_stamps(commands: Mapping[str, Int64s]) -> Bools:
    """Return a mask of the commands that have all four stamps."""
    has_all = np.ones(len(commands["api"]), np.bool_)
    for stage in STAGES:
        has_all &= commands[f"{stage}_device_ns"] != ABSENT
    return has_all


def _look_up(table: Mapping[int, int], numbers: Int64s) -> Int64s:
    """Return the value of each number in `table`; 0 for a number that is not a key."""
    distinct, position = np.unique(numbers, return_inverse=True)
    values = [int(table.get(number, 0)) for number in distinct.tolist()]
    return np.array(values, np.int64)[position]


def _fit_device_clock(
    commands: Mapping[str, Int64s], observed: Int64s, device_id: int
) -> ProcessClocks:
    """Fit the clock of one device to the columns of its commands."""
    is_stamped = has_stamps(commands)
    faults = find_intrinsic_faults(commands, is_stamped)
    is_failed = (commands["execution_status"] < 0) & (commands["execution_status"] != ABSENT)
    faulty = int((faults[~is_failed] != 0).sum())
    faults[is_stamped & is_failed] = int(StampFault.FAILED)
    usable = np.flatnonzero(is_stamped & (faults & int(UNUSABLE_STAMPS) == 0))
    observations = ClockObservations(
        enter_host_ns=commands["enter_host_ns"][usable],
        return_host_ns=commands["return_host_ns"][usable],
        queued_device_ns=commands["queued_device_ns"][usable],
        start_device_ns=commands["start_device_ns"][usable],
        end_device_ns=commands["end_device_ns"][usable],
        observed_host_ns=observed[usable],
        position=usable,
    )
    quantum_ns = find_quantum_ns(commands, usable)
    fitted = fit_clock(observations, device_id=device_id, quantum_ns=quantum_ns, unusable=faulty)
    faults[usable] |= fitted.faults
    digest = _digest(observations)
    segments = (
        replace(segment, quantum_ns=quantum_ns, input_hash=digest) for segment in fitted.segments
    )
    return ProcessClocks(tuple(segments), faults)


def _digest(observations: ClockObservations) -> int:
    """Return the CRC-32 of the observations."""
    columns = (
        observations.enter_host_ns,
        observations.return_host_ns,
        observations.queued_device_ns,
        observations.start_device_ns,
        observations.end_device_ns,
        observations.observed_host_ns,
    )
    digest = 0
    for column in columns:
        digest = zlib.crc32(np.ascontiguousarray(column).tobytes(), digest)
    return digest
