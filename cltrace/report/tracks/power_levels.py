"""Power over time as levels per channel, for timelines and viewers."""

from dataclasses import dataclass

import numpy as np

from cltrace.power.channels import read_channels
from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.trace.reader import Trace

_S_NS = 1e9
_MW = 1000.0


@dataclass(frozen=True, slots=True)
class PowerLevel:
    """Power of a channel in mW from each time on, in ns on the trace's axis. Shape (n,) each.

    The mean of a reading holds from where its time begins; after the last there is 0.
    """

    label: str
    time_ns: Int64s
    power_mw: Int64s


def power_levels(trace: Trace, activity: Activity) -> list[PowerLevel]:
    """Return the power of every channel that has readings."""
    levels = []
    for readings in read_channels(trace, activity.axis):
        observations = readings.observations
        if not len(observations):
            continue
        begins_s = np.append(observations.end_s - observations.span_s, observations.end_s[-1])
        powers_w = np.append(observations.power_w, 0.0)
        levels.append(
            PowerLevel(
                readings.channel.label,
                np.rint(begins_s * _S_NS).astype(np.int64),
                np.rint(np.minimum(powers_w, 1e9) * _MW).astype(np.int64),
            )
        )
    return levels
