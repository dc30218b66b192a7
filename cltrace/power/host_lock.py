"""Lock that lets a single process of a parallel job read a sensor of a host, and another after it."""

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

_MODE: Final = 0o600


class HostLock:
    """Exclusive lock on a file, which is created on demand and removed by its last holder.

    `job` identifies the job, and `name` the sensor.
    """

    def __init__(self, job: str, name: str, directory: Path | None = None) -> None:
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        parent = directory or Path(runtime or tempfile.gettempdir())
        digest = hashlib.sha256(f"{job}\0{name}".encode()).hexdigest()[:16]
        self._path = parent / f"cltrace-power-{os.getuid()}-{digest}.lock"
        self._descriptor = -1

    def acquire(self) -> bool:
        """Try to take the lock, and return whether this process holds it.

        Where the file cannot be created, every process reads.
        """
        if self._descriptor >= 0:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(self._path, flags, _MODE)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed the file since it was opened.
            is_locked = os.fstat(descriptor).st_ino == self._path.stat().st_ino
        except OSError:
            is_locked = False
        if is_locked:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return is_locked

    def release(self) -> None:
        """Remove the file and release the lock, in this order."""
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
