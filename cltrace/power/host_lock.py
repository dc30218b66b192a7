"""Which process of a parallel job reads the sensors of a host: one of them, and another when it ends."""

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

_MODE: Final = 0o600


class FileTurn:
    """A turn that who holds a lock on a file has. The file is made, and removed by its last holder.

    `job` tells jobs apart, `name` what is to be read.
    """

    def __init__(self, job: str, name: str, directory: Path | None = None) -> None:
        known = os.environ.get("XDG_RUNTIME_DIR")
        where = directory or Path(known or tempfile.gettempdir())
        digest = hashlib.sha256(f"{job}\0{name}".encode()).hexdigest()[:16]
        self._path = where / f"cltrace-power-{os.getuid()}-{digest}.lock"
        self._descriptor = -1

    def is_ours(self) -> bool:
        """Try to get the lock. Where no file can be made everybody reads."""
        if self._descriptor >= 0:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(self._path, flags, _MODE)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its last holder may have removed it since it was opened.
            is_it = os.fstat(descriptor).st_ino == self._path.stat().st_ino
        except OSError:
            is_it = False
        if is_it:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return is_it

    def end(self) -> None:
        """Remove the file and let the lock go, in this order."""
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
