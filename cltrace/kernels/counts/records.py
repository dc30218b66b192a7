"""The result of counting: what a launch has to do."""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.machine import Machine


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the standard error that comes from sampling work-groups; 0 where all were run.

    `low` and `high` bound it where it depends on what is not known; else they are the value.
    """

    value: float
    standard_error: float = 0.0
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class OperationCount:
    """How often an operation is done. Vectors count once an element.

    `type` is the type that is worked on (`float`, `int`, …), `per_item` the mean of a work-item, `total`
    that of the launch, `warp_total` how often a warp does it for at least one of its lanes.
    """

    type: str
    cost: CostClass
    per_item: float
    total: Estimate
    warp_total: float


@dataclass(frozen=True, slots=True)
class FoldedCount:
    """How often an operation is done in the code that the device's own compiler leaves.

    `function` names those whose cost depends on it. `warp_total` is how often a warp does it, `waits`
    how often a warp waits for its result: the longest ways through the blocks that it runs.
    """

    type: str
    cost: CostClass
    function: str
    total: float
    warp_total: float
    waits: float


class Pattern(StrEnum):
    """How the lanes of a warp lie to each other at an access."""

    UNIFORM = "uniform"
    """All at one address."""
    CONTIGUOUS = "contiguous"
    """Each next to the one before."""
    STRIDED = "strided"
    """At equal distances."""
    RUNS = "in runs"
    """At various distances, and most of each sector is used: rows of a work-group, a stencil's edges."""
    SCATTERED = "scattered"


@dataclass(frozen=True, slots=True)
class Footprint:
    """How many different sectors are touched by a work-group, by a wave of them, and by the launch.

    Means of the sampled groups; the wave and the launch are extrapolated, with a relative error that
    comes from how well the extrapolation holds within the sample (0 where all groups were run).
    """

    group_sectors: float
    wave_sectors: float
    launch_sectors: float
    relative_error: float


@dataclass(frozen=True, slots=True)
class AccessSite:
    """A place in the source that accesses memory, over the whole launch.

    `memory` names what is accessed: an argument, a variable. A *request* is an access of a warp;
    `sectors` and `lines` are those that its lanes touch, `bank_cycles` the rounds that banks need for
    it, `partial_sectors` written sectors of which not all bytes are. `most_stride_bytes` is the
    distance of neighbouring lanes, None unless equal. `contention` is how many lanes of a warp meet at
    an address, for atomics. `reuse` is how often each different sector is touched by requests.
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
    pattern: Pattern
    stride_bytes: int | None
    contention: float
    footprint: Footprint
    reuse: float
    is_assumed: bool


@dataclass(frozen=True, slots=True)
class Round:
    """Reads that are under way together: the positions of their sites among the launch's.

    `waits` is how often a warp waits for them, over the launch.
    """

    sites: tuple[int, ...]
    waits: float


@dataclass(frozen=True, slots=True)
class Region:
    """Access sites of one memory that touch the same sectors, over the whole launch.

    `sites` are their positions among the launch's sites, `sectors` the sum of what their requests touch,
    `window_sectors` how many the shared cache has to fetch: at least those that differ, more where it
    has lost them before they are touched again.
    """

    memory: str
    access: Access
    sites: tuple[int, ...]
    memory_sectors: float
    sectors: float
    footprint: Footprint
    window_sectors: float


@dataclass(frozen=True, slots=True)
class BranchSite:
    """A branch that lanes of the sample took different ways at, over the whole launch.

    `warps` is how many warps came to it, `divergent_warps` how many of them split; `active_lanes` the
    mean share of a warp's lanes that were active there; `taken` the share of lanes that took it.
    """

    place: Place
    warps: float
    divergent_warps: float
    active_lanes: float
    taken: float
    is_assumed: bool


@dataclass(frozen=True, slots=True)
class LoopCount:
    """A loop. `trips` is the mean number of trips each time a work-item enters it.

    `extrapolated` is the share of trips that were not run but counted from a sample of them;
    `is_exact` says that this loses nothing, because all addresses and branches in it move evenly.
    """

    place: Place
    depth: int
    entries: float
    trips: float
    extrapolated: float
    is_exact: bool
    is_assumed: bool


@dataclass(frozen=True, slots=True)
class PrivateArray:
    """A private variable that stays in memory: indexed at run time, or passed by address. It spills."""

    place: Place
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that depends on contents that are not known: where, what, and what is taken for it."""

    place: Place
    what: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What was executed: `groups` of the launch's, and `wave_groups` of one wave.

    `relative_error` is the largest relative standard error of the warps' work and of sectors;
    `is_whole` says that all groups were run.
    """

    groups: int
    wave_groups: int
    relative_error: float
    is_whole: bool


@dataclass(frozen=True, slots=True)
class LineCount:
    """What a line of the source does, over the whole launch. `file` is its name, lines are from 1."""

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
class KernelCounts:
    """What a launch has to do.

    `operations` are those of the optimised code, `written` those of the source as it is written, `folded`
    those that the device's own compiler leaves (`cltrace.kernels.fold`).
    `active_lanes` is the mean share of lanes that are active when a warp does something, `paths` how
    many different ways through the kernel the lanes of a warp take. `barriers` are those that a
    work-item comes to.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    machine: Machine
    work_items: int
    groups: int
    warps: float
    local_bytes: int
    sample: Sample
    operations: tuple[OperationCount, ...]
    written: tuple[OperationCount, ...]
    folded: tuple[FoldedCount, ...]
    sites: tuple[AccessSite, ...]
    regions: tuple[Region, ...]
    rounds: tuple[Round, ...]
    written_operators: tuple[tuple[str, float], ...]
    """By LLVM's operator, of the code as it is written: how often a work-item does it, in the mean."""
    private_accesses: float
    """How often a work-item reads or writes a private variable, as the code is written."""
    branches: tuple[BranchSite, ...]
    loops: tuple[LoopCount, ...]
    private: tuple[PrivateArray, ...]
    lines: tuple[LineCount, ...]
    barriers: float
    active_lanes: float
    paths: float
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]
