"""Reads of a warp, and what passes by between two of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads that a warp waits for together: the mean number of waits, and positions of their traffic.

    `has_local` is True if reads of local memory are among them.
    """

    per_warp: float
    traffic: tuple[int, ...]
    has_local: bool


def with_neighbours(
    traffic: Sequence[Traffic], reads: Sequence[Reads], warps: float
) -> Iterator[Traffic]:
    """Yield the regions of a launch of `warps` warps, with what a warp does between two accesses."""
    for position, region in enumerate(traffic):
        waits = sum(each.per_warp for each in reads if position in each.traffic)
        reads_of_warp = region.requests / warps
        # Warps that do not wait for private variables read all of them in one go.
        alone = reads_of_warp if region.memory == PRIVATE_MEMORY else 1.0
        yield replace(
            region,
            passing_lines=_passing_lines(region, traffic),
            reads_per_wait=max(reads_of_warp / waits if waits else alone, 1.0),
        )


def _passing_lines(region: Traffic, traffic: Sequence[Traffic]) -> float:
    """Return the lines that a warp touches between two accesses of a region.

    What it reads and writes of one memory is assumed to be the same.
    """
    by_memory: dict[str, dict[bool, float]] = {}
    for other in traffic:
        lines = by_memory.setdefault(other.memory, {True: 0.0, False: 0.0})
        share = min(other.steps / max(region.steps, 1e-9), 1.0)
        lines[other.access is Access.READ] += share * other.step_lines
    return sum(max(each.values()) for each in by_memory.values())
