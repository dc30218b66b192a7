"""Disk cache, by the hash of what an entry depends on.

Entries belong to the user alone: a directory or file that others own or can write to is not read. An
entry is written to a file of its own and renamed, so several processes can share a cache.
"""

import hashlib
import os
import stat
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 256 << 20
"""The size limit of a cache; beyond it the least recently used entries are removed."""
_MAX_ENTRY_BYTES: Final = 256 << 20
"""Limit on the unpacked size of an entry."""
_DIGEST_BYTES: Final = 32
_TRIM_PREFIX: Final = "00"
"""Keys with this beginning trigger the removal of old entries: one in 256."""
_MARK_S: Final = 3600.0
"""Age in seconds from which using an entry marks it as used."""


def cache_directory(name: str = "kernels") -> Path:
    """Return the directory of a cache of the user: `$XDG_CACHE_HOME/cltrace/NAME`."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(root) if root.startswith("/") else Path.home() / ".cache"
    return base / "cltrace" / name


class DiskCache:
    """Texts by key. Failures of the cache are not errors: a missing text is made again."""

    def __init__(
        self, directory: Path, *, suffix: str = ".ll.z", max_bytes: int = MAX_BYTES
    ) -> None:
        self.directory = directory
        self._suffix = suffix
        self._max_bytes = max_bytes

    def get(self, key: str) -> str | None:
        """Return the text of `key`, or None if it is missing, damaged or not the user's own."""
        with suppress(OSError, ValueError, zlib.error):
            packed = self._read(self._path(key))
            if packed[:_DIGEST_BYTES] != _digest(key, packed[_DIGEST_BYTES:]):
                return None
            unpacking = zlib.decompressobj()
            text = unpacking.decompress(packed[_DIGEST_BYTES:], _MAX_ENTRY_BYTES)
            return text.decode() if unpacking.eof else None
        return None

    def put(self, key: str, text: str) -> None:
        """Store `text` under `key`, readable by its owner only."""
        packed = zlib.compress(text.encode("utf-8", "replace"), 1)
        with suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _is_own(self.directory.stat()):
                return
            descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_digest(key, packed) + packed)
                Path(name).replace(self._path(key))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            if key.startswith(_TRIM_PREFIX):
                self.trim()

    def trim(self) -> None:
        """Remove the least recently used entries beyond the size limit, and files left half-written."""
        now = time.time()
        entries = []
        with suppress(OSError):
            for entry in os.scandir(self.directory):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(self._suffix):
                    entries.append((status.st_mtime, status.st_size, entry.path))
                elif entry.name.startswith(".new-") and now - status.st_mtime > _MARK_S:
                    Path(entry.path).unlink(missing_ok=True)
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._max_bytes:
                return
            with suppress(OSError):
                Path(path).unlink(missing_ok=True)
            total -= size

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}{self._suffix}"

    def _read(self, path: Path) -> bytes:
        """Return the bytes of an entry. Raises: `OSError`, also if others could have written it."""
        if not _is_own(self.directory.stat()):
            raise PermissionError(f"{self.directory} can be changed by other users")
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not _is_own(status):
                raise PermissionError(f"{path} can be changed by other users")
            if time.time() - status.st_mtime > _MARK_S:
                os.utime(descriptor)
            return file.read(_MAX_ENTRY_BYTES)


def _digest(key: str, packed: bytes) -> bytes:
    """Return the checksum of an entry, which also holds under no other key."""
    return hashlib.sha256(key.encode() + b"\0" + packed).digest()


def _is_own(status: os.stat_result) -> bool:
    """Return True if a file or directory is the user's and no other user can write to it."""
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
