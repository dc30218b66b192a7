"""Columns and tables on what launches at the same time cost each other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cltrace.predict.traces import PredictedLaunch, PredictedTrace
from cltrace.report.document import Column, Table, Unit, Value
from cltrace.report.quantities import round_significant

_MAX_NEIGHBOURS: Final = 3
NEIGHBOUR_COLUMNS: Final = (
    Column("neighbours_ns", "neighbours", Unit.NS, 92),
    Column("neighbours_least_ns", "least", Unit.NS, 38),
    Column("neighbours_most_ns", "most", Unit.NS, 39),
    Column("neighbours", "who", keep=91),
)
"""What neighbours cost a call, within what bounds, and who they were."""


def neighbour_values(predicted: PredictedLaunch) -> tuple[Value, ...]:
    """Return the values of `NEIGHBOUR_COLUMNS` for a launch; all are None if it ran alone."""
    cost, calls = predicted.neighbours, max(predicted.launch.calls, 1)
    if cost is None:
        return (None, None, None, None)
    times = (cost.longer_ns, *cost.interval_ns)
    return (*(round(time / calls) for time in times), ", ".join(cost.who[:_MAX_NEIGHBOURS]))


def without_neighbours(table: Table) -> Table:
    """Return a table of launches without these columns, which are its last, where no launch has any."""
    count = len(NEIGHBOUR_COLUMNS)
    rows = [tuple(row[:-count]) for row in table.rows]
    return replace(table, columns=table.columns[:-count], rows=rows)


def neighbour_table(predictions: Sequence[PredictedTrace], top: int | None) -> Table:
    """Return what neighbours cost the launches of a trace, the largest cost first; at most `top` rows."""
    costly = [
        (prediction, launch)
        for prediction in predictions
        for launch in prediction.launches
        if launch.neighbours is not None
    ]
    costly.sort(key=lambda pair: -pair[1].neighbours.longer_ns if pair[1].neighbours else 0.0)
    return Table(
        key="neighbours",
        title="Neighbours: what launches at the same time cost a call",
        columns=(
            Column("device", "device", keep=40),
            Column("kernel", "kernel"),
            Column("calls", "calls", Unit.COUNT, 60),
            Column("measured_ns", "measured", Unit.NS, 94),
            *NEIGHBOUR_COLUMNS,
        ),
        rows=[
            (
                prediction.label or prediction.profile.device.name,
                launch.launch.kernel,
                launch.launch.calls,
                round(launch.measured_ns) if launch.measured_ns else None,
                *neighbour_values(launch),
            )
            for prediction, launch in costly[:top]
        ],
        note="predicted, in the mean of the calls",
    )


def at_once_table(predictions: Sequence[PredictedTrace], top: int | None) -> Table:
    """Return which kernels ran at once, and what that gained, the longest time first."""
    rows = [(prediction, each) for prediction in predictions for each in prediction.at_once]
    rows.sort(key=lambda pair: -pair[1].time_ns)
    return Table(
        key="at_once",
        title="At the same time",
        columns=(
            Column("device", "device", keep=40),
            Column("kernels", "kernels"),
            Column("time_ns", "time", Unit.NS, 98),
            Column("gain", "gain", Unit.PLAIN, 97),
        ),
        rows=[
            (
                prediction.label or prediction.profile.device.name,
                _kernel_names(each.kernels),
                each.time_ns,
                round_significant(each.gain),
            )
            for prediction, each in rows[:top]
        ],
        note="gain: predicted time one after the other, by that at once; below 1, they would be faster "
        "one after the other",
    )


def _kernel_names(kernels: Sequence[str]) -> str:
    """Return names once each, with the number of launches of those that ran several times at once."""
    return ", ".join(
        name if count == 1 else f"{count} × {name}" for name, count in Counter(kernels).items()
    )
