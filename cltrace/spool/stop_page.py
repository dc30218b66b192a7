"""Page of a process that tells why its recording stopped, and how many commands it lacks.

Both producers open it at their start. So it can be written on a full disk, after the process lost the
right to open files, and it outlives a kill. In C: `intercept/native/layer/stop_page.h`.
"""

import errno
import os
import struct
from dataclasses import dataclass, replace
from mmap import mmap
from pathlib import Path
from typing import Final

from cltrace.spool.descriptors import PersistentFile, copies_on_write
from cltrace.spool.layout import STOP_FILE

PAGE_BYTES: Final = 512
_WORDS: Final = struct.Struct("<3q")
_REASON_AT: Final = 64
_MAX_REASON_BYTES: Final = PAGE_BYTES - _REASON_AT - 1


@dataclass(frozen=True, slots=True)
class StopReport:
    """Content of a stop page.

    Attributes:
        stopped_host_ns: the time of the stop; 0 where the recording went on to its end.
        missing: number of commands that were enqueued and are not in the spool.
        unrecorded_forks: number of forks that could not be recorded.
        reason: the reason of the stop; empty where there was none.
    """

    stopped_host_ns: int = 0
    missing: int = 0
    unrecorded_forks: int = 0
    reason: str = ""


def encode_stop(report: StopReport) -> bytes:
    """Return the content of a page."""
    words = _WORDS.pack(report.stopped_host_ns, report.missing, report.unrecorded_forks)
    reason = report.reason.encode("utf-8", "replace")[:_MAX_REASON_BYTES]
    return words.ljust(_REASON_AT, b"\0") + reason.ljust(_MAX_REASON_BYTES + 1, b"\0")


def decode_stop(page: bytes) -> StopReport:
    """Return what a page tells. A page that is cut off tells that nothing could be written."""
    if len(page) < PAGE_BYTES:
        return StopReport(1, reason="there was no space for its first file")
    stopped_host_ns, missing, forks = _WORDS.unpack_from(page)
    reason = page[_REASON_AT:PAGE_BYTES].partition(b"\0")[0].decode("utf-8", "replace")
    return StopReport(stopped_host_ns, max(missing, 0), max(forks, 0), reason)


class StopPage:
    """Page of this process, in its directory. Raises: `OSError` when there is no space for it."""

    def __init__(self, directory: Path) -> None:
        self._file = PersistentFile(directory / STOP_FILE, os.O_RDWR | os.O_CREAT)
        self._report = StopReport()
        self._write(self._report)

    def tell(self, report: StopReport) -> None:
        """Write a report that is new. Raises: `OSError`."""
        if report != self._report:
            # Forks may have added themselves.
            forks = self._read().unrecorded_forks
            self._write(replace(report, unrecorded_forks=forks))
            self._report = report

    def add_unrecorded_fork(self) -> None:
        """Add a fork, in the fork itself, that cannot be recorded. Raises: `OSError`."""
        report = self._read()
        self._write(replace(report, unrecorded_forks=report.unrecorded_forks + 1))

    def map_words(self, reason: str) -> memoryview:
        """Return the page's words in memory: `stopped_host_ns`, `missing` and `unrecorded_forks`.

        Who sets the first of them tells a stop for `reason`, unless another was told before. The mapping
        lives as long as the result. Raises: `OSError`, also where a store could need more space.
        """
        is_copying = copies_on_write(self._file.descriptor())
        self._file.release()
        if is_copying:
            raise OSError(errno.EOPNOTSUPP, "a store into a mapped page may need space")
        report = self._read()
        if not report.stopped_host_ns:
            self._write(replace(report, reason=reason))
        words = memoryview(mmap(self._file.descriptor(), PAGE_BYTES)).cast("q")
        self._file.release()
        return words

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> StopReport:
        page = os.pread(self._file.descriptor(), PAGE_BYTES, 0)
        self._file.release()
        return decode_stop(page)

    def _write(self, report: StopReport) -> None:
        descriptor, page = self._file.descriptor(), encode_stop(report)
        try:
            try:
                count = os.pwrite(descriptor, page, 0)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
                count = 0
            if count < PAGE_BYTES <= os.fstat(descriptor).st_size:
                # A limit of file sizes forbids writes beyond it inside of the file, too, but no mapping.
                with mmap(descriptor, PAGE_BYTES) as mapped:
                    mapped[:] = page
        finally:
            self._file.release()
