"""Timeline of a trace: a chart, and the analyses that follow from it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cltrace.errors import UsageError
from cltrace.report import header
from cltrace.report.advice import advice_table
from cltrace.report.clocks import clock_table, fault_table, offset_table
from cltrace.report.critical_path import path_table, slack_table
from cltrace.report.document import Column, Document, Table, Unit, Value
from cltrace.report.gantt import gantt_chart
from cltrace.report.host_gaps import host_gaps_table
from cltrace.report.memory_moves import moves_table
from cltrace.report.quantities import count_text, time_text
from cltrace.report.selection import find_unmatched_note
from cltrace.report.tracks.power_chart import power_rows
from cltrace.timeline.activity import Activity, clip_activity
from cltrace.timeline.advice.model import MIN_SHARE, NO_KERNEL_ADVICE, KernelAdvice
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.busy import BusyTime, device_busy_times, queue_busy_times
from cltrace.timeline.critical_path import PathStep
from cltrace.timeline.device_concurrency import concurrency_ns
from cltrace.timeline.latency import measure_latencies
from cltrace.timeline.starvation import measure_starvation
from cltrace.trace.device_labels import physical_devices
from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """Contents of a timeline: a stretch of time in ns since the start, kernels by a glob.

    `top` is the largest number of rows per table. Findings that save less than `min_gain_share` of the
    run are left out, and notes on kernels that take less.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    kernel: str | None = None
    top: int | None = 8
    min_gain_share: float = MIN_SHARE

    @property
    def is_whole(self) -> bool:
        """True if all of the trace's time is shown."""
        return self.from_ns is None and self.to_ns is None


def timeline(
    analysis: Analysis, options: TimelineOptions, kernels: KernelAdvice = NO_KERNEL_ADVICE
) -> Document:
    """Return the timeline of a trace. `kernels` is the advice about its kernels."""
    trace, whole = analysis.trace, analysis.activity
    begin_ns, end_ns = span_ns(whole, options.from_ns, options.to_ns)
    activity = whole if options.is_whole else clip_activity(whole, begin_ns, end_ns)
    steps = clip_steps(analysis.critical_path, begin_ns, end_ns)
    top = len(whole.commands) if options.top is None else options.top
    chart = gantt_chart(activity, begin_ns, end_ns, kernel=options.kernel, top=top)
    if options.kernel is None and chart.rows:
        chart = replace(chart, rows=[*chart.rows, *power_rows(trace, whole)])
    tables = [
        _busy_table(activity),
        _concurrency_table(activity, trace),
        _idle_table(activity),
        _latency_table(activity),
        path_table(whole, steps, options.top),
    ]
    if options.is_whole:
        tables.insert(3, host_gaps_table(analysis.evidence, options.top))
        segments = tuple(segment for clock in whole.clocks.values() for segment in clock.segments)
        tables += [
            slack_table(whole, analysis.slack_ns, steps, options.top),
            advice_table(analysis.findings_with(kernels), options.top, options.min_gain_share),
            moves_table(whole, analysis.memory_moves, options.top),
            clock_table(trace, segments),
            offset_table(whole, trace),
            fault_table(whole),
        ]
    return Document(
        "",
        header.facts(trace)[:2],
        tables,
        [*_notes(whole, options), *_uncounted_notes(kernels, options.min_gain_share)],
        home=header.home(trace),
        charts=[chart] if chart.rows else [],
    )


def span_ns(activity: Activity, from_ns: int | None, to_ns: int | None) -> tuple[int, int]:
    """Return the stretch of time to show: the whole, or from one time to another.

    Raises: `UsageError` when nothing is in it.
    """
    commands, calls = activity.commands, activity.calls
    placed = commands.is_placed
    begins = [commands.enter_ns, calls.enter_ns, commands.start_ns[placed]]
    ends = [commands.return_ns, calls.return_ns, commands.end_ns[placed]]
    first = min((int(column.min()) for column in begins if len(column)), default=0)
    last = max((int(column.max()) for column in ends if len(column)), default=1)
    begin_ns = first if from_ns is None else from_ns
    end_ns = last if to_ns is None else to_ns
    if end_ns <= begin_ns or begin_ns >= last:
        raise UsageError(
            f"nothing is between {time_text(begin_ns)} and {time_text(end_ns)}: the trace goes from "
            f"{time_text(first)} to {time_text(last)}"
        )
    return begin_ns, end_ns


def clip_steps(steps: list[PathStep], begin_ns: int, end_ns: int) -> list[PathStep]:
    """Return the steps of a path within a stretch of time."""
    return [
        PathStep(
            step.kind,
            max(step.begin_ns, begin_ns),
            min(step.end_ns, end_ns),
            step.command,
            step.thread,
        )
        for step in steps
        if step.end_ns > begin_ns and step.begin_ns < end_ns
    ]


