"""Predicted times of transfers between host and device, from a calibration of each kind."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.events.workloads import Direction, HostMemory, Transfer
from cltrace.predict.models.prediction import Part, Prediction
from cltrace.profile import DeviceProfile

_SPREAD: Final = 1.25
"""Factor of the interval's bounds: drivers choose their methods by more than size."""


@dataclass(frozen=True, slots=True)
class TransferModel:
    """Measured times by direction and host memory: pairs of bytes and ns, in order of the bytes.

    Times between measured sizes are interpolated on logarithmic scales. Beyond the largest size they are
    in proportion to it. Pöppl 2014, 5.1, fits three lines instead.
    """

    curves: Mapping[tuple[Direction, HostMemory], Sequence[tuple[float, float]]]

    @classmethod
    def of(cls, profile: DeviceProfile) -> "TransferModel":
        """Return the model of a device. Raises: `ProfileError` if none were measured."""
        curves = {}
        for memory in HostMemory:
            for direction in Direction:
                times = [
                    (point.x, point.median_ns)
                    for point in profile.points("transfers", f"{memory} {direction}")
                    if point.x > 0 and point.median_ns > 0
                ]
                if times:
                    curves[direction, memory] = sorted(times)
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


def _interpolate(curve: Sequence[tuple[float, float]], size: float) -> float:
    largest, slowest = curve[-1]
    if size >= largest:
        return slowest * size / largest
    at = bisect_left(curve, (size,))
    if at == 0:
        return curve[0][1]
    (low, before), (high, after) = curve[at - 1], curve[at]
    share = math.log(size / low) / math.log(high / low)
    return float(before * (after / before) ** share)
