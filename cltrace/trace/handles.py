"""Memory objects by their handles: which object a handle denoted when a call was entered.

A driver reuses the handle of an object after the object is destroyed, so a handle denotes the object
that was registered with it last. Questions come in the order of time, so only the last object of each
handle is kept in memory, besides the registrations of the time in question.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.tables import BUFFERS
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.distinct_values import sort_distinct
from cltrace.trace.scratch import Scratch, StoredRows
from cltrace.trace.sorted_runs import SortedRuns

Int64s = NDArray[np.int64]

_COLUMNS: Final = [BUFFERS.index(name) for name in ("known_host_ns", "handle", "buffer_id")]
_EARLIEST_NS: Final = int(np.iinfo(np.int64).min)


class MemoryHandles:
    """Memory objects of a process by handle and time.

    The memory grows with the number of different handles, which drivers reuse.
    """

    def __init__(self, spool: ProcessSpool, scratch: Scratch) -> None:
        self._by_time = _registrations_by_time(spool, scratch)
        self._handles, self._first_ids, self._reused = _first_objects(self._by_time, scratch)
        self._now = self._first_ids.copy()
        self._rows = np.empty((0, len(_COLUMNS)), np.int64)
        self._next = 0
        self._passed_ns = _EARLIEST_NS

    def is_reused(self, handles: Int64s) -> NDArray[np.bool_]:
        """Return a mask of the handles that denoted several objects, one after another."""
        return np.isin(handles, self._reused)

    def objects(self, handles: Int64s, host_ns: Int64s) -> Int64s:
        """Return the object that each handle denoted at a time; 0 for handles of no object.

        An object that was registered at its first use may have been used a little earlier, so the first
        object of a handle is taken for all times before it. Questions about ascending times are fast.
        """
        ids = np.zeros(len(handles), np.int64)
        if not len(handles) or not len(self._handles):
            return ids
        at = np.minimum(np.searchsorted(self._handles, handles), len(self._handles) - 1)
        exists = self._handles[at] == handles
        several = np.flatnonzero(exists & self.is_reused(handles))
        ids[exists] = self._first_ids[at[exists]]
        if len(several):
            ids[several] = self._latest(at[several], host_ns[several])
        return ids

    def _latest(self, places: Int64s, host_ns: Int64s) -> Int64s:
        """Return the last object of reused handles, which are given by their places, up to some times."""
        order = np.argsort(host_ns, kind="stable")
        places, host_ns = places[order], host_ns[order]
        if int(host_ns[0]) < self._passed_ns:
            self._restart()
        ids = np.empty(len(places), np.int64)
        done = 0
        while done < len(places):
            until_ns = self._read_until(int(host_ns[done]))
            end = len(places) if until_ns is None else int(np.searchsorted(host_ns, until_ns))
            ids[order[done:end]] = self._find(places[done:end], host_ns[done:end])
            done = end
        return ids

    def _read_until(self, host_ns: int) -> int | None:
        """Read registrations up to a time. Return the time from which more may come; `None` if none does.

        Twice as many as are read at once stay in memory: the next question may be about an earlier time.
        """
        step = self._by_time.part_rows
        is_read = not len(self._rows)
        while self._next < len(self._by_time) and (
            not len(self._rows) or int(self._rows[-1, 0]) <= host_ns
        ):
            if len(self._rows) > 2 * step:
                passed, self._rows = self._rows[:step], self._rows[step:]
                # Of several assignments to one place the last holds: the rows are in the order of time.
                self._now[np.searchsorted(self._handles, passed[:, 1])] = passed[:, 2]
                self._passed_ns = int(passed[-1, 0])
            end = min(self._next + step, len(self._by_time))
            self._rows = np.concatenate([self._rows, self._by_time.read(self._next, end)])
            self._next = end
            is_read = True
        if is_read:
            self._sort()
        return int(self._rows[-1, 0]) if self._next < len(self._by_time) else None

    def _sort(self) -> None:
        """Sort the rows in memory by place and time, as one number."""
        keys = np.searchsorted(self._handles, self._rows[:, 1]) * (len(self._rows) + 1)
        keys += np.arange(1, len(keys) + 1)
        order = np.argsort(keys)
        self._keys, self._key_ids = keys[order], self._rows[order, 2]

    def _find(self, places: Int64s, host_ns: Int64s) -> Int64s:
        """Return the objects at some places and times, given the rows in memory."""
        size = len(self._rows) + 1
        wanted = places * size + np.searchsorted(self._rows[:, 0], host_ns, "right")
        at = np.searchsorted(self._keys, wanted, "right") - 1
        is_same = (at >= 0) & (self._keys[at] // size == places)
        return np.where(is_same, self._key_ids[at], self._now[places])

    def _restart(self) -> None:
        self._now = self._first_ids.copy()
        self._rows = np.empty((0, len(_COLUMNS)), np.int64)
        self._next = 0
        self._passed_ns = _EARLIEST_NS


def _registrations_by_time(spool: ProcessSpool, scratch: Scratch) -> StoredRows:
    """Return rows of time, handle and object in the order of time."""
    runs, rows = SortedRuns(scratch, len(_COLUMNS)), StoredRows(scratch, len(_COLUMNS))
    for part in spool.row_parts(BUFFERS, scratch.part_rows):
        runs.add(np.ascontiguousarray(part[:, _COLUMNS]))
    for part in runs.parts():
        rows.append(part)
    return rows


def _first_objects(by_time: StoredRows, scratch: Scratch) -> tuple[Int64s, Int64s, Int64s]:
    """Return all handles, ascending, the first object of each, and the handles with several objects."""
    runs = SortedRuns(scratch, 2)
    for part in by_time.parts():
        runs.add(np.ascontiguousarray(part[:, 1:]))
    firsts, reused = [np.empty((0, 2), np.int64)], [np.empty(0, np.int64)]
    for part, is_begin in _with_begins(runs.parts()):
        firsts.append(part[is_begin])
        reused.append(sort_distinct(part[~is_begin, 0]))
    both = np.concatenate(firsts)
    return (
        np.ascontiguousarray(both[:, 0]),
        np.ascontiguousarray(both[:, 1]),
        sort_distinct(np.concatenate(reused)),
    )


def _with_begins(parts: Iterator[Int64s]) -> Iterator[tuple[Int64s, NDArray[np.bool_]]]:
    """Yield sorted rows with a mask of those whose first value differs from the row before."""
    last: int | None = None
    for part in parts:
        if len(part):
            is_begin = np.append(last != int(part[0, 0]), part[1:, 0] != part[:-1, 0])
            last = int(part[-1, 0])
            yield part, is_begin
