"""Power over time, as a level for each channel: what timelines and viewers draw."""

from dataclasses import dataclass

import numpy as np

from cltrace.power.channels import read_channels
from cltrace.timeline.activity import Activity
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.trace.reader import Trace

_S_NS = 1e9
_MW = 1000.0


@dataclass(frozen=True, slots=True)
class PowerLevel:
    """The power of a channel in mW, from each time on, in ns on the trace's axis. Shape (n,) each.

    The mean of a reading stands from where its time begins; after the last there is 0.
    """

    label: str
    time_ns: Int64s
    power_mw: Int64s


def power_levels(trace: Trace, activity: Activity) -> list[PowerLevel]:
    """The power of every channel that has readings."""
    found = []
    for one in read_channels(trace, activity.axis):
        seen = one.seen
        if not len(seen):
            continue
        begins = np.append(seen.end_s - seen.span_s, seen.end_s[-1])
        values = np.append(seen.power_w, 0.0)
        found.append(
            PowerLevel(
                one.channel.label,
                np.rint(begins * _S_NS).astype(np.int64),
                np.rint(np.minimum(values, 1e9) * _MW).astype(np.int64),
            )
        )
    return found
