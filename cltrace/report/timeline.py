"""The timeline of a trace: a chart, and what follows from it."""

from dataclasses import dataclass, replace

from cltrace.errors import UsageError
from cltrace.report import header
from cltrace.report.advice import advice_table
from cltrace.report.clocks import clock_table, fault_table
from cltrace.report.critical_path import path_table, slack_table
from cltrace.report.document import Chart, Column, Document, Table, Unit, Value
from cltrace.report.gantt import gantt
from cltrace.report.quantities import counted, time_text
from cltrace.report.tracks.power_chart import power_rows
from cltrace.timeline.activity import Activity, within
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.busy import Busy, busy_devices, busy_queues
from cltrace.timeline.critical_path import Step
from cltrace.timeline.latency import latencies
from cltrace.timeline.starvation import starvation


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """What to show: a stretch of time in ns since the start, kernels by a glob, most rows a table."""

    from_ns: int | None = None
    to_ns: int | None = None
    kernel: str | None = None
    top: int | None = 8

    @property
    def is_whole(self) -> bool:
        """Whether all of the trace's time is shown."""
        return self.from_ns is None and self.to_ns is None


def timeline(analysis: Analysis, options: TimelineOptions) -> Document:
    """The timeline of a trace."""
    trace, whole = analysis.trace, analysis.activity
    begin_ns, end_ns = span_ns(whole, options.from_ns, options.to_ns)
    activity = whole if options.is_whole else within(whole, begin_ns, end_ns)
    steps = clipped(analysis.path, begin_ns, end_ns)
    top = len(whole.commands) if options.top is None else options.top
    chart = gantt(activity, begin_ns, end_ns, kernel=options.kernel, top=top)
    if options.kernel is None and chart.rows:
        chart = replace(chart, rows=[*chart.rows, *power_rows(trace, whole)])
    tables = [
        _busy_table(activity),
        _idle_table(activity),
        _latency_table(activity),
        path_table(whole, steps, options.top),
    ]
    if options.is_whole:
        segments = tuple(one for clock in whole.clocks.values() for one in clock.segments)
        tables += [
            slack_table(whole, analysis.slack_ns, steps, options.top),
            advice_table(analysis.advice, options.top),
            clock_table(trace, segments),
            fault_table(whole),
        ]
    return Document(
        "",
        header.facts(trace)[:2],
        tables,
        _notes(whole, chart, options),
        home=header.home(trace),
        charts=[chart] if chart.rows else [],
    )


def span_ns(activity: Activity, from_ns: int | None, to_ns: int | None) -> tuple[int, int]:
    """The stretch of time to show: the whole, or from one time to another.

    Raises: `UsageError` when nothing is in it.
    """
    commands, calls = activity.commands, activity.calls
    placed = commands.is_placed
    begins = [commands.enter_ns, calls.enter_ns, commands.start_ns[placed]]
    ends = [commands.return_ns, calls.return_ns, commands.end_ns[placed]]
    first = min((int(one.min()) for one in begins if len(one)), default=0)
    last = max((int(one.max()) for one in ends if len(one)), default=1)
    begin_ns = first if from_ns is None else from_ns
    end_ns = last if to_ns is None else to_ns
    if end_ns <= begin_ns or begin_ns >= last:
        raise UsageError(
            f"nothing is between {time_text(begin_ns)} and {time_text(end_ns)}: the trace goes from "
            f"{time_text(first)} to {time_text(last)}"
        )
    return begin_ns, end_ns


def clipped(steps: list[Step], begin_ns: int, end_ns: int) -> list[Step]:
    """The steps of a path within a stretch of time."""
    return [
        Step(
            one.kind,
            max(one.begin_ns, begin_ns),
            min(one.end_ns, end_ns),
            one.command,
            one.thread,
        )
        for one in steps
        if one.end_ns > begin_ns and one.begin_ns < end_ns
    ]


