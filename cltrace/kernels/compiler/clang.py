"""Selection of a clang: that of the `ziglang` wheel, or a system's."""

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
from cltrace.installation import suggest_install

OLDEST: Final = 19
"""The oldest supported clang: older ones write the images and pointers of OpenCL differently."""
NEWEST: Final = 23
"""The newest tested clang."""
_VARIABLE: Final = "CLTRACE_CLANG"


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang: the words of its command, and its version, such as `22.1.8`."""

    command: tuple[str, ...]
    version: str


def find_clang() -> Clang:
    """Return the clang that CLTRACE_CLANG names, else the `ziglang` wheel's, else a system's.

    Raises: `CompilerMissingError`, whose message tells how to install one.
    """
    return _select_clang(os.environ.get(_VARIABLE, ""), os.environ.get("PATH", ""))


def _suggest_clang() -> str:
    return f"install one with: {suggest_install('predict')}"


@cache
def _select_clang(choice: str, path: str) -> Clang:
    if choice:
        return _check_clang((choice,), f"{_VARIABLE}={choice}")
    zig = _find_ziglang()
    if zig is not None:
        return _check_clang((zig, "clang"), "the ziglang package")
    for name in ("clang", *(f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1))):
        program = shutil.which(name, path=path)
        if program is not None:
            version = _read_version((program,))
            if version is not None and _is_supported(version):
                return Clang((program,), version)
    raise CompilerMissingError(
        f"found no clang from {OLDEST} to {NEWEST} to read OpenCL C with; {_suggest_clang()}"
    )


def _check_clang(command: tuple[str, ...], origin: str) -> Clang:
    version = _read_version(command)
    if version is None:
        raise CompilerMissingError(f"the clang of {origin} does not run; {_suggest_clang()}")
    if not _is_supported(version):
        raise CompilerMissingError(
            f"the clang of {origin} is {version}, not one from {OLDEST} to {NEWEST}; {_suggest_clang()}"
        )
    return Clang(command, version)


def _find_ziglang() -> str | None:
    """Return the path of the `ziglang` wheel's program, or None. `python -m ziglang` would be slower."""
    spec = find_spec("ziglang")
    for directory in spec.submodule_search_locations or () if spec is not None else ():
        for name in ("zig", "zig.exe"):
            program = Path(directory, name)
            if program.is_file():
                return str(program)
    return None


def _read_version(command: tuple[str, ...]) -> str | None:
    try:
        output = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"version (\d+(?:\.\d+)*)", output)
    return match[1] if match is not None else None


def _is_supported(version: str) -> bool:
    return OLDEST <= int(version.split(".")[0]) <= NEWEST
