"""Programs whose objects say when they are finalised, and how often they are referred to."""

from typing import Final

PROGRAMS: Final = {
    "globals": """
first = Noisy("first"); second = Noisy("second"); third = Noisy("third")
say("end")
""",
    "globals that functions refer to": """
first = Noisy("first")
def function(): return second
second = Noisy("second", function)
""",
    "cycles": """
one = Noisy("one"); two = Noisy("two", one); one.other = two
del one, two; say(gc.collect() > 0); three = Noisy("three"); three.other = three
""",
    "objects of classes": """
class Holder: kept = Noisy("of the class")
class Child(Holder): kept = Noisy("of the child")
""",
    "objects in other modules": """
import decimal, pyopencl.array, pyopencl.tools
decimal.kept = Noisy("in decimal"); pyopencl.array.kept = Noisy("in pyopencl.array")
cl.kept = Noisy("in pyopencl"); sys.kept = Noisy("in sys")
import builtins; builtins.kept = Noisy("in builtins")
""",
    "weak finalizers": """
one, two = Noisy("one"), Noisy("two")
weakref.finalize(one, say, "finalizes one"); weakref.finalize(two, say, "finalizes two")
weakref.finalize(queue, say, "finalizes the queue"); weakref.finalize(memory, say, "the memory")
""",
    "weak references": """
one = Noisy("one"); reference = weakref.ref(one, lambda _: say("one is gone"))
event = launch(); event.wait(); watched = weakref.ref(event, lambda _: say("the event is gone"))
del event, one; say(reference() is None, watched() is None)
""",
    "a thread's objects": """
local = threading.local(); local.kept = Noisy("of the main thread")
def work(): local.kept = Noisy("of the thread")
thread = threading.Thread(target=work); thread.start(); thread.join(); say("end")
""",
    "a generator": """
def generate():
    try: yield 1
    finally: say("closed")
generator = generate(); next(generator); say("end")
""",
    "a context manager that is left open": """
stack = contextlib.ExitStack(); stack.callback(say, "left"); say("end")
""",
    "queues of the program": """
class Queue(cl.CommandQueue):
    def __del__(self): say("del", self.name)
queues = [Queue(context) for _ in range(3)]
for number, each in enumerate(queues): each.name = f"queue {number}"
del queues[1]; other = queues[0]
""",
    "memory of the program": """
class Memory(cl.Buffer):
    def __del__(self): say("del memory of", self.size)
memories = [Memory(context, cl.mem_flags.READ_WRITE, 64 << n) for n in range(4)]
kernel(queue, (1,), None, memories[2]).wait(); del memories[2]
""",
    "kernels of the program": """
class Own(cl.Kernel):
    def __del__(self): say("del kernel")
own = Own(program, "k"); own.set_args(memory)
cl.enqueue_nd_range_kernel(queue, own, (1,), None).wait(); say("end")
""",
    "launches in a finalizer": """
class Late:
    def __init__(self): self.parts = kernel, queue, memory
    def __del__(self): own, line, data = self.parts; own(line, (1,), None, data).wait(); say("late")
late = Late(); say("end")
""",
    "launches in a finalizer by a function": """
class Late:
    def __init__(self): self.parts = cl.enqueue_nd_range_kernel, kernel, queue, memory
    def __del__(self):
        enqueue, own, line, data = self.parts; own.set_args(data)
        enqueue(line, own, (1,), None).wait(); say("late")
late = Late(); say("end")
""",
    "transfers in a finalizer": """
import numpy
class Late:
    def __init__(self): self.parts = cl.enqueue_copy, queue, memory, numpy.zeros(4, numpy.int32)
    def __del__(self): copy, line, data, array = self.parts; copy(line, array, data); say(array[0])
late = Late(); queue.finish()
""",
    "finalizers that raise": """
class Broken:
    def __del__(self): raise ValueError("in a finalizer")
broken = Broken(); del broken; another = Broken()
""",
    "an unraisable hook": """
sys.unraisablehook = lambda args: say("unraisable", args.exc_type.__name__)
class Broken:
    def __del__(self): kernel(queue, (10,), (3,), memory)
broken = Broken(); del broken
""",
    "counts of references": """
import numpy
objects = {"context": context, "queue": queue, "kernel": kernel, "memory": memory}
def read(): return {name: each.reference_count for name, each in objects.items()}
def counts(what):
    # A thread of PoCL drops its references to a command some time after the command is complete.
    last, since = read(), time.monotonic()
    while time.monotonic() - since < 0.2:
        time.sleep(0.01); now = read()
        if now != last: last, since = now, time.monotonic()
    say(what, last)
counts("at first")
event = objects["event"] = launch(); event.wait(); counts("launched")
event = objects["event"] = cl.enqueue_fill_buffer(queue, memory, b"abcd", 0, 64); event.wait()
counts("filled"); objects["part"] = memory[0:128]; counts("part")
with cl.CommandQueue(context) as objects["other"]:
    cl.enqueue_marker(objects["other"]).wait(); counts("other")
objects["user"] = cl.UserEvent(context); counts("user")
objects["user"].set_status(0); counts("user")
del event, objects["event"], objects["other"]; counts("less")
say(context.get_info(cl.context_info.REFERENCE_COUNT))
say(queue.get_info(cl.command_queue_info.REFERENCE_COUNT))
say(program.get_info(cl.program_info.REFERENCE_COUNT))
""",
    "counts of references of Python": """
event = launch(); event.wait(); time.sleep(0.2)
say([sys.getrefcount(each) for each in (queue, context, kernel, memory)])
del event; say(gc.collect() >= 0)
""",
    "counts of an event that is not complete": """
user = cl.UserEvent(context); event = cl.enqueue_marker(queue, wait_for=[user])
say(event.reference_count - event.reference_count); user.set_status(0); event.wait()
say(event.get_info(cl.event_info.REFERENCE_COUNT), user.reference_count)
""",
}
