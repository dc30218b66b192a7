"""The same work on one thread of the host: by numpy, and by compiled C where there is a compiler."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FLAGS: Final = ("-O3", "-march=native", "-shared", "-fPIC", "-w")
_NAMES: Final = ("cc", "gcc", "clang")
_BUILD_S: Final = 60.0
_RUNS: Final = 3
_MOST_S: Final = 3.0
T = TypeVar("T")
Buffers: TypeAlias = tuple[NDArray[np.generic], ...]


@dataclass(frozen=True, slots=True)
class CCompiler:
    """A C compiler: its path, and what it calls itself."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class SequentialRun:
    """The shortest time of some runs in s, and the buffers after the last."""

    seconds: float
    after: Buffers


def find_c_compiler() -> CCompiler | None:
    """The C compiler of this machine, None without one."""
    for name in _NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        with suppress(OSError, subprocess.SubprocessError, IndexError):
            said = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=20, check=True
            )
            return CCompiler(path, said.stdout.splitlines()[0].strip())
    return None


def shortest(prepared: Callable[[], Callable[[], T]], repeats: int = 1) -> tuple[float, T]:
    """The shortest time of three runs in s, and what the last came to.

    A run is what `prepared` returns, called so many times; preparing it is not timed. No further one
    begins after three seconds.
    """
    times: list[float] = []
    while True:
        work = prepared()
        began = perf_counter()
        for _ in range(repeats - 1):
            work()
        found = work()
        times.append(perf_counter() - began)
        if len(times) == _RUNS or sum(times) > _MOST_S:
            return min(times), found


def sequential_run(
    compiler: CCompiler, source: str, buffers: Sequence[NDArray[np.generic]], items: int,
    repeats: int = 1,
) -> SequentialRun | None:  # fmt: skip
    """Compile `void run(void **buffers, long items)` and time it; None where it cannot be compiled.

    Each run begins with the buffers as they are given, and calls it so many times.
    """
    with tempfile.TemporaryDirectory(prefix="cltrace-c-") as directory:
        library = _compiled(compiler, source, Path(directory))
        if library is None:
            return None
        function = library.run
        function.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_long)
        function.restype = None

        def prepared() -> Callable[[], Buffers]:
            copies = tuple(one.copy() for one in buffers)
            pointers = (ctypes.c_void_p * len(copies))(*(one.ctypes.data for one in copies))

            def work() -> Buffers:
                function(pointers, items)
                return copies

            return work

        return SequentialRun(*shortest(prepared, repeats))


def _compiled(compiler: CCompiler, source: str, directory: Path) -> ctypes.CDLL | None:
    text, target = directory / "run.c", directory / "run.so"
    text.write_text(source)
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [compiler.path, *FLAGS, "-o", str(target), str(text)],
            capture_output=True, timeout=_BUILD_S, check=True,
        )  # fmt: skip
        return ctypes.CDLL(str(target))
    return None
