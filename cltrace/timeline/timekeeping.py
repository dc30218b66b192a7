"""Keeping the time of a process: all of its devices' clocks, and what is wrong with its stamps."""

import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from cltrace.events.clocks import ClockSegment, KeptTime
from cltrace.events.kinds import UNUSABLE_STAMPS, StampFault
from cltrace.timeline.clock_fit.points import Bools, Int64s, Observations
from cltrace.timeline.clocks import fit_clock
from cltrace.timeline.completions import observed_complete_ns
from cltrace.timeline.grouping import groups
from cltrace.timeline.stamps import STAGES, faults_in_themselves, quantum_ns
from cltrace.trace import writer
from cltrace.trace.commands import ABSENT, HostCalls, QueueFacts
from cltrace.trace.writer import Finalised


def finalise(parts: Path, path: Path) -> Finalised:
    """Make the trace at `path` of the spools in `parts`, with the devices on the host's clock.

    Raises: `SpoolError` when the parts cannot be read, `OutputError` when the trace cannot be written.
    """
    return writer.finalise(parts, path, keep_time)


def keep_time(found: HostCalls, queues: QueueFacts) -> KeptTime:
    """The clocks of the devices of one process, and the faults of its commands' stamps.

    Identifiers of devices and queues are as they are in `found` and `queues`.
    """
    commands = found.commands
    faults = np.zeros(len(commands["api"]), np.int64)
    devices = _led(queues.device_ids, commands["queue_id"])
    keeps_order = _led(queues.keeps_order, commands["queue_id"]).astype(np.bool_)
    observed = observed_complete_ns(commands, found.calls, found.waits, keeps_order)
    segments: list[ClockSegment] = []
    stamped = set(np.unique(devices[has_stamps(commands)]).tolist())
    for device, members in groups(devices):
        if device <= 0 or device not in stamped:
            continue
        columns = {name: column[members] for name, column in commands.items()}
        kept = _keep_device(columns, observed[members], device)
        segments += kept.segments
        faults[members] = kept.faults
    return KeptTime(tuple(segments), faults)


def has_stamps(commands: Mapping[str, Int64s]) -> Bools:
    """Which commands have all four stamps."""
    found = np.ones(len(commands["api"]), np.bool_)
    for stage in STAGES:
        found &= commands[f"{stage}_device_ns"] != ABSENT
    return found


def _led(table: Mapping[int, int], numbers: Int64s) -> Int64s:
    """Where `table` leads from each of `numbers`; 0 for one that it does not have."""
    distinct, position = np.unique(numbers, return_inverse=True)
    return np.array([int(table.get(one, 0)) for one in distinct.tolist()], np.int64)[position]


def _keep_device(commands: Mapping[str, Int64s], observed: Int64s, device_id: int) -> KeptTime:
    """The clock of one device, from the columns of its commands."""
    is_stamped = has_stamps(commands)
    faults = faults_in_themselves(commands, is_stamped)
    is_failed = (commands["execution_status"] < 0) & (commands["execution_status"] != ABSENT)
    contradicting = int((faults[~is_failed] != 0).sum())
    faults[is_stamped & is_failed] = int(StampFault.FAILED)
    usable = np.flatnonzero(is_stamped & (faults & int(UNUSABLE_STAMPS) == 0))
    seen = Observations(
        commands["enter_host_ns"][usable],
        commands["return_host_ns"][usable],
        commands["queued_device_ns"][usable],
        commands["start_device_ns"][usable],
        commands["end_device_ns"][usable],
        observed[usable],
        usable,
    )
    quantum = quantum_ns(commands, usable)
    fitted = fit_clock(
        seen,
        device_id=device_id,
        quantum_ns=quantum,
        unusable=contradicting,
    )
    faults[usable] |= fitted.faults
    digest = _digest(seen)
    segments = (replace(one, quantum_ns=quantum, input_hash=digest) for one in fitted.segments)
    return KeptTime(tuple(segments), faults)


def _digest(seen: Observations) -> int:
    """CRC-32 of the observations."""
    columns = (
        *(seen.enter_host_ns, seen.return_host_ns, seen.queued_device_ns, seen.start_device_ns),
        *(seen.end_device_ns, seen.observed_host_ns),
    )
    digest = 0
    for column in columns:
        digest = zlib.crc32(np.ascontiguousarray(column).tobytes(), digest)
    return digest
