"""Programs that end in ordinary and unusual ways."""

from typing import Final

PROGRAMS: Final = {
    **{
        f"exits with {text}": f"launch(); sys.exit({text})"
        for text in ("0", "7", "300", "-1", "None", "'words'", "(1, 2)")
    },
    "raises": "raise RuntimeError('as planned')",
    "raises from another error": """
def inner(): cl.Buffer(context, cl.mem_flags.READ_WRITE, 0)
try: inner()
except cl.Error as error: raise ValueError("while making a buffer") from error
""",
    "raises a group": """
errors = []
for size in (0, -1):
    try: cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
    except Exception as error: errors.append(error)
raise ExceptionGroup("several", errors)
""",
    "launches with a wrong size": "kernel(queue, (10,), (3,), memory)",
    "launches with wrong arguments": "kernel(queue, (1,), None, memory, memory)",
    "builds a broken source": """
try: cl.Program(context, "kernel void broken() { nothing }").build()
except cl.RuntimeError as error: say(type(error).__name__); raise SystemExit(4)
""",
    "recurses without end": """
sys.setrecursionlimit(200)
def recurse(n): launch(); return recurse(n + 1)
try: recurse(0)
except RecursionError as error: say(error); sys.exit(6)
""",
    "leaves by _exit": "launch(); say('gone'); os._exit(9)",
    "replaces itself": "launch().wait(); os.execv('/bin/sh', ['sh', '-c', 'echo replaced; exit 8'])",
    "has an excepthook": """
sys.excepthook = lambda kind, error, trace: say("hook", kind.__name__, error, trace.tb_lineno)
raise KeyError("mine")
""",
    "has a thread that raises": """
threading.excepthook = lambda args: say("thread", args.exc_type.__name__, args.exc_value)
def work(): kernel(queue, (10,), (3,), memory)
thread = threading.Thread(target=work); thread.start(); thread.join()
""",
    "has a thread that outlives the main thread": """
def work():
    for _ in range(20): launch().wait(); time.sleep(0.01)
    say("thread done")
threading.Thread(target=work).start()
""",
    "has a daemon that is cut off": """
def work():
    while True: time.sleep(0.01)
threading.Thread(target=work, daemon=True).start(); time.sleep(0.2); say("end")
""",
    "has exit functions": """
atexit.register(say, "first registered")
atexit.register(lambda: say("launches", launch().wait()))
atexit.register(lambda: 1 / 0)
say("end")
""",
    "ends in an exit function": """
atexit.register(say, "never said")
atexit.register(lambda: os._exit(11))
""",
    "has a closed stdout": "sys.stdout.flush(); os.close(1)",
    "has a closed stderr": "os.close(2); raise RuntimeError('unseen')",
    "writes without end of line": "sys.stdout.write('no end'); sys.stderr.write('here neither')",
    "forks a child that raises": """
sys.stdout.flush()
warnings.simplefilter("ignore")
child = os.fork()
if not child: raise LookupError("of the child")
say(os.waitpid(child, 0)[1])
""",
    "warns": "warnings.warn('mind this'); queue.finish()",
    "is not to be parsed": "exec('def broken(:')",
}
