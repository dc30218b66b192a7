"""Capture of all buffers and images of one launch, as the device has them right before it runs."""

import ctypes
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray
from pyopencl import _cl

from cltrace.events.apis import Api
from cltrace.events.image_contents import ImageFormat, pack_image_format
from cltrace.events.records import Content
from cltrace.intercept.hooks.call_hook import HookedCall
from cltrace.intercept.objects.arguments import Frozen, memory_handle, svm_address
from cltrace.intercept.sink import Sink
from cltrace.spool.writer import SpoolWriter

MAX_BUFFER_BYTES: Final = 1 << 30
"""Limit on a captured buffer or image."""
_ZLIB_LEVEL: Final = 1
# These are taken before the hooks are installed.
_READ: Final = _cl._enqueue_read_buffer
_READ_IMAGE: Final = _cl._enqueue_read_image
_READ_SVM: Final[Any] = getattr(_cl, "_enqueue_svm_memcpy", None)  # absent before OpenCL 2.0
_MARK: Final = _cl._enqueue_marker_with_wait_list
_FLUSH: Final = cl.CommandQueue.flush
_IMAGE_TYPES: Final = frozenset(
    {
        cl.mem_object_type.IMAGE1D,
        cl.mem_object_type.IMAGE1D_ARRAY,
        cl.mem_object_type.IMAGE2D,
        cl.mem_object_type.IMAGE2D_ARRAY,
        cl.mem_object_type.IMAGE3D,
    }
)
_PATIENCE_S: Final = 30.0
"""The longest wait for commands before the launch: some end only if the program goes on."""
_POLL_S: Final = 0.0005


class LaunchContents:
    """Content capture of the `launch`-th launch of a kernel whose name matches `pattern`.

    `numbers` are those of memory objects, by handle or address. `note` takes a message. `svm_bytes`
    returns the size of the shared virtual memory that begins at an address, 0 if none does.
    """

    def __init__(
        self,
        sink: Sink,
        writer: SpoolWriter,
        numbers: Mapping[int, int],
        clock: Callable[[], int],
        note: Callable[[str], None],
        pattern: str,
        launch: int,
        svm_bytes: Callable[[int], int],
    ) -> None:
        self._svm_bytes = svm_bytes
        self._sink = sink
        self._writer = writer
        self._numbers = numbers
        self._clock = clock
        self._note = note
        self._pattern = pattern
        self._remaining = launch
        self._lock = threading.Lock()
        self._taken = threading.local()

    def buffer_initialised(self, buffer_id: int, data: Any) -> None:
        """Ignore the event: contents are read when they are needed."""

    def sub_buffer_created(self, sub_buffer_id: int, parent_id: int) -> None:
        """Ignore the event."""

    def command_enqueued(
        self, api: Api, target_handle: int, offset_bytes: int, size_bytes: int, call: HookedCall
    ) -> None:
        """Ignore the event."""

    def failed(self, fault: Exception) -> None:
        """Note that a launch could not be looked at."""
        self._note(f"the buffers of a launch cannot be captured: {fault!r}")

    def launching(
        self, name: str, queue: cl.CommandQueue, arguments: Iterable[Frozen], wait_for: Any
    ) -> None:
        """Read the memory of the launch that is looked for, once the commands before it have ended.

        `wait_for` are the events that it waits for.
        """
        if not fnmatchcase(name, self._pattern):
            return
        with self._lock:
            self._remaining -= 1
            if self._remaining != 0:
                return
        if not _has_ended(queue, wait_for):
            self._note(
                f"the buffers of {name} are not captured: commands before it had not ended after "
                f"{_PATIENCE_S:g} s"
            )
            return
        passed = list(arguments)
        shared = list(filter(None, map(svm_address, passed)))
        if not all(map(self._svm_bytes, shared)):
            self._note(
                f"the buffers of {name} are not captured: it gets shared virtual memory that begins "
                "within an allocation, or whose allocation was not seen"
            )
            return
        self._taken.contents = {}
        for read, handles in ((self._read, map(memory_handle, passed)), (self._read_svm, shared)):
            for handle in dict.fromkeys(filter(None, handles)):
                try:
                    read(queue, handle)
                except (cl.Error, MemoryError) as error:
                    self._note(f"a buffer of {name} cannot be read: {error}")

    def _read(self, queue: cl.CommandQueue, handle: int) -> None:
        memory: Any = cl.MemoryObject.from_int_ptr(handle, retain=True)  # its stubs say `object`
        if memory.size > MAX_BUFFER_BYTES:
            self._note(f"{memory.size:,} bytes of memory are too much to be captured")
            return
        if memory.type == cl.mem_object_type.BUFFER:
            contents = np.empty(memory.size, np.uint8)
            _READ(queue, mem=memory, hostbuf=contents, is_blocking=True)
            self._taken.contents[handle] = contents
        elif memory.type in _IMAGE_TYPES:
            self._taken.contents[handle] = _read_image(queue, handle)

    def _read_svm(self, queue: cl.CommandQueue, address: int) -> None:
        size_bytes = self._svm_bytes(address)
        if size_bytes > MAX_BUFFER_BYTES:
            self._note(f"{size_bytes:,} bytes of memory are too much to be captured")
            return
        contents = np.empty(size_bytes, np.uint8)
        memory = (ctypes.c_uint8 * size_bytes).from_address(address)
        _READ_SVM(queue, is_blocking=True, dst=cl.SVM(contents), src=cl.SVM(memory))
        self._taken.contents[address] = contents

    def launched(
        self, circumstance_id: int, arguments_id: int, buffer_ids: tuple[int, ...]
    ) -> None:
        """Store what was read for this launch."""
        contents = self._taken.__dict__.pop("contents", {})
        for handle, data in contents.items():
            number = self._numbers.get(handle, 0)
            if number not in buffer_ids:
                continue
            from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL

            stored = zlib.compress(data, _ZLIB_LEVEL)
            self._sink.records.append(
                Content(
                    sha256=sha256(data).hexdigest(),
                    position_bytes=self._writer.content(stored),
                    stored_bytes=len(stored),
                    size_bytes=len(data),
                    written_host_ns=self._clock(),
                    buffer_id=number,
                    circumstance_id=circumstance_id,
                    arguments_id=arguments_id,
                )
            )


