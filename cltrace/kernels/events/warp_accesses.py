"""Accesses of warps: the sectors and bank cycles of the accesses that work-items make together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.transactions import Width, count_transactions
from cltrace.kernels.events.records import EventSite, LaunchEvents
from cltrace.kernels.machine import Machine

_WORD_BYTES: Final = 4
_MEMORY_SHIFT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteAccesses:
    """The accesses of a site to private memory, or to all other memory.

    Attributes:
        site: the position in `LaunchEvents.sites`.
        memories: positions in `LaunchEvents.memories` of the accessed objects, ascending; -1 for accesses
            outside of all objects.
        is_private: True for private memory.
        accesses: the number of accesses by work-items.
        sectors: sectors of each request, which is what an instruction of a GPU moves for a warp.
        bank_cycles: cycles that the banks need for each request.
    """

    site: int
    memories: tuple[int, ...]
    is_private: bool
    accesses: int
    sectors: NDArray[np.int64]
    bank_cycles: NDArray[np.int64]

    @property
    def requests(self) -> int:
        """The number of requests of warps."""
        return len(self.sectors)


def find_warp_accesses(events: LaunchEvents) -> Sequence[SiteAccesses]:
    """Return the accesses of warps by site, in the order of the source."""
    accesses = events.accesses
    is_private = np.asarray([memory.space == "private" for memory in events.memories] + [False])
    keys = 2 * accesses.site + is_private[accesses.memory]
    by_site = []
    for key in np.unique(keys).tolist():
        if not events.sites[key // 2].kind.is_barrier:
            positions = np.flatnonzero(keys == key)
            by_site.append(_count_site(events, key // 2, positions, is_private=bool(key % 2)))
    return sorted(by_site, key=lambda item: _order(events.sites[item.site], item))


def _order(site: EventSite, accesses: SiteAccesses) -> tuple[str, int, int, bool]:
    return site.file, site.line, site.column, accesses.is_private


def _count_site(
    events: LaunchEvents,
    number: int,
    positions: NDArray[np.int64],
    *,
    is_private: bool,
) -> SiteAccesses:
    accesses = events.accesses
    warp, step = events.items.warp[accesses.row[positions]], accesses.step[positions]
    order = np.lexsort((accesses.row[positions], warp, step))
    positions, warp, step = positions[order], warp[order], step[order]
    is_first = np.ones(len(positions), np.bool_)
    is_first[1:] = (warp[1:] != warp[:-1]) | (step[1:] != step[:-1])
    begins = np.flatnonzero(is_first)
    offsets = accesses.offset_bytes[positions]
    if is_private:
        offsets = _interleave(events, positions, offsets, warp)
    width = _width(events.sites[number], events.machine, is_private=is_private)
    addresses = offsets + (accesses.memory[positions] << _MEMORY_SHIFT)
    sectors, bank_cycles = _count_requests(addresses, begins, step[begins], width, events.machine)
    return SiteAccesses(
        site=number,
        memories=tuple(np.unique(accesses.memory[positions]).tolist()),
        is_private=is_private,
        accesses=len(positions),
        sectors=sectors,
        bank_cycles=bank_cycles,
    )


def _width(site: EventSite, machine: Machine, *, is_private: bool) -> Width:
    """Return the bytes of an access and of its requests. Private variables are accessed word by word."""
    if is_private:
        return Width(_WORD_BYTES, _WORD_BYTES)
    return Width.of(site, machine) if site.access_bytes else Width(1, 1)


def _interleave(
    events: LaunchEvents,
    positions: NDArray[np.int64],
    offsets: NDArray[np.int64],
    warp: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the offsets of private variables as a GPU lays them out: word by word, lane by lane."""
    lane = events.accesses.row[positions] - np.searchsorted(events.items.warp, warp)
    word, rest = np.divmod(offsets, _WORD_BYTES)
    placed: NDArray[np.int64] = (word * events.machine.warp_width + lane) * _WORD_BYTES + rest
    return placed


def _count_requests(
    addresses: NDArray[np.int64],
    begins: NDArray[np.int64],
    step: NDArray[np.int64],
    width: Width,
    machine: Machine,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sectors and bank cycles of the requests of warps, whose accesses begin at `begins`.

    Warps of one step are counted as wide as the widest of them, as the passes of wide accesses are
    parts of that; if all work-items access one address, as a single access.
    """
    counts = np.diff(begins, append=len(addresses))
    step_begins = np.flatnonzero(np.diff(step, prepend=step[0] - 1))
    step_counts = np.diff(step_begins, append=len(step))
    widest, first = np.maximum.reduceat(counts, step_begins), begins[step_begins]
    is_uniform = np.minimum.reduceat(addresses, first) == np.maximum.reduceat(addresses, first)
    lanes = np.repeat(np.where(is_uniform, 1, widest), step_counts)
    sectors, bank_cycles = np.zeros((2, len(begins), width.requests), np.int64)
    for count in np.unique(lanes).tolist():
        is_here = lanes == count
        place = np.arange(count)
        position = np.where(place < counts[is_here, None], place, 0) + begins[is_here, None]
        for request, (begin, size) in enumerate(width.parts()):
            counted = count_transactions(
                addresses[position] + begin, Width(size, size), machine, writes=False
            )
            sectors[is_here, request], bank_cycles[is_here, request] = (
                counted.sectors,
                counted.bank_cycles,
            )
    return sectors.ravel(), bank_cycles.ravel()
