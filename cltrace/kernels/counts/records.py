"""Records of the counts of a launch."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.machine import Machine


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its standard error.

    The error comes from sampling work-groups and is 0 if all groups were executed. `low` and `high`
    bound the number if it depends on unknown contents; otherwise they equal `value`.
    """

    value: float
    standard_error: float = 0.0
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class OperationCount:
    """Number of executions of an operation. A vector operation counts once per element.

    `type` is the operand type (`float`, `int`, …), `per_item` the mean per work-item, `total` the sum
    over the launch, `warp_total` the number of times that a warp executes it for at least one lane.
    """

    type: str
    cost: CostClass
    per_item: float
    total: Estimate
    warp_total: float


@dataclass(frozen=True, slots=True)
class FoldedCount:
    """Number of executions of an operation in the code optimised by the device's compiler.

    `function` is the name of a function whose cost depends on it. `warp_total` counts executions per
    warp, `waits` those for whose result a warp waits: the operations on the longest dependency chain
    of each executed block. Where a CPU runs work-items one after another, they are counted per work-item.
    """

    type: str
    cost: CostClass
    function: str
    total: float
    warp_total: float
    waits: float


class Pattern(StrEnum):
    """Relative position of the addresses of a warp in one access."""

    UNIFORM = "uniform"
    """All lanes at one address."""
    CONTIGUOUS = "contiguous"
    """Each lane next to the preceding lane."""
    STRIDED = "strided"
    """Lanes at equal distances."""
    RUNS = "in runs"
    """Unequal distances, but most of each sector is used: rows of a work-group, edges of a stencil."""
    SCATTERED = "scattered"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Numbers of distinct sectors touched by a work-group, by a wave of groups and by the launch.

    `group_sectors` is the mean of the sampled groups. The wave and the launch are extrapolated with a
    relative error, which measures how well the extrapolation fits within the sample; 0 if all groups
    were executed. `paired_share` is the share of the sectors whose neighbour in the same 64 B is touched,
    too.
    """

    group_sectors: float
    wave_sectors: float
    launch_sectors: float
    relative_error: float
    paired_share: float = 0.0


GLOBAL_SPACES: Final = frozenset({"global", "constant"})
"""Address spaces of the memory that all work-groups share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSite:
    """A place in the source that accesses memory, with counts over the whole launch.

    `memory` names the accessed arguments and variables. A *request* is one access of a warp.
    `sectors` and `lines` sum those touched per request, `bank_cycles` the cycles that the banks need
    per request, `partial_sectors` the written sectors of which a request writes only a part.
    `moving_requests` are the reads that touch other sectors than the warp's read before at this place,
    `step_share` is the share of sectors that differ between the warps of a group which read together,
    `fresh_shares` those of these which the group did not touch at the last access at this place, at the
    last four and the last sixteen. `arriving_share` is the share of a warp's sectors that it did not
    touch at its access before.
    `jumping_requests` are, on a CPU, those that are far from the warp's access before at this place, and
    `jump_bytes` is the greatest common divisor of their distances, 0 without any.
    `lane_share` is the share of its accesses by lanes of warps or vectors; a CPU makes the others for one
    work-item after another.
    `stride_bytes` is the distance between neighbouring lanes, None unless it is constant.
    `contention` is the mean number of lanes of a warp per address, for atomics; 1 where a GPU's compiler
    makes one operation of a warp's. `reuse` is the mean
    number of requests that touch each distinct sector. `is_assumed` is True if the address depends on
    unknown contents. `loop` is the number of the innermost loop around the access, -1 without one.
    `texel_passes` are the passes through a unit for images that a read takes, `texels` the texels that a
    read or write of an image touches; 0 for other accesses.
    `is_masked` is True where only some lanes of a CPU's vector take part, `is_gathered` where each lane
    accesses memory apart, as the compiler does not know their distances.
    `is_register` is True for private variables that the compiler keeps in registers, and for constant
    memory that it makes literals.
    `is_summable` is True for atomic operations that could be added up first: their order does not matter,
    and nothing uses their results. Of `copies` accesses a GPU's compiler leaves one, as unrolled trips
    repeat them.
    """

    place: Place
    memory: str
    space: str
    access: Access
    element: str
    access_bytes: int
    accesses: Estimate
    requests: Estimate
    sectors: Estimate
    lines: Estimate
    bank_cycles: Estimate
    partial_sectors: float
    moving_requests: float
    step_share: float
    fresh_shares: tuple[float, ...]
    jumping_requests: float
    jump_bytes: int
    lane_share: float
    pattern: Pattern
    stride_bytes: int | None
    contention: float
    footprint: Footprint
    reuse: float
    is_assumed: bool
    loop: int
    is_register: bool
    is_summable: bool
    texel_passes: float
    texels: int = 0
    is_masked: bool = False
    is_gathered: bool = False
    arriving_share: float = 1.0
    copies: int = 1


