"""What a channel tells, as means of power over stretches of time: unwrapped, without gaps.

A counter's steps and a meter's samples become the same thing here: between two times the power was so
much in the mean. What is not known is left out, never filled in.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.power import PowerChannel, Quantity, SampleFlag
from cltrace.timeline.clock_fit.points import Bools, Int64s

Floats = NDArray[np.float64]

_S: Final = 1e-9
_US_S: Final = 1e-6
_LONGEST_GAP: Final = 5.0
"""Samples further apart than so many times the usual are a gap."""
_MOST_W: Final = 1e5
"""A counter that tells more began anew, or is another one's; a meter that does is out of order."""
_MOST_TURNING_W: Final = 5e3
"""No counter that turns round measures more."""
_UNIFORM: Final = 12**0.5


@dataclass(frozen=True, slots=True)
class Observations:
    """Means of power. Shape (n,) each, ascending; times in s on the trace's axis.

    `power_w` is the mean from `begin_s` to `end_s`, known to `sigma_w` as far as steps and times tell.
    `span_s` is the time that an observation stands for when energy is added up: they do not overlap.
    """

    begin_s: Floats
    end_s: Floats
    power_w: Floats
    sigma_w: Floats
    span_s: Floats

    def __len__(self) -> int:
        return len(self.power_w)

    @property
    def energy_j(self) -> float:
        """The energy of all of them."""
        return float((self.power_w * self.span_s).sum())

    def during_j(self, begin_s: float, end_s: float) -> float:
        """The energy from one time to another, as far as it was observed."""
        first = np.maximum(self.end_s - self.span_s, begin_s)
        last = np.minimum(self.end_s, end_s)
        return float((self.power_w * np.maximum(last - first, 0.0)).sum())

    def chosen(self, where: Bools) -> "Observations":
        """Some of them."""
        columns = (self.begin_s, self.end_s, self.power_w, self.sigma_w, self.span_s)
        return Observations(*(column[where] for column in columns))


NOTHING: Final = Observations(*(np.zeros(0) for _ in range(5)))


def unwrapped(raw: Int64s, modulus: int | None, restarted: Bools) -> tuple[Int64s, Bools]:
    """Steps that a counter made between each two readings, and which of these are not known.

    A counter that went back began anew after `modulus`; without one, or where it was restarted, what it
    did meanwhile is not known. Raises: `ValueError` for a modulus below 1.
    """
    if modulus is not None and modulus < 1:
        raise ValueError(f"a counter begins anew after {modulus} steps")
    steps = np.diff(raw)
    is_back = steps < 0
    if modulus is not None:
        steps = np.where(is_back, steps + modulus, steps)
    unknown: Bools = (steps < 0) | restarted[1:]
    return np.where(unknown, 0, steps), unknown


def observations(
    channel: PowerChannel, time_ns: Int64s, raw: Int64s, within_ns: Int64s, flags: Int64s
) -> Observations:
    """What the samples of a channel tell. `time_ns` is on the trace's axis; samples come in any order.

    Those that were doubtful are left out.
    """
    is_good = flags & int(SampleFlag.DOUBTFUL) == 0
    order = np.argsort(time_ns[is_good], kind="stable")
    time_ns, raw, within_ns, flags = (
        column[is_good][order] for column in (time_ns, raw, within_ns, flags)
    )
    _, first = np.unique(time_ns, return_index=True)
    time_ns, raw, within_ns, flags = (one[first] for one in (time_ns, raw, within_ns, flags))
    if len(time_ns) < 2:
        return NOTHING
    if channel.quantity == Quantity.ENERGY:
        return _of_counter(channel, time_ns, raw, within_ns, flags)
    return _of_meter(channel, time_ns, raw, flags)


def _of_meter(channel: PowerChannel, time_ns: Int64s, raw: Int64s, flags: Int64s) -> Observations:
    """Samples of power: each is the mean of its window, or of the time since the one before.

    What cannot be, as less than nothing, is left out.
    """
    time_s = time_ns.astype(np.float64) * _S
    apart = np.diff(time_s)
    usual = float(np.median(apart))
    is_gap = (apart > _LONGEST_GAP * usual) | (flags[1:] & int(SampleFlag.LOST) != 0)
    span: Floats = np.concatenate([[usual], np.where(is_gap, usual, apart)])
    window = np.full(len(time_s), channel.window_s) if channel.window_s else span
    power = raw.astype(np.float64) * channel.unit_per_step
    quantum = channel.quantum or channel.unit_per_step
    sigma = np.full(len(power), quantum / _UNIFORM)
    found = Observations(time_s - window, time_s, power, sigma, span)
    return found.chosen((power >= 0) & (power < _MOST_W))


def _of_counter(
    channel: PowerChannel, time_ns: Int64s, raw: Int64s, within_ns: Int64s, flags: Int64s
) -> Observations:
    """Readings of a counter: the mean of power between two of its steps.

    A counter that is read more often than it moves shows when it moved, up to the time between reads.
    """
    steps, unknown = unwrapped(raw, channel.modulus_steps, flags & int(SampleFlag.RESTARTED) != 0)
    moved = np.flatnonzero((steps > 0) | unknown) + 1
    if len(moved) < 2:
        return NOTHING
    time_s = time_ns.astype(np.float64) * _S
    read_apart = np.diff(time_s)[moved - 1]
    # It moved at some time since the read before; where it moves at every read that is its time.
    is_slow = np.median(np.diff(moved)) > 1.5
    when: Floats = time_s[moved] - (read_apart / 2 if is_slow else 0.0)
    edge = (read_apart / _UNIFORM if is_slow else 0.0) + within_ns[moved] * _S + _update_s(channel)
    total = np.concatenate([[0], np.cumsum(steps)])
    energy = np.diff(total[moved]) * channel.unit_per_step
    broken = np.concatenate([[0], np.cumsum(unknown)])
    is_known = np.diff(broken[moved]) == 0
    span = np.diff(when)
    power = energy / np.maximum(span, _S)
    # A step back that would be so much was a reset, and what is longer than a turn may hide some.
    turned = np.concatenate([[0], np.cumsum(np.diff(raw) < 0)])
    is_known &= power < np.where(np.diff(turned[moved]) > 0, _MOST_TURNING_W, _MOST_W)
    if channel.modulus_steps is not None:
        is_known &= span < channel.modulus_steps * channel.unit_per_step / _MOST_TURNING_W
    mean_edge = np.hypot(edge[1:], edge[:-1])
    quantum = channel.quantum or channel.unit_per_step
    sigma = np.hypot(power * mean_edge, quantum / _UNIFORM * 2**0.5) / np.maximum(span, _S)
    found = Observations(when[:-1], when[1:], power, sigma, span)
    return found.chosen(is_known)


def _update_s(channel: PowerChannel) -> float:
    """How much later than its time a counter may show a value, in the mean: RAPL's edges."""
    period = channel.period_s or 0.0
    return period / _UNIFORM if period < 10 * 1e-3 else _US_S
