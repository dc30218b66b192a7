"""Which of the device's stamps cannot be right, by themselves: before any clock is known.

Drivers report zeros, stamps that run backwards, and stamps that are made up; Mesa's rusticl gives 0, 1,
2 and 3 for every command. What contradicts the host's clock is found by `timeline.clocks`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.kinds import StampFault
from cltrace.timeline.clock_fit.points import Bools, Int64s

STAGES: Final = ("queued", "submit", "start", "end")

_EARLIEST_NS: Final = 1000
"""No counter that has run since anything was switched on is below a microsecond."""
_LONGEST_AFTER_NS: Final = 3600e9
_LONGEST_STILL_NS: Final = 1_000_000
"""A clock that shows the same after a millisecond does not run."""


def stamp_columns(commands: Mapping[str, Int64s]) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """QUEUED, SUBMIT, START and END of commands."""
    queued, submit, start, end = (commands[f"{stage}_device_ns"] for stage in STAGES)
    return queued, submit, start, end


def faults_in_themselves(commands: Mapping[str, Int64s], has_stamps: Bools) -> Int64s:
    """The `StampFault` bits of each command of one device, given in the order of their calls."""
    queued, submit, start, end = stamp_columns(commands)
    faults = np.zeros(len(queued), np.int64)
    is_zero = (queued == 0) | (submit == 0) | (start == 0) | (end == 0)
    is_reversed = (submit < queued) | (start < submit) | (end < start)
    faults[is_zero] |= StampFault.ZERO
    faults[is_reversed] |= StampFault.REVERSED
    faults[_made_up(commands, has_stamps)] |= StampFault.MADE_UP
    faults[_apart(commands)] |= StampFault.FOREIGN
    faults[~has_stamps] = 0
    return faults


def _apart(commands: Mapping[str, Int64s]) -> Bools:
    """Stamps that are farther apart than the host's whole record and an hour."""
    queued, _, _, end = (column.astype(np.float64) for column in stamp_columns(commands))
    times = (commands["enter_host_ns"], commands["return_host_ns"])
    record_ns = float(times[1].max(initial=0)) - float(times[0].min(initial=0))
    apart: Bools = end - queued > record_ns + _LONGEST_AFTER_NS
    return apart


def _made_up(commands: Mapping[str, Int64s], has_stamps: Bools) -> Bools:
    """Stamps near zero, and those that show the same as the last command's though time has passed."""
    queued, _, _, end = stamp_columns(commands)
    found = has_stamps & (queued >= 0) & (end < _EARLIEST_NS)
    those = np.flatnonzero(has_stamps)
    enter = commands["enter_host_ns"][those]
    is_still = (
        (np.diff(end[those]) == 0)
        & (np.diff(queued[those]) == 0)
        & (np.diff(enter) > _LONGEST_STILL_NS)
    )
    found[those[1:][is_still]] = True
    found[those[:-1][is_still]] = True
    return found


def quantum_ns(commands: Mapping[str, Int64s], usable: Int64s) -> int:
    """The step in which the device's clock moves: the greatest that divides all differences, or 1."""
    stamps = np.concatenate([column[usable] for column in stamp_columns(commands)])
    if len(stamps) < 2:
        return 1
    return max(int(np.gcd.reduce(np.abs(stamps - stamps[0]))), 1)
