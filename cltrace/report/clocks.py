"""Quality of the alignment of device clocks, and faults of their stamps."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import FAULT_SHIFT, ClockState, StampFault
from cltrace.report.document import Column, Fact, Table, Unit, Value
from cltrace.report.quantities import ABSENT_MARK, count_text, time_text
from cltrace.timeline.activity import Activity
from cltrace.timeline.clock_offsets import find_clock_offsets
from cltrace.timeline.reading import stored_segments
from cltrace.trace.device_labels import device_hosts, device_labels
from cltrace.trace.reader import Trace

_KNOWN_WITHIN: Final = 2e-5
"""Drifts that are less certain are not shown: crystals differ by as much."""
MAX_LISTED_DEVICES: Final = 4
"""Number of devices up to which the head of a report has a line for each."""
_WORST_FIRST: Final = (ClockState.UNALIGNED, ClockState.CONDITIONAL, ClockState.PROVEN)


def clock_table(trace: Trace, segments: Sequence[ClockSegment]) -> Table:
    """Return the clock of each device as a row."""
    labels = device_labels(trace)
    devices = {
        int(number): (labels[int(number)], resolution)
        for number, resolution in trace.rows("SELECT device_id, timer_resolution_ns FROM v_device")
    }
    rows = []
    for device in sorted({segment.device_id for segment in segments}):
        device_segments = [segment for segment in segments if segment.device_id == device]
        name, claimed = devices.get(device, (f"device {device}", None))
        rows.append(
            (name, *_clock_row(device_segments, claimed if isinstance(claimed, int) else None))
        )
    has_reasons = any(row[-1] for row in rows)
    return Table(
        key="clocks",
        title="Device clocks on the host's",
        columns=(
            Column("device", "device", keep=96),
            Column("state", "state", keep=100),
            Column("half_width_ns", "half-width", Unit.NS, 95),
            Column("bound_ns", "bound", Unit.NS, 90),
            Column("bound_max_ns", "at most", Unit.NS, 88),
            Column("drift_ppm", "drift (ppm)", Unit.TEXT, 85),
            Column("quantum_ns", "step", Unit.NS, 50),
            Column("segments", "pieces", Unit.COUNT, 35),
            Column("observations", "bounds kept", Unit.COUNT, 40),
            Column("rejected", "rejected", Unit.COUNT, 70),
            *([Column("reason", "why", Unit.PROSE, 97)] if has_reasons else []),
        ),
        rows=rows if has_reasons else [row[:-1] for row in rows],
        note="half-width: if the drift is exact; bound: for any drift that the observations allow, for "
        "half of them and for all",
        why_empty="no command has device stamps",
    )


def offset_table(activity: Activity, trace: Trace) -> Table:
    """Return the offsets of devices' clocks to the first one of their host; empty for one device."""
    names = activity.names.devices
    offsets = find_clock_offsets(activity, device_hosts(trace))
    rows = [
        (
            names.get(offset.device, ""),
            names.get(offset.reference, ""),
            (ClockState.PROVEN if offset.is_proven else ClockState.CONDITIONAL).value,
            offset.offset_ns,
            offset.bound_ns,
            _ppm_text(offset.drift, offset.drift_within)
            if offset.drift_within <= _KNOWN_WITHIN
            else ABSENT_MARK,
            offset.ordered,
            offset.early,
        )
        for offset in offsets
    ]
    return Table(
        key="clock_offsets",
        title="Device clocks to each other",
        columns=(
            Column("device", "device", keep=96),
            Column("reference", "to", keep=70),
            Column("state", "state", keep=80),
            Column("offset_ns", "offset", Unit.NS, 100),
            Column("bound_ns", "±", Unit.NS, 98),
            Column("drift_ppm", "drift (ppm)", Unit.TEXT, 60),
            Column("ordered", "ordered", Unit.COUNT, 85),
            Column("early", "early", Unit.COUNT, 84),
        ),
        rows=rows,
        note="ordered: commands that waited for one on the other device; early: those of them that "
        "started before its end by more than both bounds",
    )


def _clock_row(segments: Sequence[ClockSegment], claimed_ns: int | None) -> tuple[Value, ...]:
    """Return the cells of a clock: those of its longest piece, and why it is not proven."""
    state = worst_state(segments)
    longest = max(segments, key=lambda segment: segment.observations)
    is_aligned = state is not ClockState.UNALIGNED
    reasons = [segment.reason for segment in segments if segment.reason]
    if claimed_ns and longest.quantum_ns > claimed_ns:
        reasons.append(
            f"its stamps move in steps of {time_text(longest.quantum_ns)}, and it claims "
            f"{time_text(claimed_ns)}"
        )
    return (
        state.value,
        longest.half_width_ns if is_aligned else None,
        _usual_bound_ns(segments) if is_aligned else None,
        max(segment.bound_ns for segment in segments) if is_aligned else None,
        _drift_text(longest),
        longest.quantum_ns,
        len(segments),
        sum(segment.observations for segment in segments),
        max(segment.rejected for segment in segments),
        "; ".join(dict.fromkeys(reasons)),
    )


