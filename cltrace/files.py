"""Output files: written whole or not at all, under safe names, and over nothing but regular files.

Every output of cltrace goes through `find_output`. A symbolic link is followed, and stays. A pipe or a
character device is written to. Nothing else is written to or replaced.
"""

import errno
import io
import os
import re
import secrets
import select
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.errors import OutputError

MAX_INPUT_BYTES: Final = 256 << 20
MAX_WRITER_WAIT_S: Final = 3.0
"""Time for which a pipe that is an input may have no writer: a shell starts both sides at once."""
_WRITER_CHECK_S: Final = 0.02
_MAX_LINKS: Final = 40
"""Limit of Linux for symbolic links in a path."""
_COPIED_BYTES: Final = 1 << 20
_REFUSED_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a disk",
}


@dataclass(frozen=True, slots=True)
class OutputPlace:
    """Place that an output goes to.

    Attributes:
        path: the regular file, with symbolic links followed, or the pipe or device.
        is_stream: True for a pipe, a device or a descriptor, which cannot be replaced.
        descriptor: the open descriptor of this process that the path names (`/dev/stdout`), or None.
    """

    path: Path
    is_stream: bool = False
    descriptor: int | None = None


def find_output(path: Path) -> OutputPlace:
    """Return the place of an output that may not exist yet. Raises: `OutputError` if it has none."""
    if path.name in {"", ".."}:
        raise OutputError(f"{path} is a directory: name a file")
    descriptor = _named_descriptor(path)
    if descriptor is not None:
        return OutputPlace(path, is_stream=True, descriptor=descriptor)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be written: {_reason(error)}") from error
    if stat.S_ISREG(mode):
        return OutputPlace(Path(os.path.realpath(path)))
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return OutputPlace(path, is_stream=True)
    kind = _REFUSED_KINDS.get(stat.S_IFMT(mode), "no regular file")
    raise OutputError(f"{path} is {kind}: name a file")


def check_output(path: Path, *, is_forced: bool) -> OutputPlace:
    """Return the place of an output that can be written. Raises: `OutputError`.

    An existing file is overwritten only if that `is_forced`.
    """
    place = find_output(path)
    if not is_forced and not place.is_stream and place.path.exists():
        raise OutputError(f"{path} exists already: -f overwrites it, or name another file")
    return place


def find_trace_output(path: Path) -> Path:
    """Return the regular file for a trace at `path`. Raises: `OutputError` for a pipe or a device."""
    return _require_file(path, find_output(path))


def check_trace_output(path: Path, *, is_forced: bool) -> None:
    """Check that a trace can be written to `path`. Raises: `OutputError`, as `check_output`."""
    _require_file(path, check_output(path, is_forced=is_forced))


def make_parent_directory(path: Path) -> None:
    """Make the directory of a file that is yet to be written. Raises: `OutputError`."""
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {_reason(error)}") from error


def write_atomically(content: str | bytes, path: Path) -> None:
    """Write a whole output: a file appears whole, or stays as it was. Raises: `OutputError`.

    A text is written as UTF-8. An overwritten file keeps its permissions.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    place = find_output(path)
    try:
        if place.is_stream:
            _write_to_stream(place, data)
            return
        place.path.parent.mkdir(parents=True, exist_ok=True)
        partial = place.path.with_name(f".cltrace-{secrets.token_hex(8)}.partial")
        try:
            descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            with os.fdopen(descriptor, "wb") as file:
                if place.path.exists():
                    os.fchmod(descriptor, stat.S_IMODE(place.path.stat().st_mode))
                file.write(data)
            partial.replace(place.path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {_reason(error)}") from error


def copy_to_stream(source: Path, place: OutputPlace) -> None:
    """Copy a file to a pipe, a device or a descriptor. Raises: `OutputError`."""
    try:
        with source.open("rb") as file, os.fdopen(_open_stream(place), "wb") as stream:
            while part := file.read(_COPIED_BYTES):
                stream.write(part)
    except OSError as error:
        raise OutputError(f"{place.path} cannot be written: {_reason(error)}") from error


def read_input(
    path: Path, max_bytes: int = MAX_INPUT_BYTES, *, writer_wait_s: float = MAX_WRITER_WAIT_S
) -> bytes:
    """Return the content of an input, which may be a pipe.

    A pipe is waited for as long as it has a writer. Raises: `OSError`, also for an input that is larger
    than `max_bytes`, and for a pipe that has no writer for `writer_wait_s`.
    """
    status = path.stat()
    if stat.S_ISFIFO(status.st_mode):
        content = _read_pipe(path, (status.st_dev, status.st_ino), max_bytes, writer_wait_s)
    else:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes >> 20} MiB", str(path))
    return content


def read_first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of an input. `read_input` returns them again. Raises: `OSError`."""
    if stat.S_ISFIFO(path.stat().st_mode):
        return read_input(path)[:count]
    with path.open("rb") as file:
        return file.read(count)


