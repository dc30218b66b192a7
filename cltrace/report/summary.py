"""Summary of a trace: what a user reads first."""

import json
from dataclasses import dataclass, field
from typing import Final

from cltrace.events.kinds import LAYER_UNUSED, RECORDED_BY_LAYER
from cltrace.report import header
from cltrace.report.activity import (
    first_launch_table,
    group_table,
    kernel_device_table,
    kernel_table,
    read_rollup_rows,
    transfer_table,
)
from cltrace.report.document import Document, Fact, Table
from cltrace.report.host import api_table, build_table, failure_table, region_table
from cltrace.report.memory import device_memory_table, leak_table, memory_table
from cltrace.report.quantities import count_text
from cltrace.report.selection import Selection, find_unmatched_note, sum_selected
from cltrace.trace.command_groups import KERNEL_DEVICE
from cltrace.trace.device_labels import used_device_ids
from cltrace.trace.power import has_power
from cltrace.trace.reader import Trace

DIMENSIONS: Final = ("kernel", "queue", "device", "process", "thread", "callsite", "stack")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """Contents of a summary. `top` is the largest number of rows per table; `None` shows all."""

    by: str = "kernel"
    sort: str = "total"
    top: int | None = 10
    selection: Selection = field(default_factory=Selection)
    only_failures: bool = False
    calibration_traces: tuple[Trace, ...] = ()
    """Traces in which kernels ran by themselves, with energies of kernels that are unresolved here."""
    is_brief: bool = False
    """Kernels and transfers only, as at the end of `run`."""


def summary(trace: Trace, options: SummaryOptions) -> Document:
    """Return the summary of a trace."""
    if options.only_failures:
        tables: list[Table] = [failure_table(trace, top=options.top)]
    else:
        tables = _tables(trace, options)
    facts = header.facts(trace)
    notes = _notes(trace, options)
    if options.by == "kernel" and not options.only_failures and has_power(trace):
        energy = _energy(trace, options)
        facts += energy.facts
        tables += energy.tables
        notes += energy.notes
    if not options.selection.is_everything:
        facts.append(Fact("selection", "selection", str(options.selection)))
    return Document("", facts, tables, notes, home=header.home(trace))


def _energy(trace: Trace, options: SummaryOptions) -> Document:
    # The attribution of energy takes 20 ms to import, and few traces have power.
    from cltrace.power.energy import energy_of, fill_from_calibration  # noqa: PLC0415
    from cltrace.report import energy as report  # noqa: PLC0415

    energy = fill_from_calibration(
        energy_of(trace), [energy_of(other) for other in options.calibration_traces]
    )
    tables = [report.energy_table(energy, options.top), report.balance_table(energy)]
    return Document("", [*report.energy_facts(energy)], tables, [*report.energy_notes(energy)])


def _tables(trace: Trace, options: SummaryOptions) -> list[Table]:
    if options.by == "stack":
        # Stacks need the analysis of a timeline, which takes longer to import than a summary to make.
        from cltrace.report.call_stacks import stack_table  # noqa: PLC0415
        from cltrace.timeline.analysis import Analysis  # noqa: PLC0415

        return [stack_table(Analysis(trace), options.selection, sort=options.sort, top=options.top)]
    lines = (
        read_rollup_rows(trace, options.by)
        if options.selection.is_everything
        else sum_selected(trace, options.by, options.selection)
    )
    if options.by != "kernel":
        groups = group_table(lines, by=options.by, sort=options.sort, top=options.top)
        return [groups, *_times_by_place(trace, options)]
    tables = [
        kernel_table(
            lines,
            sort=options.sort,
            top=options.top,
            why_empty="no kernel was launched"
            if options.selection.is_everything
            else f"no launch is selected: {options.selection}",
        ),
        *_device_tables(trace, options),
        first_launch_table(lines),
        transfer_table(lines),
    ]
    if options.selection.is_everything and not options.is_brief:
        tables += [
            api_table(trace, top=options.top),
            build_table(trace, top=options.top),
            region_table(trace, top=options.top),
            memory_table(trace),
            device_memory_table(trace),
            leak_table(trace, top=options.top),
        ]
    return tables


