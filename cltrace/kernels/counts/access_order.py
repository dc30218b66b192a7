"""Order of a warp's requests at a place of the source: those to other sectors, and those far away."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.sorted_numbers import is_first

_NO_ADDRESS: Final = -1
_NEAR_BYTES: Final = 256
"""Distance up to which a CPU fetches the next lines ahead."""


class Moves:
    """The sectors that each warp touched last at each site."""

    def __init__(self) -> None:
        self._last: dict[int, NDArray[np.uint64]] = {}

    def find(
        self, site: int, warps: NDArray[np.int64], hashes: NDArray[np.uint64], warp_count: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the order of requests by warp, and 1.0 for each that touches other sectors than before.

        `hashes` are those of the sectors of each request, in the order of the accesses.
        """
        last = self._last.setdefault(site, np.zeros(warp_count, np.uint64))
        order = np.argsort(warps, kind="stable")
        ordered, ordered_hashes = warps[order], hashes[order]
        is_begin = is_first(ordered)
        before = np.empty_like(ordered_hashes)
        before[1:] = ordered_hashes[:-1]
        before[is_begin] = last[ordered[is_begin]]
        is_end = np.append(is_begin[1:], True)
        last[ordered[is_end]] = ordered_hashes[is_end]
        return order, (ordered_hashes != before).astype(np.float64)


class Jumps:
    """The last request of each warp at each site, and what the jumps of a site have in common."""

    def __init__(self) -> None:
        self._last: dict[int, NDArray[np.int64]] = {}
        self._common: dict[int, int] = {}

    def common_bytes(self, site: int) -> int:
        """Return the greatest common divisor of the distances of a site's jumps, 0 without any."""
        return self._common.get(site, 0)

    def find(
        self,
        site: int,
        warps: NDArray[np.int64],
        begins: NDArray[np.int64],
        groups: NDArray[np.int64],
        warp_count: int,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the order of requests by warp, and 1.0 for each that jumps, in that order.

        `begins` are the first addresses of requests in the order of accesses, `groups` their work-groups.
        The first request of a warp follows that of the warp before it in its group.
        """
        order = np.argsort(warps, kind="stable")
        ordered, ordered_begins = warps[order], begins[order]
        is_begin = is_first(ordered)
        is_end = np.append(is_begin[1:], True)
        before = np.empty_like(ordered_begins)
        before[1:] = ordered_begins[:-1]
        firsts = ordered_begins[is_begin]
        last = self._last.setdefault(site, np.full(warp_count, _NO_ADDRESS, np.int64))
        earlier = last[ordered[is_begin]]
        before[is_begin] = np.where(
            earlier == _NO_ADDRESS, _neighbours(firsts, groups[order][is_begin]), earlier
        )
        last[ordered[is_end]] = ordered_begins[is_end]
        distances = np.abs(ordered_begins - before)
        jumps = distances > _NEAR_BYTES
        if jumps.any():
            self._common[site] = int(
                np.gcd.reduce(distances[jumps], initial=self._common.get(site, 0))
            )
        return order, jumps.astype(np.float64)


def _neighbours(firsts: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first request of the warp before, or the own one of the first warp of a group."""
    neighbours = np.concatenate([firsts[:1], firsts[:-1]])
    is_group = np.concatenate([[True], groups[1:] != groups[:-1]])
    chosen: NDArray[np.int64] = np.where(is_group, firsts, neighbours)
    return chosen
