"""Assembly of a process's commands and other host calls from its row tables, part by part.

The facts about a launch are in several tables: its own row, the circumstance that the row refers to, the
stamps, which came later, and possibly a wait list and a completion. Here they become columns with one row
per command, in the order of entry.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.kinds import CallFlag
from cltrace.events.records import Content, Queue
from cltrace.events.tables import CALLS, CIRCUMSTANCES, LAUNCHES
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.call_streams import (
    CALL_STREAM_WIDTH,
    LAUNCH_STREAM_WIDTH,
    STAMP_WIDTH,
    SparseRows,
    call_stream,
    launch_stream,
)
from cltrace.trace.commands import ABSENT, STAMP_COLUMNS, StoredHostCalls
from cltrace.trace.dependencies import find_completions, find_dependencies
from cltrace.trace.distinct_values import combine, find_distinct
from cltrace.trace.first_launches import FirstLaunches
from cltrace.trace.handles import MemoryHandles
from cltrace.trace.launches import LaunchConfigurations
from cltrace.trace.progress import Progress
from cltrace.trace.queue_handles import QueueHandles
from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import SortedRuns, matched_parts
from cltrace.trace.stored_columns import StoredColumns

Int64s = NDArray[np.int64]
Columns = dict[str, Int64s]

_LAUNCH_API: Final = int(Api.clEnqueueNDRangeKernel)
_EMPTY_API: Final = int(Api.clEnqueueMarkerWithWaitList)


def assemble_host_calls(
    spool: ProcessSpool,
    scratch: Scratch,
    configurations: LaunchConfigurations,
    handles: MemoryHandles,
    progress: Progress,
) -> tuple[StoredHostCalls, list[int]]:
    """Assemble the host calls of a process.

    References to rows that were never written become empty. Returned too is the position of the command
    whose configuration each captured content belongs to; -1 for none.
    """
    assembly = _Assembly(spool, scratch, configurations, handles)
    for count in assembly.merge():
        progress(f"{count} commands read")
    assembly.number_pending()
    commands, calls = assembly.commands, assembly.calls
    find_completions(spool, scratch, commands)
    edges, waits = find_dependencies(spool, scratch, commands, calls)
    host_calls = StoredHostCalls(commands, calls, edges, waits, assembly.damaged_rows)
    return host_calls, assembly.content_positions()


class _Assembly:
    """Assembly of the columns of one process."""

    def __init__(
        self,
        spool: ProcessSpool,
        scratch: Scratch,
        configurations: LaunchConfigurations,
        handles: MemoryHandles,
    ) -> None:
        self._spool, self._scratch = spool, scratch
        self._configurations, self._handles = configurations, handles
        self._queues = QueueHandles(spool.records(Queue))
        self._first_launches = FirstLaunches(spool.records(Queue))
        self._contents = [
            (content.circumstance_id, content.arguments_id) for content in spool.records(Content)
        ]
        # By circumstance and argument list: the row of the first launch, and the position of its command.
        self._content_rows: dict[tuple[int, ...], tuple[int, int]] = dict.fromkeys(
            self._contents, (-1, -1)
        )
        self.commands, self.calls = StoredColumns(scratch), StoredColumns(scratch)
        self.damaged_rows = 0
        self._count = 0

    def merge(self) -> Iterator[int]:
        """Merge launches and the other commands in the order of entry. Yield the number so far."""
        streams = launch_stream(self._spool, self._scratch), self._command_calls()
        widths = LAUNCH_STREAM_WIDTH, CALL_STREAM_WIDTH
        for launches, calls in matched_parts(*streams, widths):
            if len(launches) or len(calls):
                self._add_part(launches, calls)
                yield self._count

    def number_pending(self) -> None:
        """Number the launch configurations that did not fit into memory."""
        numbers = SortedRuns(self._scratch, 2)
        is_any = False
        for rows in self._configurations.number_pending():
            numbers.add(rows)
            is_any = True
        if not is_any:
            return
        late = SparseRows(numbers.parts(), 1)
        for number, begin in enumerate(self.commands.first_rows()):
            launch_id = self.commands.part(number, ["launch_id"])["launch_id"]
            late_ids = late.take(begin, begin + len(launch_id))[:, 0]
            merged = np.where(late_ids == ABSENT, launch_id, late_ids)
            self.commands.update(number, {"launch_id": merged})

    def content_positions(self) -> list[int]:
        """Return the position of the command of each captured content."""
        return [self._content_rows[pair][1] for pair in self._contents]

    def _command_calls(self) -> Iterator[Int64s]:
        """Yield the calls that enqueued a command, and store the others."""
        enqueuing = [int(api) for api in COMMAND_KINDS]
        numbers = [int(api) for api in Api]
        for rows in call_stream(self._spool, self._scratch):
            api = rows[:, CALLS.index("api")]
            is_command = np.isin(api, enqueuing) & (rows[:, CALLS.index("status")] == 0)
            is_known = np.isin(api, numbers)
            self.damaged_rows += int((~is_known).sum())
            others = rows[~is_command & is_known]
            if len(others):
                self.calls.append(self._other_columns(others))
            if is_command.any():
                yield rows[is_command]

    def _add_part(self, launches: Int64s, calls: Int64s) -> None:
        """Add commands, given as launches and other calls in the order of entry."""
        enter = np.concatenate([launches[:, 0], calls[:, 0]])
        order = np.argsort(enter, kind="stable") if len(calls) else np.arange(len(enter))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(self._count, self._count + len(order))
        columns = self._launch_columns(launches, position[: len(launches)])
        if len(calls):
            others = self._call_columns(calls)
            columns = {
                name: np.concatenate([columns[name], others[name]])[order] for name in columns
            }
        handle = columns.pop("queue_handle")
        columns["queue_id"] = self._queues.find(handle, columns["enter_host_ns"])
        self._first_launches.mark(columns)
        self.commands.append(columns)
        self._count += len(order)

    def _launch_columns(self, launches: Int64s, positions: Int64s) -> Columns:
        numbers = [LAUNCHES.index("circumstance_id"), LAUNCHES.index("arguments_id")]
        circumstances, launch_id = self._configurations.number(
            launches[:, [0, *numbers]], positions
        )
        self._note_contents(launches[:, numbers], launches[:, -1], positions)

        def of(name: str) -> Int64s:
            return circumstances[:, CIRCUMSTANCES.index(name)]

        count = len(launches)
        zero, unknown = np.zeros(count, np.int64), np.full(count, ABSENT)
        flags = of("flags") & int(CallFlag.EMPTY_RANGE)
        stamps = launches[:, LAUNCHES.width : LAUNCHES.width + STAMP_WIDTH]
        return {
            "enter_host_ns": launches[:, 0],
            "return_host_ns": launches[:, 1],
            # pyopencl enqueues a marker in place of a launch without work-items.
            "api": np.where(flags, _EMPTY_API, _LAUNCH_API),
            **{name: of(name) for name in ("thread_id", "site_id", "queue_handle", "kernel_id")},
            "launch_id": launch_id,
            "variant": self._first_launches.variants(circumstances),
            "event_handle": launches[:, LAUNCHES.index("event_handle")],
            "mark": launches[:, LAUNCHES.index("mark")],
            **dict.fromkeys(("source_buffer_id", "target_buffer_id"), zero),
            **dict.fromkeys(("source_offset_bytes", "target_offset_bytes"), unknown),
            **dict.fromkeys(("size_bytes", "complete_host_ns"), unknown),
            "flags": flags,
            **{name: stamps[:, at] for at, name in enumerate(STAMP_COLUMNS)},
        }

    def _call_columns(self, calls: Int64s) -> Columns:
        def of(name: str) -> Int64s:
            return calls[:, CALLS.index(name)]

        zero, unknown = np.zeros(len(calls), np.int64), np.full(len(calls), ABSENT)
        source, target = (
            self._handles.objects(of(f"{side}_handle"), of("enter_host_ns"))
            for side in ("source", "target")
        )
        same = ("enter_host_ns", "return_host_ns", "api", "thread_id", "site_id", "queue_handle")
        stamps = calls[:, CALLS.width : CALLS.width + STAMP_WIDTH]
        return {
            **{name: of(name) for name in (*same, "event_handle", "mark", "flags")},
            **dict.fromkeys(("launch_id", "kernel_id", "variant"), zero),
            "size_bytes": _sizes(calls),
            "complete_host_ns": unknown,
            "source_buffer_id": source,
            "target_buffer_id": target,
            # Calls without a memory object have no offset.
            "source_offset_bytes": np.where(source > 0, of("source_offset_bytes"), ABSENT),
            "target_offset_bytes": np.where(target > 0, of("target_offset_bytes"), ABSENT),
            **{name: stamps[:, at] for at, name in enumerate(STAMP_COLUMNS)},
        }

    def _other_columns(self, calls: Int64s) -> Columns:
        """Return the columns of calls that enqueued no command."""
        names = (
            *("api", "thread_id", "site_id", "enter_host_ns", "return_host_ns"),
            *("status", "mark"),
        )
        handle = calls[:, CALLS.index("queue_handle")]
        return {
            **{name: calls[:, CALLS.index(name)] for name in names},
            "size_bytes": _sizes(calls),
            "queue_id": self._queues.find(handle, calls[:, 0]),
        }

    def _note_contents(self, numbers: Int64s, rows: Int64s, positions: Int64s) -> None:
        """Note the first launches that captured contents belong to."""
        if not self._content_rows:
            return
        wanted = np.array(list(self._content_rows), np.int64)
        both = combine(*np.concatenate([wanted, numbers]).T)
        members = np.flatnonzero(np.isin(both[len(wanted) :], both[: len(wanted)]))
        members = members[np.argsort(rows[members], kind="stable")]
        first = members[find_distinct(both[len(wanted) :][members]).first]
        for pair, row, position in zip(
            map(tuple, numbers[first].tolist()),
            rows[first].tolist(),
            positions[first].tolist(),
            strict=True,
        ):
            known, _ = self._content_rows[pair]
            if known < 0 or row < known:
                self._content_rows[pair] = (row, position)


def _sizes(calls: Int64s) -> Int64s:
    sizes = calls[:, CALLS.index("size_bytes")]
    return np.where(sizes < 0, ABSENT, sizes)
