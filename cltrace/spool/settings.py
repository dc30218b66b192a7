"""Settings and outcome of a recording, shared with every process that it traces."""

import json
import os
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from cltrace.errors import SpoolError
from cltrace.events import DEFAULT_CALLSITE_DEPTH
from cltrace.events.kinds import LayerUse, Timing
from cltrace.spool.guarded_files import read_guarded
from cltrace.spool.layout import FILE_MODE, OUTCOME_FILE, SESSION_FILE

SPOOL_FORMAT: Final = 2
"""Number of the format of row tables and records. Only spools of the same format are read."""

_FORMAT_KEY: Final = "spool_format"

_MAX_JSON_BYTES: Final = 64 << 20
"""A command line of Linux has at most a few megabytes."""

_RESERVED_BYTES: Final = 512
"""Size of the outcome file: more than a `CommandOutcome` needs."""

_TEXTS: Final = ("working_directory", "host", "cltrace_version", "boot_id")
_NUMBERS: Final = ("recorder_pid", "origin_host_ns", "started_realtime_ns")
"""Fields of a session that are texts, and numbers."""
_NUMBERS_END: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a recording. The defaults are those of `cltrace run`."""

    timing: Timing = Timing.EVENT
    layer: LayerUse = LayerUse.OFF
    include_kernels: tuple[str, ...] = ()
    exclude_kernels: tuple[str, ...] = ()
    callsite_depth: int = DEFAULT_CALLSITE_DEPTH
    """Largest number of the program's frames to record per call, 0 for none to `MAX_CALLSITE_DEPTH`."""
    record_source: bool = True
    record_arguments: bool = True
    keep_secrets: bool = False
    """True to store words of command lines that look like secrets as they are."""
    record_environment: bool = True
    force_profiling: bool = True
    follow_children: bool = True
    delay_s: float = 0.0
    duration_s: float | None = None
    start_paused: bool = False
    max_commands: int | None = None
    measure_overhead: bool = False
    capture_contents: bool = True
    """True to record contents of host-written buffers: small ones and indices where the layer records."""
    capture_bytes: int = 0
    """Limit on contents of large ones per process, which hooks record, too; 0 for indices only."""
    inside_kernel: str = ""
    """Glob of the kernel whose launch has its buffers captured before it runs; empty for none."""
    inside_launch: int = 1
    """Which of its launches, from 1."""

    def records_kernel(self, name: str) -> bool:
        """Return whether to record launches of the kernel `name`. Patterns are shell globs."""
        if any(fnmatchcase(name, glob) for glob in self.exclude_kernels):
            return False
        return not self.include_kernels or any(
            fnmatchcase(name, glob) for glob in self.include_kernels
        )

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Settings":
        """Return the settings that `to_json` gave. Raises: `SpoolError` for anything else."""
        try:
            settings = dict(values)
            settings["timing"] = Timing(settings["timing"])
            settings["layer"] = LayerUse(settings["layer"])
            settings["include_kernels"] = tuple(settings["include_kernels"])
            settings["exclude_kernels"] = tuple(settings["exclude_kernels"])
            return cls(**settings)
        except (KeyError, TypeError, ValueError) as error:
            raise SpoolError(f"the recording settings are damaged: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Facts about a recording that are known before the command starts.

    `recorder_pid` is the process whose direct child is the command; 0 if a program traces itself.
    `origin_host_ns` and `started_realtime_ns` are the same moment on two clocks. `boot_id` is the random
    number of the machine's boot: whoever knows it has been on this machine.
    """

    command: tuple[str, ...]
    working_directory: str
    host: str
    recorder_pid: int
    origin_host_ns: int
    started_realtime_ns: int
    cltrace_version: str
    boot_id: str = ""
    settings: Settings = field(default_factory=Settings)


def current_boot_id() -> str:
    """Return the random number of this machine's boot; empty if it has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """End of the command: its exit status, or the number of the signal that killed it."""

    exit_status: int | None
    signal: int | None
    ended_host_ns: int


def write_session(parts: Path, session: SessionFacts) -> None:
    """Write the session's facts and reserve space for its outcome. Raises: `OSError`."""
    values = asdict(session)
    values["settings"] = session.settings.to_json()
    values[_FORMAT_KEY] = SPOOL_FORMAT
    _write_json(parts / SESSION_FILE, values)
    _reserve_outcome(parts)


def read_session(parts: Path) -> SessionFacts:
    """Read the session's facts.

    Raises: `SpoolError` if the file is missing or damaged, or of another version of cltrace.
    """
    values = _read_json(parts / SESSION_FILE)
    if values.pop(_FORMAT_KEY, 1) != SPOOL_FORMAT:
        version = values.get("cltrace_version", "another version")
        raise SpoolError(
            f"{parts} was recorded by cltrace {version}, whose files this version does not read: "
            f"finish it with cltrace {version}"
        )
    try:
        values["settings"] = Settings.from_json(values["settings"])
        values["command"] = tuple(str(word) for word in values["command"])
        _require_types(values)
        return SessionFacts(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise SpoolError(f"{parts / SESSION_FILE} is damaged: {error}") from error


def _require_types(values: dict[str, Any]) -> None:
    """Raise a `TypeError` for a field of the session of another type than its own."""
    for name in _TEXTS:
        if not isinstance(values.get(name, ""), str):
            raise TypeError(f"{name} is no text")
    for name in _NUMBERS:
        _require_number(name, values.get(name))


def _require_number(name: str, value: object) -> None:
    if not (type(value) is int and -_NUMBERS_END <= value < _NUMBERS_END):
        raise TypeError(f"{name} is no number of 64 bits")


def _reserve_outcome(parts: Path) -> None:
    """Reserve space for `write_outcome`, because the disk may be full by then."""
    descriptor = os.open(parts / OUTCOME_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b" " * _RESERVED_BYTES)


def write_outcome(parts: Path, outcome: CommandOutcome) -> None:
    """Write the command's outcome, even on a full disk. Raises: `OSError`."""
    text = json.dumps(asdict(outcome)).encode().ljust(_RESERVED_BYTES)
    with (parts / OUTCOME_FILE).open("r+b") as file:
        file.write(text)


def read_outcome(parts: Path) -> CommandOutcome | None:
    """Read the command's outcome; `None` if its parent died before. Raises: `SpoolError`."""
    path = parts / OUTCOME_FILE
    try:
        if not read_guarded(path, _MAX_JSON_BYTES).strip():
            return None
    except FileNotFoundError:
        return None
    values = _read_json(path)
    try:
        outcome = CommandOutcome(**values)
        for status in (outcome.exit_status, outcome.signal):
            _require_number("status", 0 if status is None else status)
        _require_number("ended_host_ns", outcome.ended_host_ns)
        return outcome
    except TypeError as error:
        raise SpoolError(f"{parts / OUTCOME_FILE} is damaged: {error}") from error


def _write_json(path: Path, values: dict[str, Any]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    with os.fdopen(descriptor, "w") as file:
        json.dump(values, file)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_guarded(path, _MAX_JSON_BYTES))
    except FileNotFoundError as error:
        raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SpoolError(f"{path} is damaged: {error}") from error
    if not isinstance(values, dict):
        raise SpoolError(f"{path} is damaged: it holds no object")
    return values
