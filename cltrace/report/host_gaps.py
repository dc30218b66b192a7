"""Table of what the program did while devices were idle."""

from typing import Final

import numpy as np

from cltrace.report.document import Column, Table, Unit
from cltrace.timeline.advice import Evidence
from cltrace.timeline.advice.host_gaps import gaps_by_lines
from cltrace.timeline.host_gaps import find_host_gaps

_MIN_SHARE: Final = 0.01
"""Share of the idle time below which a pair of lines has no row."""


def host_gaps_table(evidence: Evidence, top: int | None) -> Table:
    """Return the lines between which threads worked while no device did, the longest idle time first."""
    gaps = find_host_gaps(evidence.activity, evidence.events)
    total_ns = int(gaps.idle_ns.sum())
    rows = []
    for lines in gaps_by_lines(evidence, gaps, np.arange(len(gaps))):
        idle_ns = int(gaps.idle_ns[lines.gaps].sum())
        if idle_ns > _MIN_SHARE * total_ns:
            places = lines.before.site, lines.after.site
            rows.append((*places, len(lines.gaps), idle_ns, idle_ns / total_ns))
    return Table(
        key="host_gaps",
        title="What the program did while devices were idle",
        columns=(
            Column("before", "from", Unit.PLACE, 95),
            Column("after", "until", Unit.PLACE, 90),
            Column("times", "times", Unit.COUNT, 60),
            Column("idle_ns", "idle", Unit.NS, 100),
            Column("idle_share", "share", Unit.SHARE, 70),
        ),
        rows=sorted(rows, key=lambda row: -row[3])[:top],
        note="the program's own work between the calls of two lines, while nothing was enqueued",
    )
