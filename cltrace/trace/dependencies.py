"""Completions, dependencies and waits of commands, joined by marks and by event handles."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.tables import COMPLETIONS, EDGES
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.call_streams import SparseRows
from cltrace.trace.scratch import Scratch, StoredRows
from cltrace.trace.sorted_runs import SortedRuns, matched_parts
from cltrace.trace.stored_columns import StoredColumns

Int64s = NDArray[np.int64]

_NONE: Final = -1


def find_completions(spool: ProcessSpool, scratch: Scratch, commands: StoredColumns) -> None:
    """Set the column `complete_host_ns` of commands whose completion was observed."""
    count = spool.row_count(COMPLETIONS)
    if not count:
        return
    completions = SortedRuns(scratch, COMPLETIONS.width)
    for rows in spool.row_parts(COMPLETIONS, scratch.part_rows, count):
        completions.add(rows)
    by_position = SortedRuns(scratch, 2)
    for rows, matches in _join_marks(
        completions.parts(), COMPLETIONS.width, _marks(commands, scratch)
    ):
        exists = matches[:, 0] >= 0
        by_position.add(np.stack([matches[exists, 0], rows[exists, 1]], axis=1))
    complete = SparseRows(by_position.parts(), 1)
    for number, begin in enumerate(commands.first_rows()):
        end = begin + len(commands.part(number, ["mark"])["mark"])
        commands.update(number, {"complete_host_ns": complete.take(begin, end)[:, 0]})


def find_dependencies(
    spool: ProcessSpool, scratch: Scratch, commands: StoredColumns, calls: StoredColumns
) -> tuple[StoredRows, StoredRows]:
    """Return the commands that commands wait for, and those that other calls wait for.

    They are pairs of the positions of a waiting command or call, and of an awaited command.
    """
    edges, waits = StoredRows(scratch, 2), StoredRows(scratch, 2)
    count = spool.row_count(EDGES)
    if not count:
        return edges, waits
    by_mark = SortedRuns(scratch, 3)
    first = 0
    for rows in spool.row_parts(EDGES, scratch.part_rows, count):
        number = np.arange(first, first + len(rows))
        by_mark.add(np.concatenate([rows, number[:, None]], axis=1))
        first += len(rows)
    waiting = _find_waiting(by_mark.parts(), scratch, commands, calls)
    for part in _find_awaited(waiting, scratch, commands).parts():
        command, call, awaited = part[:, 1], part[:, 2], part[:, 3]
        for position, target in ((command, edges), (call, waits)):
            both = (position >= 0) & (awaited >= 0)
            target.append(np.stack([position[both], awaited[both]], axis=1))
    return edges, waits


def _find_waiting(
    edges: Iterable[Int64s], scratch: Scratch, commands: StoredColumns, calls: StoredColumns
) -> SortedRuns:
    """Return rows of event, time, number, waiting command and waiting call of each edge.

    `edges` are rows of mark, event and number. A time is a number of commands: those entered before the
    waiting call.
    """
    by_event = SortedRuns(scratch, 5, keys=2)
    by_call = _join_marks(edges, 3, _call_marks(calls, commands, scratch))
    both = (np.concatenate([rows, matches], axis=1) for rows, matches in by_call)
    for rows, matches in _join_marks(both, 5, _marks(commands, scratch)):
        mark, event, number, call, call_time = rows.T
        time = np.where(call >= 0, call_time, matches[:, 1])
        del mark
        by_event.add(np.stack([event, time, number, matches[:, 0], call], axis=1))
    return by_event


def _find_awaited(waiting: SortedRuns, scratch: Scratch, commands: StoredColumns) -> SortedRuns:
    """Return rows of number, waiting command, waiting call and awaited command of each edge.

    The awaited command is the last with the event that was entered before the waiting call: a driver
    reuses the handle of an event after the event is released.
    """
    by_number = SortedRuns(scratch, 4)
    events = SortedRuns(scratch, 2, keys=2)
    first = 0
    for part in commands.parts(["event_handle"]):
        handle = part["event_handle"]
        here = np.flatnonzero(handle)
        events.add(np.stack([handle[here], here + first], axis=1))
        first += len(handle)
    last = np.array([[0, _NONE]])
    for candidates, rows in matched_parts(events.parts(), waiting.parts(), (2, 5), keys=2):
        candidates = np.concatenate([last, candidates])
        # The last may have the time of the next wanted row, and is then not before it.
        last = candidates[-2:]
        if not len(rows):
            continue
        at = _last_before(candidates, rows[:, :2])
        is_same = (candidates[at, 0] == rows[:, 0]) & (candidates[at, 1] < rows[:, 1])
        awaited = np.where(is_same & (rows[:, 0] != 0), candidates[at, 1], _NONE)
        by_number.add(np.concatenate([rows[:, 2:], awaited[:, None]], axis=1))
    return by_number


def _last_before(candidates: Int64s, wanted: Int64s) -> Int64s:
    """Return, per row of `wanted`, the last of the sorted candidates before it; the first if none is."""
    count = len(candidates)
    both = np.concatenate([wanted, candidates])
    is_candidate = np.arange(len(both)) >= len(wanted)
    # At equal keys the wanted row comes first: a command does not wait for itself.
    order = np.lexsort((is_candidate, both[:, 1], both[:, 0]))
    before = np.cumsum(is_candidate[order]) - 1
    at = np.empty(len(both), np.int64)
    at[order] = before
    return np.clip(at[: len(wanted)], 0, count - 1)


def _join_marks(
    rows: Iterable[Int64s], width: int, marks: SortedRuns
) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield rows in the order of their marks, with the position and time of the first call of each mark.

    Both are -1 if no call has the mark. Mark 0 stands for none.
    """
    last = np.array([[0, _NONE, _NONE]])
    for candidates, part in matched_parts(marks.parts(), rows, (3, width)):
        candidates = np.concatenate([last, candidates])
        is_new = np.append(np.True_, candidates[1:, 0] != candidates[:-1, 0])
        candidates = candidates[is_new]
        last = candidates[-1:]
        if not len(part):
            continue
        at = np.clip(np.searchsorted(candidates[:, 0], part[:, 0]), 0, len(candidates) - 1)
        exists = (candidates[at, 0] == part[:, 0]) & (part[:, 0] != 0)
        yield part, np.where(exists[:, None], candidates[at, 1:], _NONE)