def _usual_bound_ns(segments: Sequence[ClockSegment]) -> float:
    """Return the bound that half of the observations keep."""
    ordered = sorted(segments, key=lambda segment: segment.bound_ns)
    reached = np.cumsum([segment.observations for segment in ordered])
    return ordered[int(np.searchsorted(reached, reached[-1] / 2))].bound_ns


def _drift_text(segment: ClockSegment) -> str:
    """Return the drift of a segment in ppm with its uncertainty, or a dash if that is too large."""
    is_known = segment.is_straight and segment.drift_within <= _KNOWN_WITHIN
    if not is_known or segment.state is ClockState.UNALIGNED:
        return ABSENT_MARK
    return _ppm_text(segment.drift, segment.drift_within)


def _ppm_text(drift: float, within: float) -> str:
    """Return a drift in ppm, and its largest error in at most two digits and hundredths."""
    hundredths = math.ceil(round(within * 1e8, 3))
    return f"{drift * 1e6:.2f} ± {hundredths / 100:.2g}"


def fault_table(activity: Activity) -> Table:
    """Return the faults of stamps by device."""
    commands = activity.commands
    faults = commands.flags >> FAULT_SHIFT
    rows = []
    for device in np.unique(commands.device[faults != 0]).tolist():
        is_device = commands.device == device
        for fault in StampFault:
            count = int((is_device & (faults & int(fault) != 0)).sum())
            if count:
                name = (fault.name or "").lower().replace("_", "-")
                rows.append((activity.names.devices.get(device, ""), name, count, _MEANINGS[fault]))
    return Table(
        key="stamp_faults",
        title="Stamps that cannot be right",
        columns=(
            Column("device", "device", keep=45),
            Column("fault", "fault"),
            Column("commands", "commands", Unit.COUNT),
            Column("meaning", "meaning", Unit.PROSE, 60),
        ),
        rows=rows,
    )


def worst_state(segments: Sequence[ClockSegment]) -> ClockState:
    """Return the state of a clock as a whole: that of its worst segment."""
    return next(
        state for state in _WORST_FIRST if any(segment.state is state for segment in segments)
    )


def clock_facts(trace: Trace) -> list[Fact]:
    """Return a line for the head of a report on each device whose clock is stored.

    For more than `MAX_LISTED_DEVICES` devices there is a line for each state: that of the widest bound.
    """
    labels = device_labels(trace)
    by_device: dict[int, list[ClockSegment]] = {}
    for segment in sorted(stored_segments(trace), key=lambda segment: segment.device_id):
        by_device.setdefault(segment.device_id, []).append(segment)
    if len(by_device) > MAX_LISTED_DEVICES:
        return _clock_state_facts(by_device, labels)
    facts = []
    for device, segments in by_device.items():
        name = f"{labels.get(device, f'device {device}')}: " if len(by_device) > 1 else ""
        facts.append(
            Fact("clock", "device clock", name + _clock_text(segments), _max_bound_ns(segments))
        )
    return facts


def _clock_state_facts(
    by_device: Mapping[int, Sequence[ClockSegment]], labels: Mapping[int, str]
) -> list[Fact]:
    facts = []
    for state in _WORST_FIRST:
        members = {
            device: segments
            for device, segments in by_device.items()
            if worst_state(segments) is state
        }
        if members:
            device = max(members, key=lambda number: _max_bound_ns(members[number]))
            text = (
                f"{count_text(len(members), 'device', 'devices')}: {_clock_text(members[device])}"
            )
            if len(members) > 1:
                text += f" (the widest: {labels.get(device, f'device {device}')})"
            facts.append(Fact("clock", "device clock", text, _max_bound_ns(members[device])))
    return facts


def _max_bound_ns(segments: Sequence[ClockSegment]) -> float:
    return max(segment.bound_ns for segment in segments)


def _clock_text(segments: Sequence[ClockSegment]) -> str:
    state = worst_state(segments)
    longest = max(segments, key=lambda segment: segment.observations)
    if state is ClockState.UNALIGNED:
        return f"unaligned: {longest.reason}"
    usual, widest = time_text(_usual_bound_ns(segments)), time_text(_max_bound_ns(segments))
    text = f"{state.value}, within {usual} of the host's for half of the commands, {widest} for all"
    if _drift_text(longest) != ABSENT_MARK:
        text += f"; drift {_drift_text(longest)} ppm"
    return text


_MEANINGS: Final = {
    StampFault.ZERO: "a stamp is 0: not timed, not placed",
    StampFault.REVERSED: "a later stage has an earlier stamp: not timed, not placed",
    StampFault.MADE_UP: "the driver's clock does not run: not timed, not placed",
    StampFault.FOREIGN: "far from the times of the commands around it: not timed, not placed",
    StampFault.BEFORE_ENQUEUE: "QUEUED before the call that enqueued it was entered",
    StampFault.AFTER_RETURN: "QUEUED after that call returned",
    StampFault.FAILED: "of a command that failed: not timed, not placed",
    StampFault.AFTER_COMPLETION: "END after the return of a call that waited for it",
}
