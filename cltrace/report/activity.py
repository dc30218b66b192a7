"""Tables of what devices did: kernels, first launches, transfers, and groups of any kind."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cltrace.report.document import Column, Table, Unit, Value
from cltrace.report.quantities import counted
from cltrace.trace.reader import Trace
from cltrace.trace.rollup import Rollup

TRANSFERS: Final = ("write", "read", "copy", "fill", "map", "unmap", "migrate", "free")
"""The activities that move or set memory, in the order of the table."""

_TRANSFER_NAMES: Final = {
    "write": "write to device",
    "read": "read to host",
    "copy": "copy on device",
    "fill": "fill",
    "map": "map",
    "unmap": "unmap",
    "migrate": "migrate",
    "free": "free (SVM)",
}

SORT_KEYS: Final = ("total", "calls", "mean", "median", "min", "max", "wait", "name")


class Line(NamedTuple):
    """What a group of commands adds up to, with its key, its name and what it did."""

    key: str
    label: str
    activity: str
    rollup: Rollup


def stored_lines(trace: Trace, dimension: str) -> list[Line]:
    """The sums of a dimension that were made when the trace was written."""
    rows = trace.rows(
        "SELECT key, label, activity, calls, timed_calls, total_ns, min_ns, median_ns, max_ns, "
        "busy_ns, size_bytes, waited_calls, wait_total_ns, wait_median_ns, first_calls, "
        "first_wait_ns FROM v_rollup WHERE dimension = :dimension",
        {"dimension": dimension},
    )
    return [Line(str(row[0]), str(row[1]), str(row[2]), Rollup(*row[3:])) for row in rows]


def kernel_table(lines: Sequence[Line], *, sort: str, top: int | None, why_empty: str) -> Table:
    """Kernel launches by kernel."""
    kernels = [line for line in lines if line.activity == "kernel"]
    whole_ns = sum(line.rollup.total_ns for line in kernels)
    kernels.sort(key=lambda line: _sort_key(line, sort))
    shown = kernels[:top]
    note = ""
    if len(shown) < len(kernels):
        rest_ns = sum(line.rollup.total_ns for line in kernels[len(shown) :])
        share = 100 * rest_ns / whole_ns if whole_ns else 0.0
        note = f"{len(kernels) - len(shown)} more, {share:.1f} % of the time: --top 0 shows all"
    untimed = sum(line.rollup.calls - line.rollup.timed_calls for line in kernels)
    if untimed:
        note = f"{note}; " if note else ""
        note += f"{counted(untimed, 'launch', 'launches')} without device time"
    return Table(
        "kernels",
        "Kernels",
        (
            Column("name", "kernel"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("total_ns", "total", Unit.NS, 100),
            Column("share", "share", Unit.SHARE, 80),
            Column("mean_ns", "mean", Unit.NS, 40),
            Column("median_ns", "median", Unit.NS, 95),
            Column("min_ns", "min", Unit.NS, 30),
            Column("max_ns", "max", Unit.NS, 60),
            Column("wait_median_ns", "wait", Unit.NS, 50),
        ),
        [_kernel_row(line, whole_ns) for line in shown],
        note=note,
        why_empty=why_empty,
    )


def first_launch_table(lines: Sequence[Line]) -> Table:
    """First launches of each kernel with each work-group size: drivers may compile in them."""
    rows = [
        (
            line.label,
            line.rollup.first_calls,
            line.rollup.first_wait_ns / line.rollup.first_calls,
            line.rollup.wait_median_ns,
        )
        for line in lines
        if line.activity == "kernel" and line.rollup.first_calls
    ]
    rows.sort(key=lambda row: -row[2])
    return Table(
        "first_launches",
        "First launches (a driver may compile in them; not in the waits above)",
        (
            Column("kernel", "kernel"),
            Column("calls", "first launches", Unit.COUNT, 80),
            Column("first_wait_mean_ns", "mean wait", Unit.NS, 100),
            Column("wait_median_ns", "later (median)", Unit.NS, 90),
        ),
        [row for row in rows if _is_notable(row[2], row[3])],
    )


def transfer_table(lines: Sequence[Line]) -> Table:
    """Transfers by direction."""
    rows = []
    for activity in TRANSFERS:
        for line in lines:
            if line.activity == activity:
                rollup = line.rollup
                rate = rollup.size_bytes / (rollup.total_ns * 1e-9) if rollup.total_ns else None
                rows.append(
                    (
                        transfer_name(activity),
                        rollup.calls,
                        rollup.size_bytes,
                        rollup.total_ns if rollup.timed_calls else None,
                        rollup.median_ns,
                        rate if rollup.size_bytes else None,
                    )
                )
    return Table(
        "transfers",
        "Transfers",
        (
            Column("direction", "direction"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("size_bytes", "size", Unit.BYTES, 100),
            Column("total_ns", "total", Unit.NS, 95),
            Column("median_ns", "median", Unit.NS, 40),
            Column("bytes_per_s", "rate", Unit.BYTES_PER_S, 80),
        ),
        rows,
    )


def group_table(lines: Sequence[Line], *, by: str, sort: str, top: int | None) -> Table:
    """All activities by queue, device, process, thread or call site."""
    chosen = sorted(lines, key=lambda line: _sort_key(line, sort))[:top]
    return Table(
        f"by_{by}",
        f"By {by}",
        (
            Column("name", by, Unit.PLACE if by == "callsite" else Unit.TEXT),
            *([Column("device", "device", keep=60)] if by == "queue" else []),
            Column("activity", "activity"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("total_ns", "total", Unit.NS, 100),
            Column("busy_ns", "busy", Unit.NS, 70),
            Column("median_ns", "median", Unit.NS, 95),
            Column("max_ns", "max", Unit.NS, 60),
            Column("wait_median_ns", "wait", Unit.NS, 50),
            Column("size_bytes", "size", Unit.BYTES, 55),
        ),
        [
            (
                *_names(line, by),
                line.activity,
                line.rollup.calls,
                line.rollup.total_ns if line.rollup.timed_calls else None,
                line.rollup.busy_ns,
                line.rollup.median_ns,
                line.rollup.max_ns,
                line.rollup.wait_median_ns,
                line.rollup.size_bytes or None,
            )
            for line in chosen
        ],
        note=f"{len(lines) - len(chosen)} more: --top 0 shows all"
        if len(chosen) < len(lines)
        else "",
        why_empty="no command was enqueued",
    )


def transfer_name(activity: str) -> str:
    """What a transfer is called in tables."""
    return _TRANSFER_NAMES[activity]


def _names(line: Line, by: str) -> tuple[str, ...]:
    """What a group is called; a queue has its device in a column of its own."""
    label = line.label or "(not known)"
    if by != "queue":
        return (label,)
    queue, _, device = label.partition(" on ")
    return (queue, device)


def _kernel_row(line: Line, whole_ns: int) -> tuple[Value, ...]:
    rollup = line.rollup
    timed = rollup.timed_calls
    return (
        line.label or "(not known)",
        rollup.calls,
        rollup.total_ns if timed else None,
        rollup.total_ns / whole_ns if whole_ns and timed else None,
        rollup.total_ns / timed if timed else None,
        rollup.median_ns,
        rollup.min_ns,
        rollup.max_ns,
        rollup.wait_median_ns,
    )


def _sort_key(line: Line, sort: str) -> tuple[float | str, ...]:
    """Ascending order of this key is the order of the table: the most first, names alphabetically."""
    rollup = line.rollup
    values: dict[str, float | None] = {
        "total": rollup.total_ns,
        "calls": rollup.calls,
        "mean": rollup.total_ns / rollup.timed_calls if rollup.timed_calls else None,
        "median": rollup.median_ns,
        "min": rollup.min_ns,
        "max": rollup.max_ns,
        "wait": rollup.wait_median_ns,
    }
    if sort == "name":
        return (line.label, line.activity)
    return (-(values[sort] or 0.0), line.label, line.activity)


def _is_notable(first_ns: float, later_ns: float | None) -> bool:
    """Whether a first launch waited so much longer that something else than a launch was in it."""
    return first_ns > max(10 * (later_ns or 0.0), 1e6)
