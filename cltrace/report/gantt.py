"""The timeline as a chart: host threads, and queues with the kernels and transfers in them."""

from fnmatch import fnmatchcase
from typing import Final

import numpy as np

from cltrace.report.document import Chart, ChartRow, RowKind
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.busy import TRANSFERS
from cltrace.timeline.clock_fit.points import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union

_MOST_THREADS: Final = 4
_MOST_QUEUES: Final = 12


def gantt(activity: Activity, begin_ns: int, end_ns: int, *, kernel: str | None, top: int) -> Chart:
    """The chart of a stretch of time. `kernel` is a glob: only such kernels have rows; `top` at most."""
    rows: list[ChartRow] = []
    processes = [one for one in np.unique(activity.commands.process).tolist() if one > 0]
    for process in processes or [0]:
        depth = 0
        if len(processes) > 1:
            here = (activity.commands.process == process) & activity.commands.is_placed
            rows.append(
                _row(activity, here, activity.names.processes.get(process, ""), RowKind.QUEUE, 0)
            )
            depth = 1
        if kernel is None:
            rows += _thread_rows(activity, process, depth)
        rows += _queue_rows(activity, process, depth, kernel, top)
    return Chart("timeline", "", begin_ns, end_ns, rows)


def _thread_rows(activity: Activity, process: int, depth: int) -> list[ChartRow]:
    """For each host thread when it was in a call of OpenCL's."""
    commands, calls = activity.commands, activity.calls
    threads = np.concatenate([commands.thread, calls.thread])
    owners = np.concatenate([commands.process, calls.process])
    enter = np.concatenate([commands.enter_ns, calls.enter_ns])
    returned = np.concatenate([commands.return_ns, calls.return_ns])
    found = []
    for thread, here in groups(threads[owners == process], np.flatnonzero(owners == process)):
        busy = union(enter[here], np.maximum(returned[here], enter[here]))
        name = f"{activity.names.threads.get(thread, 'thread')} in calls"
        found.append(ChartRow(name, RowKind.HOST, depth, busy.start_ns, busy.end_ns))
    return _busiest(found, _MOST_THREADS, "threads in calls", depth)


def _busiest(rows: list[ChartRow], most: int, what: str, depth: int) -> list[ChartRow]:
    """The busiest rows, in their order, and one row for all others."""
    if len(rows) <= most:
        return rows
    by_time = sorted(rows, key=lambda row: -int((row.end_ns - row.start_ns).sum()))
    kept = {id(row) for row in by_time[:most]}
    others = [row for row in rows if id(row) not in kept]
    start, end = (
        np.concatenate([getattr(row, one) for row in others]) for one in ("start_ns", "end_ns")
    )
    busy = union(start, end)
    rest = ChartRow(
        f"{len(others)} other {what}", others[0].kind, depth, busy.start_ns, busy.end_ns
    )
    return [*(row for row in rows if id(row) in kept), rest]


def _queue_rows(
    activity: Activity, process: int, depth: int, kernel: str | None, top: int
) -> list[ChartRow]:
    """For each queue when it was busy, and with what."""
    commands = activity.commands
    placed = np.flatnonzero(commands.is_placed & (commands.process == process))
    of_queue = sorted(groups(commands.queue[placed], placed), key=lambda one: -len(one[1]))
    rows: list[ChartRow] = []
    for queue, members in sorted(of_queue[:_MOST_QUEUES], key=lambda one: one[0]):
        here = np.zeros(len(commands), np.bool_)
        here[members] = True
        parts = _kernel_rows(activity, here, depth + 1, kernel, top)
        if kernel is None:
            parts += _transfer_rows(activity, here, depth + 1)
        if parts:
            name = activity.names.queues.get(queue, f"queue {queue}")
            rows.append(_row(activity, here, name, RowKind.QUEUE, depth))
            rows += parts
    rest = of_queue[_MOST_QUEUES:]
    if rest:
        here = np.zeros(len(commands), np.bool_)
        here[np.concatenate([members for _, members in rest])] = True
        rows.append(_row(activity, here, f"{len(rest)} other queues", RowKind.QUEUE, depth))
    return rows


def _kernel_rows(
    activity: Activity, here: Bools, depth: int, kernel: str | None, top: int
) -> list[ChartRow]:
    """The kernels that took the most time, and one row for all others."""
    commands = activity.commands
    is_kernel = here & commands.are("kernel")
    numbers = np.unique(commands.kernel[is_kernel])
    took = _sums(commands.kernel[is_kernel], (commands.end_ns - commands.start_ns)[is_kernel])
    ordered = sorted(numbers.tolist(), key=lambda one: (-took[one], one))
    names = activity.names.kernels
    if kernel is not None:
        ordered = [one for one in ordered if fnmatchcase(names[one], kernel)]
    rows = [
        _row(activity, is_kernel & (commands.kernel == one), names[one], RowKind.KERNEL, depth)
        for one in ordered[:top]
    ]
    rest = ordered[top:]
    if rest:
        others = is_kernel & np.isin(commands.kernel, rest)
        rows.append(_row(activity, others, f"{len(rest)} other kernels", RowKind.KERNEL, depth))
    return rows


def _transfer_rows(activity: Activity, here: Bools, depth: int) -> list[ChartRow]:
    rows = []
    for kind in (*TRANSFERS, "fill"):
        chosen = here & (activity.commands.kind == KINDS.index(kind))
        if chosen.any():
            rows.append(_row(activity, chosen, kind, RowKind.TRANSFER, depth))
    return rows


def _row(activity: Activity, chosen: Bools, label: str, kind: RowKind, depth: int) -> ChartRow:
    busy = union(activity.commands.start_ns[chosen], activity.commands.end_ns[chosen])
    return ChartRow(label, kind, depth, busy.start_ns, busy.end_ns)


def _sums(groups: Int64s, values: Int64s) -> dict[int, int]:
    found, position = np.unique(groups, return_inverse=True)
    totals = np.bincount(position, weights=values, minlength=len(found))
    return {int(group): int(total) for group, total in zip(found, totals, strict=True)}
