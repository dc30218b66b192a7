"""Files of scores: the time of every run, and the machine. Scores are computed from them anew."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from cltrace.errors import SampleFileError
from cltrace.events.benchmarks import BenchmarkKind, RateLimit
from cltrace.files import read_first_bytes, write_atomically
from cltrace.profile import LATER_KEYS, DeviceFacts, stored_fields
from cltrace.regress.host import HostFacts
from cltrace.regress.json_files import JsonFormat, as_amount, as_count, as_text
from cltrace.regress.score import BenchmarkResult, ScoreFile, Sequential

SCHEMA: Final = 2
MARK: Final = "cltrace_score"
_FORMAT: Final = JsonFormat(MARK, SCHEMA, 16 << 20, "score")
_REFERENCE: Final = "score-reference.json"


def write_score(score: ScoreFile, path: Path) -> None:
    """Write a score to a file. Raises: `OutputError`."""
    write_atomically(score_text(score), path)


def score_text(score: ScoreFile) -> str:
    """Return a score as the text of its file."""
    stored = {MARK: SCHEMA, **asdict(score), "device": score.device.to_json()}
    return json.dumps(stored, indent=1, allow_nan=False) + "\n"


def read_score(path: Path) -> ScoreFile:
    """Read a score from a file. Raises: `SampleFileError` for any other kind of file."""
    return _FORMAT.read(path, _file_from_json)


def is_score(path: Path) -> bool:
    """Return True if a file has the mark of a score. Raises: `SampleFileError` if it cannot be read."""
    try:
        return f'"{MARK}"'.encode() in read_first_bytes(path, 64)
    except OSError as error:
        raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error


@cache
def shipped_reference() -> ScoreFile:
    """Return the reference that comes with cltrace."""
    data = resources.files("cltrace.regress").joinpath(_REFERENCE).read_bytes()
    return _FORMAT.parse(data, _REFERENCE, _file_from_json)


def _file_from_json(stored: Mapping[str, Any]) -> ScoreFile:
    results = tuple(_result_from_json(result) for result in stored["results"])
    if len({result.name for result in results}) < len(results):
        raise ValueError("a benchmark has two results")
    return ScoreFile(
        suite=as_count(stored["suite"]),
        date=as_text(stored["date"]),
        host=HostFacts(**_read_fields(stored["host"], HostFacts)),
        device=DeviceFacts(**_read_fields(stored["device"], DeviceFacts)),
        versions={as_text(name): as_text(text) for name, text in stored["versions"].items()},
        limits={RateLimit(name): _as_positive(value) for name, value in stored["limits"].items()},
        results=results,
    )


def _read_fields(
    stored: Mapping[str, Any], kind: type[HostFacts] | type[DeviceFacts]
) -> dict[str, Any]:
    """Return the fields of a record, each of its type. Raises: `TypeError`."""
    types = {"str": str, "int": int, "bool": bool}
    values = {}
    for key, field in stored_fields(kind).items():
        if key in LATER_KEYS and key not in stored:
            continue
        expected = types[getattr(field.type, "__name__", str(field.type))]
        value = stored[key]
        if type(value) is not expected:
            raise TypeError(f"{key} is {value!r}")
        values[field.name] = value
    return values


def _result_from_json(stored: Mapping[str, Any]) -> BenchmarkResult:
    sequential = stored["sequential"]
    share = stored["limit_share"]
    return BenchmarkResult(
        name=as_text(stored["name"]),
        kind=BenchmarkKind(stored["kind"]),
        seconds=_as_times(stored["seconds"]),
        wrong=as_text(stored["wrong"]),
        sequential=Sequential(
            _as_optional_time(sequential["numpy_s"]), _as_optional_time(sequential["c_s"])
        ),
        limit=None if stored["limit"] is None else RateLimit(stored["limit"]),
        limit_share=None if share is None else _as_positive(share),
    )


def _as_times(stored: Sequence[object]) -> tuple[float, ...]:
    return tuple(_as_positive(value) for value in stored)


def _as_optional_time(value: object) -> float | None:
    return None if value is None else _as_positive(value)


def _as_positive(value: object) -> float:
    """Return `value` as a number > 0. Raises: `ValueError`."""
    number = as_amount(value)
    if not number:
        raise ValueError("a time, rate or share is 0")
    return number
