"""What the compiler made, kept on disk by what it was made of."""

import hashlib
import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 256 << 20
"""How much is kept: beyond, what was unused longest goes."""


def cache_directory() -> Path:
    """Where kernels are cached: `$XDG_CACHE_HOME/cltrace/kernels`."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(root) if root.startswith("/") else Path.home() / ".cache"
    return base / "cltrace" / "kernels"


class DiskCache:
    """Texts by key. Nothing that goes wrong with it is an error: what is missing is made again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> str | None:
        """The text of `key`, or None. What is damaged is none."""
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
        """Keep `text` under `key`, readable by its owner alone."""
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
        """Drop what was unused longest. One key in sixteen looks after it."""
        found = []
        for path in self._directory.glob("*.ll.z"):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= MOST_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= size