def _marks(commands: StoredColumns, scratch: Scratch) -> SortedRuns:
    """Return rows of mark, position and time of the marked commands."""
    marks = SortedRuns(scratch, 3)
    first, last_ns, last_time = 0, None, 0
    for part in commands.parts(["mark", "enter_host_ns"]):
        enter = part["enter_host_ns"]
        time = np.searchsorted(enter, enter, side="left") + first
        if last_ns is not None:
            # Commands of one time are entered after none of them.
            time[enter == last_ns] = last_time
        last_ns, last_time = int(enter[-1]), int(time[-1])
        marked = np.flatnonzero(part["mark"])
        marks.add(np.stack([part["mark"][marked], marked + first, time[marked]], axis=1))
        first += len(enter)
    return marks


def _call_marks(calls: StoredColumns, commands: StoredColumns, scratch: Scratch) -> SortedRuns:
    """Return rows of mark, position and time of the marked calls that enqueued no command."""
    marks = SortedRuns(scratch, 3)
    before, last_ns, last_time = 0, None, 0
    for entered, rows in matched_parts(_entries(commands), _marked_calls(calls), (1, 3)):
        time = np.searchsorted(entered[:, 0], rows[:, 0], side="left") + before
        if last_ns is not None:
            time[rows[:, 0] == last_ns] = last_time
        if len(entered):
            if last_ns != int(entered[-1, 0]):
                last_ns = int(entered[-1, 0])
                last_time = before + int(np.searchsorted(entered[:, 0], last_ns, side="left"))
            before += len(entered)
        marks.add(np.stack([rows[:, 1], rows[:, 2], time], axis=1))
    return marks


def _entries(commands: StoredColumns) -> Iterator[Int64s]:
    for part in commands.parts(["enter_host_ns"]):
        yield part["enter_host_ns"][:, None]


def _marked_calls(calls: StoredColumns) -> Iterator[Int64s]:
    """Yield rows of entry, mark and position of the marked calls."""
    first = 0
    for part in calls.parts(["mark", "enter_host_ns"]):
        marked = np.flatnonzero(part["mark"])
        yield np.stack(
            [part["enter_host_ns"][marked], part["mark"][marked], marked + first], axis=1
        )
        first += len(part["mark"])
