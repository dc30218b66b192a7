"""Weak references to the users of a handle, without callbacks.

`weakref.WeakSet` runs Python code when a member dies, in the middle of the program's own code. An
exception that a signal handler of the program raises there would be lost.
"""

from collections.abc import Iterator
from typing import Final, Protocol
from weakref import ref

_MIN_PURGE: Final = 64


class HandleUser(Protocol):
    """Object that stores values under handles and identifiers which may be reused for other objects."""

    def forget(self) -> None:
        """Drop all stored values."""


class WeakUsers:
    """Set of the added users that are still alive."""

    def __init__(self) -> None:
        self._refs: dict[int, ref[HandleUser]] = {}
        self._purge_at = _MIN_PURGE

    def add(self, user: HandleUser) -> None:
        """Add `user`, if it is not there yet."""
        reference = self._refs.get(id(user))
        if reference is not None and reference() is user:
            return
        self._refs[id(user)] = ref(user)
        if len(self._refs) > self._purge_at:
            self._refs = {
                key: reference for key, reference in self._refs.items() if reference() is not None
            }
            self._purge_at = max(2 * len(self._refs), _MIN_PURGE)

    def __iter__(self) -> Iterator[HandleUser]:
        for reference in list(self._refs.values()):
            user = reference()
            if user is not None:
                yield user
