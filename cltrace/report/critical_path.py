"""Tables of the critical path and of slack."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.report.document import Column, Table, Unit, Value
from cltrace.report.quantities import more_note
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.critical_path import PathStep, StepKind
from cltrace.timeline.dependencies import NONE
from cltrace.timeline.slack import UNLIMITED_NS


def path_table(activity: Activity, steps: Sequence[PathStep], top: int | None) -> Table:
    """Return the steps of the critical path, summed by kind, kernel and device."""
    total: dict[tuple[str, int], int] = defaultdict(int)
    count: dict[tuple[str, int], int] = defaultdict(int)
    for step in steps:
        key = _step_name(activity, step), _step_device(activity, step)
        total[key] += step.duration_ns
        count[key] += 1
    whole = sum(total.values())
    ordered = sorted(total, key=lambda key: -total[key])
    placed = activity.commands.device[activity.commands.is_placed]
    names = activity.names.devices if len(np.unique(placed)) > 1 else {}
    rows: list[tuple[Value, ...]] = [
        (
            name,
            *([names.get(device)] if names else []),
            count[name, device],
            total[name, device],
            total[name, device] / whole,
        )
        for name, device in ordered[:top]
    ]
    return Table(
        key="critical_path",
        title="Critical path: what the time was spent on, end to end",
        columns=(
            Column("what", "what"),
            *([Column("device", "device", keep=90)] if names else []),
            Column("steps", "steps", Unit.COUNT, 80),
            Column("total_ns", "time", Unit.NS, 100),
            Column("share", "share", Unit.SHARE, 95),
        ),
        rows=rows,
        note=more_note(len(ordered), top),
    )


def _step_device(activity: Activity, step: PathStep) -> int:
    """Return the device on which a step ran, `NONE` for other steps."""
    is_on_device = step.kind is StepKind.DEVICE
    return int(activity.commands.device[step.command]) if is_on_device else NONE


def _step_name(activity: Activity, step: PathStep) -> str:
    if step.kind is StepKind.HOST:
        return f"host: {activity.names.threads.get(step.thread, 'thread')}"
    if step.kind is not StepKind.DEVICE:
        return _STEP_NAMES[step.kind]
    commands = activity.commands
    kind = KINDS[int(commands.kind[step.command])]
    return activity.names.kernels[int(commands.kernel[step.command])] if kind == "kernel" else kind


_STEP_NAMES: Final = {
    StepKind.LAUNCH: "launching: enqueued, not yet running",
    StepKind.RETURN: "returning: done, the host not yet notified",
}


def slack_table(
    activity: Activity, slack: Int64s, steps: Sequence[PathStep], top: int | None
) -> Table:
    """Return how much later kernels could have ended, given the slack of each command in ns."""
    commands = activity.commands
    on_path = np.zeros(len(commands), np.int64)
    for step in steps:
        if step.kind is StepKind.DEVICE:
            on_path[step.command] += step.duration_ns
    is_kernel = commands.is_kind("kernel") & commands.is_placed
    rows = [
        _slack_row(
            activity.names.kernels[kernel],
            slack[is_kernel & (commands.kernel == kernel)],
            on_path[is_kernel & (commands.kernel == kernel)],
        )
        for kernel in np.unique(commands.kernel[is_kernel]).tolist()
    ]
    rows.sort(key=lambda row: -row[3])
    return Table(
        key="slack",
        title="Slack: how much later launches could have ended without delaying the end",
        columns=(
            Column("kernel", "kernel"),
            Column("launches", "launches", Unit.COUNT, 70),
            Column("critical", "on the path", Unit.COUNT, 80),
            Column("critical_ns", "time on it", Unit.NS, 95),
            Column("slack_min_ns", "min slack", Unit.NS, 75),
            Column("slack_median_ns", "median slack", Unit.NS, 90),
        ),
        rows=rows[:top],
        note=more_note(len(rows), top),
    )


def _slack_row(
    kernel: str, slack: Int64s, on_path: Int64s
) -> tuple[str, int, int, int, int | None, float | None]:
    limited = slack[slack < UNLIMITED_NS]
    return (
        kernel,
        len(slack),
        int((on_path > 0).sum()),
        int(on_path.sum()),
        int(limited.min()) if len(limited) else None,
        float(np.median(limited)) if len(limited) else None,
    )
