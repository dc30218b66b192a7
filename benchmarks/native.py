"""Cost of the native layer per call: the same C program with and without it, interleaved.

    python benchmarks/native.py                    # the table
    python benchmarks/native.py --calls 20000 --rounds 3

The queue has profiling in both cases. `caller` is the CPU time of the thread that calls, `wall` its time,
`process` the CPU time of all threads, the driver's included; each in nanoseconds per call, the least of
the rounds: other work on the machine only adds. The targets for a
launch are 500 ns to the caller and 1,500 ns to the process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from ctypes.util import find_library
from pathlib import Path

from cltrace.intercept.native.build import SOURCE_DIRECTORY, build_layer, find_compilers
from cltrace.intercept.native.environment import layered_environment
from cltrace.intercept.native.settings import write_layer_settings
from cltrace.spool.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.platform import select_pocl

PROGRAMS = Path(__file__).parent.parent / "tests" / "native" / "programs"
MEASURES = ("caller", "wall", "process")

Costs = dict[str, tuple[float, ...]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=100_000, help="calls per row and round")
    parser.add_argument("--batch", type=int, default=500, help="calls between two waits")
    parser.add_argument("--rounds", type=int, default=5, help="runs with and without the layer")
    arguments = parser.parse_args()
    if find_library("OpenCL") is None:
        raise SystemExit("no OpenCL loader: install ocl-icd-libopencl1")
    select_pocl()
    with tempfile.TemporaryDirectory() as directory:
        program = build_program(Path(directory))
        command = [str(program), str(arguments.calls), str(arguments.batch)]
        plain: list[Costs] = []
        recorded: list[Costs] = []
        for number in range(arguments.rounds):
            plain.append(run(command, dict(os.environ)))
            parts = Path(directory, f"parts-{number}")
            recorded.append(run(command, recording_environment(parts)))
            subprocess.run(["rm", "-r", str(parts)], check=True)
    print_table(plain, recorded)


def build_program(directory: Path) -> Path:
    program = directory / "costs"
    compiler = next(find_compilers())
    sources = [str(PROGRAMS / "costs.c"), str(PROGRAMS / "common.c")]
    flags = ["-std=gnu11", "-O2", "-I", str(SOURCE_DIRECTORY), "-o", str(program)]
    subprocess.run([*compiler.command, *flags, *sources, "-ldl"], check=True)
    return program


def recording_environment(parts: Path) -> dict[str, str]:
    parts.mkdir(mode=0o700)
    library = build_layer()
    write_layer_settings(parts, Settings(), 0, library=library, record_python=False)
    environment = layered_environment(os.environ, library)
    return {**environment, "CLTRACE_SESSION": str(parts)}


def run(command: list[str], environment: dict[str, str]) -> Costs:
    output = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    lines = (line.split() for line in output.splitlines())
    return {name: tuple(map(float, values)) for name, *values in lines}


def print_table(plain: list[Costs], recorded: list[Costs]) -> None:
    print(f"{'ns per call':20s}" + "".join(f"{name:>9s}   added" for name in MEASURES))
    for name in plain[0]:
        cells = ""
        for position in range(len(MEASURES)):
            without = min(costs[name][position] for costs in plain)
            with_layer = min(costs[name][position] for costs in recorded)
            cells += f"{without:9.0f}{with_layer - without:+8.0f}"
        print(f"{name:20s}{cells}")


if __name__ == "__main__":
    main()
