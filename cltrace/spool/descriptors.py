"""Files that survive a program which closes descriptors that it did not open.

A daemon closes all descriptors, and their numbers are reused for files of its own. So a descriptor here
gets a high number, and each use first checks that it still refers to the file that it was opened for.
A program that limits itself to few descriptors needs them all: there a file is open during a use only.
"""

import fcntl
import os
import sys
from pathlib import Path
from typing import Final

from cltrace.spool.layout import FILE_MODE

_MIN_DESCRIPTOR = 200
"""Lowest number to use. Programs get the lowest free one: they expect 0 to 2, and sometimes 3."""
_COPYING: Final = frozenset({0x9123683E, 0x2FC12FC1, 0xCA451A4E, 0xF2F52010})
"""Types of btrfs, ZFS, bcachefs and F2FS, as `statfs` tells them."""
_STATUS_BYTES: Final = 512
"""More than a `struct statfs` has, which begins with the type."""


def copies_on_write(descriptor: int) -> bool:
    """Return True if the file system of a file writes each page to a new place.

    A store into a mapped page raises a fatal signal there if a full disk or a quota has no space for it,
    even if the file has it. In C: `intercept/native/layer/stop_page.c`.
    """
    import ctypes  # noqa: PLC0415 - most users of descriptors do not need it

    status = ctypes.create_string_buffer(_STATUS_BYTES)
    if ctypes.CDLL(None).fstatfs(descriptor, status) != 0:
        return True
    return int.from_bytes(status.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder) in _COPYING


class PersistentFile:
    """A file that is opened on first use, and reopened if its descriptor was closed."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path = path
        self._flags = flags | os.O_CLOEXEC
        self._descriptor = -1
        self._identity = (0, 0)
        self._is_kept = True

    def descriptor(self) -> int:
        """Return a descriptor of the file, valid until the program runs again. Raises: `OSError`.

        `release` is to follow the use.
        """
        if not self._is_ours():
            self._open()
        return self._descriptor

    def release(self) -> None:
        """Close the file if its descriptor is one of those that the program gets."""
        if not self._is_kept:
            self.close()

    def close(self) -> None:
        """Close the file, if its descriptor still refers to it."""
        if self._is_ours():
            os.close(self._descriptor)
        self._descriptor = -1

    def _is_ours(self) -> bool:
        if self._descriptor < 0:
            return False
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _open(self) -> None:
        low = os.open(self._path, self._flags, FILE_MODE)
        # The file exists from now on, so reopening must not create it.
        self._flags &= ~(os.O_EXCL | os.O_CREAT)
        try:
            self._descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _MIN_DESCRIPTOR)
            self._is_kept = True
        except OSError:  # the program limits itself to fewer descriptors
            self._descriptor = low
            self._is_kept = False
        else:
            os.close(low)
        status = os.fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)
