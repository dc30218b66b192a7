"""Trace of two devices beside the records of its programs: devices and phases of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.intervals import Intervals, intersection, union
from cltrace.trace.reader import Trace

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PairDevice:
    """Device of a record: its number there, its number in the trace, and what the record says of it."""

    number: int
    id: int
    facts: Facts

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"device {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPhase:
    """Phase of a record on the trace's axis, with the devices that the program has."""

    name: str
    begin_ns: int
    end_ns: int
    devices: Sequence[PairDevice]
    facts: Facts

    def contains(self, time_ns: Int64s) -> Bools:
        """Return a mask of the times in the phase."""
        inside: Bools = (time_ns >= self.begin_ns) & (time_ns <= self.end_ns)
        return inside


class PairTrace:
    """Trace, its analysis, and the records of its processes, which name their own ids."""

    def __init__(self, trace: Trace, records: Sequence[Facts]) -> None:
        self.trace, self.analysis = trace, Analysis(trace)
        self.devices: list[PairDevice] = []
        self.phases: list[PairPhase] = []
        for record in records:
            self._add(record)

    @cached_property
    def activity(self) -> Activity:
        """The trace's activity."""
        return self.analysis.activity

    def busy_ns(self, phase: PairPhase) -> tuple[list[int], int]:
        """Return for how long each device worked in a phase, and for how long both did."""
        unions = [self._union(device.id, phase) for device in phase.devices]
        return [each.total_ns for each in unions], intersection(*unions).total_ns

    def _union(self, device: int, phase: PairPhase) -> Intervals:
        commands = self.activity.commands
        chosen = (
            (commands.device == device) & commands.is_placed & phase.contains(commands.start_ns)
        )
        return union(commands.start_ns[chosen], commands.end_ns[chosen])

    def _add(self, record: Facts) -> None:
        """Match queues with devices: a program makes a queue for each, in the order of its record."""
        rows = self.trace.rows(
            "SELECT q.device_id, p.process_id FROM v_queue q JOIN v_process p USING (process_id) "
            "WHERE p.pid = :pid ORDER BY q.queue_id",
            {"pid": record["pid"]},
        )
        if len(rows) < len(record["devices"]):
            raise ValueError(f"the trace has {len(rows)} queues of process {record['pid']}")
        devices = [
            PairDevice(facts["number"], int(row[0]), facts)
            for facts, row in zip(record["devices"], rows, strict=False)
        ]
        origin = self.activity.axis.origin_host_ns[int(rows[0][1])]
        self.devices += devices
        self.phases += [
            PairPhase(
                name=phase["name"],
                begin_ns=phase["begin_ns"] - origin,
                end_ns=phase["end_ns"] - origin,
                devices=devices,
                facts=phase,
            )
            for phase in record["phases"]
        ]
