"""Timeline as a chart: host threads, and queues with their kernels and transfers."""

from fnmatch import fnmatchcase
from typing import Final

import numpy as np

from cltrace.report.document import Chart, ChartRow, RowKind
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.busy import TRANSFERS
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union

_MAX_THREADS: Final = 4
_MAX_QUEUES: Final = 12


def gantt_chart(
    activity: Activity, begin_ns: int, end_ns: int, *, kernel: str | None, top: int
) -> Chart:
    """Return the chart of a stretch of time.

    `kernel` is a glob that limits the rows to matching kernels; `top` is the largest number of kernel
    rows per queue.
    """
    rows: list[ChartRow] = []
    processes = [
        process for process in np.unique(activity.commands.process).tolist() if process > 0
    ]
    for process in processes or [0]:
        depth = 0
        if len(processes) > 1:
            is_process = (activity.commands.process == process) & activity.commands.is_placed
            rows.append(
                _row(
                    activity,
                    is_process,
                    activity.names.processes.get(process, ""),
                    RowKind.QUEUE,
                    0,
                )
            )
            depth = 1
        if kernel is None:
            rows += _thread_rows(activity, process, depth)
        rows += _queue_rows(activity, process, depth, kernel, top)
    return Chart("timeline", "", begin_ns, end_ns, rows)


def _thread_rows(activity: Activity, process: int, depth: int) -> list[ChartRow]:
    """Return for each host thread when it was in an OpenCL call."""
    commands, calls = activity.commands, activity.calls
    threads = np.concatenate([commands.thread, calls.thread])
    owners = np.concatenate([commands.process, calls.process])
    enter = np.concatenate([commands.enter_ns, calls.enter_ns])
    returned = np.concatenate([commands.return_ns, calls.return_ns])
    rows = []
    for thread, positions in groups(threads[owners == process], np.flatnonzero(owners == process)):
        busy = union(enter[positions], np.maximum(returned[positions], enter[positions]))
        name = f"{activity.names.threads.get(thread, 'thread')} in calls"
        rows.append(ChartRow(name, RowKind.HOST, depth, busy.start_ns, busy.end_ns))
    return _busiest(rows, _MAX_THREADS, "threads in calls", depth)


def _busiest(rows: list[ChartRow], max_rows: int, noun: str, depth: int) -> list[ChartRow]:
    """Return the busiest rows, in their order, and one row for all others."""
    if len(rows) <= max_rows:
        return rows
    by_time = sorted(rows, key=lambda row: -int((row.end_ns - row.start_ns).sum()))
    kept = {id(row) for row in by_time[:max_rows]}
    others = [row for row in rows if id(row) not in kept]
    start, end = (
        np.concatenate([getattr(row, bound) for row in others]) for bound in ("start_ns", "end_ns")
    )
    busy = union(start, end)
    rest = ChartRow(
        f"{len(others)} other {noun}", others[0].kind, depth, busy.start_ns, busy.end_ns
    )
    return [*(row for row in rows if id(row) in kept), rest]


def _queue_rows(
    activity: Activity, process: int, depth: int, kernel: str | None, top: int
) -> list[ChartRow]:
    """Return for each queue when it was busy, and with what."""
    commands = activity.commands
    placed = np.flatnonzero(commands.is_placed & (commands.process == process))
    by_size = sorted(groups(commands.queue[placed], placed), key=lambda group: -len(group[1]))
    has_several = len(np.unique(commands.device[placed])) > 1
    rows: list[ChartRow] = []
    for queue, members in sorted(by_size[:_MAX_QUEUES], key=lambda group: group[0]):
        is_queue = np.zeros(len(commands), np.bool_)
        is_queue[members] = True
        parts = _kernel_rows(activity, is_queue, depth + 1, kernel, top)
        if kernel is None:
            parts += _transfer_rows(activity, is_queue, depth + 1)
        if parts:
            name = activity.names.queues.get(queue, f"queue {queue}")
            if has_several:
                device = activity.names.devices.get(int(commands.device[members[0]]), "")
                # The row of the process stands above.
                owner = activity.names.processes.get(process, "") if depth else ""
                name += f" on {device.removesuffix(f', {owner}')}"
            rows.append(_row(activity, is_queue, name, RowKind.QUEUE, depth))
            rows += parts
    rest = by_size[_MAX_QUEUES:]
    if rest:
        is_queue = np.zeros(len(commands), np.bool_)
        is_queue[np.concatenate([members for _, members in rest])] = True
        rows.append(_row(activity, is_queue, f"{len(rest)} other queues", RowKind.QUEUE, depth))
    return rows


def _kernel_rows(
    activity: Activity, is_queue: Bools, depth: int, kernel: str | None, top: int
) -> list[ChartRow]:
    """Return the kernels that took the most time, and one row for all others."""
    commands = activity.commands
    is_kernel = is_queue & commands.is_kind("kernel")
    numbers = np.unique(commands.kernel[is_kernel])
    total_ns = _sums(commands.kernel[is_kernel], (commands.end_ns - commands.start_ns)[is_kernel])
    ordered = sorted(numbers.tolist(), key=lambda number: (-total_ns[number], number))
    names = activity.names.kernels
    if kernel is not None:
        ordered = [number for number in ordered if fnmatchcase(names[number], kernel)]
    rows = [
        _row(
            activity, is_kernel & (commands.kernel == number), names[number], RowKind.KERNEL, depth
        )
        for number in ordered[:top]
    ]
    rest = ordered[top:]
    if rest:
        others = is_kernel & np.isin(commands.kernel, rest)
        rows.append(_row(activity, others, f"{len(rest)} other kernels", RowKind.KERNEL, depth))
    return rows


def _transfer_rows(activity: Activity, is_queue: Bools, depth: int) -> list[ChartRow]:
    rows = []
    for kind in (*TRANSFERS, "fill"):
        is_transfer = is_queue & (activity.commands.kind == KINDS.index(kind))
        if is_transfer.any():
            rows.append(_row(activity, is_transfer, kind, RowKind.TRANSFER, depth))
    return rows


def _row(activity: Activity, mask: Bools, label: str, kind: RowKind, depth: int) -> ChartRow:
    busy = union(activity.commands.start_ns[mask], activity.commands.end_ns[mask])
    return ChartRow(label, kind, depth, busy.start_ns, busy.end_ns)


def _sums(keys: Int64s, values: Int64s) -> dict[int, int]:
    unique, position = np.unique(keys, return_inverse=True)
    totals = np.bincount(position, weights=values, minlength=len(unique))
    return {int(group): int(total) for group, total in zip(unique, totals, strict=True)}
