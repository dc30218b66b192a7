"""Ids of a whole trace, made from the ids that each process gave."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.tables import BUFFERS
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.scratch import PART_ROWS


class TraceIds:
    """Mapping from the ids of a process to ids of the trace.

    The ids of a process follow those of the processes before it.
    """

    def __init__(self, process_id: int, offsets: Mapping[str, int]) -> None:
        self.process_id: Final = process_id
        self._offsets = offsets

    def of(self, table: str, own: int) -> int | None:
        """Return the trace's id for the process's `own` id; `None` for 0, which stands for none."""
        return own + self._offsets.get(table, 0) if own > 0 else None

    def column(self, table: str, own: Int64s) -> Int64s:
        """Return the trace's ids for a column of the process's ids. 0 becomes `ABSENT`."""
        return np.where(own > 0, own + self._offsets.get(table, 0), ABSENT)


class TraceIdAllocator:
    """Allocator of the ids of each process in a trace."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._processes = 0

    def add_process(self, spool: ProcessSpool) -> TraceIds:
        """Allocate the ids of the next process."""
        offsets = dict(self._used)
        for record in spool.all_records:
            number = getattr(record, "id", 0)
            offset = offsets.get(record.TABLE, 0)
            self._used[record.TABLE] = max(self._used.get(record.TABLE, 0), offset + number)
        parts = spool.row_parts(BUFFERS, PART_ROWS)
        max_buffer_id = max((int(rows[:, 0].max(initial=0)) for rows in parts), default=0)
        self._used["buffer"] = offsets.get("buffer", 0) + max_buffer_id
        self._processes += 1
        return TraceIds(self._processes, offsets)

    def reserve(self, table: str, count: int) -> int:
        """Reserve `count` consecutive ids of a table and return the first."""
        first = self._used.get(table, 0) + 1
        self._used[table] = first + count - 1
        return first
