"""Tables of device memory: peak, live at exit, never destroyed."""

from cltrace.report.document import Column, Table, Unit
from cltrace.report.quantities import more_note
from cltrace.trace.device_labels import device_labels, used_device_ids
from cltrace.trace.device_memory import device_memory
from cltrace.trace.reader import Trace


def memory_table(trace: Trace) -> Table:
    """Return the memory of each process: made, peak, live at the end, leaked."""
    rows = trace.rows(
        "SELECT coalesce('rank ' || p.rank, 'process ' || p.pid), count(b.buffer_id), "
        "sum(b.size_bytes), p.memory_peak_bytes, "
        "sum(CASE WHEN b.fate NOT IN ('released', 'unknown') THEN b.size_bytes ELSE 0 END), "
        "sum(b.fate = 'leaked'), sum(CASE WHEN b.fate = 'leaked' THEN b.size_bytes ELSE 0 END) "
        "FROM v_process p JOIN v_buffer b ON b.process_id = p.process_id "
        "WHERE b.parent_buffer_id IS NULL GROUP BY p.process_id ORDER BY p.process_id"
    )
    shown = [
        (process, count, made, max(peak or 0, at_end), at_end, leaked, leaked_bytes or None)
        for process, count, made, peak, at_end, leaked, leaked_bytes in rows
    ]
    return Table(
        key="memory",
        title="Device memory",
        columns=(
            Column("process", "process"),
            Column("objects", "objects", Unit.COUNT, 60),
            Column("made_bytes", "made", Unit.BYTES, 70),
            Column("peak_bytes", "peak", Unit.BYTES, 100),
            Column("live_at_exit_bytes", "live at exit", Unit.BYTES, 90),
            Column("leaked", "leaked", Unit.COUNT, 80),
            Column("leaked_bytes", "leaked size", Unit.BYTES, 75),
        ),
        rows=shown,
    )


def device_memory_table(trace: Trace) -> Table:
    """Return the memory on each device, with rows only where the trace uses several."""
    labels, used = device_labels(trace), used_device_ids(trace)
    usages = device_memory(trace) if len(used) > 1 else []
    sizes = dict(trace.rows("SELECT device_id, global_memory_bytes FROM v_device"))
    rows = []
    for usage in usages:
        size = sizes.get(usage.device_id)
        label = labels.get(usage.device_id, "not used on a device")
        share = usage.peak_bytes / size if isinstance(size, int) and size > 0 else None
        rows.append((label, usage.buffers, usage.size_bytes, usage.peak_bytes, share))
    return Table(
        key="memory_by_device",
        title="Device memory by device",
        columns=(
            Column("device", "device"),
            Column("objects", "objects", Unit.COUNT, 60),
            Column("made_bytes", "made", Unit.BYTES, 70),
            Column("peak_bytes", "peak", Unit.BYTES, 100),
            Column("peak_share", "of its memory", Unit.SHARE, 80),
        ),
        rows=rows,
        note="in a context with several devices, memory counts on each from its first use there",
    )


def leak_table(trace: Trace, *, top: int | None) -> Table:
    """Return memory that was live at exit or never destroyed, by the place that allocated it."""
    rows = trace.rows(
        "SELECT CASE fate WHEN 'leaked' THEN 'never destroyed' ELSE 'live at exit' END, site, "
        "count(*), sum(size_bytes) FROM v_buffer "
        "WHERE fate NOT IN ('released', 'unknown') AND parent_buffer_id IS NULL "
        "GROUP BY 1, 2 ORDER BY fate = 'leaked' DESC, 4 DESC"
    )
    return Table(
        key="live_at_exit",
        title="Memory live at exit, by the place that allocated it",
        columns=(
            Column("fate", "what"),
            Column("site", "place", Unit.PLACE),
            Column("objects", "objects", Unit.COUNT, 90),
            Column("size_bytes", "size", Unit.BYTES, 100),
        ),
        rows=[(fate, site or "(not known)", count, size) for fate, site, count, size in rows[:top]],
        note=more_note(len(rows), top),
    )
