"""EnergyWork of a launch, by the classes of operations and of accesses that have an energy each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.events.cost_names import CostName
from cltrace.kernels import CostClass, KernelCounts
from cltrace.kernels.costs.operation import LEFT_SHIFT, SHIFT, is_private_type
from cltrace.kernels.counts.records import FoldedCount
from cltrace.kernels.demand import Demand, cost_names, demand_of
from cltrace.kernels.demand.caches import CacheSize, private_missing_share, shared_sectors
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.ir.instructions import Access
from cltrace.power.model.energy_classes import EnergyClass, Resource
from cltrace.profile import DeviceProfile

_WARP: Final = 32
_MIN_ACTIVE_SHARE: Final = 0.8
_SECTOR_BYTES: Final = 32
_ACCESSES: Final = frozenset({CostClass.LOAD, CostClass.STORE, CostClass.ATOMIC, CostClass.IMAGE})
_COMPARISONS: Final = frozenset({CostClass.INT_COMPARE, CostClass.FLOAT_COMPARE, CostClass.SELECT})
_CACHED_SPACES: Final = frozenset({"global", "constant"})
_MEASURED: Final[Mapping[str, tuple[str, ...]]] = {
    "float": (
        *("add", "multiply", "divide", "multiply-add"),
        *("sqrt", "rsqrt", "exp", "log", "sin", "cos", "exp2", "log2"),
        *("native_sin", "native_exp", "native_rsqrt"),
    ),
    "double": ("add", "multiply", "divide", "multiply-add", "sqrt", "exp"),
    "int": ("add", "multiply", "divide", "shift", "remainder", "to float and back"),
    "long": ("add", "multiply", "divide", "shift", "remainder"),
}
"""Operations with an energy by the type that they work on, those with a substitute included."""
_OPERATIONS: Final = frozenset(
    CostName(kind, operation) for kind, operations in _MEASURED.items() for operation in operations
)
_SUBSTITUTES: Final[Mapping[CostName, CostName]] = {
    CostName("float", "cos"): CostName("float", "sin"),
    CostName("float", "exp2"): CostName("float", "exp"),
    CostName("float", "log2"): CostName("float", "log"),
    CostName("int", "remainder"): CostName("int", "divide"),
    CostName("long", "remainder"): CostName("long", "divide"),
}
"""Operations without a measurement, each with the operation whose energy it is given."""


@dataclass(frozen=True, slots=True)
class Caches:
    """Sizes of a device's near cache (L1) and shared cache (L2)."""

    near: CacheSize
    shared: CacheSize

    @classmethod
    def of(cls, profile: DeviceProfile) -> "Caches":
        """Return the caches of a profile. Raises: `ProfileError` for a profile without them."""
        parameters = profile.parameters.get("overlap", {})
        names = ("l1 size", "l1 sharpness", "l2 size", "l2 sharpness")
        if not parameters.keys() >= set(names):
            raise ProfileError(
                f"the profile of {profile.device.name} has no cache sizes: run `cltrace calibrate`"
            )
        sizes = [parameters[name].value for name in names]
        return cls(CacheSize(sizes[0], sizes[1]), CacheSize(sizes[2], sizes[3]))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of a class: executions by warps of 32, and the mean share of active lanes in them."""

    name: EnergyClass
    warps: float
    active: float

    def amount(self, lane_exponent: float) -> float:
        """Return the number of full warps with the same energy.

        A warp with a share `active` of active lanes uses `active ** lane_exponent` of a full warp's
        energy: with 0 all warps use the same energy, with 1 it is proportional to the active lanes.
        """
        return float(self.warps * self.active**lane_exponent)


@dataclass(frozen=True, slots=True)
class EnergyWork:
    """Work of one launch: operations, other amounts by class (sectors of 32 B), and active units."""

    operations: tuple[Operations, ...]
    others: Mapping[EnergyClass, float]
    units: float

    @property
    def names(self) -> frozenset[EnergyClass]:
        """Classes with a nonzero amount."""
        return frozenset({*self.others, *(operation.name for operation in self.operations)})

    @property
    def is_partial(self) -> bool:
        """True if the mean share of active lanes in its warps is low."""
        warps = sum(operation.warps for operation in self.operations)
        active = sum(operation.warps * operation.active for operation in self.operations)
        return active < _MIN_ACTIVE_SHARE * warps

    def amounts(self, lane_exponent: float) -> dict[EnergyClass, float]:
        """Return the amounts by class, those of operations in full warps."""
        amounts = dict(self.others)
        for operation in self.operations:
            name = operation.name
            amounts[name] = amounts.get(name, 0.0) + operation.amount(lane_exponent)
        return amounts


def work_of(counts: KernelCounts, caches: Caches) -> EnergyWork:
    """Return the work of a launch whose data is in the shared cache, as far as it fits."""
    demand = demand_of(counts, _OPERATIONS)
    others: dict[EnergyClass, float] = {}
    for name, amount in _memory_amounts(demand, caches):
        others[name] = others.get(name, 0.0) + amount
    return EnergyWork(
        tuple(_operations(counts)),
        {name: amount for name, amount in others.items() if amount > 0},
        demand.units,
    )


def _operations(counts: KernelCounts) -> Iterator[Operations]:
    for row in counts.folded:
        if row.cost in _ACCESSES:
            continue
        for name in _names(row):
            yield from _warp_operations(name, row.total, row.warp_total)
    for site in counts.sites:
        if site.space in _CACHED_SPACES:
            yield from _warp_operations(
                Resource.NEAR_CACHE, site.accesses.value, site.requests.value
            )


def _warp_operations(name: EnergyClass, lanes: float, warps: float) -> Iterator[Operations]:
    if lanes > 0 and warps > 0:
        yield Operations(name, warps, min(lanes / (_WARP * warps), 1.0))


def _names(row: FoldedCount) -> tuple[EnergyClass, ...]:
    if is_private_type(row.type):
        return (Resource.PRIVATE_MEMORY,)
    if row.cost in _COMPARISONS:
        return (CostName("double" if row.type == "double" else "float", "compare and select"),)
    if row.cost is CostClass.INT_LOGIC and row.function not in {SHIFT, LEFT_SHIFT}:
        return (CostName("long" if row.type == "long" else "int", "logic"),)
    return tuple(_SUBSTITUTES.get(name, name) for name in cost_names(row, _OPERATIONS))


def _memory_amounts(demand: Demand, caches: Caches) -> Iterator[tuple[Resource, float]]:
    yield Resource.NEAR_CACHE_BANKS, demand.bank_cycles
    yield Resource.NEAR_CACHE_LINES, demand.lines
    yield Resource.LOCAL_MEMORY, demand.local_cycles
    yield Resource.BARRIER, demand.barriers
    yield Resource.WORK_GROUP, float(demand.groups)
    missing = 1.0 - caches.shared.kept_share(demand.footprint_bytes)
    for site in demand.traffic:
        requested = shared_sectors(site, demand, caches.near)
        yield Resource.NEAR_CACHE_SECTORS, site.sectors
        if site.access is Access.ATOMIC:
            yield Resource.ATOMIC, site.sectors
        else:
            yield Resource.SHARED_CACHE, requested
        if site.memory == PRIVATE_MEMORY:
            yield Resource.MEMORY, requested * private_missing_share(demand, caches.shared)
        distinct = site.granule_bytes / _SECTOR_BYTES
        repeated = max(site.window_sectors - site.launch_sectors, 0.0) / max(
            site.launch_sectors, 1.0
        )
        yield Resource.MEMORY, distinct * (missing + repeated)
