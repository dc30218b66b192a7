"""Calls every entry point of pyopencl that enqueues or waits. The sections to run are arguments."""

import sys
import warnings

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

warnings.simplefilter("ignore")

SOURCE = """
kernel void scale(global float *a, float x) { a[get_global_id(0)] *= x; }
kernel void add(global float *a, global const float *b, int n) { int i = get_global_id(0); if (i < n) a[i] += b[i]; }
kernel void with_local(global float *a, local float *l) { l[get_local_id(0)] = 1; a[get_global_id(0)] = l[get_local_id(0)]; }
kernel void brighten(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, read_imagef(in, s, at) + 0.25f);
}
"""
N = 256
FLAGS = cl.mem_flags

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
host = np.arange(N, dtype=np.float32)


def buffer() -> cl.Buffer:
    return cl.Buffer(context, FLAGS.READ_WRITE | FLAGS.COPY_HOST_PTR, hostbuf=host)


def launches() -> None:
    program = cl.Program(context, SOURCE).build()
    a, b = buffer(), buffer()
    scale, add = program.scale, program.add
    scale(queue, (N,), None, a, np.float32(2))
    scale(queue, (N,), (16,), a, np.float32(-0.0))
    scale(queue, (4,), (16,), a, np.float32(1), g_times_l=True)
    scale(queue, (N // 2,), None, a, np.float32(1), global_offset=(N // 2,))
    done = add(queue, (N,), None, a, b, np.int32(N))
    scale(queue, (N,), None, a, np.float32(3), wait_for=[done])
    scale(queue, (0,), None, a, np.float32(3), allow_empty_ndrange=True)
    scale(queue, [N], None, a, np.float32(1))
    scale.set_args(a, np.float32(4))
    cl.enqueue_nd_range_kernel(queue, scale, (N,), None)
    add.set_arg(0, a)
    add.set_arg(1, b)
    add.set_arg(2, np.int32(N))
    cl.enqueue_nd_range_kernel(queue, add, (N,), (N,), wait_for=[done])
    program.with_local(queue, (N,), (16,), a, cl.LocalMemory(64))
    for kernel in program.all_kernels():
        if kernel.function_name == "scale":
            kernel(queue, (N,), None, a, np.float32(1))
    typed = cl.Kernel(program, "add")
    typed.set_scalar_arg_dtypes([None, None, np.int32])
    typed(queue, (N,), None, a, b, N)
    queue.finish()


def copies() -> None:
    a, b = buffer(), buffer()
    out = np.empty_like(host)
    cl.enqueue_copy(queue, a, host)
    cl.enqueue_copy(queue, out, a)
    cl.enqueue_copy(queue, a, host[:16], dst_offset=64)
    cl.enqueue_copy(queue, b, a)
    cl.enqueue_copy(queue, b, a, byte_count=64, src_offset=4, dst_offset=8)
    event = cl.enqueue_copy(queue, a, host, is_blocking=False)
    event.wait()
    later = cl.enqueue_copy(queue, out, a, is_blocking=False, wait_for=[event])
    cl.wait_for_events([event, later])
    cl.enqueue_fill_buffer(queue, a, np.float32(1), 0, host.nbytes)
    cl.enqueue_fill(queue, a, np.float32(1), host.nbytes)
    rect = {"buffer_origin": (0, 0), "host_origin": (0, 0), "region": (16, 4)}
    pitches = {"buffer_pitches": (64,), "host_pitches": (64,)}
    cl.enqueue_copy(queue, a, host, **rect, **pitches)
    cl.enqueue_copy(queue, out, a, **rect, **pitches)
    cl.enqueue_copy(
        queue,
        b,
        a,
        src_origin=(0, 0),
        dst_origin=(4, 1),
        region=(16, 4),
        src_pitches=(64,),
        dst_pitches=(64,),
    )
    cl.enqueue_migrate_mem_objects(queue, [a, b])
    sub = a.get_sub_region(0, 128)
    cl.enqueue_copy(queue, out[:32], sub)
    cl.enqueue_copy(queue, out[:32], a[128:256])


def sync() -> None:
    first = cl.enqueue_marker(queue)
    cl.enqueue_marker(queue, wait_for=[first])
    cl.enqueue_barrier(queue)
    cl.enqueue_barrier(queue, wait_for=[first])
    cl._cl._enqueue_marker(queue)
    cl._cl._enqueue_barrier(queue)
    queue.flush()
    queue.finish()
    first.wait()
    user = cl.UserEvent(context)
    gated = cl.enqueue_marker(queue, wait_for=[user])
    user.set_status(cl.command_execution_status.COMPLETE)
    gated.wait()
    with cl.CommandQueue(context) as scoped:
        cl.enqueue_marker(scoped)


def maps() -> None:
    a = buffer()
    array, event = cl.enqueue_map_buffer(queue, a, cl.map_flags.WRITE, 0, (N,), np.float32)
    array[:] = 1
    array.base.release(queue)
    array, event = cl.enqueue_map_buffer(
        queue, a, cl.map_flags.READ, 64, (16,), np.float32, is_blocking=False
    )
    event.wait()
    with array.base:
        pass
    queue.finish()


def images() -> None:
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    picture = np.ones((8, 16, 4), np.float32)
    source = cl.image_from_array(context, picture, 4)
    target = cl.create_image(context, FLAGS.READ_WRITE, form, (16, 8))
    cl.enqueue_copy(queue, target, picture, origin=(0, 0), region=(16, 8))
    cl.enqueue_copy(queue, target, source, src_origin=(0, 0), dest_origin=(0, 0), region=(16, 8))
    linear = cl.Buffer(context, FLAGS.READ_WRITE, picture.nbytes)
    cl.enqueue_copy(queue, linear, target, origin=(0, 0), region=(16, 8), offset=0)
    cl.enqueue_copy(queue, target, linear, offset=0, origin=(0, 0), region=(16, 8))
    cl.enqueue_fill_image(queue, target, np.ones(4, np.float32), (0, 0), (16, 8))
    cl.enqueue_copy(queue, picture, target, origin=(0, 0), region=(16, 8))
    array, _, _, _ = cl.enqueue_map_image(
        queue, target, cl.map_flags.READ, (0, 0), (16, 8), (8, 16, 4), np.float32
    )
    array.base.release(queue)
    sampler = cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
    program = cl.Program(context, SOURCE).build()
    program.brighten(queue, (16, 8), None, source, target, sampler)
    queue.finish()


def arrays() -> None:
    a = cla.to_device(queue, host)
    b = cla.arange(queue, N, dtype=np.float32)
    c = a + 2 * b - 1
    c += a
    c.fill(2)
    c[3:9] = 4
    float(cla.sum(c).get()), float(cla.dot(a, b).get()), float(cla.max(a).get())
    cla.take(a, cla.to_device(queue, np.arange(8)))
    cla.concatenate((a, b))
    a.copy().get()
    cla.zeros(queue, N, np.float32).get()
    queue.finish()


def algorithms() -> None:
    from pyopencl.algorithm import copy_if
    from pyopencl.clrandom import PhiloxGenerator
    from pyopencl.elementwise import ElementwiseKernel
    from pyopencl.reduction import ReductionKernel
    from pyopencl.scan import GenericScanKernel, InclusiveScanKernel

    a = cla.to_device(queue, host)
    ElementwiseKernel(context, "float *a, float x", "a[i] = a[i] * x")(a, np.float32(2))
    ReductionKernel(context, np.float32, "0", "a + b", "x[i]", "__global const float *x")(a).get()
    InclusiveScanKernel(context, np.float32, "a + b", neutral="0")(a)
    scan = GenericScanKernel(
        context,
        np.float32,
        arguments="__global float *x, __global float *y",
        input_expr="x[i]",
        scan_expr="a + b",
        neutral="0",
        output_statement="y[i] = item;",
    )
    scan(a, cla.empty_like(a), queue=queue)
    copy_if(a, "ary[i] > 12")
    PhiloxGenerator(context).uniform(queue, N, np.float32)
    queue.finish()


def pools() -> None:
    from pyopencl.tools import DeferredAllocator, MemoryPool

    pool = MemoryPool(DeferredAllocator(context))
    for _ in range(3):
        one = pool.allocate(1024)
        cl.enqueue_fill_buffer(queue, one, np.float32(0), 0, 1024)
        one.release()
    cla.to_device(queue, host, allocator=pool).get()
    queue.finish()


def threads() -> None:
    import threading

    program = cl.Program(context, SOURCE).build()

    def work() -> None:
        own = cl.CommandQueue(context)
        kernel = cl.Kernel(program, "scale")
        mine = buffer()
        for _ in range(50):
            kernel(own, (N,), None, mine, np.float32(1))
        own.finish()

    workers = [threading.Thread(target=work, name=f"worker {i}") for i in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()


def svm() -> None:
    memory = cl.SVMAllocation(context, 4096, 64, cl.svm_mem_flags.READ_WRITE)
    other = cl.SVMAllocation(context, 4096, 64, cl.svm_mem_flags.READ_WRITE)
    cl.enqueue_svm_memfill(queue, memory, np.float32(1))
    cl.enqueue_copy(queue, other, memory)
    with memory.map_rw(queue) as view:
        view[:] = 1
    program = cl.Program(context, SOURCE).build()
    program.scale(queue, (N,), None, memory, np.float32(2))
    queue.finish()
    other.enqueue_release(queue)
    queue.finish()
    memory.release()


def dropped_map() -> None:
    array, _ = cl.enqueue_map_buffer(queue, buffer(), cl.map_flags.READ, 0, (N,), np.float32)
    del array
    queue.finish()


def immediate_allocator() -> None:
    from pyopencl.tools import ImmediateAllocator

    allocate = ImmediateAllocator(queue)
    kept = [allocate(1024) for _ in range(3)]
    queue.finish()
    del kept


def destructor_wait() -> None:
    cl.enqueue_copy(queue, buffer(), host, is_blocking=False)
    queue.finish()


def dropped_svm() -> None:
    memory = cl.SVMAllocation(context, 4096, 64, cl.svm_mem_flags.READ_WRITE, queue)
    # PoCL 3 reads the address out of the dropped object when the free runs: what is dropped after
    # it keeps Python from reusing its storage until then.
    cover = [cl.SVMAllocation(context, 64, 64, cl.svm_mem_flags.READ_WRITE) for _ in range(64)]
    cl.enqueue_svm_memfill(queue, memory, np.float32(1))
    queue.finish()
    del memory
    del cover
    queue.finish()


for section in sys.argv[1:]:
    globals()[section]()
print("done")
