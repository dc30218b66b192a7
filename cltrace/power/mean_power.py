"""Mean power between two times, from the samples of a channel: unwrapped, without gaps.

Steps of an energy counter and samples of a power meter both become observations: the mean power between
two times. Unknown power is left out, never filled in.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.power import PowerChannel, Quantity, SampleFlag
from cltrace.timeline.columns import Bools, Int64s

Floats = NDArray[np.float64]

_S: Final = 1e-9
_US_S: Final = 1e-6
_MAX_SPACINGS: Final = 5.0
"""Samples that are further apart than this multiple of the median spacing have a gap between them."""
_COVERED_SHARE: Final = 0.9
"""Share of an observation's time for which another channel must have readings to be compared with it."""
_MAX_W: Final = 1e5
"""A counter that shows more power was reset, or belongs to another sensor; such a meter is defective."""
_MAX_WRAPPED_W: Final = 5e3
"""Maximum power that a counter with a modulus measures."""
_UNIFORM: Final = 12**0.5
"""Width of a uniform distribution in standard deviations."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Means of power. Shape (n,) each, ascending; times in s on the trace's axis.

    `power_w` is the mean from `begin_s` to `end_s`, and `sigma_w` its standard deviation from
    quantisation and the uncertainty of the times. `span_s` is the time for which an observation counts
    when energy is summed: spans do not overlap.
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
        """Total energy."""
        return float((self.power_w * self.span_s).sum())

    def energy_between_j(self, begin_s: float, end_s: float) -> float:
        """Return the observed energy between two times."""
        first = np.maximum(self.end_s - self.span_s, begin_s)
        last = np.minimum(self.end_s, end_s)
        return float((self.power_w * np.maximum(last - first, 0.0)).sum())

    def select(self, mask: Bools) -> "Observations":
        """Return the observations in which `mask` is true."""
        columns = (self.begin_s, self.end_s, self.power_w, self.sigma_w, self.span_s)
        return Observations(*(column[mask] for column in columns))

    def is_covered_by(self, other: "Observations") -> Bools:
        """Return a mask of the observations in nearly all of whose time another channel has some."""
        if not len(other):
            return np.zeros(len(self), np.bool_)
        edges = np.stack([other.end_s - other.span_s, other.end_s], axis=1).ravel()
        covered_s = np.repeat(np.concatenate([[0.0], np.cumsum(other.span_s)]), 2)[1:-1]
        since_s = np.interp(self.end_s - self.span_s, edges, covered_s)
        common_s = np.interp(self.end_s, edges, covered_s) - since_s
        is_covered: Bools = common_s >= _COVERED_SHARE * self.span_s
        return is_covered


NO_OBSERVATIONS: Final = Observations(*(np.zeros(0) for _ in range(5)))


def unwrap(raw: Int64s, modulus: int | None, restarted: Bools) -> tuple[Int64s, Bools]:
    """Return the steps of a counter between adjacent readings, and a mask of the unknown ones.

    A counter that decreased wrapped around at `modulus`. Without a modulus, or where the counter was
    restarted, its steps are unknown. Raises: `ValueError` for a modulus below 1.
    """
    if modulus is not None and modulus < 1:
        raise ValueError(f"the modulus of a counter is {modulus} steps: it must be 1 or more")
    steps = np.diff(raw)
    decreased = steps < 0
    if modulus is not None:
        steps = np.where(decreased, steps + modulus, steps)
    unknown: Bools = (steps < 0) | restarted[1:]
    return np.where(unknown, 0, steps), unknown


def compute_observations(
    channel: PowerChannel, time_ns: Int64s, raw: Int64s, within_ns: Int64s, flags: Int64s
) -> Observations:
    """Return the mean powers from the samples of a channel, without the doubtful samples.

    `time_ns` is on the trace's axis. The samples may be in any order.
    """
    is_good = flags & int(SampleFlag.DOUBTFUL) == 0
    order = np.argsort(time_ns[is_good], kind="stable")
    time_ns, raw, within_ns, flags = (
        column[is_good][order] for column in (time_ns, raw, within_ns, flags)
    )
    _, first = np.unique(time_ns, return_index=True)
    time_ns, raw, within_ns, flags = (column[first] for column in (time_ns, raw, within_ns, flags))
    if len(time_ns) < 2:
        return NO_OBSERVATIONS
    if channel.quantity == Quantity.ENERGY:
        return _observe_counter(channel, time_ns, raw, within_ns, flags)
    return _observe_meter(channel, time_ns, raw, flags)


def _observe_meter(
    channel: PowerChannel, time_ns: Int64s, raw: Int64s, flags: Int64s
) -> Observations:
    """Return samples of power as means over the channel's window, or since the previous sample.

    Impossible values, for example negative power, are left out.
    """
    time_s = time_ns.astype(np.float64) * _S
    spacing = np.diff(time_s)
    usual = float(np.median(spacing))
    is_gap = (spacing > _MAX_SPACINGS * usual) | (flags[1:] & int(SampleFlag.LOST) != 0)
    span: Floats = np.concatenate([[usual], np.where(is_gap, usual, spacing)])
    window = np.full(len(time_s), channel.window_s) if channel.window_s else span
    power = raw.astype(np.float64) * channel.unit_per_step
    quantum = channel.quantum or channel.unit_per_step
    sigma = np.full(len(power), quantum / _UNIFORM)
    observations = Observations(time_s - window, time_s, power, sigma, span)
    return observations.select((power >= 0) & (power < _MAX_W))


def _observe_counter(
    channel: PowerChannel, time_ns: Int64s, raw: Int64s, within_ns: Int64s, flags: Int64s
) -> Observations:
    """Return the mean powers between the updates of a counter.

    Where a counter is read more often than it is updated, the time of an update is known to within the
    time between two reads.
    """
    steps, unknown = unwrap(raw, channel.modulus_steps, flags & int(SampleFlag.RESTARTED) != 0)
    updated = np.flatnonzero((steps > 0) | unknown) + 1
    if len(updated) < 2:
        return NO_OBSERVATIONS
    time_s = time_ns.astype(np.float64) * _S
    read_spacing = np.diff(time_s)[updated - 1]
    # The update was between two reads. A counter that changes at every read has the time of the read.
    is_slow = np.median(np.diff(updated)) > 1.5
    update_s: Floats = time_s[updated] - (read_spacing / 2 if is_slow else 0.0)
    sigma_s = (
        (read_spacing / _UNIFORM if is_slow else 0.0)
        + within_ns[updated] * _S
        + _update_sigma_s(channel)
    )
    total = np.concatenate([[0], np.cumsum(steps)])
    energy = np.diff(total[updated]) * channel.unit_per_step
    unknown_count = np.concatenate([[0], np.cumsum(unknown)])
    is_valid = np.diff(unknown_count[updated]) == 0
    span = np.diff(update_s)
    power = energy / np.maximum(span, _S)
    # A decrease that implies more power was a reset. A span longer than a wrap may hide further wraps.
    wraps = np.concatenate([[0], np.cumsum(np.diff(raw) < 0)])
    is_valid &= power < np.where(np.diff(wraps[updated]) > 0, _MAX_WRAPPED_W, _MAX_W)
    if channel.modulus_steps is not None:
        is_valid &= span < channel.modulus_steps * channel.unit_per_step / _MAX_WRAPPED_W
    span_sigma_s = np.hypot(sigma_s[1:], sigma_s[:-1])
    quantum = channel.quantum or channel.unit_per_step
    sigma = np.hypot(power * span_sigma_s, quantum / _UNIFORM * 2**0.5) / np.maximum(span, _S)
    observations = Observations(update_s[:-1], update_s[1:], power, sigma, span)
    return observations.select(is_valid)


def _update_sigma_s(channel: PowerChannel) -> float:
    """Return the standard deviation of an update's time: RAPL shows a value up to a period late."""
    period = channel.period_s or 0.0
    return period / _UNIFORM if period < 10 * 1e-3 else _US_S
