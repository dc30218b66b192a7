"""Registry of readers: those of cltrace and those of other distributions, in one entry-point group."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, cast

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState
from cltrace.power.protocol import API, LiveReader, LogReader, Probe, Reader

GROUP: Final = "cltrace.power_readers"


def find_readers() -> Mapping[str, EntryPoint]:
    """Return the entry points of all readers by name, without importing the readers."""
    readers: dict[str, EntryPoint] = {}
    points = sorted(entry_points(group=GROUP), key=lambda point: (not _is_ours(point), point.name))
    for point in points:
        readers.setdefault(point.name, point)
    return readers


def load_live_reader(specification: str) -> tuple[str, LiveReader]:
    """Return the name and the reader for `NAME` or `NAME:ARGUMENT`. Raises: `PowerError`."""
    name, reader = _load(specification)
    if reader.kind != "live":
        raise PowerError(f"{name} reads logs: `cltrace power import TRACE LOG --reader {name}`")
    return name, reader


def load_log_reader(specification: str) -> tuple[str, LogReader]:
    """Return the name and the reader for `NAME` or `NAME:ARGUMENT`. Raises: `PowerError`."""
    name, reader = _load(specification)
    if reader.kind != "log":
        raise PowerError(f"{name} reads while a program runs: `cltrace run --power {name} ...`")
    return name, reader


def probe_reader(name: str, point: EntryPoint) -> tuple[str, Probe]:
    """Return the kind of a reader and its probe. Never raises: a reader that fails is unsupported."""
    try:
        reader = _make(name, point, "")
        return reader.kind, reader.probe()
    except PowerError as error:
        return "", Probe(ProbeState.UNSUPPORTED, str(error))
    except Exception as error:  # noqa: BLE001 - a reader of another distribution may raise anything
        evidence = f"{point.value} failed: {type(error).__name__}: {error}"
        return "", Probe(ProbeState.UNSUPPORTED, evidence, "report it to its authors")


def _load(specification: str) -> tuple[str, Reader]:
    name, _, argument = specification.partition(":")
    readers = find_readers()
    if name not in readers:
        raise PowerError(f"there is no power reader {name!r}; there are: {', '.join(readers)}")
    return name, _make(name, readers[name], argument)


def _make(name: str, point: EntryPoint, argument: str) -> Reader:
    try:
        reader: Any = point.load()(argument)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PowerError(
            f"the power reader {name} ({point.value}) cannot be loaded: {reason}"
        ) from error
    api = getattr(reader, "api", None)
    if api != API or getattr(reader, "kind", None) not in {"live", "log"}:
        raise PowerError(
            f"the power reader {name} ({point.value}) is for another cltrace: its `api` is "
            f"{api!r}, this one has {API}"
        )
    return cast("Reader", reader)


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith("cltrace.")
