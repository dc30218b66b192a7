"""Memory objects: current number of each handle, creation, release, and live bytes."""

import threading
import time
from collections import deque
from itertools import count
from typing import Any, Final, NamedTuple, cast

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.kinds import MemoryKind
from cltrace.events.tables import RELEASES
from cltrace.intercept.objects.callsites import NO_PLACE, Place
from cltrace.intercept.objects.registry import Registry
from cltrace.intercept.objects.slots import ReleaseSlots
from cltrace.intercept.sink import Sink

_IMAGE_TYPES: Final = frozenset(
    value
    for name, value in vars(cl.mem_object_type).items()
    if name.startswith("IMAGE") and isinstance(value, int)
)

_SVM: Final = MemoryKind.SVM
_RECENT: Final = 8
"""Number of youngest objects whose release is looked for first: most programs free these first."""


Registration = tuple[int, Place, int, bool]
"""Time (host ns), place and thread of a memory object's registration, and whether it was created then.

The last is false for an object that was registered at its first use.
"""


class Geometry(NamedTuple):
    """Parent of a sub-buffer and its origin in it, extents of an image; 0 for what does not apply."""

    parent_id: int = 0
    origin_bytes: int = 0
    width: int = 0
    height: int = 0
    depth: int = 0


_PLAIN: Final = Geometry()


_Live = tuple[int, int, Any, int]
"""Handle and size in bytes of a live object, and its slot: words and a position among them, or `None`."""


