"""One word of shared memory per memory object, which the driver writes when it destroys the object.

`clSetMemObjectDestructorCallback` takes a C function `f(cl_mem, void *user_data)`. It must not be a
Python function: the driver may call it from a thread that holds the driver's locks, and taking the
interpreter's lock there can deadlock; it may also call it after the interpreter has ended. So the
callback is the C library's `strtod(text, end)`, with a slot as `end`. An OpenCL object starts with the
address of its dispatch table, which is not the text of a number. So `strtod` converts nothing and stores
the object's address, which is not 0, into the slot. It needs no lock and works in any thread at any time.

The slots are a file in the spool, so objects destroyed while the interpreter shuts down are seen too.
Where a file system copies pages on writes, a full disk has no space for that: the slots are in memory.
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from cltrace.spool.descriptors import PersistentFile, copies_on_write
from cltrace.spool.layout import SLOTS_FILE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLOTS_PER_CHUNK: Final = 4096
_CHUNK_BYTES: Final = _SLOTS_PER_CHUNK * 8
_MAP_FIXED: Final = 0x10
_MAP_FAILED: Final = ctypes.c_void_p(-1).value


class NoDestructorCallbackError(Exception):
    """The reason why the destruction of memory objects cannot be watched here."""


class ReleaseSlots:
    """Slots, numbered from 0, each used once. Raises: `NoDestructorCallbackError`, `OSError`."""

    def __init__(self, directory: Path) -> None:
        self._set_callback = _load_callback_setter()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        self._file = PersistentFile(directory / SLOTS_FILE, flags)
        self._file.descriptor()
        self._file.release()
        self._callback = ctypes.cast(ctypes.CDLL(None).strtod, ctypes.c_void_p)
        self._chunks: list[NDArray[np.uint64]] = []
        self._words: list[memoryview] = []
        self._addresses: list[int] = []
        self._seen: list[NDArray[np.bool_]] = []
        self._unseen_counts: list[int] = []

    def watch(self, handle: int, slot: int) -> tuple[memoryview, int] | None:
        """Let the driver write `slot` when it destroys the object `handle`.

        Return the memory of the slot, as words and a position among them; `None` if the driver declined.
        Raises: `OSError` when there is no space for the slot.
        """
        chunk, index = slot // _SLOTS_PER_CHUNK, slot % _SLOTS_PER_CHUNK
        while chunk >= len(self._chunks):
            self._grow()
        if self._set_callback(handle, self._callback, self._addresses[chunk] + index * 8) != 0:
            return None
        self._unseen_counts[chunk] += 1
        return self._words[chunk], index

    def is_released(self, slot: int) -> bool:
        """Return whether the object of `slot` was destroyed."""
        chunk, index = divmod(slot, _SLOTS_PER_CHUNK)
        return chunk < len(self._words) and self._words[chunk][index] != 0

    def newly_released(self) -> list[int]:
        """Return the slots that were written since the last call, ascending."""
        released: list[int] = []
        for number, unseen in enumerate(self._unseen_counts):
            if not unseen:
                continue
            written = np.flatnonzero((self._chunks[number] != 0) & ~self._seen[number])
            if len(written):
                self._seen[number][written] = True
                self._unseen_counts[number] -= len(written)
                released.extend((written + number * _SLOTS_PER_CHUNK).tolist())
        return released

    def detach(self) -> None:
        """Map private copies in a forked child: it destroys objects for itself only."""
        kind = _MAP_FIXED | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        for address in self._addresses:
            _map(address, kind, -1, 0)
        self._file.close()

    def _grow(self) -> None:
        position = len(self._chunks) * _CHUNK_BYTES
        # A write into the mapping without allocated space would raise a fatal signal.
        descriptor = self._file.descriptor()
        try:
            if copies_on_write(descriptor):
                address = _map(None, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
            else:
                os.posix_fallocate(descriptor, position, _CHUNK_BYTES)
                address = _map(None, mmap.MAP_SHARED, descriptor, position)
        finally:
            self._file.release()
        words = (ctypes.c_uint64 * _SLOTS_PER_CHUNK).from_address(address)
        self._addresses.append(address)
        self._words.append(memoryview(words).cast("B").cast("Q"))
        self._chunks.append(np.ctypeslib.as_array(words))
        self._seen.append(np.zeros(_SLOTS_PER_CHUNK, np.bool_))
        self._unseen_counts.append(0)


def _map(address: int | None, kind: int, descriptor: int, position: int) -> int:
    """Map a chunk and return its address. Raises: `OSError`.

    The mapping belongs to no Python object, so it is never removed. The driver writes into it as long as
    there are memory objects, even after the interpreter has destroyed its own objects.
    """
    function = ctypes.CDLL(None, use_errno=True).mmap
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    function.restype = ctypes.c_void_p
    access = mmap.PROT_READ | mmap.PROT_WRITE
    mapped = function(address, _CHUNK_BYTES, access, kind, descriptor, position)
    if mapped is None or mapped == _MAP_FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(mapped)


def _load_callback_setter() -> Callable[[int, ctypes.c_void_p, int], int]:
    # With the interpreter's lock held: the call takes less time than passing the lock on.
    library = ctypes.PyDLL(_find_loader())
    try:
        function = library.clSetMemObjectDestructorCallback
    except AttributeError as error:
        raise NoDestructorCallbackError("the OpenCL loader is older than OpenCL 1.1") from error
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = ctypes.c_int
    return cast("Callable[[int, ctypes.c_void_p, int], int]", function)


def _find_loader() -> str:
    """Return the path of the OpenCL loader that pyopencl is linked with, already loaded here."""
    try:
        lines = Path("/proc/self/maps").read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise NoDestructorCallbackError("cannot find the OpenCL loader without /proc") from error
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if "libOpenCL" in line)
    beside_pyopencl = [path for path in paths if "pyopencl" in path]
    for path in beside_pyopencl or paths:
        return path
    raise NoDestructorCallbackError("no OpenCL loader is in this process")