def _times_by_place(trace: Trace, options: SummaryOptions) -> list[Table]:
    if options.by != "callsite":
        return []
    from cltrace.report.call_stacks import place_times_table  # noqa: PLC0415 - as above
    from cltrace.timeline.analysis import Analysis  # noqa: PLC0415

    return [
        place_times_table(Analysis(trace), options.selection, sort=options.sort, top=options.top)
    ]


def _device_tables(trace: Trace, options: SummaryOptions) -> list[Table]:
    """Return the tables that tell several devices apart."""
    if options.is_brief or len(used_device_ids(trace)) < 2:
        return []
    lines = (
        read_rollup_rows(trace, KERNEL_DEVICE)
        if options.selection.is_everything
        else sum_selected(trace, KERNEL_DEVICE, options.selection)
    )
    return [kernel_device_table(trace, lines, sort=options.sort, top=options.top)]


def _notes(trace: Trace, options: SummaryOptions) -> list[str]:
    """Return what the reader should know, the worst first."""
    rows = trace.rows(
        "SELECT severity, message, count(*) FROM v_diagnostic WHERE code NOT IN (:usual, :unused) "
        "GROUP BY severity, message "
        "ORDER BY severity = 'error' DESC, severity = 'warning' DESC, min(diagnostic_id) LIMIT 20",
        # A process that imports pyopencl and does not use it, as pools have, is nothing to read about.
        {"usual": RECORDED_BY_LAYER, "unused": LAYER_UNUSED},
    )
    notes = [_note(*row) for row in rows]
    if trace.meta.get("timing") in _TIMING_NOTES:
        notes.append(_TIMING_NOTES[str(trace.meta["timing"])])
    for sql, singular, plural, suffix in _COUNTED_NOTES:
        count = trace.rows(sql)[0][0]
        if count and not (options.only_failures and "failed" in singular):
            notes.append(f"note: {count_text(count, singular, plural)}{suffix}")
    skipped = trace.rows("SELECT sum(commands_skipped) FROM v_process")[0][0]
    if skipped:
        notes.append(f"note: {skipped_text(trace, skipped)}")
    kernels = [line.label for line in read_rollup_rows(trace, "kernel")]
    unmatched = find_unmatched_note(options.selection.kernel, kernels)
    return [*notes, unmatched] if unmatched else notes


def skipped_text(trace: Trace, count: int) -> str:
    """Return why `count` commands were left out as the user wanted, in words."""
    were = count_text(count, "command was", "commands were")
    if _has_kernel_filter(trace.meta.get("settings") or ""):
        return f"{were} left out: recording was paused, or the kernel is excluded"
    return f"{were} enqueued while recording was paused"


def _has_kernel_filter(settings: str) -> bool:
    """Return True if the settings of a recording, as JSON, have a filter of kernels."""
    try:
        values = json.loads(settings)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and any(
        bool(values.get(f"{name}_kernels")) for name in ("include", "exclude")
    )


def _note(severity: object, message: object, times: int) -> str:
    first, *_ = str(message or "").splitlines() or [""]
    return f"{severity}: {first}" + (f" ({times} times)" if times > 1 else "")


_COUNTED_NOTES: Final = (
    (
        "SELECT sum(failed) FROM v_api_rollup",
        "OpenCL call failed",
        "OpenCL calls failed",
        ": `cltrace summary --failed` shows which",
    ),
    (
        "SELECT sum(r.calls - r.timed_calls) FROM v_rollup r JOIN v_queue q "
        "ON r.key = CAST(q.queue_id AS TEXT) WHERE r.dimension = 'queue' AND q.profiling = 0",
        "command has no device time",
        "commands have no device time",
        ": their queue has no profiling, because it was made before tracing started or under "
        "--no-force-profiling",
    ),
)
"""Counts worth a note: the query, the words for one and for several, and the words after them."""

_TIMING_NOTES: Final = {
    "callback": "note: --timing callback: times are from the call to the completion that was "
    "reported to the host, so they include waiting in the queue",
    "sync": "note: --timing sync: every command was waited for, so nothing overlapped; times are "
    "from the call to the end of that wait",
}
