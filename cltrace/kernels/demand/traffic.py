"""Traffic between compute units and the shared cache, by region of memory."""

from dataclasses import dataclass

from cltrace.kernels.ir.instructions import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Sectors that a region of memory moves between compute units and the shared cache.

    `lines` are the lines that requests touch, the first of each request included.
    `group_sectors` are the different sectors of each work-group, added up over groups; `launch_sectors`
    the different sectors of the launch, `wave_sectors` those of a wave of work-groups; `window_sectors`
    those that the shared cache fetches.
    `step_sectors` are the sectors that differ between the warps of a group and from those of the request
    before: a near cache fetches them if it keeps nothing else. `steps` are the requests of the site that
    makes most of them, `step_lines` the lines that a request touches, less those that the warps of a
    group have in common.
    `passing_lines` are those that a warp touches from one access to the next, `reads_per_wait` the reads
    that it makes before it waits for them.
    `returns` is how often the work-groups of a wave come back to a sector, at different accesses;
    `reads_together` the reads of a sector that are in flight together, `paired_share` the share of the
    sectors at random places that are read together with their neighbour in memory's granule.
    `moving_share` is the share of the requests that touch other sectors than the warp's request before,
    `fresh_shares` the shares of the sectors that the group has not touched at its last requests there,
    by `FRESH_DISTANCES`.
    `repeated_lines` are those that a CPU fetches if it keeps nothing: a line per access, but for repeated
    ones. `jumping_share` is the share of them that its prefetchers do not foresee, `lattice_bytes` the
    distance at whose multiples most of them lie, 0 if there is none.
    `granule_bytes` are the bytes that memory moves for the launch's different sectors,
    `scattered_sectors` those of them at random places. `new_share` is the share of a wave's sectors that
    no earlier wave touched. `fetched_bytes` are those that memory reads for partly written sectors.
    """

    memory: str
    access: Access
    requests: float
    sectors: float
    lines: float
    group_sectors: float
    window_sectors: float
    launch_sectors: float
    granule_bytes: float
    scattered_sectors: float
    partial_sectors: float
    step_sectors: float
    steps: float
    step_lines: float
    moving_share: float
    fresh_shares: tuple[float, ...]
    contention: float
    accesses: float
    new_share: float
    repeated_lines: float = 0.0
    jumping_share: float = 0.0
    lattice_bytes: int = 0
    fetched_bytes: float = 0.0
    passing_lines: float = 0.0
    returns: float = 1.0
    reads_together: float = 1.0
    paired_share: float = 0.0
    wave_sectors: float = 0.0
    first_sectors: float = 0.0
    arriving_sectors: float = 0.0
    reads_per_wait: float = 1.0

    @property
    def passes(self) -> float:
        """Mean number of times that a work-group reads its sectors, at least 1."""
        return max(self.step_sectors / self.group_sectors, 1.0) if self.group_sectors else 1.0
