"""Rows as the spool stores them, made from the rows that hooks append (`sink`)."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.events.tables import (
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    LAUNCHES,
    RowTable,
    arguments_table,
)
from cltrace.intercept.hooks.circumstances import CircumstanceRows
from cltrace.intercept.objects.arguments import ArgumentLists
from cltrace.intercept.objects.callsites import CallSites
from cltrace.intercept.sink import (
    RAW_BUFFER_WIDTH,
    RAW_CALL_WIDTH,
    RAW_CIRCUMSTANCE_WIDTH,
    SINGLE_LAUNCH_WIDTH,
    LaunchLog,
)

Int64s = NDArray[np.int64]
Events = list[cl.Event]

_handle_of: Final = attrgetter("int_ptr")
_CALL_CODE: Final = CALLS.index("site_id")
_BUFFER_CODE: Final = BUFFERS.index("site_id")


@dataclass(frozen=True, slots=True)
class CommandBlock:
    """Rows of `LAUNCHES` or `CALLS`, and their events; `None` for a row without one."""

    table: RowTable
    rows: Int64s
    events: list[Any]


class RowMaker:
    """Maker of stored rows. It records sites and forms that are new."""

    def __init__(self, sites: CallSites, lists: ArgumentLists) -> None:
        self._sites = sites
        self._lists = lists
        self._circumstances = CircumstanceRows(sites)

    def buffers(self, flat: list[Any]) -> Int64s:
        """Return the rows of `BUFFERS`."""
        return self._with_sites(flat, RAW_BUFFER_WIDTH, _BUFFER_CODE)

    def circumstances(self, flat: list[Any]) -> Int64s:
        """Return the rows of `CIRCUMSTANCES`."""
        width = RAW_CIRCUMSTANCE_WIDTH
        rows = [
            self._circumstances.row(*flat[at : at + width]) for at in range(0, len(flat), width)
        ]
        return np.array(rows, np.int64).reshape(-1, CIRCUMSTANCES.width)

    def calls(self, flat: list[Any]) -> CommandBlock:
        """Return the rows of `CALLS`. `flat` is consumed."""
        events = flat[RAW_CALL_WIDTH - 1 :: RAW_CALL_WIDTH]
        flat[RAW_CALL_WIDTH - 1 :: RAW_CALL_WIDTH] = [
            0 if event is None else event.int_ptr for event in events
        ]
        return CommandBlock(CALLS, self._with_sites(flat, RAW_CALL_WIDTH, _CALL_CODE), events)

    def single_launches(self, flat: list[Any]) -> CommandBlock:
        """Return the rows of launches that were recorded singly."""
        width = SINGLE_LAUNCH_WIDTH
        events = flat[width - 1 :: width]
        numbers = [self._list_number(snapshot) for snapshot in flat[3::width]]
        rows = np.empty((len(events), LAUNCHES.width), np.int64)
        for column in (0, 1, 2, 4):
            rows[:, column] = flat[column::width]
        rows[:, 3] = numbers
        rows[:, 5] = np.fromiter(map(_handle_of, events), np.int64, len(events))
        return CommandBlock(LAUNCHES, rows, events)

    def path_launches(
        self, log: LaunchLog, flat: list[Any]
    ) -> tuple[CommandBlock, RowTable, Int64s]:
        """Return the rows of a launch path, and the table and rows of its new argument lists."""
        width, count = log.width, len(flat) // log.width
        events = flat[4::width]
        rows = np.empty((count, LAUNCHES.width), np.int64)
        for column, at in ((0, 0), (1, 1), (2, 2), (4, 3)):
            rows[:, column] = np.fromiter(flat[at::width], np.int64, count)
        rows[:, 5] = np.fromiter(map(_handle_of, events), np.int64, count)
        rows[:, 3], stored = 0, np.empty((0, 2), np.int64)
        if log.arguments is not None:
            rows[:, 3], stored = log.arguments.of(
                lambda column: flat[5 + column :: width], count, self._lists
            )
        table = arguments_table(stored.shape[1] - 2)
        return CommandBlock(LAUNCHES, rows, events), table, stored

    def _list_number(self, snapshot: Any) -> int:
        """Return the number of the argument list of a snapshot; 0 for `None`."""
        if snapshot is None:
            return 0
        if not snapshot.number:
            snapshot.number, _ = self._lists.number(snapshot.words())
        return int(snapshot.number)

    def _with_sites(self, flat: list[Any], width: int, position: int) -> Int64s:
        """Return rows in which one site takes the place of two values at `position`."""
        number = self._sites.number
        codes, instructions = flat[position::width], flat[position + 1 :: width]
        flat[position::width] = list(map(number, codes, instructions))
        rows = np.fromiter(flat, np.int64, len(flat)).reshape(-1, width)
        return np.delete(rows, position + 1, axis=1)
