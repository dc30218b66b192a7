# Every Python interpreter that a traced program starts imports this file. So any version of Python,
# 2.7 included, must be able to parse it, and the program must see no sign of it. It imports only
# modules that the interpreter has imported by itself: a program may have a `json` of its own.
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _leave_path():
    """Remove this directory from the module search path."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]


def _start():
    parts = os.environ.get("CLTRACE_SESSION", "")
    if not parts or os.environ.get("CLTRACE_DISABLE"):
        return
    if sys.version_info < (3, 11) or not _has_cltrace():
        _refuse(parts)
        return
    try:
        directory = _make_process_directory(parts)
        if os.environ.get("CLTRACE_FIRST_ONLY"):
            _hide_from_children()
        else:
            _ImportWatch("subprocess", "children", lambda module: module.watch_children(parts))
            _ImportWatch("multiprocessing.queues", "workers", lambda module: module.watch_results())
        _ImportWatch("pyopencl", "autostart", lambda module: module.begin(parts, directory))
    except Exception:
        _report(parts, "tracing did not start: %r" % (sys.exc_info()[1],))


def _has_cltrace():
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        if find_spec and find_spec("cltrace", None):
            return True
    return False


def _refuse(parts):
    """Report that this interpreter has no cltrace. Exit if it is the command itself, not a child of it."""
    reason = "%s (Python %d.%d) has no cltrace: run `%s -m pip install %s`" % (
        (sys.executable,) + tuple(sys.version_info[:2]) + (sys.executable, _find_source())
    )
    if sys.version_info < (3, 11):
        reason = "%s is Python %d.%d, and cltrace needs 3.11 or newer" % (
            (sys.executable,) + tuple(sys.version_info[:2])
        )
    _report(parts, reason)
    if str(os.getppid()) == os.environ.get("CLTRACE_RECORDER"):
        os._exit(125)


def _find_source():
    """Return the words that name cltrace to pip: the checkout that holds this file, or the index's name."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
    try:
        with open(os.path.join(root, "pyproject.toml")) as file:
            if '\nname = "cltrace"\n' in file.read():
                return "-e '%s'" % root
    except Exception:  # no such file, or one in bytes that this version does not decode
        pass
    return "cltrace"


def _report(parts, reason):
    _append_quietly(os.path.join(parts, "untraced-%d.txt" % os.getpid()), reason)


def _append_quietly(path, line):
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 384)
        os.write(descriptor, (line + "\n").encode("utf-8", "replace"))
        os.close(descriptor)
    except OSError:
        pass


def _make_process_directory(parts):
    """Create the directory of this process image, named by its number and start time."""
    descriptor = os.open("/proc/self/stat", os.O_RDONLY)
    fields = os.read(descriptor, 4096).rpartition(b")")[2].split()
    os.close(descriptor)
    stem = os.path.join(parts, "%d-%d" % (os.getpid(), int(fields[19])))
    for attempt in range(1000):
        directory = "%s-%d" % (stem, attempt) if attempt else stem
        try:
            os.mkdir(directory, 448)
        except FileExistsError:  # made by an earlier image of this process
            continue
        _append_quietly(os.path.join(parts, "processes.txt"), os.path.basename(directory))
        return directory
    raise OSError("%s and 999 more exist" % stem)


def _hide_from_children():
    """Let later interpreters start as if there were no recording."""
    os.environ.pop("CLTRACE_SESSION", None)
    paths = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    kept = [path for path in paths if os.path.abspath(path or ".") != _HERE]
    if any(kept):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)


class _ImportWatch:
    """Finder that calls `action` with a module of cltrace once the program has imported `name`.

    It stays among the finders afterwards, because another thread may be iterating over them.
    """

    def __init__(self, name, cltrace_module, action):
        self._name = name
        self._cltrace_module = cltrace_module
        self._action = action
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path, target=None):
        """Return the specification from the other finders, with a loader that runs the action."""
        if name != self._name:
            return None
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec and finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    self._act_after(spec.loader)
                return spec
        return None

    def _act_after(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            execute(module)
            if self._name:
                self._name = None
                self._act()

        # Python leaves the frames of its import machinery out of tracebacks: make this one of them.
        if hasattr(exec_module.__code__, "replace"):
            code = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
            exec_module.__code__ = code
        loader.exec_module = exec_module

    def _act(self):
        try:
            _call_with_own_imports("cltrace.intercept." + self._cltrace_module, self._action)
        except Exception:
            parts = os.environ.get("CLTRACE_SESSION", "")
            _report(parts, "tracing did not start: %r" % (sys.exc_info()[1],))


def _call_with_own_imports(name, action):
    """Call `action` with a module of cltrace, with imports resolved as if the program were not there.

    A module of the program with the name of a module that cltrace needs is set aside during the call.
    Afterwards cltrace's module is removed again if the program has a module of that name.
    """
    own = [os.path.join(path or os.getcwd(), "") for path in sys.path if path not in _SEARCH_PATH]
    aside = dict(_program_modules(own))
    for module in aside:
        del sys.modules[module]
    _OWN_FINDER.begin()
    try:
        __import__(name)
        action(sys.modules[name])
    finally:
        for module in _OWN_FINDER.end():
            if any(_has_module(directory, module) for directory in own):
                _forget(module)
        sys.modules.update(aside)


def _program_modules(own):
    """Yield modules from the program's directories that hide modules of the standard library."""
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if top in sys.stdlib_module_names and isinstance(file, str):
            # The directory may be a parent of the library's.
            stems = [os.path.join(directory, top) for directory in own]
            if any(file == stem + ".py" or file.startswith(stem + os.sep) for stem in stems):
                yield name, module


def _forget(top):
    for name in list(sys.modules):
        if name == top or name.startswith(top + "."):
            del sys.modules[name]


def _has_module(directory, name):
    path = os.path.join(directory, name)
    return os.path.exists(path + ".py") or os.path.exists(os.path.join(path, "__init__.py"))


class _OwnFinder:
    """Finder that resolves modules as if the program were not there, between `begin` and `end`.

    It does so for one thread only.
    """

    def __init__(self):
        self._thread = None
        self._names = []
        sys.meta_path.insert(0, self)

    def begin(self):
        """Resolve the imports of this thread from now on."""
        self._names = []
        self._thread = sys.modules["_thread"].get_ident()

    def end(self):
        """Stop, and return the names of the modules that were imported since `begin`."""
        self._thread = None
        return self._names

    def find_spec(self, name, path, target=None):
        """Return the specification of a top-level module."""
        if self._thread is None or path is not None:
            return None
        if sys.modules["_thread"].get_ident() != self._thread:
            return None
        spec = _PATH_FINDER.find_spec(name, _SEARCH_PATH)
        if spec is not None and name != "cltrace":
            self._names.append(name)
        return spec


def _chain():
    """Import the sitecustomize that this file hides, as if it had been found first."""
    own = sys.modules.pop(__name__, None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if getattr(sys.exc_info()[1], "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault(__name__, own)


_leave_path()
_SEARCH_PATH = list(sys.path)
if sys.version_info >= (3, 11):
    _PATH_FINDER = sys.modules["_frozen_importlib_external"].PathFinder
    _OWN_FINDER = _OwnFinder()
_start()
_chain()
