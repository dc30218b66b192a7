"""Memory objects: which number a handle means now, who made it, when it went, how much is live."""

import threading
import time
from dataclasses import dataclass
from itertools import count
from typing import Final, cast

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.kinds import MemoryKind
from cltrace.events.tables import BUFFERS, RELEASES
from cltrace.intercept.objects.registry import Registry
from cltrace.intercept.objects.slots import ReleaseSlots
from cltrace.intercept.objects.weak_users import Forgetful, WeakUsers
from cltrace.intercept.sink import Sink

_IMAGE_TYPES: Final = frozenset(
    value
    for name, value in vars(cl.mem_object_type).items()
    if name.startswith("IMAGE") and isinstance(value, int)
)


@dataclass(frozen=True, slots=True)
class Birth:
    """Where and when a memory object came to be known. `is_creation` is false for one found in use."""

    host_ns: int
    site_id: int
    thread_id: int
    is_creation: bool


@dataclass(frozen=True, slots=True)
class _Live:
    handle: int
    size_bytes: int


class MemoryObjects:
    """The memory objects of the process. `slots` is `None` where destruction cannot be watched."""

    def __init__(self, sink: Sink, registry: Registry, slots: ReleaseSlots | None) -> None:
        self._registry = registry
        self._slots = slots
        self._add_row = sink.extender(BUFFERS)
        self._add_release = sink.extender(RELEASES)
        self._next_id = count(1).__next__
        self._ids: dict[int, int] = {}
        self._live: dict[int, _Live] = {}
        self._users: dict[int, WeakUsers] = {}
        self._lock = threading.RLock()
        self._live_bytes = 0
        self._unlooked = 0
        self._last_look_ns = time.perf_counter_ns()
        self.peak_bytes = 0
        self.peak_host_ns = 0

    @property
    def is_watched(self) -> bool:
        """Whether the destruction of memory objects is seen, so that a peak and leaks are known."""
        return self._slots is not None

    def is_known(self, handle: int) -> bool:
        """Whether `handle` means a memory object that is registered."""
        known = self._ids.get(handle)
        return known is not None and not self._is_gone(known)

    def id_of(self, holder: cl.MemoryObjectHolder, birth: Birth | None = None) -> int:
        """The number of the memory object in `holder`, which is registered if it is not known."""
        handle = holder.int_ptr
        if self.is_known(handle):
            return self._ids[handle]
        if birth is None:
            birth = Birth(time.perf_counter_ns(), 0, 0, is_creation=False)
        return self.created(holder, birth)

    def id_of_handle(self, handle: int) -> int:
        """The number of the memory object that `handle` means now. Raises: `pyopencl.Error`."""
        if self.is_known(handle):
            return self._ids[handle]
        found = cl.MemoryObject.from_int_ptr(handle, retain=True)
        return self.id_of(cast("cl.MemoryObjectHolder", found))

    def created(self, holder: cl.MemoryObjectHolder, birth: Birth, parent_id: int = 0) -> int:
        """Register a new memory object, whatever its handle meant before."""
        with self._lock:
            handle = holder.int_ptr
            self._forget(handle, birth.host_ns)
            number = self._next_id()
            self._ids[handle] = number
            size_bytes = self._record(number, holder, birth, parent_id)
            # A sub-buffer is memory of its parent.
            self._account(number, handle, 0 if parent_id else size_bytes, birth.host_ns)
            return number

    def allocated_svm(self, address: int, size_bytes: int, context_id: int, birth: Birth) -> int:
        """Register shared virtual memory, whose handle is its address."""
        with self._lock:
            self._forget(address, birth.host_ns)
            number = self._next_id()
            self._ids[address] = number
            geometry = (0, 0, 0, 0, 0)
            self._write(number, address, context_id, MemoryKind.SVM, 0, size_bytes, geometry, birth)
            self._live_bytes += size_bytes
            self._live[number] = _Live(address, size_bytes)
            self._note_peak(birth.host_ns)
            return number

    def freed_svm(self, address: int, host_ns: int) -> None:
        """Note that shared virtual memory was freed."""
        with self._lock:
            number = self._ids.pop(address, None)
            if number is not None:
                self._released(number, host_ns, host_ns)

    def svm_id(self, address: int) -> int:
        """The number of the shared virtual memory that starts at `address`; 0 when it is not known."""
        return self._ids.get(address, 0)

    def used_by(self, handle: int, user: Forgetful) -> None:
        """Have `user` forget when `handle` comes to mean another object."""
        self._users.setdefault(handle, WeakUsers()).add(user)

    def look(self) -> None:
        """Note what was destroyed since the last look."""
        if self._slots is None:
            return
        with self._lock:
            now_ns = time.perf_counter_ns()
            for slot in self._slots.newly_released():
                self._released(slot + 1, self._last_look_ns, now_ns)
            self._last_look_ns = now_ns
            self._unlooked = 0

    def detach(self) -> None:
        """Leave the parent's slots alone, in a forked child."""
        if self._slots is not None:
            self._slots.detach()

    def _is_gone(self, number: int) -> bool:
        return self._slots is not None and self._slots.is_released(number - 1)

    def _forget(self, handle: int, host_ns: int) -> None:
        """A handle gets a new meaning: what it meant is gone by now."""
        for user in self._users.pop(handle, ()):
            user.forget()
        previous = self._ids.pop(handle, None)
        if previous is not None and previous in self._live:
            self._released(previous, self._last_look_ns, host_ns)

    def _released(self, number: int, not_before_ns: int, not_after_ns: int) -> None:
        live = self._live.pop(number, None)
        if live is None:
            return
        self._live_bytes -= live.size_bytes
        self._add_release((number, not_before_ns, not_after_ns))
        if self._ids.get(live.handle) == number:
            del self._ids[live.handle]

    def _account(self, number: int, handle: int, size_bytes: int, host_ns: int) -> None:
        watched = self._slots is not None and self._slots.watch(handle, number - 1)
        if watched:
            self._live[number] = _Live(handle, size_bytes)
            self._live_bytes += size_bytes
            self._note_peak(host_ns)

    def _note_peak(self, host_ns: int) -> None:
        """A new peak counts only right after a look, when nothing unseen can have been destroyed.

        Looking costs about a nanosecond for each live object: it is done often enough to be exact
        up to 64 live objects, and within a 64th of them beyond.
        """
        self._unlooked += 1
        if self._live_bytes > self.peak_bytes and self._unlooked * 64 >= len(self._live):
            self.look()
            if self._live_bytes > self.peak_bytes:
                self.peak_bytes = self._live_bytes
                self.peak_host_ns = host_ns

    def _record(
        self, number: int, holder: cl.MemoryObjectHolder, birth: Birth, parent_id: int
    ) -> int:
        kind, geometry = _kind_and_geometry(holder, parent_id)
        size_bytes: int = int(holder.get_info(cl.mem_info.SIZE))  # type: ignore[call-overload]
        flags = int(holder.get_info(cl.mem_info.FLAGS))  # type: ignore[call-overload]
        context_id = self._registry.context_id(holder.get_info(cl.mem_info.CONTEXT))
        self._write(number, holder.int_ptr, context_id, kind, flags, size_bytes, geometry, birth)
        return size_bytes

    def _write(
        self,
        number: int,
        handle: int,
        context_id: int,
        kind: MemoryKind,
        flags: int,
        size_bytes: int,
        geometry: tuple[int, int, int, int, int],
        birth: Birth,
    ) -> None:
        # In the order of BUFFERS; `geometry` is parent, origin, width, height, depth.
        self._add_row(
            (
                *(number, handle, context_id, kind, flags, size_bytes, *geometry),
                *(birth.site_id, birth.thread_id, birth.host_ns, int(birth.is_creation)),
            )
        )


def _kind_and_geometry(
    holder: cl.MemoryObjectHolder, parent_id: int
) -> tuple[MemoryKind, tuple[int, int, int, int, int]]:
    kind = holder.get_info(cl.mem_info.TYPE)
    if kind in _IMAGE_TYPES and isinstance(holder, cl.Image):
        shape = (cl.image_info.WIDTH, cl.image_info.HEIGHT, cl.image_info.DEPTH)
        width, height, depth = (int(holder.get_image_info(one)) for one in shape)  # type: ignore[call-overload]
        return MemoryKind.IMAGE, (0, 0, width, height, depth)
    if isinstance(holder, _cl.Pipe):
        return MemoryKind.PIPE, (0, 0, 0, 0, 0)
    if parent_id:
        origin_bytes = int(holder.get_info(cl.mem_info.OFFSET))  # type: ignore[call-overload]
        return MemoryKind.SUB_BUFFER, (parent_id, origin_bytes, 0, 0, 0)
    return MemoryKind.BUFFER, (0, 0, 0, 0, 0)
