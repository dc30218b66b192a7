"""Rows of a chart for power: heights are means, relative to the highest reading."""

import numpy as np

from cltrace.report.document import ChartRow, RowKind, Unit
from cltrace.report.quantities import value_text
from cltrace.report.tracks.power_levels import power_levels
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.activity import Activity
from cltrace.trace.reader import Trace


def power_rows(trace: Trace, activity: Activity) -> list[ChartRow]:
    """Return a row for each power channel that has readings."""
    rows = []
    for level in power_levels(trace, activity):
        highest = max(int(level.power_mw.max()), 1)
        label = f"to {value_text(highest / 1000, Unit.WATTS)}: {escape_controls(level.label)}"
        height = level.power_mw[:-1] / np.float64(highest)
        # Readings may overlap, because their times are inexact: each ends where the next begins.
        begin = np.maximum.accumulate(level.time_ns)
        rows.append(ChartRow(label, RowKind.POWER, 0, begin[:-1], begin[1:], height))
    return rows
