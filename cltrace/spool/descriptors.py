"""Files that stay open beside a program that closes what it does not know.

A daemon closes all descriptors, and their numbers come to mean files of its own. So a descriptor has a
high number, and before each use it is seen whether it still means the file that it was opened for.
"""

import fcntl
import os
from pathlib import Path

from cltrace.spool.layout import FILE_MODE

_LOWEST = 200
"""Programs get the lowest free number: they expect 0 to 2, and sometimes 3."""


class KeptFile:
    """A file that is opened when it is first needed, and again when its descriptor was closed."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path = path
        self._flags = flags | os.O_CLOEXEC
        self._descriptor = -1
        self._identity = (0, 0)

    def descriptor(self) -> int:
        """A descriptor of the file, valid until the program runs again. Raises: `OSError`."""
        if not self._is_ours():
            self._open()
        return self._descriptor

    def close(self) -> None:
        """Close the file, if its descriptor still means it."""
        if self._is_ours():
            os.close(self._descriptor)
        self._descriptor = -1

    def _is_ours(self) -> bool:
        if self._descriptor < 0:
            return False
        try:
            found = os.fstat(self._descriptor)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def _open(self) -> None:
        low = os.open(self._path, self._flags, FILE_MODE)
        # What was opened once is there: it is not made again.
        self._flags &= ~(os.O_EXCL | os.O_CREAT)
        try:
            self._descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
        except OSError:  # the program allows itself fewer descriptors
            self._descriptor = low
        else:
            os.close(low)
        found = os.fstat(self._descriptor)
        self._identity = (found.st_dev, found.st_ino)
