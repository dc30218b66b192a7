"""Order of a warp's requests at a place of the source: those to other sectors, and those far away."""

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.sorted_numbers import is_first

_Number = TypeVar("_Number", bound=np.generic)
_NO_ADDRESS: Final = -1
_NEAR_BYTES: Final = 256
"""Distance up to which a CPU fetches the next lines ahead."""


@dataclass(frozen=True, slots=True)
class WarpOrder:
    """Order of a site's requests with those of each warp together, as they came.

    Attributes:
        order: the position of each request among the accesses.
        begins: the place of each warp's first request in this order.
        warps: the different warps.
    """

    order: NDArray[np.intp]
    begins: NDArray[np.intp]
    warps: NDArray[np.int64]

    @classmethod
    def of(cls, warps: NDArray[np.int64]) -> "WarpOrder":
        """Return the order of requests whose warps are given."""
        # A stable sort of 16 bits takes linear time.
        is_narrow = len(warps) > 0 and int(warps.max()) < 1 << 16
        order = np.argsort(warps.astype(np.uint16) if is_narrow else warps, kind="stable")
        ordered = warps[order]
        begins = np.flatnonzero(is_first(ordered))
        return cls(order, begins, ordered[begins])

    def of_ends(self, ordered: NDArray[_Number]) -> NDArray[_Number]:
        """Return the values of each warp's last request."""
        ends: NDArray[_Number] = ordered[np.append(self.begins[1:], len(ordered)) - 1]
        return ends

    def before(self, ordered: NDArray[_Number], first: NDArray[_Number]) -> NDArray[_Number]:
        """Return the value of the same warp's request before; `first` has those of first requests."""
        before = np.empty_like(ordered)
        before[1:] = ordered[:-1]
        before[self.begins] = first
        return before


class Moves:
    """The sectors that each warp touched last at each site."""

    def __init__(self) -> None:
        self._last: dict[int, NDArray[np.uint64]] = {}

    def find(
        self, site: int, order: WarpOrder, hashes: NDArray[np.uint64], warp_count: int
    ) -> NDArray[np.float64]:
        """Return 1.0 for each request, in `order`, that touches other sectors than the one before.

        `hashes` are those of the sectors of each request, in the order of the accesses.
        """
        last = self._last.setdefault(site, np.zeros(warp_count, np.uint64))
        ordered = hashes[order.order]
        before = order.before(ordered, last[order.warps])
        last[order.warps] = order.of_ends(ordered)
        moves: NDArray[np.float64] = (ordered != before).astype(np.float64)
        return moves


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
        order: WarpOrder,
        begins: NDArray[np.int64],
        groups: NDArray[np.int64],
        warp_count: int,
    ) -> NDArray[np.float64]:
        """Return 1.0 for each request, in `order`, that jumps.

        `begins` are the first addresses of requests in the order of accesses, `groups` the work-groups in
        `order`. The first request of a warp follows that of the warp before it in its group.
        """
        last = self._last.setdefault(site, np.full(warp_count, _NO_ADDRESS, np.int64))
        ordered, earlier = begins[order.order], last[order.warps]
        neighbours = _neighbours(ordered[order.begins], groups[order.begins])
        first = np.where(earlier == _NO_ADDRESS, neighbours, earlier)
        distances = np.abs(ordered - order.before(ordered, first))
        last[order.warps] = order.of_ends(ordered)
        jumps = distances > _NEAR_BYTES
        if jumps.any():
            self._common[site] = int(
                np.gcd.reduce(distances[jumps], initial=self._common.get(site, 0))
            )
        return jumps.astype(np.float64)


def _neighbours(firsts: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first request of the warp before, or the own one of the first warp of a group."""
    neighbours = np.concatenate([firsts[:1], firsts[:-1]])
    is_group = np.concatenate([[True], groups[1:] != groups[:-1]])
    chosen: NDArray[np.int64] = np.where(is_group, firsts, neighbours)
    return chosen
