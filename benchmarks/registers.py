"""How near the registers that clang alone tells are to those that NVIDIA's assembler allocates.

    python benchmarks/registers.py --corpus DIR [--ptxas PATH] [--programs N] [--seed S]

`ptxas` comes with CUDA, or in the wheel nvidia-cuda-nvcc. Kernels that it refuses are left out.
"""

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cltrace.errors import KernelError
from cltrace.kernels import Machine, Target, parse

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.kernels import of_corpus

_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL)


def main() -> None:
    """Compare, and print how they differ."""
    parser = argparse.ArgumentParser(description="Registers told and allocated.")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--programs", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sources = list(of_corpus(arguments.corpus))
    random.Random(arguments.seed).shuffle(sources)
    pairs: list[tuple[int, int]] = []
    for source in sources[: arguments.programs]:
        try:
            program = parse(source.text, source.options, headers=source.headers)
        except KernelError:
            continue
        allocated = dict(assembled(program.assembly(Target.NVIDIA), arguments.ptxas))
        for name, registers in allocated.items():
            use = program.registers(name, Target.NVIDIA)
            if use is not None:
                pairs.append((use.per_item, registers))
    machine = Machine()
    same = [
        machine.wave_groups(256, 0, told) == machine.wave_groups(256, 0, real)
        for told, real in pairs
    ]
    print(f"kernels {len(pairs)}")
    print(f"told / allocated {statistics.median(told / real for told, real in pairs):.2f} median")
    print(f"the same occupancy {statistics.mean(same):.1%}")


def assembled(ptx: str, ptxas: str) -> Iterator[tuple[str, int]]:
    """The registers of each kernel, as the assembler allocates them. Bodies are inlined."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "program.ptx")
        path.write_text(ptx.replace(".visible .func", ".func"), encoding="utf-8")
        done = subprocess.run(
            [ptxas, "-arch=sm_90", "-v", "-o", "/dev/null", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
    for block in done.stderr.split("ptxas info    : Compiling entry")[1:]:
        found = _ENTRY.search("Compiling entry" + block)
        if found is not None:
            yield found[1], int(found[2])


if __name__ == "__main__":
    main()
