"""Cost of tracing whole programs: their CPU time and wall time, and those of the whole command.

    python benchmarks/whole_programs.py [--rounds 5] [--only arrays,...] [--json FILE]

Each round runs every program natively with profiling queues, and traced by hooks (`--layer off`) and by
the layer (`--layer on`). *Program* is the traced process, from its start to its end; *command* is all of
`cltrace run`, with finalising. A quotient compares with the native run of the same round; the table has
medians, the file of `--json` all samples. Programs of C have no hooks, and libraries that enable
profiling by themselves do so in every run.

Each program has a long run, of several seconds, and a short one, which shows what tracing costs once.
gputools, reikna and kernel_tuner are used where they are installed, clpeak and clinfo likewise.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from entry_points import check_trace, provenance
from rich.console import Console
from rich.table import Table
from rich.text import Text
from samples import Spread, clock_reading_ns, in_turn, shown, spread, use

import cltrace
from cltrace.intercept.native.build import find_compilers

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.platform import select_pocl

PROGRAMS: Final = Path(__file__).parent / "programs" / "whole"
NATIVE, OFF, ON = "native", "off", "on"
MAX_CPU_QUOTIENT, MAX_WALL_QUOTIENT = 1.15, 1.10
WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class Program:
    """A program of `programs/whole/`, or of the system, and its arguments by length of the run.

    `requires` is a module of Python that it needs. Arguments of a program of `programs/whole/` are its
    steps.
    """

    name: str
    kind: str
    arguments: Mapping[str, str]
    requires: str = ""

    @property
    def ways(self) -> Sequence[str]:
        """The ways to run it."""
        return (NATIVE, OFF, ON) if self.kind == "python" else (NATIVE, ON)


CATALOGUE: Final = (
    Program("arrays", "python", {"long": "1500", "short": "5"}),
    Program("nbody", "python", {"long": "6000", "short": "20"}),
    Program("scans", "python", {"long": "150", "short": "1"}),
    Program("paced", "python", {"long": "100000", "short": "500"}),
    Program("filters", "python", {"long": "25", "short": "1"}, requires="gputools"),
    Program("transforms", "python", {"long": "500", "short": "1"}, requires="reikna"),
    Program("tuning", "python", {"long": "400", "short": "2"}, requires="kernel_tuner"),
    Program("waves", "c", {"long": "200000", "short": "500"}),
    Program("clpeak", "system", {"long": "--transfer-bandwidth", "short": "--kernel-latency"}),
    Program("clinfo", "system", {"short": ""}),
)


@dataclass(frozen=True, slots=True)
class Times:
    """Times of a run of a program, and of the whole command, in s."""

    program_cpu_s: float
    program_wall_s: float
    command_cpu_s: float
    command_wall_s: float


FIGURES: Final = ("program_cpu_s", "program_wall_s", "command_cpu_s", "command_wall_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Figures of a program traced in a way.

    `native_s` and `quotients` are medians with quartiles by figure. `samples_s` has the times of all
    rounds, native and traced, by figure.
    """

    program: str
    length: str
    way: str
    commands: int
    native_s: Mapping[str, Spread]
    quotients: Mapping[str, Spread]
    samples_s: Mapping[str, Mapping[str, Sequence[float]]]

    def is_over(self, figure: str) -> bool:
        """Return True if the quotient of a figure is above its target."""
        target = MAX_CPU_QUOTIENT if "cpu" in figure else MAX_WALL_QUOTIENT
        return self.quotients[figure].median > target


class Bench:
    """Runner of programs in a scratch directory. `platform` is a part of the platform's name.

    Raises: `RuntimeError` when there is no compiler for the meter.
    """

    def __init__(self, scratch: Path, platform: str) -> None:
        self._scratch = scratch
        self._platform = platform
        self._trace = scratch / "a.cltrace"
        self._compiler = next(iter(find_compilers()), None)
        self._meter = self.compile("meter")

    def compile(self, name: str, *libraries: str) -> Path:
        """Compile a program of C."""
        if self._compiler is None:
            raise RuntimeError("there is no C compiler: the meter of processes needs one")
        program = self._scratch / name
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
        words = [*self._compiler.command, *flags, "-o", program, PROGRAMS / f"{name}.c", *libraries]
        subprocess.run(words, check=True)
        return program

    def reason_against(self, program: Program) -> str:
        """Return the reason why a program cannot run here; empty if it can."""
        if program.requires and find_spec(program.requires) is None:
            return f"{program.requires} is not installed"
        if program.kind == "system" and shutil.which(program.name) is None:
            return f"{program.name} is not installed"
        if program.kind == "c" and not (self._scratch / program.name).exists():
            try:
                self.compile(program.name, "-l:libOpenCL.so.1")
            except subprocess.CalledProcessError:
                return "it cannot be compiled: libOpenCL.so.1 is missing"
        return ""

    def words_of(self, program: Program, length: str, *, has_profiling: bool) -> list[str | Path]:
        """Return the words that run a program."""
        argument = program.arguments[length]
        if program.kind == "system":
            return [program.name, *argument.split()]
        request = [argument, str(int(has_profiling)), self._platform]
        if program.kind == "c":
            return [self._scratch / program.name, *request]
        return [sys.executable, PROGRAMS / f"{program.name}.py", *request]

    def run(self, program: Program, length: str, way: str) -> Times:
        """Run a program in a way. Raises: `RuntimeError` if it fails or tracing stops in it."""
        report, errors = self._scratch / "report", self._scratch / "errors"
        words = self.words_of(program, length, has_profiling=way == NATIVE)
        metered = [self._meter, report, *words]
        if way == NATIVE:
            use(metered, errors)
            wall_ns, cpu_ns = map(int, report.read_text().split())
            return Times(cpu_ns / 1e9, wall_ns / 1e9, cpu_ns / 1e9, wall_ns / 1e9)
        recorder = [sys.executable, "-m", "cltrace", "run", "-f", "-o", self._trace]
        used = use([*recorder, "--layer", way, "--", *metered], errors)
        check_trace(self._trace)
        wall_ns, cpu_ns = map(int, report.read_text().split())
        return Times(cpu_ns / 1e9, wall_ns / 1e9, used.cpu_ns / 1e9, used.wall_ns / 1e9)

    def count_commands(self) -> int:
        """Return the number of calls in the last trace. Raises: `RuntimeError` if there is none."""
        with cltrace.load(self._trace) as trace:
            calls = int(trace.rows("SELECT coalesce(sum(calls), 0) FROM v_api_rollup")[0][0])
        if not calls:
            raise RuntimeError("nothing was traced, so there are no figures")
        return calls

    def measure(self, program: Program, length: str, rounds: int) -> Iterator[Row]:
        """Yield the rows of a program."""
        commands: dict[str, int] = {}

        def run(way: str) -> Times:
            times = self.run(program, length, way)
            if way != NATIVE:
                commands[way] = self.count_commands()
            return times

        runs = in_turn({way: lambda way=way: run(way) for way in program.ways}, rounds)  # type: ignore[misc]
        for way in program.ways[1:]:
            yield row_of(program, length, way, commands[way], runs)


