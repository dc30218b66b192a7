"""The distinct programs of traces, as plain data: sources, options, headers, kernels, launches."""

import contextlib
import hashlib
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cltrace
from cltrace.trace.reader import Trace

MOST_CONFIGURATIONS = 3
"""How many launch configurations a program keeps of each of its kernels."""

Json = dict[str, Any]

PROGRAMS = """
    SELECT p.program_id, p.source, b.options, max(b.status = 0)
    FROM v_program p JOIN v_build b USING (program_id)
    WHERE p.origin = 'source' AND p.source IS NOT NULL
    GROUP BY p.program_id, b.options ORDER BY p.program_id
"""
HEADERS = "SELECT program_id, name, text FROM v_include ORDER BY program_id, name"
KERNELS = "SELECT kernel_id, program_id, name FROM v_kernel ORDER BY kernel_id"
LAUNCHES = """
    SELECT launch_id, kernel_id, global_size, local_size, global_offset
    FROM v_launch WHERE arguments_known ORDER BY launch_id
"""
ARGUMENTS = """
    SELECT a.launch_id, a.kind, a.value, a.detail, a.dtype, a.size_bytes, a.offset_bytes,
           m.size_bytes, m.width, m.height, m.depth
    FROM v_launch_arg a LEFT JOIN v_buffer m USING (buffer_id) ORDER BY a.launch_id, a.position
"""


@dataclass(slots=True)
class Program:
    """A program, and the distinct configurations in which its kernels were launched."""

    source: str
    options: list[str]
    headers: dict[str, str]
    built: bool
    library: str
    version: str
    command: str
    kernels: dict[str, dict[str, Json]] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """What tells it from others. Where its headers lay is left out, what they say is not."""
        told = json.dumps([self.source, without_directories(self.options), self.headers])
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def configurations(self) -> int:
        """In how many distinct configurations its kernels were launched."""
        return sum(map(len, self.kernels.values()))

    def as_json(self) -> Json:
        """The program as it is stored, with the first few configurations of each kernel."""
        kernels = {
            name: list(configurations.values())[:MOST_CONFIGURATIONS]
            for name, configurations in sorted(self.kernels.items())
        }
        return {
            "source": self.source,
            "options": self.options,
            "headers": self.headers,
            "kernels": kernels,
            "built": self.built,
            "library": self.library,
            "version": self.version,
            "command": self.command,
        }

    def summary(self) -> Json:
        """Its line in the list of the corpus."""
        return {
            "sha256": self.sha256,
            "library": self.library,
            "version": self.version,
            "command": self.command,
            "built": self.built,
            "kernels": len(self.kernels),
            "launched_kernels": sum(map(bool, self.kernels.values())),
            "launch_configurations": self.configurations,
        }


class Corpus:
    """Programs by their sha256."""

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}

    def add_trace(self, path: Path, library: str, version: str, command: str) -> None:
        """Add the programs of the trace at `path`. A program known already gains launches only."""
        with cltrace.load(path) as trace:
            launches = launches_by_kernel(trace)
            headers: dict[int, dict[str, str]] = {}
            for program_id, name, text in trace.iterate(HEADERS):
                headers.setdefault(program_id, {})[name] = text
            kernels: dict[int, list[tuple[int, str]]] = {}
            for kernel_id, program_id, name in trace.iterate(KERNELS):
                kernels.setdefault(program_id, []).append((kernel_id, name))
            for program_id, source, options, built in trace.rows(PROGRAMS):
                program = self._the_known(
                    Program(
                        source,
                        words_of(options),
                        headers.get(program_id, {}),
                        bool(built),
                        library,
                        version,
                        command,
                    )
                )
                for kernel_id, name in kernels.get(program_id, []):
                    known = program.kernels.setdefault(name, {})
                    for launch in launches.get(kernel_id, []):
                        known.setdefault(json.dumps(launch), launch)

    def _the_known(self, program: Program) -> Program:
        return self.programs.setdefault(program.sha256, program)

    def write(self, directory: Path) -> None:
        """Write `programs/<sha256>.json` and `corpus.json`, in place of what was there."""
        place = directory / "programs"
        place.mkdir(parents=True, exist_ok=True)
        for old in place.glob("*.json"):
            old.unlink()
        for sha256, program in self.programs.items():
            path = place / f"{sha256}.json"
            path.write_text(json.dumps(program.as_json(), indent=1) + "\n")
        lines = [program.summary() for program in self.programs.values()]
        (directory / "corpus.json").write_text(json.dumps(lines, indent=1) + "\n")


