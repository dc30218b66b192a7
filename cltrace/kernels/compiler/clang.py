"""Which clang compiles: the one of the `ziglang` wheel, or one of the system."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cltrace.errors import CompilerMissingError

OLDEST: Final = 19
"""The oldest clang whose IR is read: before, images and pointers of OpenCL look otherwise."""
NEWEST: Final = 23
"""The newest one that was tried."""
_HOW: Final = "pip install 'cltrace[predict]' brings one"
_CHOICE: Final = "CLTRACE_CLANG"


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang: the words of its command, and its version, such as `22.1.8`."""

    command: tuple[str, ...]
    version: str


def find_clang() -> Clang:
    """The clang to use: the one that CLTRACE_CLANG names, the `ziglang` wheel's, or a system's.

    Raises: `CompilerMissingError`, which says how to get one.
    """
    return _found(os.environ.get(_CHOICE, ""), os.environ.get("PATH", ""))


@cache
def _found(choice: str, path: str) -> Clang:
    if choice:
        return _usable((choice,), f"{_CHOICE}={choice}")
    zig = _bundled()
    if zig is not None:
        return _usable((zig, "clang"), "the ziglang package")
    for name in ("clang", *(f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1))):
        found = shutil.which(name, path=path)
        if found is not None:
            version = _version((found,))
            if version is not None and _is_supported(version):
                return Clang((found,), version)
    raise CompilerMissingError(
        f"no clang from {OLDEST} to {NEWEST} was found to read OpenCL C with: {_HOW}"
    )


def _usable(command: tuple[str, ...], origin: str) -> Clang:
    version = _version(command)
    if version is None:
        raise CompilerMissingError(f"the clang of {origin} does not run: {_HOW}")
    if not _is_supported(version):
        raise CompilerMissingError(
            f"the clang of {origin} is {version}; from {OLDEST} to {NEWEST} are supported: {_HOW}"
        )
    return Clang(command, version)


def _bundled() -> str | None:
    """The program in the `ziglang` wheel, called directly: a Python in between takes longer."""
    found = find_spec("ziglang")
    for directory in found.submodule_search_locations or () if found is not None else ():
        for name in ("zig", "zig.exe"):
            program = Path(directory, name)
            if program.is_file():
                return str(program)
    return None


def _version(command: tuple[str, ...]) -> str | None:
    try:
        said = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"version (\d+(?:\.\d+)*)", said)
    return found[1] if found is not None else None


def _is_supported(version: str) -> bool:
    return OLDEST <= int(version.split(".")[0]) <= NEWEST
