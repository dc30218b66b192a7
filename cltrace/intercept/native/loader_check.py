"""Reasons why the layer recorded nothing of a program, as far as the program's files tell.

Which loader of OpenCL a program uses is known only once it runs. So these are looked for after a run that
left no spool.
"""

import os
import re
import stat
import subprocess
from contextlib import suppress
from ctypes.util import find_library
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cltrace.intercept.native.environment import LAYERS_VARIABLE, initialises_layer

_MAX_FILE_BYTES: Final = 512 << 20
_TIMEOUT_S: Final = 20
_LIBRARY: Final = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)
_LAYER_QUERY: Final = b"clGetLayerInfo"
"""Function that every loader with layers asks for."""

_HEADER_BYTES: Final = 20
"""Bytes of an executable's header, up to its machine."""

_OWN_PROGRAM: Final = Path("/proc/self/exe")
_LIBRARY_PATH: Final = "LD_LIBRARY_PATH"
_INSTALL_HINT: Final = (
    "install ocl-icd 2.3 or newer (Debian: ocl-icd-libopencl1), or the loader of Khronos"
)
_OTHER_LAYERS_HINT: Final = (
    "update cltrace, or use another loader for this run: ocl-icd 2.3 or newer, by LD_LIBRARY_PATH"
)


class Absence(StrEnum):
    """Reason why a program left no spool of the layer."""

    NOT_READABLE = "not-readable"
    NO_OPENCL = "no-opencl"
    OLD_LOADER = "old-loader"
    OTHER_LAYERS = "other-layers"
    NO_LOADER = "no-loader"
    OTHER_MACHINE = "other-machine"
    PRIVILEGED = "privileged"
    NO_CALL = "no-call"


@dataclass(frozen=True, slots=True)
class UnrecordedReason:
    """A reason, and the sentence that tells the user what to do."""

    absence: Absence
    message: str


def explain_unrecorded(program: Path) -> UnrecordedReason:
    """Return why the layer recorded nothing of an executable."""
    try:
        status = program.stat()
        header, own_header = _read(program, _HEADER_BYTES), _read(_OWN_PROGRAM, _HEADER_BYTES)
    except OSError as error:
        return _reason(Absence.NOT_READABLE, f"{program} cannot be read: {error.strerror}")
    if not header.startswith(b"\x7fELF"):
        return _reason(
            Absence.NO_CALL,
            f"{program} is a script: none of what it ran called OpenCL in a traced way",
        )
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return _reason(
            Absence.PRIVILEGED,
            f"{program} runs with the rights of its owner, so loaders ignore OPENCL_LAYERS: run a copy",
        )
    if _machine(header) != _machine(own_header):
        return _reason(
            Absence.OTHER_MACHINE,
            f"{program} is built for another processor or another size of addresses than the layer: "
            "trace a build for this Python's architecture",
        )
    return _explain_libraries(program)


def linked_libraries(program: Path) -> dict[str, Path]:
    """Return the libraries that an executable is linked with, directly and indirectly, by name."""
    try:
        output = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return {name: Path(path) for name, path in _LIBRARY.findall(output)}


def bundled_loader() -> Path | None:
    """Return the loader in pyopencl's wheel; `None` if pyopencl uses the system's."""
    spec = find_spec("pyopencl")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for library in sorted((Path(folder) / ".libs").glob("libOpenCL*.so*")):
            return library
    return None


def find_system_loader() -> Path | None:
    """Return the loader that the system's cache of libraries lists."""
    name = find_library("OpenCL")
    return None if name is None else _find_in_cache(name)


def _explain_libraries(program: Path) -> UnrecordedReason:
    libraries = linked_libraries(program)
    loaders = [path for name, path in libraries.items() if name.startswith("libOpenCL")]
    if not loaders and _has_loader(program):
        loaders = [program]
    if loaders:
        return _explain_loader(program, loaders[0])
    if not any(_mentions_opencl(path) for path in (program, *libraries.values())):
        return _reason(Absence.NO_OPENCL, f"{program} does not use OpenCL")
    # It loads a loader by name while it runs.
    path = _find_in_library_path() or find_system_loader()
    if path is None:
        message = f"{program} loads OpenCL by itself, and no loader was found: {_INSTALL_HINT}"
        return _reason(Absence.NO_LOADER, message)
    return _explain_loader(program, path)


def _explain_loader(program: Path, loader: Path) -> UnrecordedReason:
    try:
        content = _read(loader)
    except OSError as error:
        return _reason(Absence.NOT_READABLE, f"{loader} cannot be read: {error.strerror}")
    user = f"{program} {'has a loader in itself' if loader == program else f'uses {loader}'}"
    if LAYERS_VARIABLE.encode() not in content:
        kind = "an ocl-icd" if b"OCL_ICD" in content else "a driver or a loader"
        message = f"{user}, {kind} that takes no layers: {_INSTALL_HINT}"
        return _reason(Absence.OLD_LOADER, message)
    if not initialises_layer(content):
        message = f"{user}, which takes other layers than this cltrace has: {_OTHER_LAYERS_HINT}"
        return _reason(Absence.OTHER_LAYERS, message)
    return _reason(
        Absence.NO_CALL,
        f"{program} made no OpenCL call, found no platform (OCL_ICD_VENDORS), or changed "
        "CLTRACE_SESSION or OPENCL_LAYERS itself",
    )


def _reason(absence: Absence, message: str) -> UnrecordedReason:
    return UnrecordedReason(absence, message)


def _mentions_opencl(path: Path) -> bool:
    try:
        content = _read(path)
    except OSError:
        return False
    return b"libOpenCL" in content or b"clGetPlatformIDs" in content


def _machine(header: bytes) -> tuple[bytes, bytes]:
    """Return the size of addresses and the machine of an executable, as its header has them."""
    return header[4:5], header[18:_HEADER_BYTES]


def _has_loader(program: Path) -> bool:
    """Return whether a program was linked with a loader with layers statically."""
    content = _read(program)
    return LAYERS_VARIABLE.encode() in content and _LAYER_QUERY in content


def _find_in_library_path() -> Path | None:
    """Return the loader that a program finds by `LD_LIBRARY_PATH`, if it loads one by name."""
    for directory in re.split("[:;]", os.environ.get(_LIBRARY_PATH, "")):
        for name in ("libOpenCL.so.1", "libOpenCL.so"):
            path = Path(directory, name)
            with suppress(OSError):  # a name that is too long, a directory without rights
                if directory and path.is_file():
                    return path
    return None


def _find_in_cache(name: str) -> Path | None:
    """Return the path of a library that the system's cache of libraries lists."""
    try:
        output = subprocess.run(
            ["/sbin/ldconfig", "-p"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    for line in output.splitlines():
        words = line.split()
        if words and words[0] == name:
            return Path(words[-1])
    return None


def _read(path: Path, size_bytes: int = _MAX_FILE_BYTES) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(size_bytes)
