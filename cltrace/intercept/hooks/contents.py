"""Capture of buffer contents: the host's last write to a buffer that a new launch configuration uses."""

import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from cltrace.events.apis import Api
from cltrace.events.records import Content
from cltrace.intercept.hooks.call_hook import HookedCall
from cltrace.intercept.hooks.circumstances import MAX_KEYS
from cltrace.intercept.hooks.content_rooms import ContentRooms, Copy
from cltrace.intercept.sink import Sink
from cltrace.spool.writer import SpoolWriter

_ZLIB_LEVEL: Final = 1
"""The fastest: the traced program pays for the compression."""


class ContentCapture(Protocol):
    """Observer of the events from which buffer contents follow."""

    def buffer_initialised(self, buffer_id: int, data: Any) -> None:
        """Take note of a buffer that is created from host data. `data` has the buffer interface."""

    def sub_buffer_created(self, sub_buffer_id: int, parent_id: int) -> None:
        """Take note of a part of a buffer that is now a memory object of its own."""

    def command_enqueued(
        self, api: Api, target_handle: int, offset_bytes: int, size_bytes: int, call: HookedCall
    ) -> None:
        """Take note of a recorded command that is not a launch, and of what it writes."""

    def launched(
        self, circumstance_id: int, arguments_id: int, buffer_ids: tuple[int, ...]
    ) -> None:
        """Take note of a launch with these memory objects among its arguments."""


class HostWriteCapture:
    """Content capture by copies of host-written buffers: at most `budget_bytes`, and as many stored.

    Small buffers have room beside it. `note` takes the reason why contents are left out, once.

    A copy is made when the host writes a whole buffer, or creates it from host data. The copy follows
    the host's later writes. The first launch with some arguments in a circumstance stores the copies of
    the buffers that it uses, with the time of the last write. The trace shows whether a kernel has
    written them since. `numbers` are those of memory objects, by handle.
    """

    def __init__(
        self,
        sink: Sink,
        writer: SpoolWriter,
        numbers: Mapping[int, int],
        budget_bytes: int,
        clock: Callable[[], int],
        note: Callable[[str], None],
    ) -> None:
        # It loads OpenSSL, 5 MiB of a program's addresses, and few recordings capture contents.
        from hashlib import sha256  # noqa: PLC0415

        self._sha256 = sha256
        self._sink = sink
        self._numbers = numbers
        self._launched: set[tuple[int, ...]] = set()
        self._writer = writer
        self._budget_bytes = budget_bytes
        self._clock = clock
        self._note = note
        self._is_complete = True
        self._copies = ContentRooms(budget_bytes)
        self._parents: dict[int, int] = {}
        self._stored: dict[str, tuple[int, int]] = {}

    def buffer_initialised(self, buffer_id: int, data: Any) -> None:
        """Copy the data of a whole buffer that the host fills."""
        view = memoryview(data)
        if view.nbytes > self._budget_bytes:
            self._copies.drop(buffer_id)
            self._note_omission(view.nbytes)
        elif not self._copies.put(buffer_id, Copy(bytearray(view.tobytes()), self._clock())):
            self._note_omission(view.nbytes)

    def sub_buffer_created(self, sub_buffer_id: int, parent_id: int) -> None:
        """Note which buffer a sub-buffer is a part of."""
        self._parents[sub_buffer_id] = self._parents.get(parent_id, parent_id)

    def command_enqueued(
        self, api: Api, target_handle: int, offset_bytes: int, size_bytes: int, call: HookedCall
    ) -> None:
        """Update the copy of a buffer that the host writes; drop it if another command writes it."""
        buffer_id = self._numbers.get(target_handle, 0)
        if not buffer_id:
            return
        self._drop_overlapping(buffer_id)
        if api is not Api.clEnqueueWriteBuffer:
            self._copies.drop(buffer_id)
        elif offset_bytes == 0 and size_bytes == call.argument(1, "mem").size:
            self.buffer_initialised(buffer_id, call.argument(2, "hostbuf"))
        elif (copy := self._copies.get(buffer_id)) is not None:
            end = offset_bytes + size_bytes
            copy.data[offset_bytes:end] = memoryview(call.argument(2, "hostbuf")).tobytes()
            copy.written_host_ns, copy.is_stored = self._clock(), False

    def launched(
        self, circumstance_id: int, arguments_id: int, buffer_ids: tuple[int, ...]
    ) -> None:
        """Store the copies of the buffers that a launch uses, unless one like it was seen before."""
        key = (circumstance_id, arguments_id, *buffer_ids)
        if key in self._launched:
            return
        if len(self._launched) >= MAX_KEYS:
            self._launched.clear()
        self._launched.add(key)
        for buffer_id in dict.fromkeys(buffer_ids):
            copy = self._copies.get(buffer_id)
            if copy is None:
                continue
            digest = self._sha256(copy.data).hexdigest()
            place = self._stored.get(digest) or self._store(digest, copy.data)
            if place is not None:
                copy.is_stored = True
                self._sink.records.append(
                    Content(
                        sha256=digest,
                        position_bytes=place[0],
                        stored_bytes=place[1],
                        size_bytes=len(copy.data),
                        written_host_ns=copy.written_host_ns,
                        buffer_id=buffer_id,
                        circumstance_id=circumstance_id,
                        arguments_id=arguments_id,
                    )
                )

    def _store(self, digest: str, data: bytearray) -> tuple[int, int] | None:
        if not self._copies.reserve(len(data)):
            self._note_omission(len(data))
            return None
        stored = zlib.compress(data, _ZLIB_LEVEL)
        self._stored[digest] = place = (self._writer.content(stored), len(stored))
        return place

    def _note_omission(self, size_bytes: int) -> None:
        if self._is_complete:
            self._is_complete = False
            self._note(
                f"not all contents of buffers are recorded: {-(-size_bytes >> 10)} KiB were the first "
                f"beyond --capture-buffers {self._budget_bytes >> 20}"
            )

    def _drop_overlapping(self, buffer_id: int) -> None:
        """Drop the copies of the buffer's parent and of all other parts of that parent."""
        parents = self._parents
        parent = parents.get(buffer_id, buffer_id)
        for other in self._copies.buffer_ids():
            if other != buffer_id and parents.get(other, other) == parent:
                self._copies.drop(other)
