"""Numbers of a whole trace, made from the numbers that each process gave."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.tables import BUFFERS
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.commands import ABSENT, Int64s


class Numbers:
    """One process's numbers in the trace: its own, moved behind those of the processes before it."""

    def __init__(self, process_id: int, offsets: Mapping[str, int]) -> None:
        self.process_id: Final = process_id
        self._offsets = offsets

    def of(self, table: str, own: int) -> int | None:
        """The trace's number for the process's `own`; `None` for 0, which is none."""
        return own + self._offsets.get(table, 0) if own > 0 else None

    def column(self, table: str, own: Int64s) -> Int64s:
        """As `of`, for a column; 0 becomes `ABSENT`."""
        return np.where(own > 0, own + self._offsets.get(table, 0), ABSENT)


class Numbering:
    """Gives each process its block of numbers."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._processes = 0

    def next_block(self, spool: ProcessSpool) -> Numbers:
        """The numbers of the next process."""
        offsets = dict(self._used)
        for record in spool.all_records:
            number = getattr(record, "id", 0)
            offset = offsets.get(record.TABLE, 0)
            self._used[record.TABLE] = max(self._used.get(record.TABLE, 0), offset + number)
        highest_buffer = int(spool.rows(BUFFERS)[:, 0].max(initial=0))
        self._used["buffer"] = offsets.get("buffer", 0) + highest_buffer
        self._processes += 1
        return Numbers(self._processes, offsets)

    def reserve(self, table: str, count: int) -> int:
        """Take `count` numbers of a table at once and return the first."""
        first = self._used.get(table, 0) + 1
        self._used[table] = first + count - 1
        return first
