"""Arguments of pyopencl's enqueueing entry points, in one common form.

Each function takes the arguments of the entry point of the same name, with its names and defaults, and
returns those that a trace records. Nothing is called and no object is kept.
"""

import math
from typing import Any

from cltrace.events.kinds import CallFlag

_BLOCKING = int(CallFlag.BLOCKING)
_QUEUED_ONLY = int(CallFlag.QUEUED_ONLY)
_MAP_WRITES = 0b110
"""`CL_MAP_WRITE` and `CL_MAP_WRITE_INVALIDATE_REGION`."""
_MIGRATE_TO_HOST = 1
"""`CL_MIGRATE_MEM_OBJECT_HOST`."""


CallShape = tuple[Any, Any, Any, Any, int, int, int, int]
"""Recorded arguments of an enqueueing call: queue, wait list, source, target, size, offset in the source
and in the target (all in bytes), flags.

Source and target are memory objects or shared memory, or `None`. The size is -1 when the arguments do not
determine it.
"""


def read_buffer(
    queue: Any,
    mem: Any,
    hostbuf: Any,
    src_offset: int = 0,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueReadBuffer`: the size is that of the host's array."""
    size = byte_count(hostbuf)
    return (queue, wait_for, mem, None, size, src_offset, 0, _blocking(is_blocking))


def write_buffer(
    queue: Any,
    mem: Any,
    hostbuf: Any,
    dst_offset: int = 0,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueWriteBuffer`: the size is that of the host's array."""
    size = byte_count(hostbuf)
    return (queue, wait_for, None, mem, size, 0, dst_offset, _blocking(is_blocking))


def copy_buffer(
    queue: Any,
    src: Any,
    dst: Any,
    byte_count: int = -1,
    src_offset: int = 0,
    dst_offset: int = 0,
    wait_for: Any = None,
) -> CallShape:
    """`clEnqueueCopyBuffer`: without a count, pyopencl copies the smaller of the two."""
    size = byte_count if byte_count >= 0 else min(src.size, dst.size)
    return (queue, wait_for, src, dst, size, src_offset, dst_offset, 0)


def read_buffer_rect(
    queue: Any,
    mem: Any,
    hostbuf: Any,
    buffer_origin: Any,
    host_origin: Any,
    region: Any,
    buffer_pitches: Any = None,
    host_pitches: Any = None,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueReadBufferRect`: the region's first extent is in bytes."""
    offset = _rect_offset(buffer_origin, region, buffer_pitches)
    return (queue, wait_for, mem, None, _product(region), offset, 0, _blocking(is_blocking))


def write_buffer_rect(
    queue: Any,
    mem: Any,
    hostbuf: Any,
    buffer_origin: Any,
    host_origin: Any,
    region: Any,
    buffer_pitches: Any = None,
    host_pitches: Any = None,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueWriteBufferRect`: the region's first extent is in bytes."""
    offset = _rect_offset(buffer_origin, region, buffer_pitches)
    return (queue, wait_for, None, mem, _product(region), 0, offset, _blocking(is_blocking))


def copy_buffer_rect(
    queue: Any,
    src: Any,
    dst: Any,
    src_origin: Any,
    dst_origin: Any,
    region: Any,
    src_pitches: Any = None,
    dst_pitches: Any = None,
    wait_for: Any = None,
) -> CallShape:
    """`clEnqueueCopyBufferRect`."""
    source_offset = _rect_offset(src_origin, region, src_pitches)
    target_offset = _rect_offset(dst_origin, region, dst_pitches)
    return (queue, wait_for, src, dst, _product(region), source_offset, target_offset, 0)


def fill_buffer(
    queue: Any, mem: Any, pattern: Any, offset: int, size: int, wait_for: Any = None
) -> CallShape:
    """`clEnqueueFillBuffer`."""
    return (queue, wait_for, None, mem, size, 0, offset, 0)


def copy_buffer_p2p_amd(
    platform: Any, queue: Any, src: Any, dst: Any, byte_count: Any = None, wait_for: Any = None
) -> CallShape:
    """`clEnqueueCopyBufferP2PAMD`."""
    size = min(src.size, dst.size) if byte_count is None else byte_count
    return (queue, wait_for, src, dst, size, 0, 0, 0)


def read_image(
    queue: Any,
    mem: Any,
    origin: Any,
    region: Any,
    hostbuf: Any,
    row_pitch: int = 0,
    slice_pitch: int = 0,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueReadImage`: a region counts pixels."""
    size = _product(region) * mem.element_size
    return (queue, wait_for, mem, None, size, 0, 0, _blocking(is_blocking))


def write_image(
    queue: Any,
    mem: Any,
    origin: Any,
    region: Any,
    hostbuf: Any,
    row_pitch: int = 0,
    slice_pitch: int = 0,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueWriteImage`: a region counts pixels."""
    size = _product(region) * mem.element_size
    return (queue, wait_for, None, mem, size, 0, 0, _blocking(is_blocking))


def copy_image(
    queue: Any,
    src: Any,
    dest: Any,
    src_origin: Any,
    dest_origin: Any,
    region: Any,
    wait_for: Any = None,
) -> CallShape:
    """`clEnqueueCopyImage`."""
    return (queue, wait_for, src, dest, _product(region) * src.element_size, 0, 0, 0)


def copy_image_to_buffer(
    queue: Any, src: Any, dest: Any, origin: Any, region: Any, offset: int, wait_for: Any = None
) -> CallShape:
    """`clEnqueueCopyImageToBuffer`."""
    size = _product(region) * src.element_size
    return (queue, wait_for, src, dest, size, 0, offset, 0)


def copy_buffer_to_image(
    queue: Any, src: Any, dest: Any, offset: int, origin: Any, region: Any, wait_for: Any = None
) -> CallShape:
    """`clEnqueueCopyBufferToImage`."""
    size = _product(region) * dest.element_size
    return (queue, wait_for, src, dest, size, offset, 0, 0)


def fill_image(
    queue: Any, mem: Any, color: Any, origin: Any, region: Any, wait_for: Any = None
) -> CallShape:
    """`clEnqueueFillImage`."""
    return (queue, wait_for, None, mem, _product(region) * mem.element_size, 0, 0, 0)


def map_buffer(
    queue: Any,
    buf: Any,
    flags: int,
    offset: int,
    shape: Any,
    dtype: Any,
    order: str = "C",
    strides: Any = None,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueMapBuffer`: `calls` takes the size from the mapped array."""
    call_flags = _blocking(is_blocking) | _map_writes(flags)
    return (queue, wait_for, buf, buf, -1, offset, offset, call_flags)


def map_image(
    queue: Any,
    img: Any,
    flags: int,
    origin: Any,
    region: Any,
    shape: Any,
    dtype: Any,
    order: str = "C",
    strides: Any = None,
    wait_for: Any = None,
    is_blocking: bool = True,
) -> CallShape:
    """`clEnqueueMapImage`."""
    call_flags = _blocking(is_blocking) | _map_writes(flags)
    size = _product(region) * img.element_size
    return (queue, wait_for, img, img, size, 0, 0, call_flags)


def unmap(memory_map: Any, queue: Any = None, wait_for: Any = None) -> CallShape:
    """`clEnqueueUnmapMemObject`, by `MemoryMap.release`."""
    return (queue, wait_for, None, None, -1, 0, 0, 0)


def migrate(queue: Any, mem_objects: Any, flags: int = 0, wait_for: Any = None) -> CallShape:
    """`clEnqueueMigrateMemObjects`."""
    objects = list(mem_objects)
    target = objects[0] if len(objects) == 1 else None
    size = sum(memory.size for memory in objects)
    return (queue, wait_for, None, target, size, 0, 0, _to_host(flags))


def gl_objects(queue: Any, mem_objects: Any, wait_for: Any = None) -> CallShape:
    """`clEnqueueAcquireGLObjects` and `clEnqueueReleaseGLObjects`."""
    return (queue, wait_for, None, None, -1, 0, 0, 0)


def marker(queue: Any, wait_for: Any = None) -> CallShape:
    """Markers and barriers that return an event."""
    return (queue, wait_for, None, None, -1, 0, 0, 0)


def eventless(queue: Any, wait_for: Any = None) -> CallShape:
    """`clEnqueueBarrier` and `clEnqueueWaitForEvents` of OpenCL 1.1, which return no event."""
    return (queue, wait_for, None, None, -1, 0, 0, _QUEUED_ONLY)


def svm_memcpy(
    queue: Any, is_blocking: Any, dst: Any, src: Any, wait_for: Any = None, byte_count: Any = None
) -> CallShape:
    """`clEnqueueSVMMemcpy`: without a count, the smaller of the two."""
    size = byte_count
    if size is None:
        sizes = [svm.size for svm in (dst, src) if svm.size is not None]
        size = min(sizes) if sizes else -1
    return (queue, wait_for, src, dst, size, 0, 0, _blocking(is_blocking))


def svm_memfill(
    queue: Any, dst: Any, pattern: Any, byte_count: Any = None, wait_for: Any = None
) -> CallShape:
    """`clEnqueueSVMMemFill`."""
    size = dst.size if byte_count is None else byte_count
    return (queue, wait_for, None, dst, -1 if size is None else size, 0, 0, 0)


def svm_map(
    queue: Any, is_blocking: Any, flags: int, svm: Any, wait_for: Any = None, size: Any = None
) -> CallShape:
    """`clEnqueueSVMMap`."""
    mapped = svm.size if size is None else size
    call_flags = _blocking(is_blocking) | _map_writes(flags)
    size_bytes = -1 if mapped is None else mapped
    return (queue, wait_for, svm, svm, size_bytes, 0, 0, call_flags)


def svm_unmap(queue: Any, svm: Any, wait_for: Any = None) -> CallShape:
    """`clEnqueueSVMUnmap`."""
    return (queue, wait_for, svm, svm, -1, 0, 0, 0)


def svm_migrate(queue: Any, svms: Any, flags: Any = None, wait_for: Any = None) -> CallShape:
    """`clEnqueueSVMMigrateMem`."""
    return (queue, wait_for, None, None, -1, 0, 0, _to_host(flags or 0))


def svm_free(allocation: Any, queue: Any = None, wait_for: Any = None) -> CallShape:
    """`clEnqueueSVMFree`, by `SVMAllocation.enqueue_release`."""
    return (queue, wait_for, None, allocation, -1, 0, 0, 0)


def byte_count(buffer: Any) -> int:
    """Return the bytes of an object with the buffer interface."""
    size = getattr(buffer, "nbytes", None)
    return size if isinstance(size, int) else memoryview(buffer).nbytes


def _blocking(is_blocking: Any) -> int:
    return _BLOCKING if is_blocking else 0


def _map_writes(flags: int) -> int:
    return int(CallFlag.MAP_WRITE) if int(flags) & _MAP_WRITES else 0


def _to_host(flags: int) -> int:
    return int(CallFlag.TO_HOST) if int(flags) & _MIGRATE_TO_HOST else 0


def _product(extents: Any) -> int:
    return math.prod(extents)


def _rect_offset(origin: Any, region: Any, pitches: Any) -> int:
    """Return the offset of a rectangle in a buffer, in bytes. A pitch of 0 means that rows touch."""
    x, y, z = (*origin, 0, 0)[:3]
    if not (y or z):
        return int(x)
    width, height = (*region, 1, 1)[:2]
    row_pitch, slice_pitch = (*(pitches or ()), 0, 0)[:2]
    row_pitch = row_pitch or width
    slice_pitch = slice_pitch or row_pitch * height
    return int(z * slice_pitch + y * row_pitch + x)