def slug(text: str) -> str:
    """Return a safe file name: the letters and digits of `text`, in lower case, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


_PIPE_CONTENTS: Final[dict[tuple[int, int], bytes]] = {}
"""Contents of the pipes that were read, by device and number: a pipe gives its content only once."""


def _read_pipe(path: Path, key: tuple[int, int], max_bytes: int, writer_wait_s: float) -> bytes:
    """Return the content of a pipe, a byte more than `max_bytes` at most. Raises: `OSError`."""
    if key not in _PIPE_CONTENTS:
        own = _named_descriptor(path)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.dup(own) if own is not None else os.open(path, flags)
        with os.fdopen(descriptor, "rb", buffering=0) as pipe:
            # The writers of an inherited pipe are there from the start, or have ended.
            first = b"" if own is not None else _await_first_byte(path, pipe, writer_wait_s)
            os.set_blocking(pipe.fileno(), True)
            with io.BufferedReader(pipe) as file:
                _PIPE_CONTENTS[key] = first + file.read(max_bytes + 1 - len(first))
    return _PIPE_CONTENTS[key]


def _await_first_byte(path: Path, pipe: io.FileIO, writer_wait_s: float) -> bytes:
    """Return the first byte of a pipe once it has one. Raises: `OSError` if nobody writes to it."""
    end_s = time.monotonic() + writer_wait_s
    while True:
        first = pipe.read(1)  # empty without a writer, None with a silent one
        if first:
            return first
        if first is None:
            end_s = time.monotonic() + writer_wait_s
            select.select([pipe], [], [])
        elif time.monotonic() > end_s:
            raise OSError(errno.EPIPE, "nobody writes to this pipe", str(path))
        else:
            time.sleep(_WRITER_CHECK_S)


def _write_to_stream(place: OutputPlace, data: bytes) -> None:
    with os.fdopen(_open_stream(place), "wb") as stream:
        stream.write(data)


def _open_stream(place: OutputPlace) -> int:
    # A second opening of a redirected stream would begin at the start of its file.
    if place.descriptor is not None:
        return os.dup(place.descriptor)
    return os.open(place.path, os.O_WRONLY | os.O_NOCTTY)


def _named_descriptor(path: Path) -> int | None:
    """Return the descriptor of this process that a path names, as `/dev/stdout` and `/dev/fd/3` do."""
    own = f"/proc/{os.getpid()}/fd"
    for _ in range(_MAX_LINKS):
        parent = os.path.realpath(path.parent)
        if parent == own and path.name.isdecimal():
            return int(path.name)
        with suppress(OSError, ValueError):
            path = Path(parent, Path(parent, path.name).readlink())
            continue
        return None
    return None


def _require_file(path: Path, place: OutputPlace) -> Path:
    if place.is_stream:
        raise OutputError(f"{path} is a device or a pipe, and a trace is a database: name a file")
    return place.path


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
