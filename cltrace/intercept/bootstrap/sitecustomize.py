# Imported by every Python interpreter that a traced program starts: it must be understood by any
# of them, old ones included, and it must leave no trace of itself but the tracing.
import os
import sys


def _leave_path(here):
    """Take this directory out of the module search path again."""
    sys.path[:] = [one for one in sys.path if os.path.abspath(one or ".") != here]


def _start():
    parts = os.environ.get("CLTRACE_SESSION", "")
    if not parts or os.environ.get("CLTRACE_DISABLE"):
        return
    try:
        from cltrace.intercept import autostart
    except Exception:
        _refuse(parts, sys.exc_info()[1])
        return
    try:
        from pathlib import Path

        autostart.begin(Path(parts))
    except Exception:
        _say(parts, "tracing did not start: %r" % (sys.exc_info()[1],))


def _refuse(parts, error):
    """This interpreter has no cltrace. The command itself is then not run; a child of it is."""
    reason = "%s (Python %d.%d) has no cltrace (%s): run `%s -m pip install cltrace`" % (
        (sys.executable,) + tuple(sys.version_info[:2]) + (error, sys.executable)
    )
    _say(parts, reason)
    if str(os.getppid()) == os.environ.get("CLTRACE_RECORDER"):
        os._exit(125)


def _say(parts, reason):
    try:
        path = os.path.join(parts, "untraced-%d.txt" % os.getpid())
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 384)
        os.write(descriptor, (reason + "\n").encode("utf-8", "replace"))
        os.close(descriptor)
    except OSError:
        pass


def _chain():
    """Import the sitecustomize that this one stands in front of, as if it had been found first."""
    mine = sys.modules.pop(__name__, None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if getattr(sys.exc_info()[1], "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        if mine is not None:
            sys.modules.setdefault(__name__, mine)


_leave_path(os.path.dirname(os.path.abspath(__file__)))
_start()
_chain()
