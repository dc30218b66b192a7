"""Scores in files: every run's time, what it ran on, and no score: that is made of them anew."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from cltrace.errors import SampleFileError
from cltrace.events.benchmarks import Kind, Limit
from cltrace.files import write_whole
from cltrace.profile import DeviceFacts
from cltrace.regress.host import HostFacts
from cltrace.regress.json_files import Form, amount, count, text
from cltrace.regress.score import BenchmarkResult, ScoreFile, Sequential

SCHEMA: Final = 2
MARK: Final = "cltrace_score"
_FORM: Final = Form(MARK, SCHEMA, 16 << 20, "score")
_REFERENCE: Final = "score-reference.json"


def write_score(found: ScoreFile, path: Path) -> None:
    """Raises: `OutputError`."""
    write_whole(score_text(found), path)


def score_text(found: ScoreFile) -> str:
    """A score as the text of its file."""
    return json.dumps({MARK: SCHEMA, **asdict(found)}, indent=1, allow_nan=False) + "\n"


def read_score(path: Path) -> ScoreFile:
    """Raises: `SampleFileError` for what is not such a file."""
    return _FORM.read(path, _file)


def is_score(path: Path) -> bool:
    """Whether a file says that it holds a score. Raises: `SampleFileError`."""
    try:
        with path.open("rb") as stream:
            return f'"{MARK}"'.encode() in stream.read(64)
    except OSError as error:
        raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error


@cache
def shipped_reference() -> ScoreFile:
    """The score that ratios are by, unless another is named."""
    data = resources.files("cltrace.regress").joinpath(_REFERENCE).read_bytes()
    return _FORM.made(data, _REFERENCE, _file)


def _file(stored: Mapping[str, Any]) -> ScoreFile:
    results = tuple(_result(one) for one in stored["results"])
    if len({one.name for one in results}) < len(results):
        raise ValueError("a benchmark has two results")
    return ScoreFile(
        suite=count(stored["suite"]),
        date=text(stored["date"]),
        host=HostFacts(**_checked(stored["host"], HostFacts)),
        device=DeviceFacts(**_checked(stored["device"], DeviceFacts)),
        versions={text(name): text(one) for name, one in stored["versions"].items()},
        limits={Limit(name): _amount(one) for name, one in stored["limits"].items()},
        results=results,
    )


def _checked(
    stored: Mapping[str, Any], kind: type[HostFacts] | type[DeviceFacts]
) -> dict[str, Any]:
    """The fields of a record, each of its type. Raises: `TypeError`."""
    types = {"str": str, "int": int, "bool": bool}
    found = {}
    for one in fields(kind):
        wanted = types[getattr(one.type, "__name__", str(one.type))]
        value = stored[one.name]
        if type(value) is not wanted:
            raise TypeError(f"{one.name} is {value!r}")
        found[one.name] = value
    return found


def _result(stored: Mapping[str, Any]) -> BenchmarkResult:
    sequential = stored["sequential"]
    share = stored["limit_share"]
    return BenchmarkResult(
        name=text(stored["name"]),
        kind=Kind(stored["kind"]),
        seconds=_times(stored["seconds"]),
        wrong=text(stored["wrong"]),
        sequential=Sequential(_perhaps(sequential["numpy_s"]), _perhaps(sequential["c_s"])),
        limit=None if stored["limit"] is None else Limit(stored["limit"]),
        limit_share=None if share is None else _amount(share),
    )


def _times(stored: Sequence[object]) -> tuple[float, ...]:
    return tuple(_amount(one) for one in stored)


def _perhaps(value: object) -> float | None:
    return None if value is None else _amount(value)


def _amount(value: object) -> float:
    """A number above 0. Raises: `ValueError`."""
    found = amount(value)
    if not found:
        raise ValueError("0 is no such number")
    return found
