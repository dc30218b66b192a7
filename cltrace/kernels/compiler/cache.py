"""Disk cache of compiled text, by the hash of its inputs."""

import hashlib
import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 256 << 20
"""The size limit of the cache; beyond it the least recently used entries are removed."""


def cache_directory() -> Path:
    """Return the directory of cached kernels: `$XDG_CACHE_HOME/cltrace/kernels`."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(root) if root.startswith("/") else Path.home() / ".cache"
    return base / "cltrace" / "kernels"


class DiskCache:
    """Texts by key. Failures of the cache are not errors: a missing text is compiled again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> str | None:
        """Return the text of `key`, or None if it is missing or damaged."""
        path = self._path(key)
        with suppress(OSError, ValueError, zlib.error):
            packed = path.read_bytes()
            if packed[:32] != hashlib.sha256(packed[32:]).digest():
                return None
            text = zlib.decompress(packed[32:]).decode()
            os.utime(path)
            return text
        return None

    def put(self, key: str, text: str) -> None:
        """Store `text` under `key`, readable by its owner only."""
        packed = zlib.compress(text.encode("utf-8", "replace"), 1)
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=self._directory, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(packed).digest() + packed)
                Path(name).replace(self._path(key))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            if key.startswith("0"):
                self._trim()

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}.ll.z"

    def _trim(self) -> None:
        """Remove the least recently used entries. One key in sixteen triggers it."""
        entries = []
        for path in self._directory.glob("*.ll.z"):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= MAX_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= size
