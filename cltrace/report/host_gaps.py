"""Table of what the program did while devices were idle."""

from collections import defaultdict
from typing import Final

import numpy as np

from cltrace.report.document import Column, Table, Unit
from cltrace.timeline.advice import Evidence
from cltrace.timeline.host_gaps import find_host_gaps

_MIN_SHARE: Final = 0.01
"""Share of the idle time below which a pair of lines has no row."""


def host_gaps_table(evidence: Evidence, top: int | None) -> Table:
    """Return the lines between which threads worked while no device did, the longest idle time first."""
    gaps = find_host_gaps(evidence.activity, evidence.events)
    pairs, of_pair = np.unique(
        np.stack([gaps.before_site, gaps.after_site]), axis=1, return_inverse=True
    )
    of_pair = np.asarray(of_pair).reshape(-1)
    counts = np.bincount(of_pair, minlength=pairs.shape[1])
    idle_ns = np.bincount(of_pair, gaps.idle_ns, minlength=pairs.shape[1])
    places: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (before, after), count, idle in zip(
        pairs.T.tolist(), counts.tolist(), idle_ns.tolist(), strict=True
    ):
        both = [evidence.places.get(site) for site in (before, after)]
        begin, end = (place.site if place else "" for place in both)
        places[begin, end][0] += count
        places[begin, end][1] += int(idle)
    total_ns = int(gaps.idle_ns.sum())
    rows = [
        (begin, end, count, idle, idle / total_ns)
        for (begin, end), (count, idle) in places.items()
        if idle > _MIN_SHARE * total_ns
    ]
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
