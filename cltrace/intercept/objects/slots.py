"""One word of shared memory for each memory object, written by the driver when it destroys it.

`clSetMemObjectDestructorCallback` wants a C function `f(cl_mem, void *user_data)`. A Python function
must not be it: the driver may call from a thread that holds its own locks, and taking the
interpreter's lock there can deadlock; it may also call after the interpreter is gone. So the C
library's own `strtod(text, end)` is the callback, with a slot as `end`. An OpenCL object starts with
the address of its dispatch table, which is no number, so `strtod` converts nothing and stores the
object's address, not 0, into the slot. It needs no lock, and works in any thread at any time.

The slots are a file in the spool: what is destroyed while the interpreter shuts down is seen too.
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from cltrace.spool.descriptors import KeptFile
from cltrace.spool.layout import SLOTS_FILE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLOTS_PER_CHUNK: Final = 4096
_CHUNK_BYTES: Final = _SLOTS_PER_CHUNK * 8
_MAP_FIXED: Final = 0x10
_MAP_FAILED: Final = ctypes.c_void_p(-1).value


class NoDestructorCallbackError(Exception):
    """Destruction cannot be watched here, and why."""


class ReleaseSlots:
    """Slots numbered from 0, each used once. Raises: `NoDestructorCallbackError`, `OSError`."""

    def __init__(self, directory: Path) -> None:
        self._set_callback = _destructor_setter()
        self._write = ctypes.cast(ctypes.CDLL(None).strtod, ctypes.c_void_p)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        self._file = KeptFile(directory / SLOTS_FILE, flags)
        self._file.descriptor()
        self._chunks: list[NDArray[np.uint64]] = []
        self._seen: list[NDArray[np.bool_]] = []
        self._unseen_counts: list[int] = []

    def watch(self, handle: int, slot: int) -> bool:
        """Have the driver write `slot` when it destroys the object `handle`.

        Returns whether the driver agreed. Raises: `OSError` when there is no space for the slot.
        """
        chunk, index = divmod(slot, _SLOTS_PER_CHUNK)
        while chunk >= len(self._chunks):
            self._grow()
        address = self._chunks[chunk].ctypes.data + index * 8
        if self._set_callback(handle, self._write, address) != 0:
            return False
        self._unseen_counts[chunk] += 1
        return True

    def is_released(self, slot: int) -> bool:
        """Whether the object of `slot` was destroyed."""
        chunk, index = divmod(slot, _SLOTS_PER_CHUNK)
        return chunk < len(self._chunks) and bool(self._chunks[chunk][index])

    def newly_released(self) -> list[int]:
        """The slots that were written since this was last asked, ascending."""
        found: list[int] = []
        for number, unseen in enumerate(self._unseen_counts):
            if not unseen:
                continue
            written = np.flatnonzero((self._chunks[number] != 0) & ~self._seen[number])
            if len(written):
                self._seen[number][written] = True
                self._unseen_counts[number] -= len(written)
                found.extend((written + number * _SLOTS_PER_CHUNK).tolist())
        return found

    def detach(self) -> None:
        """Let a forked child write its own copies: what it destroys, it destroys for itself only."""
        kind = _MAP_FIXED | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        for chunk in self._chunks:
            _map(chunk.ctypes.data, kind, -1, 0)
        self._file.close()

    def _grow(self) -> None:
        position = len(self._chunks) * _CHUNK_BYTES
        # Without the space for it, a write into the mapping would be a fatal signal.
        descriptor = self._file.descriptor()
        os.posix_fallocate(descriptor, position, _CHUNK_BYTES)
        address = _map(None, mmap.MAP_SHARED, descriptor, position)
        words = (ctypes.c_uint64 * _SLOTS_PER_CHUNK).from_address(address)
        self._chunks.append(np.ctypeslib.as_array(words))
        self._seen.append(np.zeros(_SLOTS_PER_CHUNK, np.bool_))
        self._unseen_counts.append(0)


def _map(address: int | None, kind: int, descriptor: int, position: int) -> int:
    """Map a chunk and return its address. Raises: `OSError`.

    The mapping belongs to no Python object, so it is never undone: the driver writes into it for as
    long as there are memory objects, which is after the interpreter has destroyed all of its own.
    """
    function = ctypes.CDLL(None, use_errno=True).mmap
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    function.restype = ctypes.c_void_p
    access = mmap.PROT_READ | mmap.PROT_WRITE
    found = function(address, _CHUNK_BYTES, access, kind, descriptor, position)
    if found is None or found == _MAP_FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(found)


def _destructor_setter() -> Callable[[int, ctypes.c_void_p, int], int]:
    library = ctypes.CDLL(_loader_path())
    try:
        function = library.clSetMemObjectDestructorCallback
    except AttributeError as error:
        raise NoDestructorCallbackError("the OpenCL loader is older than OpenCL 1.1") from error
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = ctypes.c_int
    return cast("Callable[[int, ctypes.c_void_p, int], int]", function)


def _loader_path() -> str:
    """The OpenCL loader that pyopencl is linked with, which is in this process already."""
    try:
        lines = Path("/proc/self/maps").read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise NoDestructorCallbackError("the loader is not found without /proc") from error
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if "libOpenCL" in line)
    beside_pyopencl = [path for path in paths if "pyopencl" in path]
    for path in beside_pyopencl or paths:
        return path
    raise NoDestructorCallbackError("no OpenCL loader is in this process")
