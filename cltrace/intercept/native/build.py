"""Build of the layer on first use, into the user's cache.

    $XDG_CACHE_HOME/cltrace/layer/KEY.CONTENT.so

KEY is a hash of the sources, the compiler's version and the flags; CONTENT is the hash of the file
itself. So a library of other sources, or one that was changed, is never loaded.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cltrace.errors import LayerCompilerMissingError, LayerError
from cltrace.installation import suggest_install

SOURCE_DIRECTORY: Final = Path(__file__).parent / "layer"

FLAGS: Final = (
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    # Call sites are found by their distance from the frame.
    "-fno-omit-frame-pointer",
    "-pthread",
)
"""Flags of every build, with sanitizers too."""

_LINK_FLAGS: Final = (
    "-shared",
    # The layer's threads run until the process ends, even if a loader unloads the layer.
    "-Wl,-z,nodelete",
)
_TIMEOUT_S: Final = 120


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: the words of its command, and what it says of its version."""

    command: tuple[str, ...]
    version: str


def build_layer(cache: Path | None = None) -> Path:
    """Return the path of the built layer, and build it if the cache has none.

    `cache` is the cache's directory, `None` for the user's. The compilers of the system are tried before
    zig, which takes longer. Raises: `LayerError`, whose message tells the remedy.
    """
    directory = cache_directory() if cache is None else cache
    _prepare_directory(directory)
    failures = []
    for compiler in find_compilers():
        key = _key(compiler)
        cached = _find_cached(directory, key)
        if cached is not None:
            return cached
        try:
            return _build(compiler, directory, key)
        except LayerError as error:
            failures.append(str(error))
    if failures:
        raise LayerError("; ".join(failures) + f"; {_suggest_compiler()}")
    raise LayerCompilerMissingError(
        f"found no C compiler to build the layer with; {_suggest_compiler()}"
    )


def _suggest_compiler() -> str:
    return f"install one: {suggest_install('predict')} (zig), or a system's gcc or clang with its headers"


def find_built_layer() -> Path | None:
    """Return the path of the layer in the user's cache; `None` if it has none. Raises: `LayerError`."""
    directory = cache_directory()
    if not directory.is_dir():
        return None
    _prepare_directory(directory)
    compiler = next(find_compilers(), None)
    return None if compiler is None else _find_cached(directory, _key(compiler))


def cache_directory() -> Path:
    """Return the directory of built layers: `$XDG_CACHE_HOME/cltrace/layer`."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(root) if root.startswith("/") else Path.home() / ".cache"
    return base / "cltrace" / "layer"


def find_compilers() -> Iterator[Compiler]:
    """Yield the compilers of this machine, in the order in which they are tried."""
    for name in ("cc", "gcc", "clang"):
        program = shutil.which(name)
        if program is not None:
            yield from _working_compiler((program,))
    zig = _find_zig()
    if zig is not None:
        yield from _working_compiler((zig, "cc"))


def source_files() -> list[Path]:
    """Return the C files of the layer, sorted."""
    return sorted(SOURCE_DIRECTORY.glob("*.c"))


def compile_layer(compiler: Compiler, library: Path, extra: tuple[str, ...] = ()) -> None:
    """Compile the layer to `library`, with `extra` flags. Raises: `LayerError`."""
    sources = [str(path) for path in source_files()]
    command = [*compiler.command, *FLAGS, *extra, *_LINK_FLAGS, "-o", str(library), *sources]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LayerError(f"{compiler.command[0]} does not run: {error}") from error
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no message"]
        error_lines = [line for line in lines if "error" in line] or lines
        raise LayerError(f"{compiler.command[0]} cannot build the layer: {error_lines[0]}")


def _find_zig() -> str | None:
    spec = find_spec("ziglang")
    for directory in spec.submodule_search_locations or () if spec is not None else ():
        program = Path(directory, "zig")
        if program.is_file():
            return str(program)
    return None


def _working_compiler(command: tuple[str, ...]) -> Iterator[Compiler]:
    try:
        output = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    yield Compiler(command, output.strip())


def _key(compiler: Compiler) -> str:
    digest = hashlib.sha256()
    for part in (*compiler.command, compiler.version, *FLAGS, *_LINK_FLAGS):
        digest.update(part.encode() + b"\0")
    for path in sorted(SOURCE_DIRECTORY.iterdir()):
        if path.suffix in {".c", ".h"}:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def _prepare_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LayerError(
            f"{directory} cannot be made: {error.strerror}. Set XDG_CACHE_HOME to a directory of yours"
        ) from error
    resolved = directory.resolve()
    with suppress(OSError):
        resolved.chmod(0o700)
    unsafe = [place for place in resolved.parents if not _is_safe_parent(place.stat())]
    if not _is_safe(resolved.stat()):
        unsafe.insert(0, resolved)
    if unsafe:
        raise LayerError(
            f"{unsafe[0]} can be changed by other users, so no layer is loaded from {directory}. "
            "Set XDG_CACHE_HOME to a directory of yours"
        )


def _is_safe(status: os.stat_result) -> bool:
    """Return whether only the user and root can change a file or directory."""
    is_own = status.st_uid in {os.getuid(), 0}
    return is_own and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_safe_parent(status: os.stat_result) -> bool:
    """Return whether only the user and root can replace what is in a directory.

    Many systems give each user a group of their own, which may write to the user's directories.
    """
    if status.st_uid not in {os.getuid(), 0}:
        return False
    if status.st_mode & stat.S_ISVTX:
        return True
    is_own_group = status.st_gid in {os.getgid(), 0}
    return not status.st_mode & stat.S_IWOTH and (is_own_group or not status.st_mode & stat.S_IWGRP)


def _find_cached(directory: Path, key: str) -> Path | None:
    for path in sorted(directory.glob(f"{key}.*.so")):
        with suppress(OSError):
            status = path.lstat()
            is_plain = stat.S_ISREG(status.st_mode) and _is_safe(status)
            if is_plain and path.name == f"{key}.{_content_hash(path)}.so":
                return path
    return None


def _build(compiler: Compiler, directory: Path, key: str) -> Path:
    try:
        descriptor, name = tempfile.mkstemp(dir=directory, prefix=".new-", suffix=".so")
    except OSError as error:
        raise _unwritable(directory, error) from error
    os.close(descriptor)
    unfinished = Path(name)
    try:
        compile_layer(compiler, unfinished)
        unfinished.chmod(0o700)
        finished = directory / f"{key}.{_content_hash(unfinished)}.so"
        unfinished.replace(finished)
    except OSError as error:
        raise _unwritable(directory, error) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return finished


def _unwritable(directory: Path, error: OSError) -> LayerError:
    return LayerError(
        f"{directory} cannot be written: {error.strerror}. Set XDG_CACHE_HOME to a directory of yours"
    )
