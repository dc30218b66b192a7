"""Columns on what launches at the same time cost a launch."""

from dataclasses import replace
from typing import Final

from cltrace.predict.traces import PredictedLaunch
from cltrace.report.document import Column, Table, Unit, Value

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
