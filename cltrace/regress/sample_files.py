"""Samples in a file: every run of both sides with all that was measured, and what they are of.

Raw samples, no statistics: what is made of them may be made anew, with another floor or a later cltrace.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.errors import SampleFileError
from cltrace.files import write_whole
from cltrace.regress.counters import CounterKey, CounterKind
from cltrace.regress.json_files import Form, amount, count, text
from cltrace.regress.runs import (
    DeviceIdentity,
    KernelKey,
    KernelTime,
    Modelled,
    Round,
    RunSample,
)
from cltrace.regress.work import Amount, KernelWork, RunWork, WorkKey, WorkKind

SCHEMA: Final = 2
_LEAST_NS: Final = 1e-3
_MARK: Final = "cltrace_samples"
_FORM: Final = Form(_MARK, SCHEMA, 256 << 20, "samples", ": is it a trace?")
_MOST_NS: Final = 1e18
_MODELLED: Final = ("duration_ns", "low_ns", "high_ns")


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
        "rounds": stored_rounds(found.rounds),
    }
    write_whole(json.dumps(stored, indent=1, allow_nan=False) + "\n", path)


def stored_rounds(rounds: Sequence[Round]) -> list[dict[str, object]]:
    """Rounds as JSON has them, every run with all that was measured."""
    return [
        {"base": [*map(run_to_json, one.base)], "head": [*map(run_to_json, one.head)]}
        for one in rounds
    ]


def is_samples(path: Path) -> bool:
    """Whether a file looks like samples rather than a trace: it is text. Raises: `SampleFileError`."""
    try:
        with path.open("rb") as stream:
            return stream.read(1) == b"{"
    except OSError as error:
        raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error


def read_samples(path: Path) -> SampleFile:
    """Raises: `SampleFileError` for what is not such a file."""
    return _FORM.read(path, _file)


def _file(stored: Mapping[str, Any]) -> SampleFile:
    base = stored["base"]
    return SampleFile(
        date=text(stored["date"]),
        host=text(stored["host"]),
        processor=text(stored["processor"]),
        cltrace=text(stored["cltrace"]),
        dropped=count(stored["dropped"]),
        head=_side(stored["head"]),
        base=None if base is None else _side(base),
        rounds=tuple(Round(_runs(one["base"]), _runs(one["head"])) for one in stored["rounds"]),
    )


def _side(stored: Mapping[str, Any]) -> Side:
    return Side(
        tuple(map(text, stored["command"])),
        text(stored["directory"]),
        text(stored["revision"]),
        stored["is_dirty"] is True,
    )


def run_to_json(run: RunSample) -> dict[str, object]:
    """A run as JSON has it."""
    return {
        "devices": [asdict(one) for one in run.devices],
        "kernels": [{**asdict(key), **asdict(one)} for key, one in run.kernels.items()],
        "counters": [[key.kind, key.subject, value] for key, value in run.counters.items()],
        "work": _plain_work(run.work) if run.work is not None else None,
        "modelled": [{**asdict(key), **asdict(one)} for key, one in run.modelled.items()],
        "energy_j": [{**asdict(key), "energy_j": value} for key, value in run.energy_j.items()],
    }


def _plain_work(work: RunWork) -> dict[str, object]:
    return {
        "compiler": work.compiler,
        "kernels": [
            {
                **asdict(key),
                "launches": one.launches,
                "amounts": {
                    kind: [a.total, a.standard_error, a.doubt] for kind, a in one.amounts.items()
                },
            }
            for key, one in work.kernels.items()
        ],
        "refused": [{**asdict(key), "why": why} for key, why in work.refused.items()],
    }


def _runs(stored: Sequence[Mapping[str, Any]]) -> tuple[RunSample, ...]:
    return tuple(map(run_from_json, stored))


def run_from_json(stored: Mapping[str, Any]) -> RunSample:
    """Raises: `ValueError`, `KeyError`, `TypeError` for what is not such a run."""
    kernels = {}
    for one in stored["kernels"]:
        kernels[_kernel_key(one)] = KernelTime(
            count(one["launches"]),
            count(one["counted"]),
            _ns(one["median_ns"]),
            _ns(one["total_ns"]),
        )
    names = ("name", "platform", "driver", "platform_version")
    devices = (DeviceIdentity(*(text(one[name]) for name in names)) for one in stored["devices"])
    counters = {
        CounterKey(CounterKind(kind), text(subject)): count(value)
        for kind, subject, value in stored["counters"]
    }
    modelled = {
        _kernel_key(one): Modelled(*(_ns(one[name]) for name in _MODELLED))
        for one in stored["modelled"]
    }
    energy = {_work_key(one): amount(one["energy_j"]) for one in stored["energy_j"]}
    work = stored["work"]
    return RunSample(
        tuple(devices), kernels, counters, None if work is None else _work(work), modelled, energy
    )


def _kernel_key(stored: Mapping[str, Any]) -> KernelKey:
    return KernelKey(text(stored["kernel"]), text(stored["global_size"]), text(stored["device"]))


def _work_key(stored: Mapping[str, Any]) -> WorkKey:
    return WorkKey(text(stored["kernel"]), text(stored["global_size"]))


def _work(stored: Mapping[str, Any]) -> RunWork:
    kernels = {
        _work_key(one): KernelWork(
            count(one["launches"]),
            dict.fromkeys(WorkKind, Amount(0.0, 0.0))
            | {
                WorkKind(kind): Amount(amount(total), amount(error), text(doubt))
                for kind, (total, error, doubt) in one["amounts"].items()
            },
        )
        for one in stored["kernels"]
    }
    refused = {_work_key(one): text(one["why"]) for one in stored["refused"]}
    return RunWork(text(stored["compiler"]), kernels, refused)


def _ns(value: object) -> float:
    if not isinstance(value, (int, float)) or not _LEAST_NS <= value < _MOST_NS:
        raise ValueError(f"{value!r} is no time")
    return float(value)
