"""Fixtures of the layer's tests: the built layer, compiled programs, recorded runs."""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable
from ctypes.util import find_library
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from cltrace.intercept.native.build import (
    SOURCE_DIRECTORY,
    Compiler,
    compile_layer,
    find_compilers,
)
from cltrace.intercept.native.environment import LAYERS_VARIABLE, layered_environment
from cltrace.intercept.native.settings import write_layer_settings
from cltrace.kernels.launches.settings import CACHE_VARIABLE
from cltrace.spool.reader import ProcessSpool, read_parts
from cltrace.spool.settings import Settings
from tests.conftest import needs
from tests.patience import HANG_S

PROGRAMS: Final = Path(__file__).parent / "programs"

WARNINGS_AS_ERRORS: Final = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
"""Flags of the layer's tests only: a user's newer compiler may warn of more."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run of a program with the layer: its result, and the spools that it left."""

    status: int
    stdout: str
    stderr: str
    parts: Path
    spools: list[ProcessSpool]

    @property
    def spool(self) -> ProcessSpool:
        """The spool of the only process."""
        assert len(self.spools) == 1, [spool.directory.name for spool in self.spools]
        return self.spools[0]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The layer and the programs, built with the same flags. `variables` are set for each program."""

    compiler: Compiler
    layer: Path
    directory: Path
    extra: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    def program(self, name: str) -> Path:
        """Compile a program of `programs/` once, and return it."""
        executable = self.directory / name
        if not executable.exists():
            sources = [str(PROGRAMS / f"{name}.c"), str(PROGRAMS / "common.c")]
            flags = ["-std=gnu11", "-g", "-O1", "-pthread", "-Wall", "-Wextra", *self.extra]
            command = [*self.compiler.command, *flags, "-I", str(SOURCE_DIRECTORY)]
            subprocess.run([*command, "-o", str(executable), *sources, "-ldl"], check=True)
        return executable

    def above(self, name: str) -> "Toolbox":
        """Return this toolbox with a layer of `programs/` between the layer and the driver."""
        library = self.directory / f"{name}.so"
        flags = ["-std=gnu11", "-g", "-O1", "-pthread", "-Wall", "-Wextra", "-shared", "-fPIC"]
        command = [*self.compiler.command, *flags, *self.extra, "-I", str(SOURCE_DIRECTORY)]
        subprocess.run([*command, "-o", str(library), str(PROGRAMS / f"{name}.c")], check=True)
        return replace(self, variables={**self.variables, LAYERS_VARIABLE: str(library)})

    def environment(self) -> dict[str, str]:
        """Return the environment of a program that is not recorded."""
        return {**os.environ, **self.variables}

    def record(
        self,
        parts: Path,
        command: list[str],
        settings: Settings | None = None,
        *,
        record_python: bool = False,
        timeout_s: float = HANG_S,
    ) -> RecordedRun:
        """Run a command with the layer, recorded in `parts`."""
        parts.mkdir(mode=0o700, exist_ok=True)
        write_layer_settings(
            parts, settings or Settings(), 0, library=self.layer, record_python=record_python
        )
        environment = {
            **layered_environment(self.environment(), self.layer),
            "CLTRACE_SESSION": str(parts),
            "CLTRACE_RECORDER": str(os.getpid()),
        }
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return RecordedRun(
            result.returncode, result.stdout, result.stderr, parts, read_parts(parts)
        )


class BuiltLayers:
    """Layers built during this run of the tests, each once for all workers.

    `directory` is shared by the workers and removed at the end of the run.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def find(self, compiler: Compiler, extra: tuple[str, ...]) -> Path:
        """Return the layer built with `extra` flags. Raises: `LayerError`."""
        words = "\0".join((*compiler.command, compiler.version, *extra))
        library = self._directory / f"{hashlib.sha256(words.encode()).hexdigest()[:16]}.so"
        with library.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not library.exists():
                unfinished = library.with_suffix(".new")
                compile_layer(compiler, unfinished, extra)
                unfinished.rename(library)
        return library


@pytest.fixture(scope="session")
def layers() -> BuiltLayers:
    """The layers that tests share."""
    return BuiltLayers(Path(os.environ[CACHE_VARIABLE], "layers"))


@pytest.fixture(scope="session")
def toolbox(tmp_path_factory: pytest.TempPathFactory, layers: BuiltLayers) -> Toolbox:
    """The layer and the programs as users get them."""
    compiler = next(find_compilers(), None)
    needs(compiler is not None, "a C compiler")
    # The loader of pyopencl's wheel dies in a program that is not Python.
    needs(find_library("OpenCL") is not None, "an OpenCL loader: ocl-icd-libopencl1")
    assert compiler is not None
    layer = layers.find(compiler, WARNINGS_AS_ERRORS)
    return Toolbox(compiler, layer, tmp_path_factory.mktemp("native"))


Record = Callable[..., RecordedRun]


@pytest.fixture
def record(toolbox: Toolbox, tmp_path: Path) -> Record:
    """A function that runs a program of `programs/` with arguments, recorded."""

    def run(name: str, *words: str, settings: Settings | None = None) -> RecordedRun:
        return toolbox.record(tmp_path / "parts", [str(toolbox.program(name)), *words], settings)

    return run


__all__ = ["BuiltLayers", "RecordedRun", "Toolbox"]