def words_of(options: str | None) -> list[str]:
    """Build options as words; as they are split by spaces where their quotes do not match."""
    with contextlib.suppress(ValueError):
        return shlex.split(options or "")
    return (options or "").split()


def without_directories(options: list[str]) -> list[str]:
    """The options but those that name a directory of headers."""
    kept = []
    following = iter(options)
    for word in following:
        if word == "-I":
            next(following, None)
        elif not word.startswith("-I"):
            kept.append(word)
    return kept


def launches_by_kernel(trace: Trace) -> dict[int, list[Json]]:
    """The launch configurations of a trace, by the kernel's number."""
    arguments: dict[int, list[Json]] = {}
    for launch_id, *facts in trace.iterate(ARGUMENTS):
        arguments.setdefault(launch_id, []).append(argument(*facts))
    launches: dict[int, list[Json]] = {}
    for launch_id, kernel_id, *sizes in trace.iterate(LAUNCHES):
        global_size, local_size, global_offset = map(sizes_of, sizes)
        launches.setdefault(kernel_id, []).append(
            {
                "global_size": global_size,
                "local_size": local_size,
                "global_offset": global_offset,
                "arguments": arguments.get(launch_id, []),
            }
        )
    return launches


def sizes_of(text: str | None) -> list[int] | None:
    """A JSON array of sizes; `None` where there is none."""
    return None if text is None else [int(size) for size in json.loads(text)]


def argument(
    kind: str,
    value: bytes | None,
    detail: str | None,
    dtype: str | None,
    size_bytes: int | None,
    offset_bytes: int | None,
    memory_bytes: int | None,
    *shape: int | None,
) -> Json:
    """An argument of a launch, without what is of no meaning in another process.

    A trace has no formats of images and nothing of samplers.
    """
    told: dict[str, Json] = {
        "buffer": {"bytes": memory_bytes},
        "svm": {"bytes": memory_bytes},
        "image": dict(zip(("width", "height", "depth"), shape, strict=True)) | {"format": None},
        "local": {"bytes": size_bytes},
        "scalar": {"hex": None if value is None else value.hex(), "dtype": dtype},
        "sampler": {},
        "null": {},
    }
    facts = told.get(kind, {"detail": detail})
    if offset_bytes:
        facts = facts | {"offset_bytes": offset_bytes}
    if kind == "scalar" and value is None:
        facts = facts | {"detail": detail}
    return {"kind": kind, **facts}


def table(programs: dict[str, Program]) -> Iterator[str]:
    """Counts by library, as lines of Markdown."""
    yield "| library | version | programs | kernels | launched kernels | configurations |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    groups: dict[tuple[str, str], list[Program]] = {}
    for program in programs.values():
        groups.setdefault((program.library, program.version), []).append(program)
    groups["all", ""] = list(programs.values())
    for (library, version), group in groups.items():
        lines = [program.summary() for program in group]
        columns = ("kernels", "launched_kernels", "launch_configurations")
        counts = [len(group), *(sum(line[column] for line in lines) for column in columns)]
        yield f"| {library} | {version} | {' | '.join(f'{count:,}' for count in counts)} |"


def main() -> None:
    """Write the corpus of the runs that `DIR/runs.json` lists, in DIR, the only argument."""
    directory = Path(sys.argv[1])
    corpus = Corpus()
    for run in json.loads((directory / "runs.json").read_text()):
        path = directory / run["trace"]
        if path.exists():
            corpus.add_trace(path, run["library"], run["version"], run["command"])
    corpus.write(directory)
    sys.stdout.write("\n".join(table(corpus.programs)) + "\n")


if __name__ == "__main__":
    main()
