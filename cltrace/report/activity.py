"""Tables of device activity: kernels, first launches, transfers, and groups of any kind."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Final, NamedTuple

from cltrace.report.document import Column, Table, Unit, Value
from cltrace.report.quantities import count_text
from cltrace.trace.device_labels import device_labels
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

_KERNEL_COLUMNS: Final = (
    Column("name", "kernel"),
    Column("calls", "calls", Unit.COUNT, 90),
    Column("total_ns", "total", Unit.NS, 100),
    Column("share", "share", Unit.SHARE, 80),
    Column("mean_ns", "mean", Unit.NS, 40),
    Column("median_ns", "median", Unit.NS, 95),
    Column("min_ns", "min", Unit.NS, 30),
    Column("max_ns", "max", Unit.NS, 60),
    Column("wait_median_ns", "wait", Unit.NS, 50),
)


class RollupRow(NamedTuple):
    """Sums over a group of commands, with the group's key, its label and its activity."""

    key: str
    label: str
    activity: str
    rollup: Rollup


def read_rollup_rows(trace: Trace, dimension: str) -> list[RollupRow]:
    """Return the sums of a dimension that were stored when the trace was written."""
    names = [field.name for field in fields(Rollup)]
    rows = trace.rows(
        f"SELECT key, label, activity, {', '.join(names)} FROM v_rollup "
        "WHERE dimension = :dimension",
        {"dimension": dimension},
    )
    groups = [
        RollupRow(
            str(key), str(label), str(activity), Rollup(**dict(zip(names, sums, strict=True)))
        )
        for key, label, activity, *sums in rows
    ]
    return label_devices(trace, dimension, groups)


def label_devices(trace: Trace, dimension: str, groups: Sequence[RollupRow]) -> list[RollupRow]:
    """Return the groups with labels that tell devices of one name apart. Stored ones have names only."""
    if dimension not in {"device", "queue", "whole-device"}:
        return list(groups)
    labels = {str(number): label for number, label in device_labels(trace).items()}
    if dimension == "queue":
        queues = trace.rows("SELECT queue_id, device_id FROM v_queue")
        labels = {
            str(queue): f"queue {queue} on {labels.get(str(device), '')}"
            for queue, device in queues
        }
    return [group._replace(label=labels.get(group.key, group.label)) for group in groups]


def kernel_table(
    groups: Sequence[RollupRow], *, sort: str, top: int | None, why_empty: str
) -> Table:
    """Return the table of kernel launches by kernel."""
    kernels = [group for group in groups if group.activity == "kernel"]
    whole_ns = sum(group.rollup.total_ns for group in kernels)
    kernels.sort(key=lambda group: _sort_key(group, sort))
    shown = kernels[:top]
    note = ""
    if len(shown) < len(kernels):
        rest_ns = sum(group.rollup.total_ns for group in kernels[len(shown) :])
        share = 100 * rest_ns / whole_ns if whole_ns else 0.0
        note = f"{len(kernels) - len(shown)} more, {share:.1f} % of the time: --top 0 shows all"
    untimed = sum(group.rollup.calls - group.rollup.timed_calls for group in kernels)
    if untimed:
        note = f"{note}; " if note else ""
        note += f"{count_text(untimed, 'launch', 'launches')} without device time"
    return Table(
        key="kernels",
        title="Kernels",
        columns=_KERNEL_COLUMNS,
        rows=[_kernel_row(group, whole_ns) for group in shown],
        note=note,
        why_empty=why_empty,
    )


def kernel_device_table(
    trace: Trace, groups: Sequence[RollupRow], *, sort: str, top: int | None
) -> Table:
    """Return the table of kernel launches by kernel and device, the devices in the trace's order.

    `groups` are those of `KERNEL_DEVICE`. It has no rows if kernels ran on a single device.
    """
    kernels = [group for group in groups if group.activity == "kernel"]
    by_device: dict[str, list[RollupRow]] = {}
    for group in kernels:
        by_device.setdefault(group.key.partition(" ")[0], []).append(group)
    labels = {str(number): label for number, label in device_labels(trace).items()}
    rows = []
    for device in sorted(by_device, key=lambda key: (len(key), key)):
        members = by_device[device]
        whole_ns = sum(group.rollup.total_ns for group in members)
        members.sort(key=lambda group: _sort_key(group, sort))
        label = labels.get(device, "(not known)")
        rows += [(label, *_kernel_row(group, whole_ns)) for group in members[:top]]
    left_out = len(kernels) - len(rows)
    return Table(
        key="kernels_by_device",
        title="Kernels by device",
        columns=(Column("device", "device", keep=98), *_KERNEL_COLUMNS),
        rows=rows if len(by_device) > 1 else [],
        note=f"{left_out} more: --top 0 shows all" if left_out else "",
    )


