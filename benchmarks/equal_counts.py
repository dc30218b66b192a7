"""Whether two versions of cltrace count the same, bit for bit.

    PYTHONPATH=BEFORE python benchmarks/equal_counts.py write before.json TRACE...
    PYTHONPATH=AFTER python benchmarks/equal_counts.py write after.json TRACE...
    python benchmarks/equal_counts.py compare before.json after.json

The launches of the traces are counted for the device of `--profile`, and the kernels of the tests for a
GPU and for a CPU. A file has a hash of the counts of each launch, or the reason why it has none, and the
CPU seconds that counting took.

    python benchmarks/equal_counts.py write tests/golden/counts.json --kernels 30

writes the file with which a test compares, after a change that is meant to change counts.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cltrace.errors import KernelError
from cltrace.kernels import CountCache, Machine, count, parse
from cltrace.kernels.compiler.clang import find_clang
from cltrace.kernels.counts.traced_launches import traced_launches, usual_local_size
from cltrace.kernels.counts.workloads import machine_of
from cltrace.profile import load_profile
from cltrace.trace.reader import Trace

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.kernels import of_tests


def main() -> None:
    """Write a file, or compare two."""
    parser = argparse.ArgumentParser(description="Compare the counts of two versions.")
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("others", type=Path, nargs="*")
    parser.add_argument("--profile", default="nvidia-h200")
    parser.add_argument("--kernels", type=int, default=100, help="count at most N kernels of tests")
    arguments = parser.parse_args()
    if arguments.action == "compare":
        compare(arguments.file, arguments.others[0])
        return
    outcomes: dict[str, str] = {}
    began = time.process_time()
    for path in arguments.others:
        outcomes |= dict(of_trace(path, machine_of(load_profile(arguments.profile).device)))
    outcomes |= dict(sample_of_tests(arguments.kernels))
    record = {
        "clang": find_clang().version,
        "numpy": np.__version__,
        "cpu_s": round(time.process_time() - began, 1),
        "outcomes": outcomes,
    }
    arguments.file.write_text(json.dumps(record, indent=1) + "\n")


def of_trace(path: Path, machine: Machine) -> Iterator[tuple[str, str]]:
    """Count the launches of a trace, each program by itself."""
    counts = CountCache(machine)
    programs: dict[int, object] = {}
    with Trace(path) as trace:
        for launch in traced_launches(trace):
            key = f"{path.name} {launch.launch_id} {launch.kernel}"
            traced = launch.program
            if traced is None:
                continue
            try:
                program = programs.get(id(traced))
                if program is None:
                    program = parse(traced.source, traced.options, headers=traced.headers)
                    programs[id(traced)] = program
                local = launch.local_size or usual_local_size(launch.global_size, machine)
                found = counts.count(
                    program,  # type: ignore[arg-type] # one of `programs`
                    launch.kernel,
                    launch.global_size,
                    local,
                    launch.arguments,
                    global_offset=launch.global_offset,
                )
                yield key, digest(found)
            except (KernelError, ValueError) as error:
                yield key, f"refused: {error}"


def sample_of_tests(kernels: int) -> Iterator[tuple[str, str]]:
    """Count at most `kernels` kernels of the tests, evenly chosen, for a GPU and for a CPU."""
    for name, machine in (("GPU", Machine()), ("CPU", Machine.of_cpu(8))):
        for key, outcome in _sample(machine, kernels):
            yield f"{name} {key}", outcome


def _sample(machine: Machine, kernels: int) -> Iterator[tuple[str, str]]:
    launches = [(source, launch) for source in of_tests() for launch in source.launches]
    step = -(-len(launches) // kernels)
    for number, (source, launch) in list(enumerate(launches))[::step]:
        key = f"{number} {launch.kernel} {list(launch.global_size)}"
        try:
            program = parse(source.text, source.options, headers=source.headers)
            found = count(
                program,
                launch.kernel,
                launch.global_size,
                launch.local_size,
                launch.arguments,
                global_offset=launch.global_offset,
                machine=machine,
            )
            yield key, digest(found)
        except KernelError as error:
            yield key, f"refused: {error}"


def digest(counts: object) -> str:
    """Return a hash of counts. The text of a float has all its bits."""
    return hashlib.sha256(repr(counts).encode()).hexdigest()[:16]


def compare(before: Path, after: Path) -> None:
    """Print what differs, and fail if something does."""
    sides = [json.loads(path.read_text()) for path in (before, after)]
    first, second = (side["outcomes"] for side in sides)
    differing = [key for key in first if first[key] != second.get(key)]
    for key in differing:
        print(f"{key}: {first[key]} / {second.get(key)}")
    print(f"{len(first)} counted, {len(differing)} differ")
    print(f"CPU seconds: {sides[0]['cpu_s']} / {sides[1]['cpu_s']}")
    sys.exit(bool(differing) or first.keys() != second.keys())


if __name__ == "__main__":
    main()