def _busy_table(activity: Activity) -> Table:
    def row(one: Busy, name: str) -> tuple[Value, ...]:
        return (
            name,
            one.commands,
            one.span_ns,
            one.busy_ns,
            one.busy_ns / one.span_ns if one.span_ns else None,
            one.overlapped_ns,
            one.compute_ns,
            one.transfer_ns,
            one.both_ns,
            one.longest_gap_ns,
            one.lanes,
        )

    names, devices = activity.names, _device_names(activity)
    rows = [row(one, devices.get(one.number, "")) for one in busy_devices(activity)]
    queues = busy_queues(activity)
    if len(queues) > len(rows):
        rows += [row(one, names.queues.get(one.number, "")) for one in queues]
    return Table(
        "busy",
        "Busy and idle",
        (
            Column("name", "what"),
            Column("commands", "commands", Unit.COUNT, 45),
            Column("span_ns", "span", Unit.NS, 70),
            Column("busy_ns", "busy", Unit.NS, 100),
            Column("busy_share", "share", Unit.SHARE, 95),
            Column("overlapped_ns", "overlapped", Unit.NS, 52),
            Column("compute_ns", "kernels", Unit.NS, 80),
            Column("transfer_ns", "transfers", Unit.NS, 78),
            Column("both_ns", "both", Unit.NS, 76),
            Column("longest_gap_ns", "longest gap", Unit.NS, 54),
            Column("lanes", "at once", Unit.COUNT, 40),
        ),
        rows,
        why_empty="no command ran then, or none could be placed on the timeline",
    )


def _device_names(activity: Activity) -> dict[int, str]:
    """What devices are called; with their process, where there are several."""
    commands, names = activity.commands, activity.names
    process_of = dict(zip(commands.device.tolist(), commands.process.tolist(), strict=True))
    if len(set(process_of.values())) < 2:
        return dict(names.devices)
    return {
        device: f"{name}, {names.processes.get(process_of[device], '')}"
        for device, name in names.devices.items()
        if device in process_of
    }


def _idle_table(activity: Activity) -> Table:
    devices = _device_names(activity)
    rows = [
        (
            devices.get(one.device, ""),
            one.gaps,
            one.program_ns,
            one.call_ns,
            one.latency_ns,
        )
        for one in starvation(activity)
        if one.gaps
    ]
    return Table(
        "idle",
        "Why devices were idle",
        (
            Column("device", "device"),
            Column("gaps", "gaps", Unit.COUNT, 70),
            Column("program_ns", "nothing asked", Unit.NS, 100),
            Column("call_ns", "in the call", Unit.NS, 95),
            Column("latency_ns", "queued, not started", Unit.NS, 90),
        ),
        rows,
    )


def _latency_table(activity: Activity) -> Table:
    commands, devices = activity.commands, _device_names(activity)
    device_of = dict(zip(commands.queue.tolist(), commands.device.tolist(), strict=True))
    rows = [
        (
            activity.names.queues.get(one.queue, ""),
            devices.get(device_of[one.queue], ""),
            one.commands,
            one.queued_ns[0],
            one.queued_ns[2],
            one.submitted_ns[0],
            one.submitted_ns[2],
        )
        for one in latencies(activity)
    ]
    return Table(
        "latency",
        "Waiting in queues (first launches left out)",
        (
            Column("queue", "queue"),
            Column("device", "device", keep=60),
            Column("commands", "commands", Unit.COUNT, 45),
            Column("queued_median_ns", "to submit", Unit.NS, 100),
            Column("queued_p99_ns", "99 %", Unit.NS, 70),
            Column("submitted_median_ns", "to start", Unit.NS, 95),
            Column("submitted_p99_ns", "99 %", Unit.NS, 65),
        ),
        rows,
    )


def _notes(activity: Activity, chart: Chart, options: TimelineOptions) -> list[str]:
    notes = []
    if options.kernel is not None and not chart.rows:
        notes.append(f"note: no kernel that ran is like {options.kernel}")
    left_out = int((~activity.commands.is_placed).sum())
    if left_out:
        what = counted(left_out, "command is", "commands are")
        notes.append(
            f"note: {what} not on the timeline: without stamps, with stamps that cannot be right, or "
            "on an unaligned clock"
        )
    if activity.axis.machines > 1:
        notes.append(
            f"note: {activity.axis.machines} machines: their times agree as well as their wall clocks"
        )
    return notes