@dataclass(frozen=True, slots=True)
class ConcurrentLoads:
    """Loads in flight together. `sites` are positions in `KernelCounts.sites`.

    `waits` is the number of times that warps wait for them, over the launch.
    """

    sites: tuple[int, ...]
    waits: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSectors:
    """Access sites of one memory that touch the same sectors, with counts over the whole launch.

    `sites` are positions in `KernelCounts.sites`. `sectors` sums the sectors touched per request.
    `window_sectors` is the number of sectors that the shared cache fetches: at least the distinct
    ones, and more if sectors are evicted before they are touched again. `returns` is how often the
    work-groups of a wave come back to a sector that they read, where those that read it at the same
    access count once. `reads_together` is the number of sites that read a sector in flight together, on
    average, and `paired_share` the share of the sectors that are read together with the other half of
    their 64 B. Both are of requests that touch many lines: of members of structures at random places.
    """

    memory: str
    access: Access
    sites: tuple[int, ...]
    memory_sectors: float
    sectors: float
    footprint: Footprint
    window_sectors: float
    returns: float = 1.0
    reads_together: float = 1.0
    paired_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSite:
    """A divergent branch, with counts over the whole launch.

    `warps` is the number of warps that reach it, `divergent_warps` how many of them split,
    `active_lanes` the mean share of active lanes, `taken` the share of lanes that take it.
    `lane_share` is the share of its work-items that are lanes of warps or vectors; a CPU runs the others
    one by one.
    """

    place: Place
    warps: float
    divergent_warps: float
    active_lanes: float
    taken: float
    is_assumed: bool
    lane_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCount:
    """A loop. `trips` is the mean number of trips per entry of a work-item.

    `extrapolated` is the share of trips that were counted from a sample of trips. `is_exact` is True
    if this loses nothing, because all addresses and branches in the loop advance uniformly.
    """

    place: Place
    depth: int
    entries: float
    trips: Estimate
    extrapolated: float
    is_exact: bool
    is_assumed: bool


@dataclass(frozen=True, slots=True)
class PrivateArray:
    """A private variable that stays in memory because it is indexed at run time or passed by address.

    Such a variable spills.
    """

    place: Place
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption about a value that depends on unknown contents.

    `what` is the dependency, `meaning` the assumed value and its bounds.
    """

    place: Place
    what: str
    meaning: str


@dataclass(frozen=True, slots=True)
class GroupSample:
    """The executed sample: `groups` of the launch, and `wave_groups` from one wave.

    `relative_error` is the larger relative standard error of the warps' work and of sectors.
    `is_whole` is True if all groups were executed.
    """

    groups: int
    wave_groups: int
    relative_error: float
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCount:
    """Work of a source line over the whole launch. `file` is the file name, `line` counts from 1."""

    file: str
    line: int
    operations: float
    warp_operations: float
    accesses: float
    requests: float
    sectors: float
    divergent_warps: float
    branch_warps: float


@dataclass(frozen=True, slots=True)
class Imbalance:
    """Longest by mean run, at least 1: of warps, and of work-groups."""

    warps: float
    groups: float


@dataclass(frozen=True, slots=True)
class WrittenCounts:
    """Work of a launch in the code as written, which no compiler has optimised.

    `operators` are LLVM's, with their mean number of executions per work-item; `private_accesses` is
    the mean number of accesses of private variables per work-item. If that code cannot be executed,
    everything is empty, and `notes` has the reason.
    """

    operations: tuple[OperationCount, ...] = ()
    operators: tuple[tuple[str, float], ...] = ()
    private_accesses: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuledAccesses:
    """Accesses of global memory and their sectors, with the same rule for all branches.

    `rule` is "worst" for the direction with the most accesses, "mean" for the mean of the directions.
    """

    rule: str
    accesses: float
    sectors: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCounts:
    """Work of a launch.

    `operations` are those of the optimised code, `folded` those that the device's compiler leaves
    (`cltrace.kernels.fold`). `as_written` is None if that form was not counted.
    `active_lanes` is the mean share of active lanes when a warp executes an operation, `paths` the mean
    number of distinct paths that the lanes of a warp take through the kernel, `barriers` the mean
    number of barriers per work-item. `steps` are the warps; on a CPU, the vectors and the work-items that
    run one after another. `item_share` is the share of executed instructions that the latter have.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    machine: Machine
    work_items: int
    groups: int
    warps: float
    steps: float
    item_share: float
    local_bytes: int
    sample: GroupSample
    operations: tuple[OperationCount, ...]
    as_written: WrittenCounts | None = None
    folded: tuple[FoldedCount, ...]
    sites: tuple[AccessSite, ...]
    regions: tuple[SharedSectors, ...]
    rounds: tuple[ConcurrentLoads, ...]
    branches: tuple[BranchSite, ...]
    by_branch_rule: tuple[RuledAccesses, ...]
    access_density: tuple[float, ...]
    loops: tuple[LoopCount, ...]
    private: tuple[PrivateArray, ...]
    lines: tuple[LineCount, ...]
    barriers: float
    active_lanes: float
    paths: float
    imbalance: Imbalance
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]

    @property
    def written(self) -> tuple[OperationCount, ...]:
        """The operations of the code as written. Raises: `ValueError` if they were not counted."""
        return self._written_form().operations

    @property
    def written_operators(self) -> tuple[tuple[str, float], ...]:
        """The operators of the code as written. Raises: `ValueError` if they were not counted."""
        return self._written_form().operators

    @property
    def private_accesses(self) -> float:
        """The private accesses of the code as written. Raises: `ValueError` if they were not counted."""
        return self._written_form().private_accesses

    def with_written(self, written: WrittenCounts) -> "KernelCounts":
        """Return these counts with those of the code as written."""
        return replace(self, as_written=written, notes=(*self.notes, *written.notes))

    def _written_form(self) -> WrittenCounts:
        if self.as_written is None:
            raise ValueError(f"{self.kernel} was not counted as written")
        return self.as_written
