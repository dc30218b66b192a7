"""How long transfers between host and device take: from what a calibration measured of each kind."""

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
"""How much a transfer may take more or less: drivers choose their ways by more than size."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """Times by kind: pairs of bytes and ns, in the order of the bytes.

    Between measured sizes times are taken to grow evenly on logarithmic scales; beyond the largest in
    proportion. (Pöppl 2014, 5.1, has three lines for what these are many of.)
    """

    curves: Mapping[tuple[Direction, HostMemory], Sequence[tuple[float, float]]]

    @classmethod
    def of(cls, profile: DeviceProfile) -> "Transfers":
        """The transfers of a device. Raises: `ProfileError` if none were measured."""
        curves = {}
        for memory in HostMemory:
            for direction in Direction:
                known = profile.points("transfers", f"{memory} {direction}")
                points = [one for one in known if one.x > 0 and one.median_ns > 0]
                if points:
                    curves[direction, memory] = sorted((one.x, one.median_ns) for one in points)
        if not curves:
            raise ProfileError("the calibration has no transfers")
        return cls(curves)

    def predict(self, transfer: Transfer) -> Prediction:
        """How long it takes, from the host's call to the end. Raises: `ProfileError`."""
        curve = self.curves.get((transfer.direction, transfer.memory))
        if not curve:
            raise ProfileError(
                f"no transfer {transfer.direction} of {transfer.memory} memory was measured"
            )
        time_ns = _interpolated(curve, max(float(transfer.size_bytes), 1.0))
        least = min(time_ns, curve[0][1])
        parts = (Part("call", least), Part("bytes", time_ns - least))
        limiter = max(parts, key=lambda part: part.time_ns).name
        return Prediction(time_ns, limiter, parts, (time_ns / _SPREAD, time_ns * _SPREAD))


def _interpolated(curve: Sequence[tuple[float, float]], size: float) -> float:
    largest, slowest = curve[-1]
    if size >= largest:
        return slowest * size / largest
    at = bisect_left(curve, (size,))
    if at == 0:
        return curve[0][1]
    (low, before), (high, after) = curve[at - 1], curve[at]
    share = math.log(size / low) / math.log(high / low)
    return float(before * (after / before) ** share)
