"""Estimate of the time that probes take on a machine, from those that it has measured."""

from collections import deque
from statistics import fmean
from typing import Final

from cltrace.events.workloads import ArrivingLaunch, BufferInput, LaunchBeside, Transfer
from cltrace.suite.calibration.probes import ProbeWork

_BUILD_S: Final = 0.1
"""Time of building a kernel on an idle machine."""
_CALL_S: Final = 0.01
"""Time of setting up a transfer."""
_BYTE_S: Final = 5e-9
"""Time of filling a byte of a buffer, and of some runs that go through it."""
_ARRIVALS: Final = 6.0
"""Runs of a launch before each of which the device is brought into a state."""
_WINDOW_S: Final = 0.5
"""Time of the windows in which launches run beside each other."""
_FIRST_SLOWNESS: Final = 4.0
"""Slowness that is assumed before the first probe."""
_SAFETY: Final = 2.0
"""Factor on the mean pace. A probe that takes even longer shortens the fit, which can end at any time."""
_MAX_RECENT: Final = 16


class ProbePace:
    """Pace of a calibration: how many times slower than usual the recent probes were."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_MAX_RECENT)

    def add(self, work: ProbeWork, seconds: float) -> None:
        """Take the duration of a probe into account, with its build and its buffers."""
        self._recent.append(seconds / _usual_s(work))

    def estimate_s(self, work: ProbeWork) -> float:
        """Return how many seconds a probe takes at most, unless the machine becomes slower."""
        slowness = fmean(self._recent) if self._recent else _FIRST_SLOWNESS
        return _SAFETY * slowness * _usual_s(work)


def _usual_s(work: ProbeWork) -> float:
    if isinstance(work, Transfer):
        return _CALL_S + 2 * _BYTE_S * work.size_bytes
    if isinstance(work, ArrivingLaunch):
        again_s = _BUILD_S * work.arrival.first_share + work.arrival.idle_ns * 1e-9
        return _usual_s(work.work) + _ARRIVALS * again_s
    if isinstance(work, LaunchBeside):
        return sum(map(_usual_s, work.members)) + _WINDOW_S
    size_bytes = sum(each.size_bytes for each in work.inputs if isinstance(each, BufferInput))
    return _BUILD_S + _BYTE_S * size_bytes
