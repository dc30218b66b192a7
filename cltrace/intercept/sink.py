"""Store of recorded rows: flat lists to which hooks append and which a thread empties (`drain`).

A row is appended by one `list.extend` of a tuple, which the interpreter does in one step. So rows of
several threads never mix, and no lock is needed.

Some rows are stored as the hooks see them, because turning them into numbers would cost the program
more than the call itself: the drain does that. In these rows two values take the place of a site, the
code object of the calling frame and the offset of the instruction in it, and events are objects.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, Final, Protocol

from cltrace.events.records import Record
from cltrace.events.tables import (
    BUFFERS,
    CALLS,
    COMPLETIONS,
    EDGES,
    REGIONS,
    RELEASES,
    RowTable,
)

PLAIN_TABLES: Final = (COMPLETIONS, EDGES, RELEASES, REGIONS)
"""Tables whose rows hooks append as they are stored."""

RAW_CALL_WIDTH: Final = CALLS.width + 1
"""Width of a row of `Sink.calls`: that of `CALLS` with two values for the site."""

RAW_BUFFER_WIDTH: Final = BUFFERS.width + 1
"""Width of a row of `Sink.buffers`: that of `BUFFERS` with two values for the site."""

RAW_CIRCUMSTANCE_WIDTH: Final = 11
"""Width of a row of `Sink.circumstances`: circumstance, kernel, code, instruction, thread, queue handle,
global size, local size, global offset, whether the global size counts work-groups, flags."""

SINGLE_LAUNCH_WIDTH: Final = 6
"""Width of a row of `Sink.single_launches`: the columns of `LAUNCHES`, with an event as the last."""


class LaunchLog(Protocol):
    """Rows of the launches of one launch path (`launches`), flat."""

    rows: list[Any]
    arguments: Any
    """Maker of argument lists from the stored values (`ArgumentNumbers`); `None` if none are stored."""

    @property
    def width(self) -> int:
        """The number of values in a row."""


class Sink:
    """Rows and records of one process that are not written yet."""

    def __init__(self) -> None:
        self.rows: Final[dict[str, list[Any]]] = {table.name: [] for table in PLAIN_TABLES}
        self.calls: Final[list[Any]] = []
        self.buffers: Final[list[Any]] = []
        self.circumstances: Final[list[Any]] = []
        self.single_launches: Final[list[Any]] = []
        self.records: Final[list[Record]] = []
        self.active_logs: Final[dict[int, LaunchLog]] = {}
        """Launch logs that may have rows, by identity. A path enters its log with its first row."""
        self._arguments: dict[int, list[int]] = {}
        self.next_mark: Final[Callable[[], int]] = count(1).__next__
        """Returns a new number that joins a row with its edges and its completion."""

    def extender(self, table: RowTable) -> Callable[[tuple[Any, ...]], None]:
        """Return the function that appends one row, a tuple of `table.width` values, to `table`."""
        return self.rows[table.name].extend

    def argument_rows(self, words: int) -> list[int]:
        """Return the rows of argument lists of `words` words, flat."""
        return self._arguments.setdefault(words, [])

    def take_arguments(self) -> list[tuple[int, list[int]]]:
        """Remove and return all argument lists: pairs of a number of words and the flat rows."""
        return [(words, take(rows)) for words, rows in list(self._arguments.items()) if rows]

    def take_logs(self) -> list[tuple[LaunchLog, list[Any]]]:
        """Remove and return the rows of all launch logs."""
        taken = []
        for key, log in list(self.active_logs.items()):
            rows = take(log.rows)
            if rows:
                taken.append((log, rows))
            else:
                self.active_logs.pop(key, None)
                if log.rows:  # a launch came in between
                    self.active_logs[key] = log
        return taken

    def take_records(self) -> list[Record]:
        """Remove and return all records."""
        return take(self.records)

    @property
    def unwritten_commands(self) -> int:
        """The number of rows that may hold an unread event."""
        return (
            len(self.single_launches) // SINGLE_LAUNCH_WIDTH
            + len(self.calls) // RAW_CALL_WIDTH
            + sum(len(log.rows) // log.width for log in list(self.active_logs.values()))
        )

    def abandon(self) -> None:
        """Drop everything without destroying it, in a forked child.

        The events belong to the parent. Destroying the child's copies would enter a driver whose
        threads do not exist here.
        """
        kept = [self.calls, self.single_launches, *(log.rows for log in self.active_logs.values())]
        _immortal.append([take(rows) for rows in kept])
        self.active_logs.clear()
        for rows in (*self.rows.values(), self.buffers, self.circumstances, self.records):
            rows.clear()


def take(rows: list[Any]) -> list[Any]:
    """Remove and return what is in a list to which other threads append."""
    taken = rows[: len(rows)]
    del rows[: len(taken)]
    return taken


_immortal: Final[list[Any]] = []
"""Objects that must not be destroyed as long as this process lives."""
