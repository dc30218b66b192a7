"""Loaders of OpenCL that the tests build: they stand on the system's, and play others' parts."""

import re
import shutil
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cltrace.intercept.native.build import SOURCE_DIRECTORY
from cltrace.intercept.native.loader_check import bundled_loader, find_system_loader
from tests.conftest import needs
from tests.native.conftest import PROGRAMS, Toolbox

_TABLE: Final = re.compile(r"struct cl_dispatch \{(.*?)\n\};", re.DOTALL)
_MEMBER: Final = re.compile(r"\*(cl[A-Z]\w+)[);]")


def build_loader(toolbox: Toolbox, directory: Path, *definitions: str) -> Path:
    """Build `programs/loader.c` with `definitions` as `libOpenCL.so.1` in a directory, and return it."""
    directory.mkdir()
    _write_entries(directory / "entries.h")
    real, loader = directory / "real-loader.so", directory / "libOpenCL.so.1"
    shutil.copy(_system_loader(), real)
    flags = ["-std=gnu11", "-g", "-O1", "-pthread", "-Wall", "-Wextra", "-shared", "-fPIC"]
    includes = ["-I", str(SOURCE_DIRECTORY), "-I", str(directory)]
    command = [*toolbox.compiler.command, *flags, *includes, f'-DREAL_LOADER="{real}"']
    command += [f"-D{definition}" for definition in definitions]
    source = str(PROGRAMS / "loader.c")
    subprocess.run([*command, "-o", str(loader), source, "-ldl"], check=True)
    return loader


def under(toolbox: Toolbox, loader: Path) -> Toolbox:
    """Return the toolbox with another loader for the programs of `programs/`."""
    return replace(toolbox, variables={**toolbox.variables, "TEST_OPENCL_LOADER": str(loader)})


def copy_pyopencl(loader: Path, directory: Path) -> Path:
    """Make a `pyopencl` that calls another loader; return the directory to import it from."""
    bundled, spec = bundled_loader(), find_spec("pyopencl")
    needs(bundled is not None, "the wheel of pyopencl")
    assert bundled is not None
    assert spec is not None
    assert spec.origin is not None
    original, package = Path(spec.origin).parent, directory / "pyopencl"
    package.mkdir(parents=True)
    for path in original.iterdir():
        if path.match("_cl.*.so"):
            shutil.copy(path, package)  # it finds its loader beside itself
        elif path.name != ".libs":
            (package / path.name).symlink_to(path)
    (package / ".libs").mkdir()
    (package / ".libs" / bundled.name).symlink_to(loader)
    return directory


def _system_loader() -> Path:
    path = find_system_loader()
    needs(path is not None, "an OpenCL loader: ocl-icd-libopencl1")
    assert path is not None
    return path


def _write_entries(header: Path) -> None:
    """Write the names of the entry points in the ICD's table."""
    declarations = (SOURCE_DIRECTORY / "opencl.h").read_text("utf-8")
    table = _TABLE.search(declarations)
    assert table is not None
    members = _MEMBER.findall(table[1])
    assert len(members) > 100
    lines = [f"ENTRY({name})" for name in members if name != "clGetPlatformIDs"]
    header.write_text("\n".join(lines) + "\n")