def _read_image(queue: cl.CommandQueue, handle: int) -> NDArray[np.uint8]:
    """Return the format and the texels of an image. Raises: `cl.Error`."""
    image: Any = cl.Image.from_int_ptr(handle, retain=True)
    info = cl.image_info
    width, height, depth, layers = (
        max(int(image.get_image_info(extent)), 1)
        for extent in (info.WIDTH, info.HEIGHT, info.DEPTH, info.ARRAY_SIZE)
    )
    texels = image.format
    header = pack_image_format(
        ImageFormat(texels.channel_order, texels.channel_data_type, width, height, depth * layers)
    )
    is_row_array = image.type == cl.mem_object_type.IMAGE1D_ARRAY
    region = (width, layers, 1) if is_row_array else (width, height, depth * layers)
    size_bytes = width * height * depth * layers * int(image.get_image_info(info.ELEMENT_SIZE))
    contents = np.empty(len(header) + size_bytes, np.uint8)
    contents[: len(header)] = np.frombuffer(header, np.uint8)
    _READ_IMAGE(
        queue,
        mem=image,
        origin=(0, 0, 0),
        region=region,
        hostbuf=contents[len(header) :],
        is_blocking=True,
    )
    return contents


def _has_ended(queue: cl.CommandQueue, wait_for: Any) -> bool:
    """Wait for the queue's commands and some events. Return False if that takes too long."""
    marks = [_MARK(queue)]
    if wait_for:
        marks.append(_MARK(queue, wait_for=list(wait_for)))
    _FLUSH(queue)
    end = time.monotonic() + _PATIENCE_S
    while any(
        mark.command_execution_status > cl.command_execution_status.COMPLETE for mark in marks
    ):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_S)
    return True
