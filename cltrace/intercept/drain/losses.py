"""Counts of commands that were recorded and could not be written."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from cltrace.events.apis import COMMAND_KINDS
from cltrace.events.tables import CALLS, LAUNCHES
from cltrace.intercept.drain.raw_rows import CommandBlock
from cltrace.intercept.sink import RAW_CALL_WIDTH

Taken = Sequence[tuple[list[Any], int]]
"""Flat rows of launches, each with the width of a row."""

_API: Final = CALLS.index("api")


class Losses:
    """Commands of this process that were recorded and could not be written.

    After the first loss nothing is written any more: later rows may refer to the ones that are missing.
    """

    def __init__(self) -> None:
        self.commands = 0
        self.has_begun = False
        self.block: CommandBlock | None = None
        """The block that is being written."""
        self.part: tuple[Taken, list[Any]] = ((), [])
        """The rows of which a block is being made: of launches, or of calls."""

    @contextmanager
    def counted(self, taken: Taken, calls: list[Any]) -> Iterator[None]:
        """Count what is left of rows that were taken from the sink if they cannot be written."""
        try:
            yield
        except BaseException:
            self.has_begun = True
            if self.block is not None:
                self.commands += _count_block(self.block)
            self.add(*self.part)
            self.add(taken, calls)
            raise

    def add(self, taken: Taken, calls: list[Any]) -> None:
        """Count the commands in flat rows, without the rows that were released."""
        self.commands += sum(
            1 for flat, width in taken for entered in flat[::width] if entered is not None
        )
        self.commands += _count_commands(calls[_API::RAW_CALL_WIDTH])


def _count_block(block: CommandBlock) -> int:
    if block.table is LAUNCHES:
        return len(block.rows)
    return _count_commands(block.rows[:, _API].tolist())


def _count_commands(apis: Iterable[Any]) -> int:
    """Return the number of calls that enqueue a command, of rows of calls."""
    return sum(1 for api in apis if api in COMMAND_KINDS)
