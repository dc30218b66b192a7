"""The layer in this process: whether it records calls of pyopencl, and its functions."""

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

import pyopencl._cl as _cl

from cltrace.intercept.native.environment import (
    LAYERS_VARIABLE,
    library_that_records_python,
    takes_layers,
)


class _SymbolInfo(ctypes.Structure):
    """`Dl_info` of `dladdr`: the file of an address and its nearest symbol."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


_FREE_THREADED: Final = "free-threading"


def find_recording_library(parts: Path) -> Path | None:
    """Return the layer's library if it records the calls of pyopencl in this process, otherwise `None`.

    It does if the recording in `parts` wants that, the program's environment still names the library,
    and pyopencl's loader takes layers. No loader is initialised: that is the program's choice.
    """
    library = library_that_records_python(parts)
    if library is None or _FREE_THREADED in sys.version:
        return None
    if str(library) not in os.environ.get(LAYERS_VARIABLE, "").split(":"):
        return None
    loader = find_pyopencl_loader()
    try:
        return library if loader is not None and takes_layers(loader) else None
    except OSError:
        return None


def find_pyopencl_loader() -> Path | None:
    """Return the file that has the OpenCL functions which pyopencl calls."""
    try:
        function = ctypes.CDLL(_cl.__file__).clGetPlatformIDs
    except (OSError, AttributeError):
        return None
    info = _SymbolInfo()
    find = ctypes.CDLL(None).dladdr
    find.argtypes = [ctypes.c_void_p, ctypes.POINTER(_SymbolInfo)]
    address = ctypes.cast(function, ctypes.c_void_p)
    return Path(os.fsdecode(info.file)) if find(address, info) and info.file else None


class LayerLibrary:
    """Functions of the layer. They do nothing where it does not record. Raises: `OSError`.

    They are called with the interpreter's lock held: they take about a microsecond.
    """

    def __init__(self, path: Path) -> None:
        # The loader of OpenCL loads the same file, and gets this instance of it.
        library = ctypes.PyDLL(str(path))
        text, size = ctypes.c_char_p, ctypes.c_size_t
        self._begin = library.cltrace_layer_begin
        self._begin.argtypes, self._begin.restype = [text, text], ctypes.c_bool
        self._offer_source = library.cltrace_layer_offer_source
        self._offer_source.argtypes, self._offer_source.restype = [text, size], None
        self._record_region = library.cltrace_layer_record_region
        self._record_region.argtypes = [text, size, ctypes.c_int64]
        self._record_region.restype = None
        self.pause: Final = _plain_function(library.cltrace_layer_pause)
        self.resume: Final = _plain_function(library.cltrace_layer_resume)
        # These write files, for milliseconds perhaps: other threads may run meanwhile.
        waiting = ctypes.CDLL(str(path))
        self._flush = waiting.cltrace_layer_flush
        self._flush.argtypes, self._flush.restype = [text], None
        self._end = waiting.cltrace_layer_end
        self._end.argtypes, self._end.restype = [text], None

    def begin(self, directory: Path, pyopencl_version: str) -> bool:
        """Begin the recording of this process in `directory`; return whether the layer records it."""
        return bool(self._begin(os.fsencode(directory), pyopencl_version.encode()))

    def flush(self, ending: str | None = None) -> None:
        """Write what is recorded so far. `ending` tells how the process ends, if it does so now."""
        self._flush(None if ending is None else ending.encode())

    def end(self, ending: str) -> None:
        """End the recording for good. `ending` tells how the process ends."""
        self._end(ending.encode())

    def offer_source(self, source: str | None) -> None:
        """Give the source of the next program that this thread makes from binaries; `None`: no more."""
        data = None if source is None else source.encode("utf-8", "surrogateescape")
        self._offer_source(data, len(data or b""))

    def record_region(self, name: str, entered_ns: int) -> None:
        """Record a region of the program that began at `entered_ns`, in host ns, and ends now."""
        data = name.encode("utf-8", "surrogatepass")
        self._record_region(data, len(data), entered_ns)


def _plain_function(function: "ctypes._FuncPointer") -> "ctypes._FuncPointer":
    function.argtypes, function.restype = [], None
    return function
