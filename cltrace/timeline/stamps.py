"""Faults of device stamps that show without any clock fit.

Drivers report zeros, stamps that run backwards, and stamps that are made up: Mesa's rusticl gives 0, 1,
2 and 3 for every command. `timeline.clocks` finds the stamps that contradict the host's clock.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.kinds import StampFault
from cltrace.timeline.columns import Bools, Int64s

STAGES: Final = ("queued", "submit", "start", "end")

_MIN_STAMP_NS: Final = 1000
"""A counter that runs since the machine was switched on shows more than a microsecond."""
_MAX_EXCESS_NS: Final = 3600e9
_MAX_STILL_NS: Final = 1_000_000
"""A clock that shows the same value after a millisecond does not run."""


def stamp_columns(commands: Mapping[str, Int64s]) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Return QUEUED, SUBMIT, START and END of commands."""
    queued, submit, start, end = (commands[f"{stage}_device_ns"] for stage in STAGES)
    return queued, submit, start, end


def find_intrinsic_faults(commands: Mapping[str, Int64s], has_stamps: Bools) -> Int64s:
    """Return the `StampFault` bits of each command of one device, given in the order of their calls."""
    queued, submit, start, end = stamp_columns(commands)
    faults = np.zeros(len(queued), np.int64)
    is_zero = (queued == 0) | (submit == 0) | (start == 0) | (end == 0)
    is_reversed = (submit < queued) | (start < submit) | (end < start)
    faults[is_zero] |= StampFault.ZERO
    faults[is_reversed] |= StampFault.REVERSED
    faults[_is_made_up(commands, has_stamps)] |= StampFault.MADE_UP
    faults[_is_too_long(commands)] |= StampFault.FOREIGN
    faults[~has_stamps] = 0
    return faults


def _is_too_long(commands: Mapping[str, Int64s]) -> Bools:
    """Return a mask of commands that took an hour more on the device than the host's whole record."""
    queued, _, _, end = (column.astype(np.float64) for column in stamp_columns(commands))
    times = (commands["enter_host_ns"], commands["return_host_ns"])
    record_ns = float(times[1].max(initial=0)) - float(times[0].min(initial=0))
    is_too_long: Bools = end - queued > record_ns + _MAX_EXCESS_NS
    return is_too_long


def _is_made_up(commands: Mapping[str, Int64s], has_stamps: Bools) -> Bools:
    """Return a mask of stamps near zero, and of stamps that repeat although time has passed."""
    queued, _, _, end = stamp_columns(commands)
    is_made_up = has_stamps & (queued >= 0) & (end < _MIN_STAMP_NS)
    stamped = np.flatnonzero(has_stamps)
    enter = commands["enter_host_ns"][stamped]
    is_still = (
        (np.diff(end[stamped]) == 0)
        & (np.diff(queued[stamped]) == 0)
        & (np.diff(enter) > _MAX_STILL_NS)
    )
    is_made_up[stamped[1:][is_still]] = True
    is_made_up[stamped[:-1][is_still]] = True
    return is_made_up


def find_quantum_ns(commands: Mapping[str, Int64s], usable: Int64s) -> int:
    """Return the step of the device's clock: the greatest common divisor of all differences, or 1."""
    stamps = np.concatenate([column[usable] for column in stamp_columns(commands)])
    if len(stamps) < 2:
        return 1
    return max(int(np.gcd.reduce(np.abs(stamps - stamps[0]))), 1)
