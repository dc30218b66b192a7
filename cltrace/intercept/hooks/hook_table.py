"""Table of all hooks.

Entry points that Python code looks up in the extension module `pyopencl._cl` are replaced there. Those
that `pyopencl` copied when it was imported are replaced in both modules. Methods are replaced on their
classes. Entry points that a build of pyopencl lacks are left out.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.apis import Api
from cltrace.intercept.hooks import call_shapes
from cltrace.intercept.hooks.argument_setters import SETTERS
from cltrace.intercept.hooks.bare_launches import BareLaunches
from cltrace.intercept.hooks.call_shapes import CallShape
from cltrace.intercept.hooks.calls import CallHooks
from cltrace.intercept.hooks.launch_paths import LaunchPaths
from cltrace.intercept.hooks.memory import MemoryHooks
from cltrace.intercept.hooks.patching import Patch
from cltrace.intercept.hooks.programs import ProgramHooks
from cltrace.intercept.hooks.queues import QueueHooks
from cltrace.intercept.hooks.reference_counts import COUNTED, ReferenceCounts
from cltrace.intercept.hooks.svm import SvmHooks

ENQUEUES: Final[tuple[tuple[str, Api, Callable[..., CallShape]], ...]] = (
    ("_enqueue_read_buffer", Api.clEnqueueReadBuffer, call_shapes.read_buffer),
    ("_enqueue_write_buffer", Api.clEnqueueWriteBuffer, call_shapes.write_buffer),
    ("_enqueue_copy_buffer", Api.clEnqueueCopyBuffer, call_shapes.copy_buffer),
    ("_enqueue_read_buffer_rect", Api.clEnqueueReadBufferRect, call_shapes.read_buffer_rect),
    ("_enqueue_write_buffer_rect", Api.clEnqueueWriteBufferRect, call_shapes.write_buffer_rect),
    ("_enqueue_copy_buffer_rect", Api.clEnqueueCopyBufferRect, call_shapes.copy_buffer_rect),
    ("_enqueue_fill_buffer", Api.clEnqueueFillBuffer, call_shapes.fill_buffer),
    ("_enqueue_read_image", Api.clEnqueueReadImage, call_shapes.read_image),
    ("_enqueue_write_image", Api.clEnqueueWriteImage, call_shapes.write_image),
    ("_enqueue_copy_image", Api.clEnqueueCopyImage, call_shapes.copy_image),
    (
        "_enqueue_copy_image_to_buffer",
        Api.clEnqueueCopyImageToBuffer,
        call_shapes.copy_image_to_buffer,
    ),
    (
        "_enqueue_copy_buffer_to_image",
        Api.clEnqueueCopyBufferToImage,
        call_shapes.copy_buffer_to_image,
    ),
    ("enqueue_fill_image", Api.clEnqueueFillImage, call_shapes.fill_image),
    ("enqueue_map_buffer", Api.clEnqueueMapBuffer, call_shapes.map_buffer),
    ("enqueue_map_image", Api.clEnqueueMapImage, call_shapes.map_image),
    ("enqueue_migrate_mem_objects", Api.clEnqueueMigrateMemObjects, call_shapes.migrate),
    ("enqueue_copy_buffer_p2p_amd", Api.clEnqueueCopyBufferP2PAMD, call_shapes.copy_buffer_p2p_amd),
    ("_enqueue_marker", Api.clEnqueueMarker, call_shapes.marker),
    ("_enqueue_marker_with_wait_list", Api.clEnqueueMarkerWithWaitList, call_shapes.marker),
    ("_enqueue_barrier", Api.clEnqueueBarrier, call_shapes.eventless),
    ("_enqueue_barrier_with_wait_list", Api.clEnqueueBarrierWithWaitList, call_shapes.marker),
    ("_enqueue_wait_for_events", Api.clEnqueueWaitForEvents, call_shapes.eventless),
    ("_enqueue_svm_memcpy", Api.clEnqueueSVMMemcpy, call_shapes.svm_memcpy),
    ("_enqueue_svm_memfill", Api.clEnqueueSVMMemFill, call_shapes.svm_memfill),
    ("_enqueue_svm_map", Api.clEnqueueSVMMap, call_shapes.svm_map),
    ("_enqueue_svm_unmap", Api.clEnqueueSVMUnmap, call_shapes.svm_unmap),
    ("_enqueue_svm_migrate_mem", Api.clEnqueueSVMMigrateMem, call_shapes.svm_migrate),
    ("enqueue_acquire_gl_objects", Api.clEnqueueAcquireGLObjects, call_shapes.gl_objects),
    ("enqueue_release_gl_objects", Api.clEnqueueReleaseGLObjects, call_shapes.gl_objects),
)
"""Entry points of `pyopencl._cl` that enqueue: name, entry point of OpenCL, description of the
arguments."""


def launch_patches(bare: BareLaunches) -> Iterator[Patch]:
    """Yield the patches of kernel launches and argument setters, without that of `invoker_patch`."""
    yield from in_both("enqueue_nd_range_kernel", bare.wrap_enqueue)
    for name, arguments_of in SETTERS:
        yield from on_class("Kernel", name, bare.wrap_setter(arguments_of))
    yield Patch(cl.Kernel, "__init__", bare.kernel_constructor, constructor_witness=cl.Event)
    yield Patch(_cl._Program, "all_kernels", bare.all_kernels)


INVOKER: Final = "pyopencl.invoker"
"""Module that generates the functions by which kernel objects launch. pyopencl imports it for the first
kernel. Its import creates files in the user's cache, so it is patched when the program imports it."""


