"""Launches that run beside each other: what each part of the device supplies is shared by demand.

Where the launches ask a part for more than it supplies, it serves all of them more slowly by the same
factor, each in proportion to its demand; a launch that waits for one part then asks the others for less.
The factors and the durations are solved together.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.demand.caches import CacheSize
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.traffic import Traffic
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.kept_parts import KeptParts
from cltrace.predict.models.overlap.near_misses import NearMisses
from cltrace.predict.models.overlap.parts import Times
from cltrace.predict.models.overlap.times import times_again, times_of

_ROUNDS: Final = 200
_STEP: Final = 0.7
"""Exponent of the correction of a factor in a round; 1 would swing about the solution."""
_PRECISE: Final = 1e-6
_AS_CALIBRATED: Final[Mapping[str, float]] = {}


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A part of a device that launches share.

    `constants` are the names of its costs in the overlap model, `time_ns` returns for how long a launch
    keeps it busy.
    """

    name: str
    constants: tuple[str, ...]
    time_ns: Callable[[Times], float]


def _pipes_ns(times: Times) -> float:
    return max(times.pipes.values(), default=0.0)


_MEMORY: Final = SharedPart(
    "memory",
    ("byte read", "byte written", "scattered read", "scattered written"),
    lambda times: times.memory,
)
_L2: Final = SharedPart(
    "L2", ("sector read", "sector written", "sector part written"), lambda times: times.l2
)
_ATOMICS: Final = SharedPart("atomics", ("atomic",), lambda times: times.atomics)
_L1: Final = SharedPart(
    "L1", ("bank", "line", "line missed", "line written", "texel"), lambda times: times.l1
)
_LOCAL: Final = SharedPart("local memory", ("local", "barrier"), lambda times: times.local)
_PIPES: Final = SharedPart("pipes", ("slot",), _pipes_ns)
_LINES: Final = SharedPart("memory", ("line memory", "jump memory"), lambda times: times.memory)
"""The memory of a CPU."""


