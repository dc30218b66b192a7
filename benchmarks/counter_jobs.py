"""Launches to compare with hardware counters, and the file that carries them to the device.

A job is a launch whose buffers have known contents: the same contents are counted and measured.
"""

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput
from cltrace.kernels.arguments import Argument, BufferArgument, LocalArgument, StructArgument
from cltrace.suite.evaluation import EVALUATION, Scale
from cltrace.suite.filled import fill_values

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Filled:
    """Contents: floats from 1 to 2, as `cltrace.measure.Bench` fills buffers with them."""


@dataclass(frozen=True, slots=True)
class Zeros:
    """Contents: zeros."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Contents that the file holds. The rest of the buffer is zero."""

    data: bytes


@dataclass(frozen=True, slots=True)
class OfCase:
    """Contents that a case of the evaluation suite generates. `digest` is the SHA-256 of the bytes."""

    generator: str
    exponent: int
    group_items: int
    case: str
    position: int
    digest: str


Contents: TypeAlias = Filled | Zeros | Stored | OfCase


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer argument."""

    size_bytes: int
    contents: Contents


@dataclass(frozen=True, slots=True)
class Local:
    """An argument that gives local memory to each work-group."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """An argument passed by value."""

    data: bytes


JobArgument: TypeAlias = Buffer | Local | Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A launch without a global offset. `name` is unique; `set_name` tells where the launch is from."""

    name: str
    set_name: str
    source: str
    options: tuple[str, ...]
    headers: Mapping[str, str]
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    arguments: tuple[JobArgument, ...]

    @property
    def grid(self) -> tuple[int, int, int]:
        """Number of work-groups in three dimensions."""
        groups = [
            size // part for size, part in zip(self.global_size, self.local_size, strict=True)
        ]
        return _three(groups)

    @property
    def block(self) -> tuple[int, int, int]:
        """Size of a work-group in three dimensions."""
        return _three(self.local_size)


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def contents_of(buffer: Buffer) -> NDArray[np.uint8]:
    """Return all bytes of a buffer. Raises: `ValueError` if the suite generates other contents."""
    match buffer.contents:
        case Filled():
            return _whole(fill_values(buffer.size_bytes // 4), buffer.size_bytes)
        case Zeros():
            return np.zeros(buffer.size_bytes, np.uint8)
        case Stored(data):
            return _whole(np.frombuffer(data, np.uint8), buffer.size_bytes)
        case OfCase() as place:
            array = case_contents(place)
            if digest(array) != place.digest:
                raise ValueError(f"the case {place.case} generates other contents than it did")
            return _whole(array, buffer.size_bytes)


def case_contents(place: OfCase) -> NDArray[Any]:
    """Generate the contents of a buffer of the suite."""
    scale = Scale(place.exponent, place.group_items)
    for case in EVALUATION[place.generator](scale):
        argument = case.work.inputs[place.position] if case.name == place.case else None
        if isinstance(argument, BufferInput) and argument.contents is not None:
            return np.ascontiguousarray(argument.contents())
    raise ValueError(f"the suite has no contents for argument {place.position} of {place.case}")


def digest(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes."""
    return hashlib.sha256(array.tobytes()).hexdigest()


def _whole(array: NDArray[Any], size_bytes: int) -> NDArray[np.uint8]:
    data = np.zeros(size_bytes, np.uint8)
    taken = array.view(np.uint8).reshape(-1)[:size_bytes]
    data[: taken.size] = taken
    return data


def counted_arguments(job: Job) -> Iterator[Argument]:
    """Yield the arguments of a job as `cltrace.kernels.count` takes them."""
    for argument in job.arguments:
        match argument:
            case Buffer(size_bytes):
                yield BufferArgument(size_bytes, contents_of(argument))
            case Local(size_bytes):
                yield LocalArgument(size_bytes)
            case Scalar(data):
                yield StructArgument(data)


def write_jobs(jobs: Sequence[Job], path: Path) -> None:
    """Write jobs to a compressed JSON file. Sources that several jobs share are written once."""
    sources: dict[str, str] = {}

    def stored(text: str) -> str:
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        sources[key] = text
        return key

    rows = [
        {
            "name": job.name,
            "set": job.set_name,
            "source": stored(job.source),
            "options": list(job.options),
            "headers": {name: stored(text) for name, text in job.headers.items()},
            "kernel": job.kernel,
            "global_size": list(job.global_size),
            "local_size": list(job.local_size),
            "arguments": [_argument_row(argument) for argument in job.arguments],
        }
        for job in jobs
    ]
    text = json.dumps({"version": _VERSION, "sources": sources, "jobs": rows})
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read_jobs(path: Path) -> list[Job]:
    """Read the jobs that `write_jobs` wrote. Raises: `ValueError` for a file of another version."""
    stored = json.loads(gzip.decompress(path.read_bytes()))
    if stored["version"] != _VERSION:
        raise ValueError(f"{path} has version {stored['version']}, not {_VERSION}")
    sources = stored["sources"]
    return [
        Job(
            name=row["name"],
            set_name=row["set"],
            source=sources[row["source"]],
            options=tuple(row["options"]),
            headers={name: sources[key] for name, key in row["headers"].items()},
            kernel=row["kernel"],
            global_size=tuple(row["global_size"]),
            local_size=tuple(row["local_size"]),
            arguments=tuple(map(_read_argument, row["arguments"])),
        )
        for row in stored["jobs"]
    ]


def _argument_row(argument: JobArgument) -> dict[str, object]:
    match argument:
        case Scalar(data):
            return {"scalar": data.hex()}
        case Local(size_bytes):
            return {"local_bytes": size_bytes}
        case Buffer(size_bytes, contents):
            return {"buffer_bytes": size_bytes, "contents": _contents_row(contents)}


def _contents_row(contents: Contents) -> object:
    match contents:
        case Filled():
            return "filled"
        case Zeros():
            return "zeros"
        case Stored(data):
            return {"deflated": base64.b64encode(zlib.compress(data, 9)).decode()}
        case OfCase():
            return {name: getattr(contents, name) for name in contents.__slots__}


def _read_argument(row: Mapping[str, Any]) -> JobArgument:
    if "scalar" in row:
        return Scalar(bytes.fromhex(row["scalar"]))
    if "local_bytes" in row:
        return Local(row["local_bytes"])
    return Buffer(row["buffer_bytes"], _read_contents(row["contents"]))


def _read_contents(row: Any) -> Contents:
    if row == "filled":
        return Filled()
    if row == "zeros":
        return Zeros()
    if "deflated" in row:
        return Stored(zlib.decompress(base64.b64decode(row["deflated"])))
    return OfCase(**row)
