"""Programs that crash, and those that print the frames of their threads."""

from typing import Final

PROGRAMS: Final = {
    **{
        f"is ended by {name}": f"say('now'); os.kill(os.getpid(), signal.{name}); time.sleep(5)"
        for name in (
            "SIGSEGV",
            "SIGBUS",
            "SIGFPE",
            "SIGILL",
            "SIGABRT",
            "SIGTRAP",
            "SIGSYS",
            "SIGKILL",
        )
    },
    "reads from nowhere": "import ctypes; say('now'); ctypes.string_at(0)",
    "aborts": "say('now'); os.abort()",
    "reads from nowhere, with faulthandler": """
import ctypes
faulthandler.enable(all_threads=False)
def crash(): ctypes.string_at(0)
crash()
""",
    "aborts, with faulthandler": """
faulthandler.enable(all_threads=False)
def crash(): os.abort()
crash()
""",
    "frees twice": """
import ctypes
libc = ctypes.CDLL(None); libc.free.argtypes = [ctypes.c_void_p]
faulthandler.enable(all_threads=False)
text = ctypes.c_void_p.from_buffer(bytearray(8))
libc.abort()
""",
    "has a fatal error of Python": """
import ctypes
faulthandler.enable(all_threads=False)
ctypes.pythonapi.Py_FatalError(b"of the program")
""",
    "prints its frames": """
def inner(): faulthandler.dump_traceback(all_threads=False)
inner()
""",
    "prints its frames on a signal": """
faulthandler.register(signal.SIGUSR1, all_threads=False)
def inner(): os.kill(os.getpid(), signal.SIGUSR1)
inner(); say("goes on")
""",
    "prints a stack": """
import traceback
def inner(): traceback.print_stack()
inner()
""",
    "prints its frames from a callback": """
import traceback
def called(status): say(status)
event = launch(); event.set_callback(cl.command_execution_status.COMPLETE, called)
event.wait(); time.sleep(0.2)
""",
}