class MemoryObjects:
    """Memory objects of the process. `slots` is `None` where their destruction cannot be watched.

    `numbers` has those of the live objects, by handle.
    """

    def __init__(self, sink: Sink, registry: Registry, slots: ReleaseSlots | None) -> None:
        self._registry = registry
        self._slots = slots
        self._add_row = sink.buffers.extend
        self._add_release = sink.extender(RELEASES)
        self._next_id = count(1).__next__
        self.numbers: Final[dict[int, int]] = {}
        self._live: dict[int, _Live] = {}
        self._recent: deque[tuple[int, memoryview, int]] = deque(maxlen=_RECENT)
        """The youngest objects: number, and the slot as a position in memory."""
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
        number = self.numbers.get(handle)
        return number is not None and not self._is_released(number)

    def observe(self, holder: Any, enter_ns: int) -> None:
        """Register the memory object in `holder`, in use since `enter_ns`, unless it is registered."""
        if not self.is_registered(holder.int_ptr):
            self.register(holder, (enter_ns, NO_PLACE, 0, False))

    def observe_handle(self, handle: int, enter_ns: int) -> None:
        """Do as `observe` for the memory object that `handle` stands for. Raises: `pyopencl.Error`."""
        if handle not in self.numbers:
            holder = cl.MemoryObject.from_int_ptr(handle, retain=True)
            self.observe(cast("cl.MemoryObjectHolder", holder), enter_ns)

    def id_of(self, holder: cl.MemoryObjectHolder) -> int:
        """Return the number of the memory object in `holder`, and register it if it is new."""
        self.observe(holder, time.perf_counter_ns())
        return self.numbers[holder.int_ptr]

    def register(
        self, holder: cl.MemoryObjectHolder, registration: Registration, parent_id: int = 0
    ) -> int:
        """Register a new memory object, even if its handle is registered for an earlier one."""
        kind, geometry = _kind_and_geometry(holder, parent_id)
        size_bytes: int = int(holder.get_info(cl.mem_info.SIZE))  # type: ignore[call-overload]
        flags = int(holder.get_info(cl.mem_info.FLAGS))  # type: ignore[call-overload]
        context_id = self._registry.context_id(holder.get_info(cl.mem_info.CONTEXT))
        handle = holder.int_ptr
        return self.add(handle, context_id, kind, flags, size_bytes, registration, geometry)

    def add(
        self,
        handle: int,
        context_id: int,
        kind: MemoryKind,
        flags: int,
        size_bytes: int,
        registration: Registration,
        geometry: Geometry = _PLAIN,
    ) -> int:
        """Register a new memory object by the facts about it, and return its number."""
        with self._lock:
            host_ns, (code, instruction), thread_id, is_creation = registration
            parent_id, origin_bytes, width, height, depth = geometry
            if handle in self.numbers:
                self._forget(handle, host_ns)
            number = self._next_id()
            self.numbers[handle] = number
            # In the order of BUFFERS, with two values for the site.
            # fmt: off
            self._add_row((
                number, handle, context_id, kind, flags, size_bytes, parent_id, origin_bytes,
                width, height, depth, code, instruction, thread_id, host_ns, is_creation,
            ))
            # fmt: on
            # The memory of a sub-buffer belongs to its parent.
            own_bytes = 0 if parent_id else size_bytes
            words, index = None, 0
            if kind is not _SVM:
                slot = None if self._slots is None else self._slots.watch(handle, number - 1)
                if slot is None:
                    return number
                words, index = slot
                self._recent.append((number, words, index))
            self._live[number] = (handle, own_bytes, words, index)
            self._live_bytes += own_bytes
            if self._live_bytes > self.peak_bytes:
                self._update_peak(host_ns)
            self._created_since_check += 1
            return number

    def release_svm(self, address: int, host_ns: int) -> None:
        """Record that shared virtual memory was freed."""
        with self._lock:
            number = self.numbers.pop(address, None)
            if number is not None:
                self._record_release(number, host_ns, host_ns)

    def svm_id(self, address: int) -> int:
        """Return the number of the shared virtual memory at `address`; 0 when it is not registered."""
        return self.numbers.get(address, 0)

    def svm_bytes(self, address: int) -> int:
        """Return the size of the shared virtual memory that begins at `address`; 0 if none does."""
        with self._lock:
            live = self._live.get(self.numbers.get(address, 0))
            return live[1] if live is not None else 0

    def note_release(self, handle: int, enter_ns: int, return_ns: int) -> None:
        """Record that an object was destroyed, if it was, by a call with this entry and return."""
        with self._lock:
            number = self.numbers.get(handle, 0)
            live = self._live.get(number)
            if live is not None and live[2] is not None and live[2][live[3]]:
                self._record_release(number, enter_ns, return_ns)

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
        previous = self.numbers.pop(handle, None)
        if previous is not None and previous in self._live:
            self._record_release(previous, self._last_check_ns, host_ns)

    def _record_release(self, number: int, not_before_ns: int, not_after_ns: int) -> None:
        live = self._live.pop(number, None)
        if live is None:
            return
        handle, size_bytes, _, _ = live
        self._live_bytes -= size_bytes
        self._add_release((number, not_before_ns, not_after_ns))
        if self.numbers.get(handle) == number:
            del self.numbers[handle]

    def _update_peak(self, host_ns: int) -> None:
        """Update the peak, right after a check for releases, so that no destroyed object is counted.

        The youngest objects are checked first. A check of all costs some microseconds and is made when
        that was not enough: it is frequent enough for an exact peak up to 64 live objects, and for one
        within a 64th of them beyond.
        """
        for entry in [entry for entry in self._recent if entry[1][entry[2]]]:
            self._recent.remove(entry)
            self._record_release(entry[0], self._last_check_ns, host_ns)
        if self._live_bytes > self.peak_bytes and self._created_since_check * 64 >= len(self._live):
            self.note_releases()
            if self._live_bytes > self.peak_bytes:
                self.peak_bytes = self._live_bytes
                self.peak_host_ns = host_ns


def _kind_and_geometry(
    holder: cl.MemoryObjectHolder, parent_id: int
) -> tuple[MemoryKind, Geometry]:
    kind = holder.get_info(cl.mem_info.TYPE)
    if kind in _IMAGE_TYPES and isinstance(holder, cl.Image):
        shape = (cl.image_info.WIDTH, cl.image_info.HEIGHT, cl.image_info.DEPTH)
        width, height, depth = (int(holder.get_image_info(extent)) for extent in shape)  # type: ignore[call-overload]
        return MemoryKind.IMAGE, Geometry(width=width, height=height, depth=depth)
    if isinstance(holder, _cl.Pipe):
        return MemoryKind.PIPE, _PLAIN
    if parent_id:
        origin_bytes = int(holder.get_info(cl.mem_info.OFFSET))  # type: ignore[call-overload]
        return MemoryKind.SUB_BUFFER, Geometry(parent_id, origin_bytes)
    return MemoryKind.BUFFER, _PLAIN
