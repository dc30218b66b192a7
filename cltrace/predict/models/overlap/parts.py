"""The parts of a launch's time, and their overlap."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cltrace.kernels.demand.operations import Pipe
from cltrace.predict.models.overlap.arrivals import ArrivalTimes


def overlap(times: Iterable[float], exponent: float) -> float:
    """Return the p-norm of times: their sum for 1, the longest of them for infinity."""
    positive = [time for time in times if time > 0.0]
    longest = max(positive, default=0.0)
    if not longest:
        return 0.0
    total: float = sum((time / longest) ** exponent for time in positive)
    return float(longest * total ** (1.0 / exponent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Time that each part of a device takes for a launch by itself, in ns; `total_ns` is that of all.

    `delay` is the time that it takes longer for the state of the device.
    """

    launch: float
    delay: ArrivalTimes
    dispatch: float
    pipes: Mapping[Pipe, float]
    chains: float
    local: float
    l1: float
    l2: float
    memory: float
    latency: float
    atomics: float
    total_ns: float

    def parts(self) -> Mapping[str, float]:
        """Return the parts by name."""
        return {
            "launch": self.launch,
            "first launch": self.delay.first_ns,
            "idle device": self.delay.idle_ns,
            "changed images": self.delay.images_ns,
            "dispatch": self.dispatch,
            **{str(pipe): time for pipe, time in self.pipes.items()},
            "chains of operations": self.chains,
            "local memory and barriers": self.local,
            "L1": self.l1,
            "L2": self.l2,
            "memory": self.memory,
            "latency": self.latency,
            "atomics": self.atomics,
        }
