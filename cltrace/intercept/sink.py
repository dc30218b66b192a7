"""Store of recorded rows: flat lists to which hooks append and which a thread empties (`drain`).

A row is appended by one `list.extend` of a tuple, which the interpreter does in one step. So rows of
several threads never mix, and no lock is needed.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, Final

from cltrace.events.records import Record
from cltrace.events.tables import CALLS, LAUNCHES, ROW_TABLES, RowTable


class Sink:
    """Rows and records of one process that are not written yet."""

    def __init__(self) -> None:
        self.rows: Final[dict[str, list[Any]]] = {table.name: [] for table in ROW_TABLES}
        self.records: Final[list[Record]] = []
        self.next_mark: Final[Callable[[], int]] = count(1).__next__
        """Returns a new number that joins a row with its edges and its completion."""

    def extender(self, table: RowTable) -> Callable[[tuple[Any, ...]], None]:
        """Return the function that appends one row, a tuple of `table.width` values, to `table`."""
        return self.rows[table.name].extend

    def take(self, table: RowTable) -> list[Any]:
        """Remove and return all rows of `table`, flat."""
        rows = self.rows[table.name]
        taken = rows[: len(rows)]
        del rows[: len(taken)]
        return taken

    def take_records(self) -> list[Record]:
        """Remove and return all records."""
        taken = self.records[: len(self.records)]
        del self.records[: len(taken)]
        return taken

    @property
    def unwritten_commands(self) -> int:
        """The number of rows that may hold an unread event."""
        return (
            len(self.rows[LAUNCHES.name]) // LAUNCHES.width
            + len(self.rows[CALLS.name]) // CALLS.width
        )

    def abandon(self) -> None:
        """Drop everything without destroying it, in a forked child.

        The events belong to the parent. Destroying the child's copies would enter a driver whose
        threads do not exist here.
        """
        _immortal.append([self.take(table) for table in ROW_TABLES])
        self.records.clear()


_immortal: Final[list[Any]] = []
"""Objects that must not be destroyed as long as this process lives."""
