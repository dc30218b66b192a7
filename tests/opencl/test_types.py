"""The classes of pyopencl stay what they are: whatever a program asks of them, it gets its answer."""

from collections.abc import Callable

import pytest

from tests.conftest import Runner

pytestmark = pytest.mark.opencl

CODE = """
import copy, functools, gc, inspect, pickle, sys, typing, weakref
import numpy as np
import pyopencl as cl
import pyopencl.array

context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
device = context.devices[0]
queue = cl.CommandQueue(context)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
program = cl.Program(context, "kernel void f(global int *a) {}").build()
kernel = cl.Kernel(program, "f")
event = kernel(queue, (1,), None, memory)
queue.finish()

class MyQueue(cl.CommandQueue):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.mine = 5

class MyBuffer(cl.Buffer):
    pass

mine = MyQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
my_buffer = MyBuffer(context, cl.mem_flags.READ_ONLY, size=32)

@functools.singledispatch
def kind(thing): return "other"
@kind.register
def _(thing: cl.CommandQueue): return "queue"
@kind.register
def _(thing: cl.Buffer): return "buffer"
@kind.register
def _(thing: cl.Kernel): return "kernel"

def matched(thing):
    match thing:
        case cl.CommandQueue(): return "queue"
        case cl.Buffer(size=size): return f"buffer of {size}"
        case cl.Kernel(function_name=name): return f"kernel {name}"
        case cl.Event(): return "event"
    return "other"

def hinted(queue: cl.CommandQueue | None, memory: "cl.Buffer") -> typing.Optional[cl.Event]: ...

for thing in (context, queue, memory, program, kernel, event, mine, my_buffer, device):
    print(type(thing).__mro__, type(thing).__name__, type(thing).__module__)
    print(kind(thing), matched(thing), isinstance(thing, (cl.CommandQueue, cl.MemoryObject)))
for cls in (cl.CommandQueue, cl.Buffer, cl.Image, cl.Kernel, cl.Program, cl.Event, cl.SVMAllocation):
    print(cls, type(cls), cls.__qualname__, cls.__bases__, cls.__subclasses__() and 1)
    print(sorted(name for name in vars(cls)), cls.__doc__ and len(cls.__doc__))
    print(cls | None, typing.Optional[cls], (cls | int).__args__, copy.copy(cls) is cls)
    print(issubclass(cls, cls), issubclass(cls, object), pickle.loads(pickle.dumps(cls)) is cls)
    try:
        print(inspect.signature(cls))
    except ValueError as error:
        print("no signature")
    try:
        cls(1, 2, 3, nosuch=4)
    except TypeError as error:
        print(str(error).splitlines()[0])
print(typing.get_type_hints(hinted))
print(type(queue) is cl.CommandQueue, type(mine) is MyQueue, mine.mine, type(queue).__call__ if 0 else "")
print(queue.properties, mine.properties, queue.get_info(cl.command_queue_info.PROPERTIES))
print(hasattr(cl.CommandQueue, "properties"), queue == queue, queue != mine, hash(queue) == hash(queue))
print(type(event), isinstance(event, cl.Event), event.command_type, event.command_execution_status)
print(cl.enqueue_copy.__name__, cl.enqueue_copy.__doc__, cl.wait_for_events.__doc__)
print(inspect.signature(cl.enqueue_copy), inspect.signature(cl.create_some_context))
print(weakref.ref(mine)() is mine, sys.getrefcount(queue), sys.getrefcount(mine))
with cl.CommandQueue(context) as inner:
    print(type(inner))
same = cl.CommandQueue.from_int_ptr(queue.int_ptr)
print(same == queue, type(same))
print(kernel.num_args, kernel.function_name, kernel.get_info(cl.kernel_info.NUM_ARGS))
print(kernel.capture_call.__name__, [k.function_name for k in program.all_kernels()])
array = pyopencl.array.arange(queue, 10, dtype=np.int32)
print(type(array), type(array.base_data), (array + 1).get(), type(array.events), array.events[:0])
print(type(memory.get_host_array if hasattr(memory, "get_host_array") else 0))
"""


def test_every_question_about_types_has_the_answer_it_has_untraced(run: Runner) -> None:
    import sys  # noqa: PLC0415 - the interpreter is the test's subject

    plain = run("-c", CODE, command=[sys.executable])
    assert plain.status == 0, plain.stderr
    traced = run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", CODE)
    assert traced.status == 0, traced.stderr
    assert traced.stdout.splitlines() == plain.stdout.splitlines()


def test_instances_of_subclasses_are_traced_too(traced: Callable[..., object]) -> None:
    trace = traced(CODE, code=True)
    queues = trace.rows("SELECT out_of_order, profiling_forced FROM v_queue ORDER BY queue_id")  # type: ignore[attr-defined]
    assert queues[:2] == [(0, 1), (1, 1)]
    sizes = trace.rows("SELECT size_bytes FROM v_buffer ORDER BY buffer_id LIMIT 2")  # type: ignore[attr-defined]
    assert sizes == [(64,), (32,)]