def first_launch_table(groups: Sequence[RollupRow]) -> Table:
    """Return the table of first launches that waited long: a driver may compile in them.

    A launch is a first one per kernel and work-group size.
    """
    rows = [
        (
            group.label,
            group.rollup.first_calls,
            group.rollup.first_wait_ns / group.rollup.first_calls,
            group.rollup.wait_median_ns,
        )
        for group in groups
        if group.activity == "kernel" and group.rollup.first_calls
    ]
    rows.sort(key=lambda row: -row[2])
    return Table(
        key="first_launches",
        title="First launches (a driver may compile in them; not in the waits above)",
        columns=(
            Column("kernel", "kernel"),
            Column("calls", "first launches", Unit.COUNT, 80),
            Column("first_wait_mean_ns", "mean wait", Unit.NS, 100),
            Column("wait_median_ns", "later (median)", Unit.NS, 90),
        ),
        rows=[row for row in rows if _is_notable(row[2], row[3])],
    )


def transfer_table(groups: Sequence[RollupRow]) -> Table:
    """Return the table of transfers by direction."""
    rows = []
    for activity in TRANSFERS:
        for group in groups:
            if group.activity == activity:
                rollup = group.rollup
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
        key="transfers",
        title="Transfers",
        columns=(
            Column("direction", "direction"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("size_bytes", "size", Unit.BYTES, 100),
            Column("total_ns", "total", Unit.NS, 95),
            Column("median_ns", "median", Unit.NS, 40),
            Column("bytes_per_s", "rate", Unit.BYTES_PER_S, 80),
        ),
        rows=rows,
    )


def group_table(groups: Sequence[RollupRow], *, by: str, sort: str, top: int | None) -> Table:
    """Return the table of all activities by queue, device, process, thread or call site."""
    shown = sorted(groups, key=lambda group: _sort_key(group, sort))[:top]
    return Table(
        key=f"by_{by}",
        title=f"By {by}",
        columns=(
            Column("name", by, Unit.PLACE if by == "callsite" else Unit.TEXT),
            *([Column("device", "device", keep=98)] if by == "queue" else []),
            Column("activity", "activity"),
            Column("calls", "calls", Unit.COUNT, 90),
            Column("total_ns", "total", Unit.NS, 100),
            Column("busy_ns", "busy", Unit.NS, 70),
            Column("median_ns", "median", Unit.NS, 95),
            Column("max_ns", "max", Unit.NS, 60),
            Column("wait_median_ns", "wait", Unit.NS, 50),
            Column("size_bytes", "size", Unit.BYTES, 55),
        ),
        rows=[
            (
                *_names(group, by),
                group.activity,
                group.rollup.calls,
                group.rollup.total_ns if group.rollup.timed_calls else None,
                group.rollup.busy_ns,
                group.rollup.median_ns,
                group.rollup.max_ns,
                group.rollup.wait_median_ns,
                group.rollup.size_bytes or None,
            )
            for group in shown
        ],
        note=f"{len(groups) - len(shown)} more: --top 0 shows all"
        if len(shown) < len(groups)
        else "",
        why_empty="no command was enqueued",
    )


def transfer_name(activity: str) -> str:
    """Return the name of a transfer in tables."""
    return _TRANSFER_NAMES[activity]


def _names(group: RollupRow, by: str) -> tuple[str, ...]:
    """Return the cells that name a group; a queue has its device in a column of its own."""
    label = group.label or "(not known)"
    if by != "queue":
        return (label,)
    queue, _, device = label.partition(" on ")
    return (queue, device)


def _kernel_row(group: RollupRow, whole_ns: int) -> tuple[Value, ...]:
    rollup = group.rollup
    timed = rollup.timed_calls
    return (
        group.label or "(not known)",
        rollup.calls,
        rollup.total_ns if timed else None,
        rollup.total_ns / whole_ns if whole_ns and timed else None,
        rollup.total_ns / timed if timed else None,
        rollup.median_ns,
        rollup.min_ns,
        rollup.max_ns,
        rollup.wait_median_ns,
    )


def _sort_key(group: RollupRow, sort: str) -> tuple[float | str, ...]:
    """Return a key whose ascending order is the table's: the largest first, names alphabetically."""
    rollup = group.rollup
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
        return (group.label, group.activity)
    return (-(values[sort] or 0.0), group.label, group.activity)


def _is_notable(first_ns: float, later_ns: float | None) -> bool:
    """Return whether a first launch waited so long that more than a launch happened in it."""
    return first_ns > max(10 * (later_ns or 0.0), 1e6)
