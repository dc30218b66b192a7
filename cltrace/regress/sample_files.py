"""Files of samples: every run of both sides with all that was measured, and the commands.

The files hold raw samples and no statistics, so that they can be judged again with another floor or by a
later cltrace.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.errors import SampleFileError
from cltrace.files import read_first_bytes, write_atomically
from cltrace.regress.counters import parse_counter
from cltrace.regress.json_files import JsonFormat, as_amount, as_count, as_text
from cltrace.regress.run_records import (
    DeviceIdentity,
    KernelKey,
    KernelTime,
    PredictedTime,
    Round,
    RunSample,
)
from cltrace.regress.work import Amount, KernelWork, RunWork, SizedKernel, WorkKind

SCHEMA: Final = 2
_MIN_NS: Final = 1e-3
_MAX_NS: Final = 1e18
_MARK: Final = "cltrace_samples"
_FORMAT: Final = JsonFormat(_MARK, SCHEMA, 256 << 20, "samples", ": is it a trace?")
_MODELLED: Final = ("duration_ns", "low_ns", "high_ns")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sides: its command, directory and revision, "" where there is none.

    `is_dirty` is True if files differed from that revision.
    """

    command: tuple[str, ...]
    directory: str
    revision: str
    is_dirty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFile:
    """Runs of a program and, where `base` is not None, of another one, in rounds of pairs.

    `host` is the machine's name, `processor` its processor's. `date` is UTC, as YYYY-MM-DD. `dropped` is
    the number of a kernel's first launches that do not count.
    """

    date: str
    host: str
    processor: str
    cltrace: str
    dropped: int
    head: Side
    base: Side | None
    rounds: tuple[Round, ...]


def write_samples(samples: SampleFile, path: Path) -> None:
    """Write samples to a file. Raises: `OutputError`."""
    stored = {
        _MARK: SCHEMA,
        "date": samples.date,
        "host": samples.host,
        "processor": samples.processor,
        "cltrace": samples.cltrace,
        "dropped": samples.dropped,
        "head": asdict(samples.head),
        "base": asdict(samples.base) if samples.base is not None else None,
        "rounds": rounds_to_json(samples.rounds),
    }
    write_atomically(json.dumps(stored, indent=1, allow_nan=False) + "\n", path)


def rounds_to_json(rounds: Sequence[Round]) -> list[dict[str, object]]:
    """Return rounds as JSON values, every run with all that was measured."""
    return [
        {
            "base": [*map(run_to_json, one_round.base)],
            "head": [*map(run_to_json, one_round.head)],
        }
        for one_round in rounds
    ]


def is_samples(path: Path) -> bool:
    """Return True if a file looks like samples rather than a trace: it is text.

    Raises: `SampleFileError` if it cannot be read.
    """
    try:
        return read_first_bytes(path, 1) == b"{"
    except OSError as error:
        raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error


def read_samples(path: Path) -> SampleFile:
    """Read samples from a file. Raises: `SampleFileError` for any other kind of file."""
    return _FORMAT.read(path, _file_from_json)


def _file_from_json(stored: Mapping[str, Any]) -> SampleFile:
    base = stored["base"]
    return SampleFile(
        date=as_text(stored["date"]),
        host=as_text(stored["host"]),
        processor=as_text(stored["processor"]),
        cltrace=as_text(stored["cltrace"]),
        dropped=as_count(stored["dropped"]),
        head=_side_from_json(stored["head"]),
        base=None if base is None else _side_from_json(base),
        rounds=tuple(
            Round(_runs_from_json(rounds["base"]), _runs_from_json(rounds["head"]))
            for rounds in stored["rounds"]
        ),
    )


def _side_from_json(stored: Mapping[str, Any]) -> Side:
    return Side(
        tuple(map(as_text, stored["command"])),
        as_text(stored["directory"]),
        as_text(stored["revision"]),
        stored["is_dirty"] is True,
    )


def run_to_json(run: RunSample) -> dict[str, object]:
    """Return a run as JSON values."""
    return {
        "devices": [asdict(device) for device in run.devices],
        "kernels": [{**asdict(key), **asdict(time)} for key, time in run.kernels.items()],
        "counters": [[*key.to_stored(), value] for key, value in run.counters.items()],
        "work": _work_to_json(run.work) if run.work is not None else None,
        "modelled": [{**asdict(key), **asdict(time)} for key, time in run.modelled.items()],
        "energy_j": [{**asdict(key), "energy_j": value} for key, value in run.energy_j.items()],
    }


def _work_to_json(work: RunWork) -> dict[str, object]:
    return {
        "compiler": work.compiler,
        "kernels": [
            {
                **asdict(key),
                "launches": kernel.launches,
                "amounts": {
                    kind: [amount.total, amount.standard_error, amount.doubt]
                    for kind, amount in kernel.amounts.items()
                },
            }
            for key, kernel in work.kernels.items()
        ],
        "refused": [{**asdict(key), "why": why} for key, why in work.refused.items()],
    }


def _runs_from_json(stored: Sequence[Mapping[str, Any]]) -> tuple[RunSample, ...]:
    return tuple(map(run_from_json, stored))


def run_from_json(stored: Mapping[str, Any]) -> RunSample:
    """Return the run of JSON values. Raises: `ValueError`, `KeyError`, `TypeError` for other values."""
    kernels = {}
    for row in stored["kernels"]:
        kernels[_kernel_key(row)] = KernelTime(
            as_count(row["launches"]),
            as_count(row["counted"]),
            _as_ns(row["median_ns"]),
            _as_ns(row["total_ns"]),
        )
    names = ("name", "platform", "driver", "platform_version")
    devices = (DeviceIdentity(*(as_text(row[name]) for name in names)) for row in stored["devices"])
    counters = {
        parse_counter(kind, as_text(subject)): as_count(value)
        for kind, subject, value in stored["counters"]
    }
    modelled = {
        _kernel_key(row): PredictedTime(*(_as_ns(row[name]) for name in _MODELLED))
        for row in stored["modelled"]
    }
    energy = {_sized_kernel(row): as_amount(row["energy_j"]) for row in stored["energy_j"]}
    work = stored["work"]
    return RunSample(
        tuple(devices),
        kernels,
        counters,
        None if work is None else _work_from_json(work),
        modelled,
        energy,
    )


def _kernel_key(stored: Mapping[str, Any]) -> KernelKey:
    return KernelKey(
        as_text(stored["kernel"]), as_text(stored["global_size"]), as_text(stored["device"])
    )


def _sized_kernel(stored: Mapping[str, Any]) -> SizedKernel:
    return SizedKernel(as_text(stored["kernel"]), as_text(stored["global_size"]))


def _work_from_json(stored: Mapping[str, Any]) -> RunWork:
    kernels = {
        _sized_kernel(row): KernelWork(
            as_count(row["launches"]),
            dict.fromkeys(WorkKind, Amount(0.0, 0.0))
            | {
                WorkKind(kind): Amount(as_amount(total), as_amount(error), as_text(doubt))
                for kind, (total, error, doubt) in row["amounts"].items()
            },
        )
        for row in stored["kernels"]
    }
    refused = {_sized_kernel(row): as_text(row["why"]) for row in stored["refused"]}
    return RunWork(as_text(stored["compiler"]), kernels, refused)


def _as_ns(value: object) -> float:
    if not isinstance(value, (int, float)) or not _MIN_NS <= value < _MAX_NS:
        raise ValueError(f"{value!r} is no time")
    return float(value)
