"""Rows of the trace's tables of memory objects, regions, clocks and captured contents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import RELEASES_UNSEEN, MemoryKind
from cltrace.events.records import Diagnostic, ProcessEnded
from cltrace.events.tables import ANCHORS, BUFFERS, REGIONS, RELEASES
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.commands import ABSENT
from cltrace.trace.distinct_values import find_distinct
from cltrace.trace.numbered_rows import NumberedRows
from cltrace.trace.renumbering import TraceIds
from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import SortedRuns

Int64s = NDArray[np.int64]

_NEVER_NS: Final = int(np.iinfo(np.int64).max)


_FATES: Final = ("alive", "unknown", "released", "at-exit", "leaked")
_KINDS: Final = ("unknown", *(kind.name.lower().replace("_", "-") for kind in MemoryKind))
BUFFER_TEXTS: Final[Mapping[str, Sequence[str]]] = {"kind": _KINDS, "fate": _FATES}
"""Texts of the columns of buffers that are numbers of texts."""

_OPTIONAL: Final = ("origin_bytes", "width", "height", "depth")
"""Columns in which 0 stands for no value."""


def buffer_columns(
    spool: ProcessSpool, ids: TraceIds, scratch: Scratch
) -> Iterator[dict[str, Int64s]]:
    """Yield the columns of a process's memory objects, part by part, in the order of their numbers."""
    releases = NumberedRows(spool, RELEASES, scratch)
    fates = _FateFinder(spool)
    by_number = SortedRuns(scratch, BUFFERS.width)
    for rows in spool.row_parts(BUFFERS, scratch.part_rows):
        by_number.add(rows)
    for rows in by_number.parts():
        buffers = dict(zip(BUFFERS.columns, rows.T, strict=True))
        number = buffers["buffer_id"]
        is_released, released = _find_all(releases, number)
        after, before = (np.where(is_released, released[:, at], ABSENT) for at in (1, 2))
        yield {
            "id": ids.column("buffer", number),
            "process_id": np.full(len(rows), ids.process_id),
            **{name: buffers[name] for name in ("flags", "size_bytes", "known_host_ns")},
            "created_here": buffers["created_here"],
            **{name: _or_absent(buffers[name]) for name in _OPTIONAL},
            "parent_buffer_id": ids.column("buffer", buffers["parent_buffer_id"]),
            **{
                f"{table}_id": ids.column(table, buffers[f"{table}_id"])
                for table in ("context", "site", "thread")
            },
            "kind": _kind_numbers(buffers["kind"]),
            "released_after_host_ns": after,
            "released_before_host_ns": before,
            "fate": fates.find(number, buffers["kind"], after),
        }


class _FateFinder:
    """Finder of what became of the memory objects of a process, as positions in `_FATES`."""

    def __init__(self, spool: ProcessSpool) -> None:
        self._spool = spool
        endings = spool.records(ProcessEnded)
        ended = endings[-1] if endings else None
        exits_ns = [ending.ended_host_ns for ending in endings if ending.how == "exit"]
        self._exit_begun_ns = min(exits_ns, default=_NEVER_NS)
        is_unseen = any(note.code == RELEASES_UNSEEN for note in spool.records(Diagnostic))
        self._default = _FATES.index("unknown" if is_unseen else "alive")
        self._is_leak_told = not is_unseen and ended is not None and ended.how == "exit"

    def find(self, numbers: Int64s, kinds: Int64s, released_ns: Int64s) -> Int64s:
        """Return the fates of objects, given by ascending numbers. `released_ns` may be `ABSENT`."""
        fates = np.full(len(numbers), self._default)
        if self._is_leak_told:
            fates[kinds != int(MemoryKind.SVM)] = _FATES.index("leaked")
        fates[self._spool.is_slot_marked(numbers)] = _FATES.index("at-exit")
        is_released = released_ns != ABSENT
        is_late = is_released & (released_ns > self._exit_begun_ns)
        fates[is_released] = _FATES.index("released")
        fates[is_late] = _FATES.index("at-exit")
        return fates


def _find_all(table: NumberedRows, numbers: Int64s) -> tuple[NDArray[np.bool_], Int64s]:
    """Return which of some sorted numbers exist in a table, and their rows."""
    distinct = find_distinct(numbers)
    exists, rows = table.find(distinct.values)
    return exists[distinct.inverse], rows[distinct.inverse]


def _or_absent(values: Int64s) -> Int64s:
    return np.where(values == 0, ABSENT, values)


def _kind_numbers(kinds: Int64s) -> Int64s:
    """Return the positions of kinds in `_KINDS`."""
    numbers = np.zeros(len(kinds), np.int64)
    for position, kind in enumerate(MemoryKind, start=1):
        numbers[kinds == int(kind)] = position
    return numbers


def region_columns(
    spool: ProcessSpool, ids: TraceIds, scratch: Scratch
) -> Iterator[dict[str, Int64s]]:
    """Yield the columns of a process's regions, part by part."""
    for rows in spool.row_parts(REGIONS, scratch.part_rows):
        yield {
            "name_string_id": ids.column("string", rows[:, 0]),
            "thread_id": ids.column("thread", rows[:, 1]),
            "enter_host_ns": rows[:, 2],
            "leave_host_ns": rows[:, 3],
        }


def segment_rows(segments: Sequence[ClockSegment], ids: TraceIds) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the segments of a process's clocks."""
    for segment in segments:
        _, *rest = astuple(segment)
        yield ids.of("device", segment.device_id), *rest


def clock_columns(spool: ProcessSpool, ids: TraceIds) -> dict[str, Int64s]:
    """Return the columns of a process's readings of the host's clocks."""
    rows = spool.rows(ANCHORS)
    columns = {name: rows[:, index] for index, name in enumerate(ANCHORS.columns)}
    return {"process_id": np.full(len(rows), ids.process_id), **columns}
