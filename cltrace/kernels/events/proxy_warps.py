"""Proxy warps: warps whose work-items take the same branches, summarised as one.

Source: Klein, "Towards Interactive Visual Exploration of Parallel Programs", equations 4.1 to 4.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.records import LaunchEvents


@dataclass(frozen=True, slots=True)
class StreamShare:
    """A stream, as a node of the streams' tree, and the number of work-items that have it."""

    node: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyWarp:
    """All warps whose lanes have the same streams, lane by lane.

    Attributes:
        warps: the numbers of the warps.
        shares: the streams of the lanes of one of them, the most frequent first.
        issued_operations: operations that its warps issued, times their lanes: what they cost.
        active_operations: operations that its work-items executed. What is missing are idle lanes.
    """

    warps: NDArray[np.int64]
    shares: tuple[StreamShare, ...]
    issued_operations: int
    active_operations: int

    @property
    def is_divergent(self) -> bool:
        """True if the lanes of a warp take different branches."""
        return len(self.shares) > 1

    @property
    def active_lanes(self) -> float:
        """The mean share of lanes that are active in an operation."""
        return self.active_operations / self.issued_operations if self.issued_operations else 1.0


def stream_histogram(events: LaunchEvents) -> Sequence[StreamShare]:
    """Return the streams of all recorded work-items, the most frequent first."""
    return _shares(events.items.stream)


def find_proxy_warps(events: LaunchEvents) -> Sequence[ProxyWarp]:
    """Return the proxy warps: divergent ones first, then those of the most warps."""
    items = events.items
    if not len(items.item):
        return ()
    begins = np.flatnonzero(np.diff(items.warp, prepend=-1))
    counts = np.diff(begins, append=len(items.warp))
    active = np.add.reduceat(items.operations, begins)
    warps = items.warp[begins]
    issued = events.warp_operations[warps] * events.machine.warp_width
    proxies = []
    for length in np.unique(counts).tolist():  # warps of as many lanes
        warps_here = np.flatnonzero(counts == length)
        rows = items.stream[begins[warps_here][:, None] + np.arange(length)]
        _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(number.reshape(-1), kind="stable")
        parts = np.split(warps_here[order], np.cumsum(np.bincount(number.reshape(-1)))[:-1])
        for row, members in zip(rows[first], parts, strict=True):
            proxies.append(
                ProxyWarp(
                    warps=warps[members],
                    shares=tuple(_shares(row)),
                    issued_operations=int(issued[members].sum()),
                    active_operations=int(active[members].sum()),
                )
            )
    return sorted(
        proxies, key=lambda proxy: (not proxy.is_divergent, -len(proxy.warps), int(proxy.warps[0]))
    )


def active_lanes(proxies: Sequence[ProxyWarp]) -> float:
    """Return the mean share of lanes that are active in an operation, over all proxy warps."""
    issued = sum(proxy.issued_operations for proxy in proxies)
    return sum(proxy.active_operations for proxy in proxies) / issued if issued else 1.0


def _shares(streams: NDArray[np.int64]) -> Sequence[StreamShare]:
    nodes, counts = np.unique(streams, return_counts=True)
    order = np.lexsort((nodes, -counts))
    return [StreamShare(int(nodes[at]), int(counts[at])) for at in order]
