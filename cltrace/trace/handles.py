"""Memory objects by their handles: which object a handle denoted when a call was entered.

A driver reuses the handle of an object after the object is destroyed, so a handle denotes the object
that was registered with it last.
"""

import numpy as np
from numpy.typing import NDArray

from cltrace.events.tables import BUFFERS
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.distinct_values import sort_distinct

Int64s = NDArray[np.int64]


class MemoryHandles:
    """Memory objects of a process by handle and time."""

    def __init__(self, spool: ProcessSpool) -> None:
        rows = spool.rows(BUFFERS)
        handles = rows[:, BUFFERS.index("handle")]
        since_ns = rows[:, BUFFERS.index("known_host_ns")]
        order = np.lexsort((since_ns, handles))
        self._handles = np.ascontiguousarray(handles[order])
        self._since_ns = np.ascontiguousarray(since_ns[order])
        self._ids = np.ascontiguousarray(rows[order, BUFFERS.index("buffer_id")])
        self._reused = sort_distinct(self._handles[1:][self._handles[1:] == self._handles[:-1]])

    def is_reused(self, handles: Int64s) -> NDArray[np.bool_]:
        """Return a mask of the handles that denoted several objects, one after another."""
        return np.isin(handles, self._reused)

    def objects(self, handles: Int64s, host_ns: Int64s) -> Int64s:
        """Return the object that each handle denoted at a time; 0 for handles of no object."""
        if not len(self._handles):
            return np.zeros(len(handles), np.int64)
        first = np.searchsorted(self._handles, handles, side="left")
        exists = first < len(self._handles)
        exists[exists] = self._handles[first[exists]] == handles[exists]
        # An object that was registered at its first use may have been used a little earlier.
        position = np.where(exists, first, 0)
        several = np.flatnonzero(exists & self.is_reused(handles))
        position[several] = self._latest(handles[several], host_ns[several], first[several])
        return np.where(exists, self._ids[position], 0)

    def _latest(self, handles: Int64s, host_ns: Int64s, first: Int64s) -> Int64s:
        """Return the position of the last registration of each handle up to a time, or of the first."""
        count = len(self._handles)
        all_handles = np.concatenate([self._handles, handles])
        all_times = np.concatenate([self._since_ns, host_ns])
        is_query = np.arange(len(all_handles)) >= count
        order = np.lexsort((is_query, all_times, all_handles))
        latest = np.maximum.accumulate(np.where(is_query[order], -1, order))
        position = np.empty(len(handles), np.int64)
        queries = is_query[order]
        position[order[queries] - count] = latest[queries]
        is_same = (position >= 0) & (self._handles[np.maximum(position, 0)] == handles)
        return np.where(is_same, position, first)
