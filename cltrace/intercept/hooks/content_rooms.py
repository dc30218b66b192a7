"""Rooms for copies of buffer contents: one for small buffers, one for large ones."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

_SMALL_PART: Final = 64
"""A copy is small if the budget holds at least as many of its size."""
_SMALL_SHARE: Final = 0.25
"""Room for small copies only, beside the budget, as a part of it.

Small buffers hold ends of rows, indices and settings, and decide what a kernel does; large ones mostly
hold numbers. The first large ones leave no room otherwise.
"""


@dataclass(slots=True)
class Copy:
    """Contents of a buffer, and the host time of the last write to them.

    `is_stored` is True once a launch has stored them.
    """

    data: bytearray
    written_host_ns: int
    is_stored: bool = False


@dataclass(slots=True)
class _Room:
    limit_bytes: int
    copies: OrderedDict[int, Copy] = field(default_factory=OrderedDict)
    copied_bytes: int = 0
    stored_bytes: int = 0

    def pop(self, buffer_id: int) -> Copy | None:
        dropped = self.copies.pop(buffer_id, None)
        if dropped is not None:
            self.copied_bytes -= len(dropped.data)
        return dropped


class ContentRooms:
    """Copies of buffers by their number: at most `budget_bytes`, and a quarter more of small ones.

    The oldest of a room make way for new ones. As many bytes may be stored: `reserve` says whether there
    is room left.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._largest_small_bytes = budget_bytes // _SMALL_PART
        self._small = _Room(int(budget_bytes * _SMALL_SHARE))
        self._large = _Room(budget_bytes)

    def put(self, buffer_id: int, copy: Copy) -> bool:
        """Keep the copy of a buffer; return whether it has room, and what makes way was stored."""
        self.drop(buffer_id)
        room, size_bytes = self._room(len(copy.data)), len(copy.data)
        if size_bytes > room.limit_bytes:
            return False
        room.copies[buffer_id] = copy
        room.copied_bytes += size_bytes
        is_complete = True
        while room.copied_bytes > room.limit_bytes:
            dropped = room.pop(next(iter(room.copies)))
            is_complete &= dropped is None or dropped.is_stored
        return is_complete

    def get(self, buffer_id: int) -> Copy | None:
        """Return the copy of a buffer, or `None`."""
        return self._small.copies.get(buffer_id) or self._large.copies.get(buffer_id)

    def drop(self, buffer_id: int) -> None:
        """Forget the copy of a buffer, if there is one."""
        if self._small.pop(buffer_id) is None:
            self._large.pop(buffer_id)

    def buffer_ids(self) -> list[int]:
        """Return the numbers of all buffers of which there is a copy."""
        return [*self._small.copies, *self._large.copies]

    def reserve(self, size_bytes: int) -> bool:
        """Return whether contents of a size may be stored, and count them if so."""
        room = self._room(size_bytes)
        if room.stored_bytes + size_bytes > room.limit_bytes:
            return False
        room.stored_bytes += size_bytes
        return True

    def _room(self, size_bytes: int) -> _Room:
        return self._small if size_bytes <= self._largest_small_bytes else self._large
