"""Tables of host activity: calls by entry point, calls that failed, builds, regions."""

from cltrace.events.statuses import status_name
from cltrace.report.document import Column, Table, Unit
from cltrace.report.quantities import more_note, time_text
from cltrace.trace.reader import Trace


def api_table(trace: Trace, *, top: int | None) -> Table:
    """Return host calls by entry point, over all processes."""
    rows = trace.rows(
        "SELECT api, sum(calls), sum(failed), sum(total_ns), sum(total_ns) * 1.0 / sum(calls), "
        "min(min_ns), max(max_ns) FROM v_api_rollup GROUP BY api ORDER BY 4 DESC"
    )
    return Table(
        key="api_calls",
        title="Host calls",
        columns=(
            Column("api", "entry point"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("failed", "failed", Unit.COUNT, 95 if any(row[2] for row in rows) else 45),
            Column("total_ns", "total", Unit.NS, 100),
            Column("mean_ns", "mean", Unit.NS, 80),
            Column("min_ns", "min", Unit.NS, 30),
            Column("max_ns", "max", Unit.NS, 48),
        ),
        rows=rows[:top],
        note=more_note(len(rows), top),
        why_empty="no OpenCL call was seen",
    )


def failure_table(trace: Trace, *, top: int | None) -> Table:
    """Return calls that raised an OpenCL error, by entry point, error and place."""
    rows = trace.rows(
        "SELECT api, status, site, count(*), min(enter_host_ns) FROM v_api_call "
        "WHERE status <> 0 GROUP BY api, status, site ORDER BY 4 DESC, 1"
    )
    origin = trace.meta_int("origin_host_ns") or 0
    shown = [
        (
            api,
            status_name(status) if isinstance(status, int) else str(status),
            site,
            count,
            first_ns - origin if isinstance(first_ns, int) else None,
        )
        for api, status, site, count, first_ns in rows
    ]
    return Table(
        key="failures",
        title="Failed calls",
        columns=(
            Column("api", "entry point"),
            Column("status", "error", keep=90),
            Column("site", "place", Unit.PLACE, 85),
            Column("calls", "calls", Unit.COUNT, 80),
            Column("first_ns", "first at", Unit.NS, 40),
        ),
        rows=shown[:top],
        why_empty="no call failed",
    )


def build_table(trace: Trace, *, top: int | None) -> Table:
    """Return builds of programs, the longest first."""
    rows = trace.rows(
        "SELECT b.program_id, p.origin, b.api, b.status, b.duration_ns, b.options, "
        "(SELECT group_concat(k.name, ' ') FROM (SELECT DISTINCT name FROM v_kernel "
        "WHERE program_id = b.program_id LIMIT 6) k) "
        "FROM v_build b LEFT JOIN v_program p ON p.program_id = b.program_id "
        "GROUP BY b.program_id, b.api, b.enter_host_ns ORDER BY b.duration_ns DESC"
    )
    shown = [
        (
            f"program {program}",
            origin,
            kernels or "",
            duration_ns,
            "ok" if status == 0 else status_name(status),
        )
        for program, origin, _, status, duration_ns, _, kernels in rows
    ]
    total_ns = sum(row[3] for row in shown)
    failed = sum(row[4] != "ok" for row in shown)
    note = f"{len(shown)} builds, {time_text(total_ns)} in all" if len(shown) > 1 else ""
    return Table(
        key="builds",
        title="Builds",
        columns=(
            Column("program", "program"),
            Column("origin", "from", keep=60),
            Column("kernels", "kernels used"),
            Column("duration_ns", "time", Unit.NS, 100),
            Column("status", "result", keep=95 if failed else 20),
        ),
        rows=shown[:top],
        note=note,
    )


def region_table(trace: Trace, *, top: int | None) -> Table:
    """Return the program's named regions: how often each was entered, and for how long."""
    rows = trace.rows(
        "SELECT name, count(*), sum(duration_ns), sum(duration_ns) * 1.0 / count(*), "
        "min(duration_ns), max(duration_ns) FROM v_region GROUP BY name ORDER BY 3 DESC, 1"
    )
    return Table(
        key="regions",
        title="Regions",
        columns=(
            Column("name", "region"),
            Column("entered", "entered", Unit.COUNT, 90),
            Column("total_ns", "total", Unit.NS, 100),
            Column("mean_ns", "mean", Unit.NS, 80),
            Column("min_ns", "min", Unit.NS, 30),
            Column("max_ns", "max", Unit.NS, 48),
        ),
        rows=[(name or "(not known)", *numbers) for name, *numbers in rows[:top]],
        note=more_note(len(rows), top),
    )