def shared_parts(demand: Demand, *, has_own_units: bool) -> tuple[SharedPart, ...]:
    """Return the parts of a device that launches share, on compute units of their own or on the same."""
    if demand.has_item_loops:
        return (_LINES,)
    of_device = (_MEMORY, _L2, _ATOMICS)
    return of_device if has_own_units else (*of_device, _L1, _LOCAL, _PIPES)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Things that launches beside each other have of their own, or share: compute units, memory."""

    has_own_units: bool
    is_memory_shared: bool


@dataclass(frozen=True, slots=True)
class SharedTimes:
    """Durations of launches beside each other in ns, in their order, and those of each alone.

    `factors` are how many times longer each part takes, by name.
    """

    alone_ns: tuple[float, ...]
    beside_ns: tuple[float, ...]
    factors: Mapping[str, float]


def solve_shares(
    demands: Sequence[Demand],
    costs: Costs,
    around: Neighbourhood,
    supplies: Mapping[str, float] = _AS_CALIBRATED,
) -> SharedTimes:
    """Return the durations of launches that run beside each other all the time.

    `supplies` are what parts supply to several launches, by what the costs say; 1 for those not in it.
    """
    parts = shared_parts(demands[0], has_own_units=around.has_own_units)
    supply = [supplies.get(part.name, 1.0) for part in parts]
    alone_ns = tuple(_alone_ns(demand, costs, parts, supply) for demand in demands)
    own_costs = [costs] * len(demands)
    if not around.is_memory_shared:
        own_costs = cache_shares(demands, alone_ns, costs)
        demands = refetching(demands, alone_ns, costs)
    whole = [times_of(demand, own) for demand, own in zip(demands, own_costs, strict=True)]
    factors, durations = _solve(parts, supply, demands, own_costs, whole)
    if not around.has_own_units:
        share = _share_units if demands[0].has_item_loops else take_turns
        durations = share(demands, whole, durations)
    named = {part.name: factor for part, factor in zip(parts, factors, strict=True)}
    return SharedTimes(alone_ns, tuple(durations), named)


def _alone_ns(
    demand: Demand, costs: Costs, parts: Sequence[SharedPart], supply: Sequence[float]
) -> float:
    return _solve(parts, supply, [demand], [costs], [times_of(demand, costs)])[1][0]


def _solve(
    parts: Sequence[SharedPart],
    supply: Sequence[float],
    demands: Sequence[Demand],
    own_costs: Sequence[Costs],
    whole: Sequence[Times],
) -> tuple[list[float], list[float]]:
    """Return the factors of parts, and the durations, at which no part is asked for more than it has.

    `whole` are the times of the launches where they have all that the parts supply.
    """
    kept = [KeptParts(demand) for demand in demands]
    busy = [[part.time_ns(times) for times in whole] for part in parts]
    factors = [1.0] * len(parts)
    durations = [times.total_ns for times in whole]
    for _ in range(_ROUNDS):
        changed = [
            max(factor * (_use(own, durations) / most) ** _STEP, 1.0)
            for factor, own, most in zip(factors, busy, supply, strict=True)
        ]
        change = max(abs(math.log(new / old)) for new, old in zip(changed, factors, strict=True))
        if change < _PRECISE:
            break
        factors = changed
        durations = [
            times_again(parts_kept, _slowed(own, parts, factors)).total_ns
            for own, parts_kept in zip(own_costs, kept, strict=True)
        ]
    return factors, durations


def _use(busy_ns: Sequence[float], durations_ns: Sequence[float]) -> float:
    """Return the use of a part by all launches: 1 for all that it supplies."""
    use = sum(busy / duration for busy, duration in zip(busy_ns, durations_ns, strict=True))
    return max(use, 1e-9)


def _slowed(costs: Costs, parts: Sequence[SharedPart], factors: Sequence[float]) -> Costs:
    """Return costs of parts that serve others, too, and take longer by a factor."""
    slower: dict[str, float] = {}
    operations = 1.0
    for part, factor in zip(parts, factors, strict=True):
        slower |= {name: costs[name] * factor for name in part.constants if name in costs.constants}
        if part is _PIPES:
            operations = factor
    changed = costs.with_constants(slower)
    return changed if operations == 1.0 else changed.with_slower_operations(operations)


def cache_shares(
    demands: Sequence[Demand], durations_ns: Sequence[float], costs: Costs
) -> list[Costs]:
    """Return each launch's costs with the part of the shared cache that is left to it.

    A line stays if what all touch until the launch comes back to it fits into the cache. Others touch
    as much of their memory as the time between two of its passes is of the time of a pass of theirs.
    """
    touched = [demand.footprint_bytes for demand in demands]
    passes_ns = [
        duration / _passes(demand) for demand, duration in zip(demands, durations_ns, strict=True)
    ]
    name = "l3 size" if demands[0].has_item_loops else "l2 size"
    left = []
    for number, (own_bytes, own_ns) in enumerate(zip(touched, passes_ns, strict=True)):
        others = sum(
            size * min(own_ns / pass_ns, 1.0)
            for other, (size, pass_ns) in enumerate(zip(touched, passes_ns, strict=True))
            if other != number
        )
        share = own_bytes / (own_bytes + others) if own_bytes else 1.0
        left.append(costs.with_constants({name: costs[name] * share}))
    return left


def refetching(
    demands: Sequence[Demand], durations_ns: Sequence[float], costs: Costs
) -> Sequence[Demand]:
    """Return the demands with the sectors that launches lose from the shared cache to each other.

    Sectors at random places are lost in proportion to what does not fit of all that is touched until they
    are touched again; others are read again soon.
    """
    if demands[0].has_item_loops:
        return demands
    touched = [
        [_Touched.of(region, demand, duration) for region in demand.traffic]
        for demand, duration in zip(demands, durations_ns, strict=True)
    ]
    everything = [region for own in touched for region in own]
    near = CacheSize(costs["l1 size"], costs["l1 sharpness"])
    changed = []
    for demand, own in zip(demands, touched, strict=True):
        requested = NearMisses.of(demand, near).sectors
        traffic = []
        for region, sectors, place in zip(demand.traffic, requested, own, strict=True):
            lost = place.kept(own, costs["l2 size"]) - place.kept(everything, costs["l2 size"])
            scattered = region.scattered_sectors / max(region.launch_sectors, 1e-9)
            again = max(sectors - region.launch_sectors, 0.0) * lost * scattered
            traffic.append(replace(region, window_sectors=region.window_sectors + again))
        changed.append(replace(demand, traffic=tuple(traffic)))
    return changed


@dataclass(frozen=True, slots=True)
class _Touched:
    """Memory that a region of a launch touches, and the time in which it touches all of it once."""

    size_bytes: float
    pass_ns: float

    @classmethod
    def of(cls, region: Traffic, demand: Demand, duration_ns: float) -> "_Touched":
        passes = max(region.sectors / max(region.launch_sectors, 1e-9), 1.0)
        return cls(region.launch_sectors * demand.sector_bytes, duration_ns / passes)

    def kept(self, touched: Sequence["_Touched"], cache_bytes: float) -> float:
        """Return the share that a cache holds until it is touched again, beside all that is touched."""
        meanwhile = sum(each.size_bytes * min(self.pass_ns / each.pass_ns, 1.0) for each in touched)
        return min(cache_bytes / max(meanwhile, 1.0), 1.0)


def _passes(demand: Demand) -> float:
    """Return how many times a launch goes through the memory that it touches, at least 1."""
    moved = sum(region.sectors for region in demand.traffic) * demand.sector_bytes
    return max(moved / demand.footprint_bytes, 1.0) if demand.footprint_bytes else 1.0


def _share_units(
    demands: Sequence[Demand], whole: Sequence[Times], durations_ns: Sequence[float]
) -> list[float]:
    """Return durations of launches on the same cores of a CPU, which run one work-group at a time."""
    wanted = sum(demand.units for demand in demands) / demands[0].compute_units
    return [
        max(duration, max(wanted, 1.0) * times.total_ns)
        for duration, times in zip(durations_ns, whole, strict=True)
    ]


def take_turns(
    demands: Sequence[Demand], whole: Sequence[Times], durations_ns: Sequence[float]
) -> list[float]:
    """Return durations of launches on the same compute units, whose warps take turns to make requests.

    Where the requests ask for more than the levels beyond the near cache supply, each warp makes as many
    of them as any other, or as few as it wants: those that others answer soon wait for those that take
    long.
    """
    requests = [max(demand.requests / demand.warps, 1e-9) for demand in demands]
    service = [
        max(times.l2, times.memory, times.atomics) / number
        for times, number in zip(whole, requests, strict=True)
    ]
    wanted = [number / times.total_ns for number, times in zip(requests, whole, strict=True)]
    rate = _fair_rate(wanted, service)
    return [
        max(duration, number / rate)
        for duration, number in zip(durations_ns, requests, strict=True)
    ]


def _fair_rate(wanted: Sequence[float], service: Sequence[float]) -> float:
    """Return the rate that no launch exceeds, where all together ask for more than 1; else infinity."""
    left, weight = 1.0, sum(service)
    for rate, cost in sorted(zip(wanted, service, strict=True)):
        if rate * weight >= left:
            return left / weight
        left -= rate * cost
        weight -= cost
    return math.inf
