"""Memory objects: current number of each handle, creation, release, and live bytes."""

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
from cltrace.intercept.objects.weak_users import HandleUser, WeakUsers
from cltrace.intercept.sink import Sink

_IMAGE_TYPES: Final = frozenset(
    value
    for name, value in vars(cl.mem_object_type).items()
    if name.startswith("IMAGE") and isinstance(value, int)
)


@dataclass(frozen=True, slots=True)
class Registration:
    """Site, thread and time of a memory object's registration.

    `is_creation` is false for an object that was registered at its first use.
    """

    host_ns: int
    site_id: int
    thread_id: int
    is_creation: bool


@dataclass(frozen=True, slots=True)
class _Live:
    handle: int
    size_bytes: int


class MemoryObjects:
    """Memory objects of the process. `slots` is `None` where their destruction cannot be watched."""

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
        self._created_since_check = 0
        self._last_check_ns = time.perf_counter_ns()
        self.peak_bytes = 0
        self.peak_host_ns = 0

    @property
    def is_watched(self) -> bool:
        """True if the destruction of memory objects is observed, so that peak and leaks are recorded."""
        return self._slots is not None

    def is_registered(self, handle: int) -> bool:
        """Return whether `handle` stands for a live memory object that is registered."""
        number = self._ids.get(handle)
        return number is not None and not self._is_released(number)

    def id_of(self, holder: cl.MemoryObjectHolder, registration: Registration | None = None) -> int:
        """Return the number of the memory object in `holder`, and register it if it is new."""
        handle = holder.int_ptr
        if self.is_registered(handle):
            return self._ids[handle]
        if registration is None:
            registration = Registration(time.perf_counter_ns(), 0, 0, is_creation=False)
        return self.register(holder, registration)

    def id_of_handle(self, handle: int) -> int:
        """Return the number of the memory object that `handle` stands for. Raises: `pyopencl.Error`."""
        if self.is_registered(handle):
            return self._ids[handle]
        holder = cl.MemoryObject.from_int_ptr(handle, retain=True)
        return self.id_of(cast("cl.MemoryObjectHolder", holder))

    def register(
        self, holder: cl.MemoryObjectHolder, registration: Registration, parent_id: int = 0
    ) -> int:
        """Register a new memory object, even if its handle is registered for an earlier one."""
        with self._lock:
            handle = holder.int_ptr
            self._forget(handle, registration.host_ns)
            number = self._next_id()
            self._ids[handle] = number
            size_bytes = self._record(number, holder, registration, parent_id)
            # The memory of a sub-buffer belongs to its parent.
            self._account(number, handle, 0 if parent_id else size_bytes, registration.host_ns)
            return number

    def register_svm(
        self, address: int, size_bytes: int, context_id: int, registration: Registration
    ) -> int:
        """Register shared virtual memory. Its handle is its address."""
        with self._lock:
            self._forget(address, registration.host_ns)
            number = self._next_id()
            self._ids[address] = number
            geometry = (0, 0, 0, 0, 0)
            self._write(
                number,
                address,
                context_id,
                MemoryKind.SVM,
                0,
                size_bytes,
                geometry,
                registration,
            )
            self._live_bytes += size_bytes
            self._live[number] = _Live(address, size_bytes)
            self._update_peak(registration.host_ns)
            return number

    def release_svm(self, address: int, host_ns: int) -> None:
        """Record that shared virtual memory was freed."""
        with self._lock:
            number = self._ids.pop(address, None)
            if number is not None:
                self._record_release(number, host_ns, host_ns)

    def svm_id(self, address: int) -> int:
        """Return the number of the shared virtual memory at `address`; 0 when it is not registered."""
        return self._ids.get(address, 0)

    def add_user(self, handle: int, user: HandleUser) -> None:
        """Call `user.forget()` when `handle` gets to stand for another object."""
        self._users.setdefault(handle, WeakUsers()).add(user)

    def note_releases(self) -> None:
        """Record the objects that were destroyed since the last call."""
        if self._slots is None:
            return
        with self._lock:
            now_ns = time.perf_counter_ns()
            for slot in self._slots.newly_released():
                self._record_release(slot + 1, self._last_check_ns, now_ns)
            self._last_check_ns = now_ns
            self._created_since_check = 0

    def detach(self) -> None:
        """Stop writing to the parent's slots, in a forked child."""
        if self._slots is not None:
            self._slots.detach()

    def _is_released(self, number: int) -> bool:
        return self._slots is not None and self._slots.is_released(number - 1)

    def _forget(self, handle: int, host_ns: int) -> None:
        """Drop the object that `handle` stood for: it no longer exists, because the handle was reused."""
        for user in self._users.pop(handle, ()):
            user.forget()
        previous = self._ids.pop(handle, None)
        if previous is not None and previous in self._live:
            self._record_release(previous, self._last_check_ns, host_ns)

    def _record_release(self, number: int, not_before_ns: int, not_after_ns: int) -> None:
        live = self._live.pop(number, None)
        if live is None:
            return
        self._live_bytes -= live.size_bytes
        self._add_release((number, not_before_ns, not_after_ns))
        if self._ids.get(live.handle) == number:
            del self._ids[live.handle]

    def _account(self, number: int, handle: int, size_bytes: int, host_ns: int) -> None:
        is_watched = self._slots is not None and self._slots.watch(handle, number - 1)
        if is_watched:
            self._live[number] = _Live(handle, size_bytes)
            self._live_bytes += size_bytes
            self._update_peak(host_ns)

    def _update_peak(self, host_ns: int) -> None:
        """Update the peak, right after a check for releases, so that no destroyed object is counted.

        A check costs about a nanosecond per live object. Checks are frequent enough for an exact peak
        up to 64 live objects, and for one within a 64th of them beyond.
        """
        self._created_since_check += 1
        if self._live_bytes > self.peak_bytes and self._created_since_check * 64 >= len(self._live):
            self.note_releases()
            if self._live_bytes > self.peak_bytes:
                self.peak_bytes = self._live_bytes
                self.peak_host_ns = host_ns

    def _record(
        self, number: int, holder: cl.MemoryObjectHolder, registration: Registration, parent_id: int
    ) -> int:
        kind, geometry = _kind_and_geometry(holder, parent_id)
        size_bytes: int = int(holder.get_info(cl.mem_info.SIZE))  # type: ignore[call-overload]
        flags = int(holder.get_info(cl.mem_info.FLAGS))  # type: ignore[call-overload]
        context_id = self._registry.context_id(holder.get_info(cl.mem_info.CONTEXT))
        self._write(
            number, holder.int_ptr, context_id, kind, flags, size_bytes, geometry, registration
        )
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
        registration: Registration,
    ) -> None:
        # In the order of BUFFERS; `geometry` is parent, origin, width, height, depth.
        self._add_row(
            (
                *(number, handle, context_id, kind, flags, size_bytes, *geometry),
                *(
                    registration.site_id,
                    registration.thread_id,
                    registration.host_ns,
                    int(registration.is_creation),
                ),
            )
        )


def _kind_and_geometry(
    holder: cl.MemoryObjectHolder, parent_id: int
) -> tuple[MemoryKind, tuple[int, int, int, int, int]]:
    kind = holder.get_info(cl.mem_info.TYPE)
    if kind in _IMAGE_TYPES and isinstance(holder, cl.Image):
        shape = (cl.image_info.WIDTH, cl.image_info.HEIGHT, cl.image_info.DEPTH)
        width, height, depth = (int(holder.get_image_info(extent)) for extent in shape)  # type: ignore[call-overload]
        return MemoryKind.IMAGE, (0, 0, width, height, depth)
    if isinstance(holder, _cl.Pipe):
        return MemoryKind.PIPE, (0, 0, 0, 0, 0)
    if parent_id:
        origin_bytes = int(holder.get_info(cl.mem_info.OFFSET))  # type: ignore[call-overload]
        return MemoryKind.SUB_BUFFER, (parent_id, origin_bytes, 0, 0, 0)
    return MemoryKind.BUFFER, (0, 0, 0, 0, 0)
