"""What a launch does, by the classes that energies are known of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.kernels import CostClass, KernelCounts
from cltrace.kernels.counts.records import FoldedCount
from cltrace.kernels.demand import Demand, cost_names, demand_of
from cltrace.kernels.demand.caches import CacheSize, shared_sectors
from cltrace.kernels.ir.instructions import Access
from cltrace.profile import DeviceProfile

_WARP: Final = 32
_FULL: Final = 0.8
_SECTOR_BYTES: Final = 32
_ACCESSES: Final = frozenset({CostClass.LOAD, CostClass.STORE, CostClass.ATOMIC, CostClass.IMAGE})
_COMPARING: Final = frozenset({CostClass.INT_COMPARE, CostClass.FLOAT_COMPARE, CostClass.SELECT})
_FAR: Final = frozenset({"global", "constant"})
_KINDS: Final = ("float", "double", "int", "long")
_OPERATIONS: Final = frozenset(
    {
        *(f"{kind} {name}" for kind in _KINDS for name in ("add", "multiply", "divide")),
        *(f"{kind} multiply-add" for kind in ("float", "double")),
        *(f"{kind} {name}" for kind in ("int", "long") for name in ("shift", "remainder")),
        *(f"float {name}" for name in ("sqrt", "rsqrt", "exp", "log", "sin", "cos", "exp2", "log2")),
        *(f"float {name}" for name in ("native_sin", "native_exp", "native_rsqrt")),
        *(f"double {name}" for name in ("sqrt", "exp")),
        "int to float and back",
    }
)  # fmt: skip
_LIKE: Final[Mapping[str, str]] = {
    "float cos": "float sin", "float exp2": "float exp", "float log2": "float log",
    "int remainder": "int divide", "long remainder": "long divide",
}  # fmt: skip
"""Operations that are not measured by themselves, by those that they cost like."""


@dataclass(frozen=True, slots=True)
class Caches:
    """The caches of a device as its profile has them."""

    near: CacheSize
    shared: CacheSize

    @classmethod
    def of(cls, profile: DeviceProfile) -> "Caches":
        """Raises: `ProfileError` for a profile that is not fitted."""
        known = profile.parameters.get("overlap", {})
        names = ("l1 size", "l1 sharpness", "l2 size", "l2 sharpness")
        if not known.keys() >= set(names):
            raise ProfileError(
                f"the profile of {profile.device.name} does not know its caches: run `cltrace calibrate`"
            )
        sizes = [known[name].value for name in names]
        return cls(CacheSize(sizes[0], sizes[1]), CacheSize(sizes[2], sizes[3]))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of one class: how many warps of 32 do, and the mean share of lanes that does."""

    name: str
    warps: float
    active: float

    def amount(self, lane_exponent: float) -> float:
        """Of full warps that cost as much.

        A warp of which a share `active` works costs `active ** lane_exponent` of a full one: with 0 lanes
        do not matter, with 1 nothing else does.
        """
        return float(self.warps * self.active**lane_exponent)


@dataclass(frozen=True, slots=True)
class Work:
    """What a launch does once: operations, the rest by class (sectors of 32 B), on how many units."""

    operations: tuple[Operations, ...]
    others: Mapping[str, float]
    units: float

    @property
    def names(self) -> frozenset[str]:
        """The classes that it has any of."""
        return frozenset({*self.others, *(one.name for one in self.operations)})

    @property
    def is_partial(self) -> bool:
        """Whether much of it is done by warps of which not all lanes work."""
        warps = sum(one.warps for one in self.operations)
        return sum(one.warps * one.active for one in self.operations) < _FULL * warps

    def amounts(self, lane_exponent: float) -> dict[str, float]:
        """How often, by class."""
        found = dict(self.others)
        for one in self.operations:
            found[one.name] = found.get(one.name, 0.0) + one.amount(lane_exponent)
        return found


def work_of(counts: KernelCounts, caches: Caches) -> Work:
    """What a launch does that finds in the shared cache what fits into it."""
    demand = demand_of(counts, _OPERATIONS)
    others: dict[str, float] = {}
    for name, amount in _moves(demand, caches):
        others[name] = others.get(name, 0.0) + amount
    return Work(
        tuple(_operations(counts)),
        {name: amount for name, amount in others.items() if amount > 0},
        demand.units,
    )


def _operations(counts: KernelCounts) -> Iterator[Operations]:
    for row in counts.folded:
        if row.cost in _ACCESSES:
            continue
        is_private = row.type.startswith("private ")
        for name in ("private memory",) if is_private else _names(row):
            yield from _of_warps(_LIKE.get(name, name), row.total, row.warp_total)
    for site in counts.sites:
        if site.space in _FAR:
            yield from _of_warps("near cache", site.accesses.value, site.requests.value)


def _of_warps(name: str, lanes: float, warps: float) -> Iterator[Operations]:
    if lanes > 0 and warps > 0:
        yield Operations(name, warps, min(lanes / (_WARP * warps), 1.0))


def _names(row: FoldedCount) -> tuple[str, ...]:
    if row.cost in _COMPARING:
        kind = "double" if row.type == "double" else "float"
        return (f"{kind} compare and select",)
    if row.cost is CostClass.INT_LOGIC and row.function != "shift":
        return ("long logic" if row.type == "long" else "int logic",)
    return cost_names(row, _OPERATIONS)


def _moves(demand: Demand, caches: Caches) -> Iterator[tuple[str, float]]:
    yield "near cache banks", demand.bank_cycles
    yield "near cache lines", demand.lines
    yield "local memory", demand.local_cycles
    yield "barrier", demand.barriers
    yield "work-group", float(demand.groups)
    missing = 1.0 - caches.shared.kept(demand.footprint_bytes)
    for one in demand.traffic:
        asked = shared_sectors(one, demand, caches.near)
        yield "near cache sectors", one.sectors
        yield ("atomic", one.sectors) if one.access is Access.ATOMIC else ("shared cache", asked)
        moved = one.granule_bytes / _SECTOR_BYTES
        again = max(one.window_sectors - one.launch_sectors, 0.0) / max(one.launch_sectors, 1.0)
        yield "memory", moved * (missing + again)
