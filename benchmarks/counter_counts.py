"""Counts of a job as `counters.py compare` holds them against hardware counters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from benchmarks.counter_jobs import Job, counted_arguments
from cltrace.errors import KernelError
from cltrace.kernels import CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.compiler.targets import Target
from cltrace.kernels.costs.operation import JOINED, is_private_type
from cltrace.kernels.demand.caches import CacheSize, shared_sectors
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.costs import Costs

_UNIT_WARPS: Final = 64.0
"""Warps that a compute unit of an H200 holds at most."""


Row = Mapping[str, str]
"""Counters of a launch by name, as a CSV file has them."""


@dataclass(frozen=True, slots=True)
class Caches:
    """Effective sizes of a device's near and shared caches."""

    near: CacheSize
    shared: CacheSize

    @classmethod
    def of(cls, costs: Costs) -> "Caches":
        """Return the caches that the costs of the overlap model state."""
        return cls(
            CacheSize(costs["l1 size"], costs["l1 sharpness"]),
            CacheSize(costs["l2 size"], costs["l2 sharpness"]),
        )


@dataclass(frozen=True)
class JobCounts:
    """Counts and demand of a job. `registers` are clang's estimate; NaN if there is none."""

    counts: KernelCounts
    demand: Demand
    caches: Caches
    registers: float

    def accesses(self, quantity: str, access: Access, space: str = "global") -> float:
        """Return the sum of a quantity over the access sites of a space."""
        return sum(
            getattr(site, quantity).value
            for site in self.counts.sites
            if site.space == space and site.access is access
        )

    @property
    def local_cycles(self) -> float:
        """Return the bank cycles of accesses to local memory."""
        return sum(site.bank_cycles.value for site in self.counts.sites if site.space == "local")

    def private_requests(self, cost: CostClass) -> float:
        """Return the requests to private memory, in the code that the driver leaves."""
        return sum(
            row.warp_total
            for row in self.counts.folded
            if row.cost is cost and is_private_type(row.type)
        )

    def near_misses(self, access: Access) -> float:
        """Return the sectors that the near caches move from or to the shared cache."""
        return sum(
            shared_sectors(region, self.demand, self.caches.near)
            for region in self.demand.traffic
            if region.access is access
        )

    def memory_bytes(self, *, reads: bool) -> float:
        """Return the bytes that memory moves in a repeated launch."""
        missing = 1.0 - self.caches.shared.kept_share(self.demand.footprint_bytes)
        return sum(
            _memory_bytes(region, missing)
            for region in self.demand.traffic
            if (region.access is Access.READ) is reads
        )

    def adds(self, kind: str) -> float:
        """Return the sums on a type, in the code that the driver leaves."""
        return self._operations(kind, CostClass.FLOAT_ADD)

    def multiplies(self, kind: str) -> float:
        """Return the products, those of which the driver makes divisions included."""
        rows = [row for row in self.counts.folded if row.type == kind]
        return sum(
            row.total
            for row in rows
            if row.cost is CostClass.FLOAT_MULTIPLY
            or (row.cost is CostClass.FLOAT_DIVIDE and not row.function)
        )

    def multiply_adds(self, kind: str) -> float:
        """Return the products that are one instruction with a sum."""
        rows = [row for row in self.counts.folded if row.type == kind]
        return sum(
            row.total
            for row in rows
            if row.cost is CostClass.FLOAT_MULTIPLY_ADD
            or (row.cost is CostClass.FLOAT_DIVIDE and row.function == JOINED)
        )

    @property
    def has_functions(self) -> bool:
        """Return True for a kernel with functions, for which the driver has code of its own."""
        functions = {CostClass.SPECIAL, CostClass.INT_DIVIDE}
        names = [row.cost in functions for row in self.counts.folded]
        return any(names) or self._operations("double", CostClass.FLOAT_DIVIDE) > 0.0

    def _operations(self, kind: str, cost: CostClass) -> float:
        rows = [row for row in self.counts.folded if row.cost is cost and row.type == kind]
        return sum(row.total for row in rows)

    @property
    def resident_share(self) -> float:
        """Return the share of a compute unit's warps that are resident, in percent."""
        return self.demand.unit_warps / _UNIT_WARPS * 100.0

    @cached_property
    def limit_share(self) -> float:
        """Return the share of a compute unit's warps that may be resident, in percent."""
        groups = self.demand.wave_groups / self.counts.machine.compute_units
        return groups * math.ceil(self.demand.group_warps) / _UNIT_WARPS * 100.0

    def limit_share_of(self, registers: float) -> float:
        """Return `limit_share` for a number of registers per work-item."""
        machine, counts = self.counts.machine, self.counts
        group_items = counts.work_items // max(counts.groups, 1)
        groups = machine.wave_groups(group_items, counts.local_bytes, round(registers))
        return (
            groups / machine.compute_units * math.ceil(self.demand.group_warps) / _UNIT_WARPS * 100
        )


def _memory_bytes(region: Traffic, missing: float) -> float:
    refetched = max(region.window_sectors - region.launch_sectors, 0.0)
    moved_bytes = region.granule_bytes + region.fetched_bytes
    return moved_bytes * (missing + refetched / max(region.launch_sectors, 1.0))


def count_job(job: Job, machine: Machine, costs: Costs) -> JobCounts:
    """Count a job on a machine. Raises: `KernelError`."""
    program = parse(job.source, job.options, headers=job.headers)
    arguments = list(counted_arguments(job))
    counts = count(program, job.kernel, job.global_size, job.local_size, arguments, machine=machine)
    try:
        use = program.registers(job.kernel, Target.NVIDIA)
    except KernelError:
        use = None
    registers = math.nan if use is None else float(use.per_item)
    return JobCounts(counts, demand_of(counts, costs.operations), Caches.of(costs), registers)
