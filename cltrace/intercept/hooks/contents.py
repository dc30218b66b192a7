"""Captured buffers: what the host last wrote to them, kept when a new launch configuration uses it."""

import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from cltrace.events.apis import Api
from cltrace.events.records import Argument, Content
from cltrace.intercept.hooks.call_hook import Call
from cltrace.intercept.hooks.recorder import CallRow
from cltrace.intercept.sink import Sink
from cltrace.spool.writer import SpoolWriter

_FAST: Final = 1
"""zlib's level: capturing is paid for by the program that is traced."""


@dataclass(slots=True)
class _Held:
    data: bytearray
    written_host_ns: int


class Contents:
    """Copies of host-written buffers, `budget_bytes` held and as many stored, at the most.

    A copy is made when the host writes a whole buffer, or makes it from host data, and follows the
    host's later writes. Each launch configuration that is new keeps what is held of the buffers it
    uses, with the time of the last write: whether a kernel has written them since, the trace tells.
    """

    def __init__(
        self, sink: Sink, writer: SpoolWriter, budget_bytes: int, clock: Callable[[], int]
    ) -> None:
        self._sink = sink
        self._writer = writer
        self._budget_bytes = budget_bytes
        self._clock = clock
        self._held: OrderedDict[int, _Held] = OrderedDict()
        self._held_bytes = 0
        self._whole: dict[int, int] = {}
        self._stored: dict[str, tuple[int, int]] = {}
        self._stored_bytes = 0

    def initialised(self, buffer_id: int, data: Any) -> None:
        """The host fills a whole buffer. `data` has the buffer interface."""
        self._drop(buffer_id)
        view = memoryview(data)
        if view.nbytes > self._budget_bytes:
            return
        self._held[buffer_id] = _Held(bytearray(view.tobytes()), self._clock())
        self._held_bytes += view.nbytes
        while self._held_bytes > self._budget_bytes:
            self._drop(next(iter(self._held)))

    def divided(self, sub_buffer_id: int, parent_id: int) -> None:
        """A part of a buffer is a memory object of its own from now on."""
        self._whole[sub_buffer_id] = self._whole.get(parent_id, parent_id)

    def enqueued(self, row: CallRow, call: Call) -> None:
        """A command other than a launch was enqueued: follow what the host wrote, drop the rest."""
        if not row.target_buffer_id:
            return
        self._drop_overlapping(row.target_buffer_id)
        if row.api is not Api.clEnqueueWriteBuffer:
            self._drop(row.target_buffer_id)
        elif row.target_offset_bytes == 0 and row.size_bytes == call.given(1, "mem").size:
            self.initialised(row.target_buffer_id, call.given(2, "hostbuf"))
        elif row.target_buffer_id in self._held:
            held = self._held[row.target_buffer_id]
            end = row.target_offset_bytes + row.size_bytes
            held.data[row.target_offset_bytes : end] = memoryview(
                call.given(2, "hostbuf")
            ).tobytes()
            held.written_host_ns = self._clock()

    def configured(self, launch_id: int, arguments: tuple[Argument, ...]) -> None:
        """A new launch configuration: store what is held of the buffers that it uses."""
        for argument in arguments:
            held = self._held.get(argument.buffer_id)
            if held is None:
                continue
            digest = hashlib.sha256(held.data).hexdigest()
            place = self._stored.get(digest) or self._store(digest, held.data)
            if place is not None:
                size_bytes = len(held.data)
                self._sink.records.append(
                    Content(
                        digest,
                        *place,
                        size_bytes,
                        held.written_host_ns,
                        argument.buffer_id,
                        launch_id,
                    )
                )

    def _store(self, digest: str, data: bytearray) -> tuple[int, int] | None:
        if self._stored_bytes + len(data) > self._budget_bytes:
            return None
        stored = zlib.compress(data, _FAST)
        self._stored_bytes += len(data)
        self._stored[digest] = place = (self._writer.content(stored), len(stored))
        return place

    def _drop_overlapping(self, buffer_id: int) -> None:
        """What is written to a buffer is written to what it is a part of, and to parts of that."""
        whole = self._whole.get(buffer_id, buffer_id)
        for other in [one for one in self._held if self._whole.get(one, one) == whole]:
            if other != buffer_id:
                self._drop(other)

    def _drop(self, buffer_id: int) -> None:
        dropped = self._held.pop(buffer_id, None)
        if dropped is not None:
            self._held_bytes -= len(dropped.data)