def invoker_patch(paths: LaunchPaths) -> Patch:
    """Return the patch of `INVOKER`, which must be imported."""
    return Patch(sys.modules[INVOKER], "generate_enqueue_and_set_args", paths.wrap_generator)


def call_patches(calls: CallHooks) -> Iterator[Patch]:
    """Yield the patches of all other enqueueing calls, and of all waiting calls."""
    for name, api, shape_of in ENQUEUES:
        yield from in_both(name, calls.enqueue(api, shape_of))
    yield from in_both("wait_for_events", calls.on_events(Api.clWaitForEvents))
    yield Patch(cl.MemoryMap, "release", calls.unmap(call_shapes.unmap))
    yield Patch(cl.CommandQueue, "finish", calls.on_queue(Api.clFinish))
    yield Patch(cl.CommandQueue, "flush", calls.on_queue(Api.clFlush))
    yield Patch(cl.Event, "wait", calls.on_event(Api.clWaitForEvents))
    yield Patch(cl.Event, "set_callback", calls.on_event(Api.clSetEventCallback))
    yield from on_class("UserEvent", "set_status", calls.on_event(Api.clSetUserEventStatus))


def queue_patches(queues: QueueHooks) -> Iterator[Patch]:
    """Yield the patches of the creation of contexts and queues, and of queries of queues."""
    info = cl.command_queue_info
    queue = cl.CommandQueue
    yield Patch(cl.Context, "__init__", queues.context_constructor, constructor_witness=cl.Event)
    yield Patch(cl.Context, "from_int_ptr", queues.context_from_handle)
    yield Patch(queue, "__init__", queues.constructor, constructor_witness=cl.Event)
    yield Patch(queue, "from_int_ptr", queues.from_handle)
    yield Patch(queue, "_finalize", queues.finalise)
    yield Patch(cl.Event, "command_queue", queues.of_event)
    yield Patch(queue, "get_info", queues.info)
    yield Patch(queue, "properties", queues.property_of(info.PROPERTIES))
    yield Patch(queue, "properties_array", queues.property_of(info.PROPERTIES_ARRAY))


def count_patches(counts: ReferenceCounts) -> Iterator[Patch]:
    """Yield the patches of queries for counts of references."""
    for counted, parameter in COUNTED:
        yield Patch(counted, "get_info", counts.info(parameter))
        yield Patch(counted, "reference_count", counts.attribute)


def memory_patches(memory: MemoryHooks) -> Iterator[Patch]:
    """Yield the patches of calls that create and free memory."""
    image = memory.other_constructor(Api.clCreateImage)
    yield Patch(cl.Buffer, "__init__", memory.buffer_constructor, constructor_witness=cl.Event)
    yield Patch(cl.Buffer, "get_sub_region", memory.sub_buffer)
    yield Patch(cl.Buffer, "__getitem__", memory.sub_buffer)
    yield Patch(cl.Image, "_custom_init", lambda original: staticmethod(image(original)))
    yield Patch(cl.MemoryObject, "release", memory.release)
    for name in ("AllocatorBase", "MemoryPool", "SVMAllocator", "SVMPool"):
        yield from on_class(name, "__call__", memory.allocation)
    yield from on_class("MemoryPool", "allocate", memory.allocation)
    if hasattr(_cl, "Pipe"):
        pipe = memory.other_constructor(Api.clCreatePipe)
        yield Patch(_cl.Pipe, "__init__", pipe, constructor_witness=cl.Event)


def svm_patches(svm: SvmHooks, calls: CallHooks) -> Iterator[Patch]:
    """Yield the patches of calls that allocate and free shared virtual memory."""
    if hasattr(_cl, "SVMAllocation"):
        allocation = _cl.SVMAllocation
        free = calls.enqueue(Api.clEnqueueSVMFree, call_shapes.svm_free)
        yield Patch(allocation, "__init__", svm.constructor, constructor_witness=cl.Event)
        yield Patch(allocation, "release", svm.release(None))
        yield Patch(allocation, "enqueue_release", svm.release(free))


def program_patches(programs: ProgramHooks) -> Iterator[Patch]:
    """Yield the patches of calls that create and build programs."""
    raw = _cl._Program
    yield Patch(raw, "__init__", programs.constructor, constructor_witness=cl.Event)
    yield Patch(raw, "_build", programs.build(Api.clBuildProgram))
    yield Patch(raw, "compile", programs.build(Api.clCompileProgram))
    yield Patch(raw, "link", programs.link)
    yield Patch(raw, "create_with_built_in_kernels", programs.built_in)
    yield from in_both("_create_program_with_il", programs.from_il)


def in_both(name: str, wrap: Callable[[Any], Any]) -> Iterator[Patch]:
    """Yield the patches of a function in the extension module, and of its copy in `pyopencl`."""
    for module in (_cl, cl):
        if hasattr(module, name):
            yield Patch(module, name, wrap)


def on_class(class_name: str, name: str, wrap: Callable[[Any], Any]) -> Iterator[Patch]:
    """Yield the patch of a method, unless this build of pyopencl lacks or inherits it."""
    cls = getattr(_cl, class_name, None)
    if cls is not None and name in vars(cls):
        yield Patch(cls, name, wrap)
