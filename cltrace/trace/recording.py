"""Start and end of a recording, outside the traced program."""

import os
import secrets
import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cltrace.errors import OutputError, RefusedError
from cltrace.files import find_trace_output
from cltrace.spool.layout import (
    DIRECTORY_MODE,
    SESSION_FILE,
    parts_directory,
    process_directories,
)
from cltrace.spool.secret_words import mask_text, mask_words
from cltrace.spool.settings import (
    CommandOutcome,
    SessionFacts,
    Settings,
    current_boot_id,
    write_outcome,
    write_session,
)
from cltrace.version import __version__


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in progress: the path of its trace, and the directory of its spools."""

    path: Path
    parts: Path


def begin(
    path: Path, command: Sequence[str], settings: Settings, *, recorder_pid: int, overwrite: bool
) -> Recording:
    """Create the directory of a recording, for a trace at `path`.

    Raises: `RefusedError` if the path is taken or the directory cannot be created.
    """
    path = path.absolute()
    try:
        is_taken = find_trace_output(path).exists()
    except OutputError as error:
        raise RefusedError(str(error)) from error
    if is_taken and not overwrite:
        how = "force=True" if not recorder_pid else "-f"
        raise RefusedError(f"{path} exists already: {how} overwrites it, or name another file")
    parts = parts_directory(path)
    _make_room(parts, path, overwrite=overwrite)
    try:
        parts.mkdir(mode=DIRECTORY_MODE)
        session = SessionFacts(
            command=recorded_words(command, settings),
            working_directory=_recorded_directory(settings),
            host=socket.gethostname(),
            recorder_pid=recorder_pid,
            origin_host_ns=time.perf_counter_ns(),
            started_realtime_ns=time.time_ns(),
            cltrace_version=__version__,
            boot_id=current_boot_id(),
            settings=settings,
        )
        write_session(parts, session)
    except OSError as error:
        shutil.rmtree(parts, ignore_errors=True)
        raise RefusedError(
            f"{parts} cannot be made ({error.strerror}): name another place for the trace"
        ) from error
    return Recording(path, parts)


def recorded_words(words: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """Return the words of a command line as a trace stores them."""
    kept = tuple(words if settings.record_arguments else words[:1])
    return kept if settings.keep_secrets else mask_words(kept)


def end(recording: Recording, exit_status: int | None, signal_number: int | None) -> None:
    """Write the command's outcome. Raises: `OSError`."""
    write_outcome(
        recording.parts, CommandOutcome(exit_status, signal_number, time.perf_counter_ns())
    )


def discard_parts(parts: Path) -> None:
    """Remove the spools of a recording after its trace was written."""
    try:
        _remove_tree(parts)
    except OSError:
        with suppress(RecursionError):
            shutil.rmtree(parts, ignore_errors=True)


def _make_room(parts: Path, path: Path, *, overwrite: bool) -> None:
    if not os.path.lexists(parts):
        return
    if parts.is_symlink() or not (parts / SESSION_FILE).exists():
        raise RefusedError(f"{parts} is there and is no recording: name another file")
    alive = [identity.pid for _, identity in process_directories(parts) if identity.is_alive]
    if alive:
        raise RefusedError(f"process {alive[0]} is being traced into {parts}: name another file")
    if not overwrite:
        raise RefusedError(
            f"{parts} holds a recording that was not finished: `cltrace recover {path}` finishes "
            "it, -f discards it"
        )
    try:
        _remove_tree(parts)
    except OSError as error:
        raise RefusedError(f"{parts} cannot be removed: {error.strerror}") from error


def _remove_tree(parts: Path) -> None:
    """Remove a directory of any depth; `shutil.rmtree` has a limit. Raises: `OSError`."""
    try:
        shutil.rmtree(parts)
    except (OSError, RecursionError):
        if not parts.is_symlink():
            _move_directories_up(parts)
        shutil.rmtree(parts)


def _move_directories_up(parts: Path) -> None:
    """Move each directory below `parts` into it, however deep it is. Raises: `OSError`."""
    prefix = f".cltrace-{secrets.token_hex(8)}"
    pending = _directories_in(parts)
    moved = 0
    while pending:
        for inner in _directories_in(pending.pop()):
            moved += 1
            pending.append(inner.rename(parts / f"{prefix}-{moved}"))


def _directories_in(path: Path) -> list[Path]:
    with os.scandir(path) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


def _recorded_directory(settings: Settings) -> str:
    try:
        directory = str(Path.cwd())
    except OSError:
        return ""
    return directory if settings.keep_secrets else mask_text(directory)