def row_of(
    program: Program, length: str, way: str, commands: int, runs: Mapping[str, Sequence[Times]]
) -> Row:
    """Return the row of a program in a way."""
    samples = {
        kept: {figure: [getattr(run, figure) for run in runs[kept]] for figure in FIGURES}
        for kept in (NATIVE, way)
    }
    return Row(
        program=program.name,
        length=length,
        way=way,
        commands=commands,
        native_s={figure: spread(samples[NATIVE][figure]) for figure in FIGURES[:2]},
        quotients={
            figure: spread(
                [a / b for a, b in zip(samples[way][figure], samples[NATIVE][figure], strict=True)]
            )
            for figure in FIGURES
        },
        samples_s=samples,
    )


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows, native times beside quotients. A quotient above its target has a star."""
    table = Table(box=None, pad_edge=False, width=WIDTH)
    table.add_column("program", no_wrap=True)
    table.add_column("layer")
    headings = ["calls", "CPU s", "wall s", "program: CPU", "wall", "command: CPU", "wall"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        native = [shown(row.native_s[figure].median) for figure in FIGURES[:2]]
        quotients = [shown_quotient(row, figure) for figure in FIGURES]
        name = f"{row.program}, {row.length}"
        table.add_row(Text(name), row.way, f"{row.commands:,}", *native, *quotients)
    return table


def shown_quotient(row: Row, figure: str) -> str:
    """Return a quotient with half the distance of its quartiles."""
    quotient = row.quotients[figure]
    star = "*" if row.is_over(figure) else " "
    return f"{quotient.median:.2f} ±{(quotient.high - quotient.low) / 2:.2f}{star}"


def parse_arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    names = [program.name for program in CATALOGUE]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="run N rounds, 2 or more (default 5)")
    parser.add_argument(
        "--only",
        default=",".join(names),
        metavar="PROGRAM,...",
        help=f"measure these programs only: {', '.join(names)}",
    )
    parser.add_argument(
        "--length", choices=("long", "short", "both"), default="both", help="choose the runs"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument(
        "--platform",
        default="",
        metavar="NAME",
        help="use the first platform whose name contains NAME; clpeak and clinfo choose by themselves",
    )
    arguments = parser.parse_args()
    requested = arguments.only.split(",")
    if unknown := sorted(set(requested) - set(names)):
        parser.error(f"no program {', '.join(unknown)}: choose from {', '.join(names)}")
    arguments.only = [program for program in CATALOGUE if program.name in requested]
    if arguments.rounds < 2:
        parser.error(f"--rounds {arguments.rounds}: quartiles need 2 or more")
    return arguments


def measure_all(arguments: argparse.Namespace) -> tuple[list[Row], dict[str, str]]:
    """Return the rows, and the reasons for programs that are left out."""
    lengths = ("long", "short") if arguments.length == "both" else (arguments.length,)
    rows: list[Row] = []
    left_out = {}
    with tempfile.TemporaryDirectory(prefix="cltrace-bench-") as scratch:
        bench = Bench(Path(scratch), arguments.platform)
        for program in arguments.only:
            reason = bench.reason_against(program)
            if reason:
                left_out[program.name] = reason
                continue
            for length in lengths:
                if length in program.arguments:
                    print(f"{program.name}, {length} ", end="", file=sys.stderr, flush=True)
                    try:
                        rows += list(bench.measure(program, length, arguments.rounds))
                    except RuntimeError as error:  # the figures of the other programs stand
                        left_out[f"{program.name}, {length}"] = str(error)
    return rows, left_out


def main() -> None:
    """Measure, print, store."""
    arguments = parse_arguments()
    # An installed package has its bytecode: the first run of each way, which is not kept, writes it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    select_pocl()
    clock_before_ns = clock_reading_ns()
    rows, left_out = measure_all(arguments)
    conditions = provenance({"platform": arguments.platform}, [clock_before_ns, clock_reading_ns()])
    console = Console(width=WIDTH)
    console.print(table_of(rows))
    for name, reason in left_out.items():
        console.print(Text(f"left out: {name}: {reason}"))
    if not rows:
        sys.exit("whole_programs.py: no program was measured")
    if arguments.json:
        options = {"rounds": arguments.rounds, "left_out": left_out}
        figures = {**conditions, **options, "rows": [asdict(row) for row in rows]}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
