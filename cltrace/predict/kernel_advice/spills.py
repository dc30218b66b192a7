"""Spilled registers: how often they are moved, and the counts of a launch that moves them.

A value that a loop uses is moved in each trip, as far as the loop's values need more registers than there
are (Belady's bound for a loop that uses its values in turn). All spilled values are moved once at least.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.compiler.ptx_loops import LoopRegisters
from cltrace.kernels.counts.records import (
    AccessSite,
    ConcurrentLoads,
    Footprint,
    Pattern,
)
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.source_places import NOWHERE
from cltrace.predict.kernel_advice.edits import certain

WORD_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class SpillMoves:
    """Spilled registers of a work-item that are stored and read together.

    `times` is the mean number of times, `line` the place of the loop that does it, "" outside of loops.
    """

    registers: int
    times: float
    line: str


def find_moves(
    counts: KernelCounts, loops: Sequence[LoopRegisters], spilled: int, available: int
) -> list[SpillMoves]:
    """Return the moves of `spilled` registers of a work-item that has `available` ones.

    They are moved by the innermost loops whose values do not fit, and once where there are none.
    """
    full = {at: loop for at, loop in enumerate(loops) if loop.registers > available}
    innermost = [loop for at, loop in full.items() if not _has_inner(at, full)]
    moves: dict[str, SpillMoves] = {}
    for loop in innermost:
        line = f"{loop.file}:{loop.line}"
        registers = min(spilled, loop.registers - available)
        times = _trips(counts, line)
        if times > 1.0 and registers > moves.get(line, SpillMoves(0, 0.0, "")).registers:
            moves[line] = SpillMoves(registers, times, line)
    return [SpillMoves(spilled, 1.0, ""), *moves.values()]


def _has_inner(at: int, loops: dict[int, LoopRegisters]) -> bool:
    return any(loop.outer == at for loop in loops.values())


def _trips(counts: KernelCounts, line: str) -> float:
    """Return the mean trips of a work-item through the loop at a line, of the least if it has several."""
    trips = (loop.entries * loop.trips.value for loop in counts.loops if str(loop.place) == line)
    return min(trips, default=0.0) / max(counts.work_items, 1)


def with_registers(counts: KernelCounts, registers: int) -> KernelCounts:
    """Return the counts of a launch whose work-items have so many registers."""
    return replace(counts, machine=counts.machine.with_registers(registers))


def with_spills(counts: KernelCounts, moves: Sequence[SpillMoves]) -> KernelCounts:
    """Return the counts of a launch that moves registers to memory and back."""
    sites = [site for move in moves for site in _sites(counts, move)]
    first = len(counts.sites)
    rounds = tuple(
        ConcurrentLoads((first + 2 * at,), counts.warps * move.times)
        for at, move in enumerate(moves)
    )
    return replace(counts, sites=(*counts.sites, *sites), rounds=(*counts.rounds, *rounds))


def _sites(counts: KernelCounts, move: SpillMoves) -> Iterator[AccessSite]:
    """Yield the reads and the writes of spilled registers, each lane's next to its neighbour's."""
    machine = counts.machine
    each = move.registers * move.times
    requests = certain(counts.warps * each)
    sectors = machine.warp_width * WORD_BYTES / machine.sector_bytes
    group_items = counts.work_items / max(counts.groups, 1)
    group_sectors = move.registers * group_items * WORD_BYTES / machine.sector_bytes
    for access in (Access.READ, Access.WRITE):
        yield AccessSite(
            place=NOWHERE,
            memory="spilled registers",
            space="private",
            access=access,
            element="int",
            access_bytes=WORD_BYTES,
            accesses=certain(counts.work_items * each),
            requests=requests,
            sectors=certain(requests.value * sectors),
            lines=requests,
            bank_cycles=requests,
            partial_sectors=0.0,
            moving_requests=requests.value,
            step_share=1.0,
            fresh_shares=(1.0, 1.0, 1.0),
            jumping_requests=0.0,
            jump_bytes=0,
            lane_share=1.0,
            pattern=Pattern.CONTIGUOUS,
            stride_bytes=WORD_BYTES,
            contention=1.0,
            footprint=Footprint(group_sectors, 0.0, group_sectors * counts.groups, 0.0),
            reuse=move.times,
            is_assumed=False,
            loop=-1,
            is_register=False,
            is_summable=False,
            texel_passes=0.0,
        )
