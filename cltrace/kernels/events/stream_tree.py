"""A tree of streams that grows while work-items run."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.records import StreamTable

_FIRST_CAPACITY: Final = 1 << 10
_SPREAD: Final = 4
"""Span of keys, by their number, up to which distinct keys are found by marking them."""


class StreamTree:
    """The streams of work-items, kept as a tree of their distinct prefixes.

    A stream that would take more than `max_nodes` nodes is cut; the bits after the cut are counted.
    """

    def __init__(self, items: int, max_nodes: int) -> None:
        self._ends: NDArray[np.int64] = np.zeros(items, np.int64)
        self._is_cut: NDArray[np.bool_] = np.zeros(items, np.bool_)
        self._has_cuts = False
        self._max_nodes = max_nodes
        self._children: NDArray[np.int64] = np.full(2 * _FIRST_CAPACITY, -1, np.int64)
        self._parents: NDArray[np.int64] = np.full(_FIRST_CAPACITY, -1, np.int64)
        self._num_nodes = 1
        self.dropped_bits = 0

    @property
    def ends(self) -> NDArray[np.int64]:
        """The node of each work-item's stream."""
        return self._ends

    def extend(self, items: NDArray[np.int64], bits: NDArray[np.int64] | int) -> None:
        """Add a bit to the streams of some work-items: one for all, or one for each."""
        if self._has_cuts:
            is_open = ~self._is_cut[items]
            self.dropped_bits += int(len(items) - np.count_nonzero(is_open))
            items = items[is_open]
            bits = bits if isinstance(bits, int) else bits[is_open]
        if not len(items):
            return
        keys = 2 * self._ends[items] + bits
        nodes = self._children[keys]
        if nodes.min() < 0:
            self._add_nodes(_distinct(keys[nodes < 0]))
            nodes = self._children[keys]
            if nodes.min() < 0:
                self._cut(items[nodes < 0])
                items, nodes = items[nodes >= 0], nodes[nodes >= 0]
        self._ends[items] = nodes

    def _add_nodes(self, keys: NDArray[np.int64]) -> None:
        """Add a node for each key, which is twice a node plus a bit."""
        keys = keys[: max(self._max_nodes - self._num_nodes, 0)]
        end = self._num_nodes + len(keys)
        while end > len(self._parents):
            self._parents = np.concatenate([self._parents, np.full(len(self._parents), -1)])
            self._children = np.concatenate([self._children, np.full(len(self._children), -1)])
        self._parents[self._num_nodes : end] = keys
        self._children[keys] = np.arange(self._num_nodes, end)
        self._num_nodes = end

    def _cut(self, items: NDArray[np.int64]) -> None:
        self._is_cut[items] = True
        self._has_cuts = True
        self.dropped_bits += len(items)

    def table(self) -> StreamTable:
        """Return the tree."""
        keys = self._parents[: self._num_nodes]
        return StreamTable(keys >> 1, (keys & 1).astype(np.uint8) * (keys >= 0))


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys, ascending."""
    first = int(keys.min())
    span = int(keys.max()) - first + 1
    if span > _SPREAD * len(keys):
        return np.unique(keys)
    is_used = np.zeros(span, np.bool_)
    is_used[keys - first] = True
    return np.flatnonzero(is_used) + first
