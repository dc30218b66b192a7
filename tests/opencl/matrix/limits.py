"""Programs under limits of the system, and those that look at what they have."""

from typing import Final

PROGRAMS: Final = {
    "asks for its limits": """
names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
say({name: resource.getrlimit(getattr(resource, name)) for name in names})
""",
    "has few descriptors": """
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); files = []
try:
    while True: files.append(open("/dev/null"))
except OSError as error: say(error.strerror)
launch().wait(); say("launched")
""",
    "has few descriptors from the start": """
say(sorted(set(range(40)) - {int(name) for name in os.listdir("/proc/self/fd")})[:10])
""",
    "writes too much": """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
with open("large", "wb", buffering=0) as file:
    say(file.write(bytes(1 << 20)))
    try: file.write(b"x")
    except OSError as error: say(error.strerror)
os.unlink("large"); launch().wait()
""",
    "dies of a file's size": """
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
with open("large", "wb", buffering=0) as file: file.write(bytes(1 << 20)); file.write(b"x")
""",
    "uses its time": """
resource.setrlimit(resource.RLIMIT_CPU, (3, 4))
signal.signal(signal.SIGXCPU, lambda *_: sys.exit(12))
while True: launch().wait()
""",
    "asks for too much memory": """
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try: bytearray(8 << 30)
except MemoryError: say("refused")
launch().wait(); say("launched")
""",
    "has a small stack in threads": """
threading.stack_size(1 << 18)
thread = threading.Thread(target=lambda: say(launch().wait())); thread.start(); thread.join()
""",
    "has no core file": """
resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()
""",
    "makes files with its mask": """
os.umask(0o027); open("made", "w").close(); os.mkdir("made.d")
say(oct(os.stat("made").st_mode), oct(os.stat("made.d").st_mode))
os.unlink("made"); os.rmdir("made.d")
""",
    "goes elsewhere": """
os.mkdir("elsewhere"); os.chdir("elsewhere"); launch().wait(); say(os.listdir("."))
os.chdir(".."); os.rmdir("elsewhere")
""",
    "lists its threads": """
say(threading.active_count(), [each.name for each in threading.enumerate()])
say(len(threading._dangling))
""",
    "lists its descriptors": """
say([number for number in sorted(map(int, os.listdir("/proc/self/fd"))) if number < 200][:3])
""",
    "asks for its arguments": "say(sys.argv[1:], sys.flags, sys.warnoptions, sys.path[0] != '')",
    "asks for its variables": """
own = ("CLTRACE_", "OPENCL_LAYERS", "PYTHONPATH")
say(sorted(name for name in os.environ if not name.startswith(own)))
""",
    "asks for the state of the interpreter": """
say(sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval())
say(gc.get_threshold(), gc.isenabled(), threading.stack_size(), sys.getdlopenflags())
say(faulthandler.is_enabled())
""",
    "changes its name": """
import ctypes
ctypes.CDLL(None).prctl(15, b"renamed", 0, 0, 0); launch().wait()
say(open("/proc/self/comm").read().strip())
say(os.getpriority(os.PRIO_PROCESS, 0) == os.getpriority(os.PRIO_PROCESS, os.getppid()))
""",
}
