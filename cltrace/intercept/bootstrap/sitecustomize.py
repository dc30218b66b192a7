# Imported by every Python interpreter that a traced program starts: it must be understood by any
# of them, old ones included, and it must leave no trace of itself but the tracing. So it imports
# nothing that the interpreter has not imported by itself: a program may have a `json` of its own.
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _leave_path():
    """Take this directory out of the module search path again."""
    sys.path[:] = [one for one in sys.path if os.path.abspath(one or ".") != _HERE]


def _start():
    parts = os.environ.get("CLTRACE_SESSION", "")
    if not parts or os.environ.get("CLTRACE_DISABLE"):
        return
    if sys.version_info < (3, 11) or not _has_cltrace():
        _refuse(parts)
        return
    try:
        directory = _report_in(parts)
        if os.environ.get("CLTRACE_FIRST_ONLY"):
            _forget_in_children()
        else:
            _Watch("subprocess", "children", lambda module: module.watch_children(parts))
            _Watch("multiprocessing.queues", "workers", lambda module: module.watch_results())
        _Watch("pyopencl", "autostart", lambda module: module.begin(parts, directory))
    except Exception:
        _say(parts, "tracing did not start: %r" % (sys.exc_info()[1],))


def _has_cltrace():
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        if find_spec and find_spec("cltrace", None):
            return True
    return False


def _refuse(parts):
    """This interpreter has no cltrace. The command itself is then not run; a child of it is."""
    reason = "%s (Python %d.%d) has no cltrace: run `%s -m pip install cltrace`" % (
        (sys.executable,) + tuple(sys.version_info[:2]) + (sys.executable,)
    )
    if sys.version_info < (3, 11):
        reason = "%s is Python %d.%d, and cltrace needs 3.11 or newer" % (
            (sys.executable,) + tuple(sys.version_info[:2])
        )
    _say(parts, reason)
    if str(os.getppid()) == os.environ.get("CLTRACE_RECORDER"):
        os._exit(125)


def _say(parts, reason):
    try:
        path = os.path.join(parts, "untraced-%d.txt" % os.getpid())
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 384)
        os.write(descriptor, (reason + "\n").encode("utf-8", "replace"))
        os.close(descriptor)
    except OSError:
        pass


def _report_in(parts):
    """Make the directory of this process image, named by its number and start time."""
    descriptor = os.open("/proc/self/stat", os.O_RDONLY)
    fields = os.read(descriptor, 4096).rpartition(b")")[2].split()
    os.close(descriptor)
    stem = os.path.join(parts, "%d-%d" % (os.getpid(), int(fields[19])))
    for attempt in range(1000):
        directory = "%s-%d" % (stem, attempt) if attempt else stem
        try:
            os.mkdir(directory, 448)
        except FileExistsError:  # an image of this process before it was replaced
            continue
        return directory
    raise OSError("%s and 999 more exist" % stem)


def _forget_in_children():
    """Start later interpreters as if there were no recording."""
    os.environ.pop("CLTRACE_SESSION", None)
    paths = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    kept = [one for one in paths if os.path.abspath(one or ".") != _HERE]
    if any(kept):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)


class _Watch:
    """Calls `action` with a module of ours once the module `name` was imported by the program.

    It stays among the finders when it is done: another thread may be going through them.
    """

    def __init__(self, name, ours, action):
        self._name = name
        self._ours = ours
        self._action = action
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path, target=None):
        """The specification that the other finders give, its loader told to call us back."""
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

        # Python leaves the frames of its import machinery out of tracebacks: this is one of them.
        if hasattr(exec_module.__code__, "replace"):
            code = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
            exec_module.__code__ = code
        loader.exec_module = exec_module

    def _act(self):
        try:
            _with_our_imports("cltrace.intercept." + self._ours, self._action)
        except Exception:
            parts = os.environ.get("CLTRACE_SESSION", "")
            _say(parts, "tracing did not start: %r" % (sys.exc_info()[1],))


def _with_our_imports(name, action):
    """Call `action` with a module of ours. What it imports is what it would be without the program.

    A module of the program that has the name of one that we need is set aside meanwhile, and one of
    ours that the program has a module of that name for is taken out again afterwards.
    """
    own = [os.path.join(one or os.getcwd(), "") for one in sys.path if one not in _SEARCH_PATH]
    aside = dict(_of_the_programs(own))
    for module in aside:
        del sys.modules[module]
    _OURS.begin()
    try:
        __import__(name)
        action(sys.modules[name])
    finally:
        for module in _OURS.end():
            if any(_is_there(one, module) for one in own):
                _forget(module)
        sys.modules.update(aside)


def _of_the_programs(own):
    """Modules that were loaded from the program's directories and hide ones of the library."""
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if top in sys.stdlib_module_names and isinstance(file, str):
            # The directory may be a parent of the library's.
            places = [os.path.join(one, top) for one in own]
            if any(file == one + ".py" or file.startswith(one + os.sep) for one in places):
                yield name, module


def _forget(top):
    for name in list(sys.modules):
        if name == top or name.startswith(top + "."):
            del sys.modules[name]


def _is_there(directory, name):
    path = os.path.join(directory, name)
    return os.path.exists(path + ".py") or os.path.exists(os.path.join(path, "__init__.py"))


class _OurFinder:
    """Between `begin` and `end` finds modules, for this thread, where they are without the program."""

    def __init__(self):
        self._thread = None
        self._found = []
        sys.meta_path.insert(0, self)

    def begin(self):
        """From now on imports of this thread are ours."""
        self._found = []
        self._thread = sys.modules["_thread"].get_ident()

    def end(self):
        """They are the program's again. Returns what was found meanwhile."""
        self._thread = None
        return self._found

    def find_spec(self, name, path, target=None):
        """The specification of a top-level module."""
        if self._thread is None or path is not None:
            return None
        if sys.modules["_thread"].get_ident() != self._thread:
            return None
        spec = _PATH_FINDER.find_spec(name, _SEARCH_PATH)
        if spec is not None and name != "cltrace":
            self._found.append(name)
        return spec


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


_leave_path()
_SEARCH_PATH = list(sys.path)
if sys.version_info >= (3, 11):
    _PATH_FINDER = sys.modules["_frozen_importlib_external"].PathFinder
    _OURS = _OurFinder()
_start()
_chain()
