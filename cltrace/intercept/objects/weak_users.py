"""Who is to forget something, held weakly and without callbacks.

`weakref.WeakSet` runs Python code when a member dies, in the middle of whatever the program does; an
exception that a signal handler of the program raises there would be lost.
"""

from collections.abc import Iterator
from typing import Final, Protocol
from weakref import ref

_FEW: Final = 64


class Forgetful(Protocol):
    """What knows things by handles and identifiers that may come to mean others."""

    def forget(self) -> None:
        """Know nothing any more."""


class WeakUsers:
    """A set of what is still alive of what was added."""

    def __init__(self) -> None:
        self._refs: dict[int, ref[Forgetful]] = {}
        self._purge_at = _FEW

    def add(self, user: Forgetful) -> None:
        """Add `user`, if it is not there."""
        known = self._refs.get(id(user))
        if known is not None and known() is user:
            return
        self._refs[id(user)] = ref(user)
        if len(self._refs) > self._purge_at:
            self._refs = {key: one for key, one in self._refs.items() if one() is not None}
            self._purge_at = max(2 * len(self._refs), _FEW)

    def __iter__(self) -> Iterator[Forgetful]:
        for one in list(self._refs.values()):
            user = one()
            if user is not None:
                yield user
