"""Predicted times of transfers between host and device, from a calibration of each kind."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.events.workloads import Direction, HostMemory, Transfer
from cltrace.predict.curves import fit_rising
from cltrace.predict.models.prediction import Part, Prediction
from cltrace.profile import DeviceProfile, Point

_SPREAD: Final = 1.25
"""Factor of the interval's bounds: drivers choose their methods by more than size."""
_MIN_ERROR: Final = 0.02
"""Relative error that even a settled time has, added to its standard error in weights."""


@dataclass(frozen=True, slots=True)
class TransferModel:
    """Fitted times by direction and host memory: pairs of bytes and ns, in order of the bytes.

    The times of a curve never fall: a larger transfer takes at least as long. Times between measured
    sizes are interpolated on logarithmic scales. Beyond the largest size they are in proportion to it.
    Pöppl 2014, 5.1, fits three lines instead.
    """

    curves: Mapping[tuple[Direction, HostMemory], Sequence[tuple[float, float]]]

    @classmethod
    def of(cls, profile: DeviceProfile) -> "TransferModel":
        """Return the model of a device. Raises: `ProfileError` if none were measured."""
        curves = {}
        for memory in HostMemory:
            for direction in Direction:
                curve = _rising_curve(profile.points("transfers", f"{memory} {direction}"))
                if curve:
                    curves[direction, memory] = curve
        if not curves:
            raise ProfileError("the calibration has no transfers")
        return cls(curves)

    def predict(self, transfer: Transfer) -> Prediction:
        """Predict the time from the host's call to the end.

        Raises: `ProfileError` if no transfer of the direction and host memory was measured.
        """
        curve = self.curves.get((transfer.direction, transfer.memory))
        if not curve:
            raise ProfileError(
                f"no transfer {transfer.direction} of {transfer.memory} memory was measured"
            )
        time_ns = _interpolate(curve, max(float(transfer.size_bytes), 1.0))
        call_ns = min(time_ns, curve[0][1])
        parts = (Part("call", call_ns), Part("bytes", time_ns - call_ns))
        limiter = max(parts, key=lambda part: part.time_ns).name
        return Prediction(time_ns, limiter, parts, (time_ns / _SPREAD, time_ns * _SPREAD))


def _rising_curve(points: Sequence[Point]) -> Sequence[tuple[float, float]]:
    """Return pairs of bytes and ns whose times never fall, as near to the medians as that allows.

    Where medians fall, the mean of their logarithms stands for all of them, and precise ones weigh more.
    """
    usable = sorted(
        (point for point in points if point.x > 0 and point.median_ns > 0 and point.mean_ns > 0),
        key=lambda point: point.x,
    )
    logs = fit_rising(
        [math.log(point.median_ns) for point in usable],
        [
            1.0 / ((point.standard_error_ns / point.mean_ns) ** 2 + _MIN_ERROR**2)
            for point in usable
        ],
    )
    return [(point.x, math.exp(log)) for point, log in zip(usable, logs, strict=True)]


def _interpolate(curve: Sequence[tuple[float, float]], size: float) -> float:
    largest, slowest = curve[-1]
    if size >= largest:
        return slowest * size / largest
    at = bisect_left(curve, (size,))
    if at == 0:
        return curve[0][1]
    (low, before), (high, after) = curve[at - 1], curve[at]
    share = math.log(size / low) / math.log(high / low)
    return min(max(float(before * (after / before) ** share), before), after)
