"""Faults of device stamps that show without any clock fit.

Drivers report zeros, stamps that run backwards, and stamps that are made up: Mesa's rusticl gives 0, 1,
2 and 3 for every command. `timeline.clocks` finds the stamps that contradict the host's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.kinds import StampFault
from cltrace.timeline.columns import Bools, Int64s
from cltrace.trace.commands import ABSENT

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


def has_stamps(commands: Mapping[str, Int64s]) -> Bools:
    """Return a mask of the commands that have all four stamps."""
    has_all = np.ones(len(commands["queued_device_ns"]), np.bool_)
    for stage in STAGES:
        has_all &= commands[f"{stage}_device_ns"] != ABSENT
    return has_all


def lacks_queueing(commands: Mapping[str, Int64s]) -> Bools:
    """Return a mask of the commands of which the driver stamped neither QUEUED nor SUBMIT.

    NVIDIA's driver does so with migrations, whose START and END are those of an earlier command. Such
    stamps tell nothing, so they contradict no clock.
    """
    queued, submit, _, _ = stamp_columns(commands)
    lacks: Bools = (queued == 0) & (submit == 0)
    return lacks


@dataclass(frozen=True, slots=True)
class StampMoment:
    """QUEUED and END of a command, and the entry of its call."""

    queued_device_ns: int
    end_device_ns: int
    enter_host_ns: int

    @classmethod
    def of(cls, commands: Mapping[str, Int64s], at: int) -> "StampMoment":
        """Return the moment of the command at a position."""
        return cls(*(int(commands[name][at]) for name in cls.__slots__))


def find_intrinsic_faults(
    commands: Mapping[str, Int64s],
    has_stamps: Bools,
    *,
    record_ns: float,
    before: StampMoment | None = None,
    after: StampMoment | None = None,
) -> Int64s:
    """Return the `StampFault` bits of commands of one device, given in the order of their calls.

    `record_ns` is the latest return of the device's calls, or the zero of the host's clock, minus their
    earliest entry, or that zero. `before` and `after` are the device's stamps before and after the
    commands.
    """
    queued, submit, start, end = stamp_columns(commands)
    faults = np.zeros(len(queued), np.int64)
    is_zero = (queued == 0) | (submit == 0) | (start == 0) | (end == 0)
    is_reversed = (submit < queued) | (start < submit) | (end < start)
    faults[is_zero] |= StampFault.ZERO
    faults[is_reversed] |= StampFault.REVERSED
    faults[_is_made_up(commands, has_stamps, before, after)] |= StampFault.MADE_UP
    is_too_long = end.astype(np.float64) - queued.astype(np.float64) > record_ns + _MAX_EXCESS_NS
    faults[is_too_long] |= StampFault.FOREIGN
    faults[lacks_queueing(commands)] = int(StampFault.ZERO)
    faults[~has_stamps] = 0
    return faults


def _is_made_up(
    commands: Mapping[str, Int64s],
    has_stamps: Bools,
    before: StampMoment | None,
    after: StampMoment | None,
) -> Bools:
    """Return a mask of stamps near zero, and of stamps that repeat although time has passed."""
    queued, _, _, end = stamp_columns(commands)
    is_made_up = has_stamps & (queued >= 0) & (end < _MIN_STAMP_NS)
    stamped = np.flatnonzero(has_stamps & ~lacks_queueing(commands))
    if not len(stamped):
        return is_made_up
    own = {name: commands[name][stamped] for name in StampMoment.__slots__}
    # At the ends a command without neighbours is compared with itself: no time has passed.
    first, last = before or StampMoment.of(own, 0), after or StampMoment.of(own, -1)
    steps = {
        name: np.diff(np.concatenate([[getattr(first, name)], column, [getattr(last, name)]]))
        for name, column in own.items()
    }
    is_still = (
        (steps["end_device_ns"] == 0)
        & (steps["queued_device_ns"] == 0)
        & (steps["enter_host_ns"] > _MAX_STILL_NS)
    )
    is_made_up[stamped[is_still[1:] | is_still[:-1]]] = True
    return is_made_up


class StampQuantum:
    """Step of a device's clock: the greatest common divisor of all differences of its stamps."""

    def __init__(self) -> None:
        self._first: np.int64 | None = None
        self._divisor = 0

    def add(self, commands: Mapping[str, Int64s], usable: Int64s) -> None:
        """Add the stamps of the usable commands."""
        for column in stamp_columns(commands):
            if self._divisor == 1 or not len(usable):
                return
            stamps = column[usable]
            if self._first is None:
                self._first = stamps[0]
            divisor = int(np.gcd.reduce(np.abs(stamps - self._first)))
            self._divisor = int(np.gcd(self._divisor, divisor))

    @property
    def value_ns(self) -> int:
        """The step; 1 if it is not known."""
        return max(self._divisor, 1)


def find_quantum_ns(commands: Mapping[str, Int64s], usable: Int64s) -> int:
    """Return the step of the device's clock: the greatest common divisor of all differences, or 1."""
    quantum = StampQuantum()
    quantum.add(commands, usable)
    return quantum.value_ns
