"""Quantities that both counts and hardware counters state, and how far they are apart."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from benchmarks.counter_counts import JobCounts, Row
from cltrace.kernels import CostClass
from cltrace.kernels.ir.instructions import Access

_MIN_MOVED_BYTES: Final = 1 << 20
_MIN_MOVED_SHARE: Final = 0.01
_SECTOR_BYTES: Final = 32


class Distance(StrEnum):
    """Distance of two values."""

    RELATIVE = "relative"
    """Difference by the device's value."""
    POINTS = "points"
    """Difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A quantity of a launch, as counted and as the device counts it.

    Values agree if their distance is at most `tolerance`, or if both are at most `floor`. `goal` is the
    share of launches that shall agree, None if there is no goal. `applies` leaves launches out.
    """

    name: str
    model: Callable[[JobCounts], float]
    device: Callable[[Row], float]
    tolerance: float
    distance: Distance = Distance.RELATIVE
    goal: float | None = None
    floor: Callable[[JobCounts], float] = lambda _: 0.0
    applies: Callable[[JobCounts], bool] = lambda _: True

    def agrees(self, value: float, counter: float, counts: JobCounts) -> bool:
        """Return True if two values agree."""
        if max(value, counter) <= self.floor(counts):
            return True
        difference = abs(value - counter)
        allowed = self.tolerance * (abs(counter) if self.distance is Distance.RELATIVE else 1.0)
        return difference <= allowed


def _metric(*names: str) -> Callable[[Row], float]:
    """Return a reader of the sum of counters; NaN if one is missing."""
    return lambda row: math.fsum(float(row.get(name) or "nan") for name in names)


def _l1(quantity: str, *operations: str) -> Callable[[Row], float]:
    return _metric(*(f"l1tex__t_{quantity}_pipe_lsu_mem_{item}.sum" for item in operations))