def _busy_table(activity: Activity) -> Table:
    def row(busy: BusyTime, name: str) -> tuple[Value, ...]:
        return (
            name,
            busy.commands,
            busy.span_ns,
            busy.busy_ns,
            busy.busy_ns / busy.span_ns if busy.span_ns else None,
            busy.overlapped_ns,
            busy.compute_ns,
            busy.transfer_ns,
            busy.both_ns,
            busy.longest_gap_ns,
            busy.max_concurrent,
        )

    names, devices = activity.names, activity.names.devices
    rows = [row(busy, devices.get(busy.number, "")) for busy in device_busy_times(activity)]
    queues = queue_busy_times(activity)
    if len(queues) > len(rows):
        rows += [row(busy, names.queues.get(busy.number, "")) for busy in queues]
    return Table(
        key="busy",
        title="Busy and idle",
        columns=(
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
            Column("lanes", "concurrent", Unit.COUNT, 40),
        ),
        rows=rows,
        why_empty="no command ran then, or none could be placed on the timeline",
    )


def _concurrency_table(activity: Activity, trace: Trace) -> Table:
    """Return for how long how many devices worked at once; empty where only one worked."""
    times_ns = concurrency_ns(activity, physical_devices(trace))
    whole_ns = sum(times_ns)
    return Table(
        key="devices_at_once",
        title="Devices that worked at once",
        columns=(
            Column("devices", "devices", Unit.COUNT),
            Column("time_ns", "time", Unit.NS, 100),
            Column("share", "share", Unit.SHARE, 95),
        ),
        rows=[
            (count, time_ns, time_ns / whole_ns if whole_ns else None)
            for count, time_ns in enumerate(times_ns)
        ]
        if len(times_ns) > 2
        else [],
    )


def _idle_table(activity: Activity) -> Table:
    devices = activity.names.devices
    rows = [
        (
            devices.get(idle.device, ""),
            idle.gaps,
            idle.program_ns,
            idle.call_ns,
            idle.latency_ns,
        )
        for idle in measure_starvation(activity)
        if idle.gaps
    ]
    return Table(
        key="idle",
        title="Why devices were idle",
        columns=(
            Column("device", "device"),
            Column("gaps", "gaps", Unit.COUNT, 70),
            Column("program_ns", "not enqueued", Unit.NS, 100),
            Column("call_ns", "in the call", Unit.NS, 95),
            Column("latency_ns", "queued, not started", Unit.NS, 90),
        ),
        rows=rows,
    )


def _latency_table(activity: Activity) -> Table:
    commands, devices = activity.commands, activity.names.devices
    device_of = dict(zip(commands.queue.tolist(), commands.device.tolist(), strict=True))
    rows = [
        (
            activity.names.queues.get(latency.queue, ""),
            devices.get(device_of[latency.queue], ""),
            latency.commands,
            latency.queued_ns[0],
            latency.queued_ns[2],
            latency.submitted_ns[0],
            latency.submitted_ns[2],
        )
        for latency in measure_latencies(activity)
    ]
    return Table(
        key="latency",
        title="Waiting in queues (first launches left out)",
        columns=(
            Column("queue", "queue"),
            Column("device", "device", keep=60),
            Column("commands", "commands", Unit.COUNT, 45),
            Column("queued_median_ns", "to submit", Unit.NS, 100),
            Column("queued_p99_ns", "99 %", Unit.NS, 70),
            Column("submitted_median_ns", "to start", Unit.NS, 95),
            Column("submitted_p99_ns", "99 %", Unit.NS, 65),
        ),
        rows=rows,
    )


def _uncounted_notes(kernels: KernelAdvice, min_share: float) -> Iterator[str]:
    """Yield a note for each reason for which there is no advice about kernels.

    Kernels that take less than `min_share` of the run are left out: there is none about them anyway.
    """
    by_reason: dict[str, list[str]] = {}
    for kernel, why, share in kernels.uncounted:
        if share >= min_share:
            by_reason.setdefault(why, []).append(kernel)
    for why, names in by_reason.items():
        kernels_text = names[0]
        if len(names) > 1:
            kernels_text += f" and {count_text(len(names) - 1, 'other kernel', 'other kernels')}"
        yield f"note: no advice about {kernels_text}: {why}"


def _notes(activity: Activity, options: TimelineOptions) -> list[str]:
    notes = []
    unmatched = find_unmatched_note(options.kernel, activity.names.kernels[1:])
    if unmatched:
        notes.append(unmatched)
    left_out = int((~activity.commands.is_placed).sum())
    if left_out:
        commands = count_text(left_out, "command is", "commands are")
        notes.append(
            f"note: {commands} not on the timeline: without stamps, with stamps that cannot be right, or "
            "on an unaligned clock"
        )
    if activity.axis.machines > 1:
        notes.append(
            f"note: {activity.axis.machines} machines: their times agree as well as their wall clocks"
        )
    return notes
