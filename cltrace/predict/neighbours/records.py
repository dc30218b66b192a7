"""Launches beside others as models see them: durations alone, accesses, and demand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.branch_rules import BranchRule
from cltrace.kernels.counts.records import GLOBAL_SPACES
from cltrace.kernels.demand.caches import CacheSize
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.costs import Costs


class Reading(StrEnum):
    """Meaning of an access of memory."""

    ACCESSES = "accesses"
    """Loads and stores of work-items (Büsser 2018, 3.2)."""
    SECTORS = "sectors"
    """Sectors that the requests of warps touch."""
    MISSES = "misses"
    """Sectors that the caches do not hold, which memory moves."""


Accesses: TypeAlias = Mapping[Reading, float]
"""Accesses of a launch by reading."""


@dataclass(frozen=True, slots=True)
class Member:
    """A launch among others: its duration alone in ns, its accesses, and its demand.

    `by_branch_rule` has the accesses where a rule decides on branches instead of their conditions,
    `density` the shares of the accesses in the tenths of the launch, equal ones where it is empty.
    """

    alone_ns: float
    accesses: Accesses
    demand: Demand | None = None
    by_branch_rule: Mapping[BranchRule, Accesses] = field(default_factory=dict)
    density: tuple[float, ...] = ()

    def accesses_until(self, time_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of its accesses that a launch has made until times, repeated without end."""
        shares = self.density or (1.0,)
        until = np.concatenate([[0.0], np.cumsum(shares)])
        whole, part = np.divmod(time_ns / self.alone_ns, 1.0)
        within = np.interp(part, np.linspace(0.0, 1.0, len(until)), until)
        return np.asarray(whole * until[-1] + within, np.float64)

    def accesses_by(self, rule: BranchRule) -> Accesses:
        """Return the accesses by a rule for branches: the exact ones where none is known."""
        return self.by_branch_rule.get(rule, self.accesses)

    @classmethod
    def of(cls, counts: KernelCounts, alone_ns: float, costs: Costs) -> "Member":
        """Return a launch of some counts on a device of some costs."""
        demand = demand_of(counts, costs.operations)
        sites = [site for site in counts.sites if site.space in GLOBAL_SPACES]
        sectors, missed = sum(site.sectors.value for site in sites), _missed_sectors(demand, costs)
        missing = missed / sectors if sectors else 0.0
        return cls(
            alone_ns,
            {
                Reading.ACCESSES: sum(site.accesses.value for site in sites),
                Reading.SECTORS: sectors,
                Reading.MISSES: missed,
            },
            demand,
            {
                BranchRule(ruled.rule): {
                    Reading.ACCESSES: ruled.accesses,
                    Reading.SECTORS: ruled.sectors,
                    Reading.MISSES: ruled.sectors * missing,
                }
                for ruled in counts.by_branch_rule
            },
            counts.access_density,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A launch that ran beside others all the time, with its measured duration in ns.

    `members` are the launch and its neighbours, `kinds` what limits each. `again_ns` is the duration in a
    second measurement, None without one.
    """

    members: tuple[Member, ...]
    kinds: tuple[str, ...]
    is_memory_shared: bool
    has_own_units: bool
    beside_ns: float
    again_ns: float | None = None

    @property
    def threads(self) -> int:
        """Number of launches at once (Büsser 2018: T)."""
        return len(self.members)

    @property
    def alone_ns(self) -> float:
        """Duration of the launch alone."""
        return self.members[0].alone_ns

    @property
    def increase_ns(self) -> float:
        """How much longer the launch took beside the others than alone; it may be below 0."""
        return self.beside_ns - self.alone_ns


def _missed_sectors(demand: Demand, costs: Costs) -> float:
    name = "l3" if demand.has_item_loops else "l2"
    touched = demand.footprint_bytes
    missing = 1.0 - CacheSize(costs[f"{name} size"], costs[f"{name} sharpness"]).kept_share(touched)
    return sum(
        region.launch_sectors * missing + max(region.window_sectors - region.launch_sectors, 0.0)
        for region in demand.traffic
        if region.access is not Access.ATOMIC
    )
