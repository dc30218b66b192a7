"""Parts of a launch's time that few costs decide, kept for a fit that changes one cost at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.demand.caches import CacheSize, lost_share, shared_sectors
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.operations import Pipe
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.pipe_times import pipe_times


@dataclass(frozen=True, slots=True)
class NearMisses:
    """Misses of the near cache, per region of a launch's traffic.

    `sectors` are those requested from the shared cache, `lost_shares` the shares of a warp's repeated
    reads of a line that miss.
    """

    sectors: Sequence[float]
    lost_shares: Sequence[float]

    @classmethod
    def of(cls, demand: Demand, near: CacheSize) -> "NearMisses":
        """Return the misses of a launch in a cache."""
        return cls(
            [shared_sectors(region, demand, near) for region in demand.traffic],
            [lost_share(region, demand, near) for region in demand.traffic],
        )


class KeptParts:
    """The last pipes and near misses of one launch, computed again when their costs change."""

    def __init__(self, demand: Demand) -> None:
        self._demand: Final = demand
        self._near: CacheSize | None = None
        self._misses = NearMisses((), ())
        self._operations: object = None
        self._pipe_key = (0.0, 0.0)
        self._pipes: Mapping[Pipe, float] = {}

    def near_misses(self, costs: Costs) -> NearMisses:
        """Return the misses of the near cache."""
        near = CacheSize(costs["l1 size"], costs["l1 sharpness"])
        if near != self._near:
            self._near, self._misses = near, NearMisses.of(self._demand, near)
        return self._misses

    def pipes(self, costs: Costs) -> Mapping[Pipe, float]:
        """Return the time of each pipe by itself, in ns."""
        key = (costs["p pipes"], costs["slot"])
        if costs.operations is not self._operations or key != self._pipe_key:
            self._pipes = pipe_times(self._demand, costs)
            self._operations, self._pipe_key = costs.operations, key
        return self._pipes