def _executed(*names: str) -> Callable[[Row], float]:
    return _metric(*(f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum" for name in names))


def _limit(row: Row) -> float:
    """Return the share of a unit's warps that may be resident, in percent, as the driver states it."""
    limits = ("blocks", "registers", "shared_mem", "warps")
    groups = min(float(row.get(f"launch__occupancy_limit_{name}") or "nan") for name in limits)
    warps = -(-float(row.get("launch__block_size") or "nan") // 32)
    return groups * warps / 64.0 * 100.0


def _memory_floor(counts: JobCounts) -> float:
    return max(_MIN_MOVED_BYTES, _MIN_MOVED_SHARE * counts.demand.footprint_bytes)


def _exceeds_cache(counts: JobCounts) -> bool:
    return counts.demand.footprint_bytes > counts.caches.shared.size_bytes


def _has_no_functions(counts: JobCounts) -> bool:
    return not counts.has_functions


def _accesses() -> Iterator[Quantity]:
    names = {"load": (Access.READ, "global_op_ld"), "store": (Access.WRITE, "global_op_st")}
    for name, (access, operation) in names.items():
        for quantity in ("requests", "sectors"):
            yield Quantity(
                name=f"{name} {quantity}",
                model=lambda job, a=access, q=quantity: job.accesses(q, a),  # type: ignore[misc]
                device=_l1(quantity, operation),
                tolerance=0.01,
                goal=0.98,
            )
    for quantity in ("requests", "sectors"):
        yield Quantity(
            name=f"atomic {quantity}",
            model=lambda job, q=quantity: job.accesses(q, Access.ATOMIC),  # type: ignore[misc]
            device=_l1(quantity, "global_op_atom", "global_op_red"),
            tolerance=0.01,
        )


def _private() -> Iterator[Quantity]:
    for name, cost, operation in (
        ("load", CostClass.LOAD, "local_op_ld"),
        ("store", CostClass.STORE, "local_op_st"),
    ):
        yield Quantity(
            name=f"private {name} requests",
            model=lambda job, c=cost: job.private_requests(c),  # type: ignore[misc]
            device=_l1("requests", operation),
            tolerance=0.01,
        )


def _caches() -> Iterator[Quantity]:
    yield Quantity(
        name="L2 sectors read",
        model=lambda job: job.near_misses(Access.READ),
        device=_metric("l1tex__m_xbar2l1tex_read_sectors.sum"),
        tolerance=0.15,
        goal=0.9,
    )
    yield Quantity(
        name="L2 sectors written",
        model=lambda job: job.near_misses(Access.WRITE),
        device=_metric("lts__t_sectors_srcunit_tex_op_write.sum"),
        tolerance=0.15,
        goal=0.9,
    )
    yield Quantity(
        name="L2 sectors read, combined",
        model=lambda job: job.near_misses(Access.READ),
        device=_metric("lts__t_sectors_srcunit_tex_op_read.sum"),
        tolerance=0.15,
    )


def _memory() -> Iterator[Quantity]:
    for name, reads in (("read", True), ("written", False)):
        for suffix, applies in (("", lambda _: True), (", beyond L2", _exceeds_cache)):
            yield Quantity(
                name=f"DRAM bytes {name}{suffix}",
                model=lambda job, r=reads: job.memory_bytes(reads=r),  # type: ignore[misc]
                device=_metric(f"warm dram__bytes_{'read' if reads else 'write'}.sum"),
                tolerance=0.15,
                goal=0.9,
                floor=_memory_floor,
                applies=applies,
            )


def _units() -> Iterator[Quantity]:
    yield Quantity(
        name="warps active",
        model=lambda job: job.resident_share,
        device=_metric("sm__warps_active.avg.pct_of_peak_sustained_active"),
        tolerance=10.0,
        distance=Distance.POINTS,
        goal=0.9,
    )
    yield Quantity(
        name="warps resident at most",
        model=lambda job: job.limit_share,
        device=_limit,
        tolerance=10.0,
        distance=Distance.POINTS,
    )
    yield Quantity(
        name="warps resident at most, by clang's registers",
        model=lambda job: job.limit_share_of(job.registers),
        device=_limit,
        tolerance=10.0,
        distance=Distance.POINTS,
        applies=lambda job: not math.isnan(job.registers),
    )
    yield Quantity(
        name="registers",
        model=lambda job: job.registers,
        device=_metric("registers"),
        tolerance=0.15,
        applies=lambda job: not math.isnan(job.registers),
    )


def _local() -> Iterator[Quantity]:
    yield Quantity(
        name="local-memory cycles",
        model=lambda job: job.local_cycles,
        device=_metric(
            *(
                f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
                for op in ("ld", "st", "atom")
            )
        ),
        tolerance=0.01,
    )


def _operations() -> Iterator[Quantity]:
    for kind, letter in (("float", "f"), ("double", "d")):
        for name, operations, suffix in (
            ("add", JobCounts.adds, "add"),
            ("multiply", JobCounts.multiplies, "mul"),
            ("multiply-add", JobCounts.multiply_adds, "fma"),
        ):
            for end, applies in (("", lambda _: True), (", no functions", _has_no_functions)):
                yield Quantity(
                    name=f"{kind} {name}{end}",
                    model=lambda job, k=kind, o=operations: o(job, k),  # type: ignore[misc]
                    device=_executed(f"{letter}{suffix}"),
                    tolerance=0.01,
                    applies=applies,
                )


QUANTITIES: Final = (
    *_accesses(),
    *_private(),
    *_caches(),
    *_memory(),
    *_units(),
    *_local(),
    *_operations(),
)
"""All quantities that are compared. A division of floats is counted as the multiplication that the
driver makes of it, apart from a reciprocal."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A counted value beside the device's."""

    launch: str
    set_name: str
    value: float
    counter: float
    agrees: bool

    @property
    def ratio(self) -> float:
        """Counted by measured; NaN if the device counts nothing."""
        return self.value / self.counter if self.counter else math.nan


@dataclass(frozen=True, slots=True)
class Score:
    """Agreement of a quantity over the launches of a set in which one side is not zero."""

    quantity: str
    set_name: str
    launches: int
    share: float
    goal: float | None
    median_ratio: float


def compare(
    quantity: Quantity,
    jobs: Mapping[str, JobCounts],
    rows: Mapping[str, Row],
    sets: Mapping[str, str],
) -> list[Pair]:
    """Compare a quantity of jobs, by name, with rows of counters.

    A launch in which both values are zero, or one is unknown, is left out.
    """
    pairs = []
    for name, job in jobs.items():
        if name not in rows or not quantity.applies(job):
            continue
        value, counter = quantity.model(job), quantity.device(rows[name])
        if not math.isnan(counter) and (value or counter):
            agrees = quantity.agrees(value, counter, job)
            pairs.append(Pair(name, sets[name], value, counter, agrees))
    return pairs


def scores(quantity: Quantity, pairs: Sequence[Pair]) -> Iterator[Score]:
    """Yield the score of all launches, then that of each set."""
    by_set: dict[str, list[Pair]] = {"all": list(pairs)}
    for pair in pairs:
        by_set.setdefault(pair.set_name, []).append(pair)
    for set_name, some in by_set.items():
        if some:
            ratios = [pair.ratio for pair in some if not math.isnan(pair.ratio)]
            yield Score(
                quantity.name,
                set_name,
                len(some),
                sum(pair.agrees for pair in some) / len(some),
                quantity.goal,
                statistics.median(ratios) if ratios else math.nan,
            )
