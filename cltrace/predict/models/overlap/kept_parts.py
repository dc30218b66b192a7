"""Parts of a launch's time, kept while the costs that they are computed from stay the same.

A search changes one cost at a time, and most parts of most launches do not depend on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, TypeAlias, TypeVar, cast

from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.operations import Pipe
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.parts import overlap
from cltrace.predict.models.overlap.pipe_times import pipe_times
from cltrace.predict.models.prediction import Cache

PipeTimes: TypeAlias = Mapping[Pipe, float]
Constants: TypeAlias = Mapping[str, float]
"""Costs of launches and memory by name."""
_Part = TypeVar("_Part")


class KeptParts:
    """The parts of one launch that were computed last, for a state of the caches."""

    def __init__(self, demand: Demand, cache: Cache = Cache.WARM) -> None:
        self.demand: Final = demand
        self.cache: Final = cache
        self._parts: Final[dict[object, _KeptPart]] = {}
        self._operations: object = None
        self._pipe_key = (0.0, 0.0)
        self._pipes: tuple[PipeTimes, float] = ({}, 0.0)
        self._waits: object = None
        self._chains = 0.0

    def part(
        self, compute: Callable[["KeptParts", Constants], _Part], constants: Constants
    ) -> _Part:
        """Return a part that `compute` returns, which does so again if a cost changed that it read.

        It may ask for other parts.
        """
        kept = self._parts.get(compute)
        if kept is not None and kept.read(constants) == kept.costs:
            return cast("_Part", kept.part)
        noted = _NotedConstants(constants)
        part = compute(self, noted)
        read = itemgetter(*noted) if noted else _read_nothing
        self._parts[compute] = _KeptPart(read, read(constants), part)
        return part

    def pipes(self, costs: Costs) -> tuple[PipeTimes, float]:
        """Return the time of each pipe by itself, and that of all of them, in ns."""
        exponent = costs["p pipes"]
        key = (exponent, costs["slot"])
        if costs.operations is not self._operations or key != self._pipe_key:
            times = pipe_times(self.demand, costs)
            self._pipes = times, overlap(times.values(), exponent)
            self._operations, self._pipe_key = costs.operations, key
        return self._pipes

    def chains(self, costs: Costs) -> float:
        """Return the time of operations that wait for each other's results, in ns."""
        if costs.waits is not self._waits:
            waits = (wait.per_warp * costs.waits.get(wait.name, 0.0) for wait in self.demand.waits)
            self._waits, self._chains = costs.waits, self.demand.serial_warps * sum(waits)
        return self._chains


@dataclass(frozen=True, slots=True)
class _KeptPart:
    """A part, and the costs that `read` returns of those from which it was computed."""

    read: Callable[[Constants], object]
    costs: object
    part: object


def _read_nothing(constants: Constants) -> None:
    """Read no cost."""


class _NotedConstants(dict[str, float]):
    """The costs that were read of others."""

    def __init__(self, constants: Constants) -> None:
        super().__init__()
        self._constants = constants

    def __missing__(self, name: str) -> float:
        cost = self[name] = self._constants[name]
        return cost
