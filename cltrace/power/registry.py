"""Finding readers: those that come with cltrace and those of other distributions, in one group."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, cast

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState
from cltrace.power.protocol import API, LiveReader, LogReader, Probe, Reader

GROUP: Final = "cltrace.power_readers"


def reader_names() -> Mapping[str, EntryPoint]:
    """All readers by name. Nothing of theirs is imported."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (not _is_ours(one), one.name)):
        found.setdefault(point.name, point)
    return found


def live_reader(words: str) -> tuple[str, LiveReader]:
    """The name and the reader for `NAME` or `NAME:ARGUMENT`. Raises: `PowerError`."""
    name, reader = _reader(words)
    if reader.kind != "live":
        raise PowerError(f"{name} reads logs: `cltrace power import TRACE LOG --reader {name}`")
    return name, reader


def log_reader(words: str) -> tuple[str, LogReader]:
    """The name and the reader for `NAME` or `NAME:ARGUMENT`. Raises: `PowerError`."""
    name, reader = _reader(words)
    if reader.kind != "log":
        raise PowerError(f"{name} reads while a program runs: `cltrace run --power {name} ...`")
    return name, reader


def probed(name: str, point: EntryPoint) -> tuple[str, Probe]:
    """The kind of a reader and what its probe says; a reader that fails is unsupported. Never raises."""
    try:
        reader = _made(name, point, "")
        return reader.kind, reader.probe()
    except PowerError as error:
        return "", Probe(ProbeState.UNSUPPORTED, str(error))
    except Exception as error:  # noqa: BLE001 - whatever another distribution does
        said = f"{point.value} failed: {type(error).__name__}: {error}"
        return "", Probe(ProbeState.UNSUPPORTED, said, "report it to its authors")


def _reader(words: str) -> tuple[str, Reader]:
    name, _, argument = words.partition(":")
    known = reader_names()
    if name not in known:
        raise PowerError(f"there is no power reader {name!r}; there are: {', '.join(known)}")
    return name, _made(name, known[name], argument)


def _made(name: str, point: EntryPoint, argument: str) -> Reader:
    """A reader. Raises: `PowerError`."""
    try:
        made: Any = point.load()(argument)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise PowerError(
            f"the power reader {name} ({point.value}) cannot be loaded: {said}"
        ) from error
    if getattr(made, "api", None) != API or getattr(made, "kind", None) not in {"live", "log"}:
        raise PowerError(
            f"the power reader {name} ({point.value}) is for another cltrace: its `api` is "
            f"{getattr(made, 'api', None)!r}, this one has {API}"
        )
    return cast("Reader", made)


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith("cltrace.")
