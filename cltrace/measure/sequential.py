"""The same work on one thread of the host: compiled C, where there is a compiler."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

FLAGS: Final = ("-O3", "-march=native", "-shared", "-fPIC", "-w")
_NAMES: Final = ("cc", "gcc", "clang")
_BUILD_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class CCompiler:
    """A C compiler: its path, and what it calls itself."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class SequentialRun:
    """The shortest time of some runs in s, and the buffers after the last."""

    seconds: float
    after: tuple[NDArray[np.generic], ...]


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


def sequential_run(
    compiler: CCompiler, source: str, buffers: Sequence[NDArray[np.generic]], items: int, *,
    most_s: float = 3.0, runs: int = 3,
) -> SequentialRun | None:  # fmt: skip
    """Compile `void run(void **buffers, long items)` and time it; None where it cannot be compiled.

    Each run begins with the buffers as they are given; no further one begins after `most_s` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="cltrace-c-") as directory:
        library = _compiled(compiler, source, Path(directory))
        if library is None:
            return None
        function = library.run
        function.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_long)
        function.restype = None
        times: list[float] = []
        copies: list[NDArray[np.generic]] = []
        while len(times) < runs and sum(times) < most_s:
            copies = [one.copy() for one in buffers]
            pointers = (ctypes.c_void_p * len(copies))(*(one.ctypes.data for one in copies))
            began = perf_counter()
            function(pointers, items)
            times.append(perf_counter() - began)
        return SequentialRun(min(times), tuple(copies))


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
