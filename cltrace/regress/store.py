"""Samples in a file: every run of both sides with all that was measured, and what they are of.

Raw samples, no statistics: what is made of them may be made anew, with another floor or a later cltrace.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.errors import SampleFileError
from cltrace.profile import write_whole
from cltrace.regress.comparison import Round
from cltrace.regress.counters import CounterKey, CounterKind
from cltrace.regress.samples import DeviceIdentity, KernelKey, KernelTime, RunSample

SCHEMA: Final = 1
_MARK: Final = "cltrace_samples"
_MOST_BYTES: Final = 256 << 20
_MOST_NS: Final = 1e18


@dataclass(frozen=True, slots=True)
class Side:
    """What was run: its words, where, and the revision there, "" where there is none.

    `is_dirty` says that files differed from that revision.
    """

    command: tuple[str, ...]
    directory: str
    revision: str
    is_dirty: bool


@dataclass(frozen=True, slots=True)
class SampleFile:
    """Runs of a program, and with `base` of another one, in rounds of pairs.

    `host` is the machine's name, `processor` its processor's. `date` is UTC, as YYYY-MM-DD.
    """

    date: str
    host: str
    processor: str
    cltrace: str
    dropped: int
    head: Side
    base: Side | None
    rounds: tuple[Round, ...]


def write_samples(found: SampleFile, path: Path) -> None:
    """Raises: `OutputError`."""
    stored = {
        _MARK: SCHEMA,
        "date": found.date,
        "host": found.host,
        "processor": found.processor,
        "cltrace": found.cltrace,
        "dropped": found.dropped,
        "head": asdict(found.head),
        "base": asdict(found.base) if found.base is not None else None,
        "rounds": [
            {"base": [*map(_plain, one.base)], "head": [*map(_plain, one.head)]}
            for one in found.rounds
        ],
    }
    write_whole(json.dumps(stored, indent=1, allow_nan=False) + "\n", path)


def read_samples(path: Path) -> SampleFile:
    """Raises: `SampleFileError` for what is not such a file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SampleFileError(f"{path} is too large to hold samples")
        stored: dict[str, Any] = json.loads(path.read_bytes())
        if stored[_MARK] != SCHEMA:
            raise SampleFileError(f"{path} was written by another version of cltrace: make it anew")
        return _file(stored)
    except OSError as error:
        raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SampleFileError(f"{path} holds no samples of cltrace: is it a trace?") from error


def _file(stored: Mapping[str, Any]) -> SampleFile:
    base = stored["base"]
    return SampleFile(
        date=_text(stored["date"]),
        host=_text(stored["host"]),
        processor=_text(stored["processor"]),
        cltrace=_text(stored["cltrace"]),
        dropped=_count(stored["dropped"]),
        head=_side(stored["head"]),
        base=None if base is None else _side(base),
        rounds=tuple(Round(_runs(one["base"]), _runs(one["head"])) for one in stored["rounds"]),
    )


def _side(stored: Mapping[str, Any]) -> Side:
    return Side(
        tuple(map(_text, stored["command"])),
        _text(stored["directory"]),
        _text(stored["revision"]),
        stored["is_dirty"] is True,
    )


def _plain(run: RunSample) -> dict[str, object]:
    return {
        "devices": [asdict(one) for one in run.devices],
        "kernels": [{**asdict(key), **asdict(one)} for key, one in run.kernels.items()],
        "counters": [[key.kind, key.subject, value] for key, value in run.counters.items()],
    }


def _runs(stored: Sequence[Mapping[str, Any]]) -> tuple[RunSample, ...]:
    return tuple(map(_run, stored))


def _run(stored: Mapping[str, Any]) -> RunSample:
    kernels = {}
    for one in stored["kernels"]:
        key = KernelKey(_text(one["kernel"]), _text(one["global_size"]), _text(one["device"]))
        kernels[key] = KernelTime(
            _count(one["launches"]),
            _count(one["counted"]),
            _ns(one["median_ns"]),
            _ns(one["total_ns"]),
        )
    names = ("name", "platform", "driver", "platform_version")
    devices = (DeviceIdentity(*(_text(one[name]) for name in names)) for one in stored["devices"])
    counters = {
        CounterKey(CounterKind(kind), _text(subject)): _count(value)
        for kind, subject, value in stored["counters"]
    }
    return RunSample(tuple(devices), kernels, counters)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _ns(value: object) -> float:
    if not isinstance(value, (int, float)) or not 0 < value < _MOST_NS:
        raise ValueError(f"{value!r} is no time")
    return float(value)
