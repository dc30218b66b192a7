"""Sequential baselines: the same work on one thread of the host, by numpy and by compiled C."""

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
_MAX_RUNS: Final = 3
_MAX_S: Final = 3.0
T = TypeVar("T")
Buffers: TypeAlias = tuple[NDArray[np.generic], ...]


@dataclass(frozen=True, slots=True)
class SequentialRun:
    """Shortest time of some runs in s, and the buffers after the last run."""

    seconds: float
    after: Buffers


@dataclass(frozen=True, slots=True)
class CCompiler:
    """A C compiler: its path, and the version that it prints."""

    path: str
    version: str

    def time_run(
        self,
        source: str,
        buffers: Sequence[NDArray[np.generic]],
        items: int,
        repeats: int,
        max_runs: int,
    ) -> SequentialRun | None:
        """Compile and time a function on one thread, as `run_sequentially` does."""
        return run_sequentially(self, source, buffers, items, repeats, max_runs)


def find_c_compiler() -> CCompiler | None:
    """Return the C compiler of this machine, None without one."""
    for name in _NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        with suppress(OSError, subprocess.SubprocessError, IndexError):
            result = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=20, check=True
            )
            return CCompiler(path, result.stdout.splitlines()[0].strip())
    return None


def time_shortest(
    prepare: Callable[[], Callable[[], T]], repeats: int = 1, max_runs: int = _MAX_RUNS
) -> tuple[float, T]:
    """Return the shortest time of `max_runs` runs in s, and the result of the last.

    A run calls the function that `prepare` returns `repeats` times; `prepare` itself is not timed. No
    further run begins after three seconds.
    """
    times: list[float] = []
    while True:
        work = prepare()
        began = perf_counter()
        for _ in range(repeats - 1):
            work()
        result = work()
        times.append(perf_counter() - began)
        if len(times) >= max_runs or sum(times) > _MAX_S:
            return min(times), result


def run_sequentially(
    compiler: CCompiler,
    source: str,
    buffers: Sequence[NDArray[np.generic]],
    items: int,
    repeats: int = 1,
    max_runs: int = _MAX_RUNS,
) -> SequentialRun | None:
    """Compile and time `void run(void **buffers, long items)`; return None if it cannot be compiled.

    Each run begins with copies of `buffers`, and calls the function `repeats` times. There are up to
    `max_runs` runs.
    """
    with tempfile.TemporaryDirectory(prefix="cltrace-c-") as directory:
        library = _compile(compiler, source, Path(directory))
        if library is None:
            return None
        function = library.run
        function.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_long)
        function.restype = None

        def prepare() -> Callable[[], Buffers]:
            copies = tuple(buffer.copy() for buffer in buffers)
            pointers = (ctypes.c_void_p * len(copies))(*(copy.ctypes.data for copy in copies))

            def work() -> Buffers:
                function(pointers, items)
                return copies

            return work

        return SequentialRun(*time_shortest(prepare, repeats, max_runs))


def _compile(compiler: CCompiler, source: str, directory: Path) -> ctypes.CDLL | None:
    text, target = directory / "run.c", directory / "run.so"
    text.write_text(source)
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [compiler.path, *FLAGS, "-o", str(target), str(text)],
            capture_output=True,
            timeout=_BUILD_S,
            check=True,
        )
        return ctypes.CDLL(str(target))
    return None
