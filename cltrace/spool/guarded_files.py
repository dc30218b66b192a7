"""Reading of files in a directory of parts, which may come from a stranger.

Only regular files of the directory itself are read. A symbolic link would lead elsewhere, and opening a
pipe or a device may wait for ever or have effects.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from cltrace.tracing_errors import SpoolError


def open_guarded(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises: `SpoolError` for anything else, `FileNotFoundError`."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):  # opening a device may have effects
            raise SpoolError(f"{path} is no regular file: these parts are damaged or forged")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
    opened = os.fstat(descriptor)
    if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):
        os.close(descriptor)
        raise SpoolError(f"{path} was replaced while it was read")
    return os.fdopen(descriptor, "rb")


def read_guarded(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file. Raises: `SpoolError`, `FileNotFoundError`."""
    with open_guarded(path) as file:
        try:
            content = file.read(max_bytes + 1)
        except OSError as error:
            raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > max_bytes:
        raise SpoolError(f"{path} is too large: more than {max_bytes:,} bytes")
    return content


def size_guarded(path: Path) -> int:
    """Return the size of a regular file, 0 if there is none. Raises: `SpoolError` for anything else."""
    try:
        with open_guarded(path) as file:
            return os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return 0
