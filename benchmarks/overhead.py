"""What tracing costs: every figure of the table in docs/performance.md.

    python benchmarks/overhead.py [--rounds 9] [--only launches,...] [--json FILE]

Each round runs the ways to be compared one right after the other, as processes of their own, and
every round begins with another of them. A difference is taken within a round; the table has medians
and, in parentheses, quartiles.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from samples import (
    PROGRAMS,
    Spread,
    Used,
    clock_reading_ns,
    differences,
    in_turn,
    report_in,
    shown,
    spread,
    use,
)

import cltrace

PYTHON = sys.executable
CLTRACE = [PYTHON, "-m", "cltrace"]
LAUNCHES = 100_000
MANY_LAUNCHES = 5_000_000
READ_LAUNCHES = 1_000_000
PRODUCTS, PRODUCT_SIZE = 200, 256
MOST_PROCESS_US, MOST_FINALISING_US, MOST_FILE_BYTES = 2.0, 2.5, 100
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. `target` is the most that the project allows itself."""

    name: str
    unit: str
    value: Spread
    target: float | None = None


def single(value: float) -> Spread:
    """Something measured once."""
    return Spread(value, value, value)


@dataclass(frozen=True, slots=True)
class LaunchRun:
    """CPU time of a run of programs/launches.py, in µs a launch, and of what traced it."""

    loop_us: float
    process_us: float
    parent_us: float
    file_bytes: float


class Bench:
    """Runs programs in a scratch directory."""

    def __init__(self, scratch: Path, rounds: int) -> None:
        self.scratch = scratch
        self.rounds = rounds
        self.trace = scratch / "a.cltrace"

    def launch(
        self, arguments: int, launches: int, *, profiling: bool, traced: bool, held: bool = False
    ) -> LaunchRun:
        """Run programs/launches.py under programs/metered.py, perhaps traced."""
        inner, outer = self.scratch / "inner.json", self.scratch / "outer.json"
        numbers = [str(int(one)) for one in (arguments, launches, profiling)]
        mode = "held" if held else "free"
        program = [PYTHON, PROGRAMS / "launches.py", *numbers, mode, inner]
        command = [PYTHON, PROGRAMS / "metered.py", outer, *program]
        used = use([*self.traced_by(), *command] if traced else command)
        found = report_in(inner)
        process_ns = report_in(outer)["cpu_ns"]
        return LaunchRun(
            loop_us=found["loop_cpu_ns"] / launches / 1e3,
            process_us=(process_ns - found["cpu_before_ns"]) / launches / 1e3,
            parent_us=(used.cpu_ns - process_ns) / launches / 1e3,
            file_bytes=self.trace.stat().st_size / launches if traced else 0.0,
        )

    def traced_by(self) -> list[str | Path]:
        """The words before a command that have it traced in silence."""
        return [*CLTRACE, "run", "-q", "-f", "-o", self.trace, "--"]

    def launches(self, arguments: int, most_loop_us: float) -> list[Figure]:
        """The cost of a launch of a one-item kernel with so many arguments."""
        runs = self._launch_runs(arguments)
        loop = {name: [run.loop_us for run in some] for name, some in runs.items()}
        process = {name: [run.process_us for run in some] for name, some in runs.items()}
        short_us = spread([run.parent_us for run in runs["short"]]).median / LAUNCHES
        finalising = spread([run.parent_us - short_us for run in runs["traced"]])
        size = spread([run.file_bytes for run in runs["traced"]])
        what = f"{arguments} argument{'s' if arguments > 1 else ''}"

        def added(used: dict[str, list[float]], traced: str, native: str) -> Spread:
            return spread(differences(used[traced], used[native]))

        return [
            Figure(f"loop, native, {what}", "µs", spread(loop["native"])),
            Figure(f"loop, profiling on, {what}", "µs", spread(loop["profiling"])),
            Figure(f"loop, traced, {what}", "µs", spread(loop["traced"])),
            Figure("added to the loop", "µs", added(loop, "traced", "profiling"), most_loop_us),
            Figure(
                "added to it, queue held", "µs", added(loop, "held, traced", "held"), most_loop_us
            ),
            Figure(f"process, native, {what}", "µs", spread(process["native"])),
            Figure(f"process, profiling on, {what}", "µs", spread(process["profiling"])),
            Figure(
                "added to the process", "µs", added(process, "traced", "profiling"), MOST_PROCESS_US
            ),
            Figure(
                "added to it, queue held",
                "µs",
                added(process, "held, traced", "held"),
                MOST_PROCESS_US,
            ),
            Figure("finalising", "µs", finalising, MOST_FINALISING_US),
            Figure("file", "B", size, MOST_FILE_BYTES),
        ]

    def _launch_runs(self, arguments: int) -> dict[str, list[LaunchRun]]:
        def way(*, profiling: bool, traced: bool, held: bool = False) -> Callable[[], LaunchRun]:
            return lambda: self.launch(
                arguments, LAUNCHES, profiling=profiling, traced=traced, held=held
            )

        return in_turn(
            {
                "native": way(profiling=False, traced=False),
                "profiling": way(profiling=True, traced=False),
                "traced": way(profiling=False, traced=True),
                "held": way(profiling=True, traced=False, held=True),
                "held, traced": way(profiling=False, traced=True, held=True),
                # The parent's own time, without a program to speak of.
                "short": lambda: self.launch(arguments, 1, profiling=False, traced=True),
            },
            self.rounds,
        )

    def program(self) -> list[Figure]:
        """A program that moves data and computes."""
        report = self.scratch / "program.json"
        command = [PYTHON, PROGRAMS / "products.py", str(PRODUCTS), str(PRODUCT_SIZE), "0", report]
        profiling = [*command[:-2], "1", report]

        def way(words: list[str | Path]) -> Callable[[], float]:
            def run() -> float:
                use(words)
                return float(report_in(report)["wall_ns"]) / 1e6

            return run

        walls = in_turn(
            {
                "native": way(command),
                "again": way(command),
                "profiling": way(profiling),
                "traced": way([*self.traced_by(), *command]),
            },
            self.rounds,
        )
        native = walls["native"]

        def beside(name: str) -> Spread:
            pairs = zip(walls[name], native, strict=True)
            return spread([100 * (one / other - 1) for one, other in pairs])

        return [
            Figure("200 products of 256² matrices, native", "ms", spread(native)),
            Figure("the same, native again: the noise", "%", beside("again")),
            Figure("the same, with a profiling queue", "%", beside("profiling")),
            Figure("the same, traced", "%", beside("traced")),
        ]

    def many(self) -> list[Figure]:
        """A program with more launches than memory should hold."""
        peaks = {}
        for name, words in (("native", []), ("traced", self.traced_by())):
            outer, inner = self.scratch / "outer.json", self.scratch / "inner.json"
            program = [PROGRAMS / "launches.py", "1", str(MANY_LAUNCHES), "1", "bounded", inner]
            use([*words, PYTHON, PROGRAMS / "metered.py", outer, PYTHON, *program])
            peaks[name] = report_in(outer)["peak_bytes"]
        with cltrace.load(self.trace) as trace:
            found = trace.rows(
                "SELECT count(*), count(end_device_ns) FROM v_command WHERE kind = 'kernel'"
            )[0]
        lost = MANY_LAUNCHES + 100 - min(found)
        added_mb = (peaks["traced"] - peaks["native"]) / MB
        return [
            Figure(f"lost of {MANY_LAUNCHES:,} launches", "", single(lost), 0),
            Figure("memory added to them", "MB", single(added_mb), 200),
        ]

    def start(self) -> list[Figure]:
        """What there is to wait for before and after a program."""
        nothing = [PYTHON, "-c", "pass"]
        once = [PYTHON, PROGRAMS / "launches.py", "1", "1", "1", "free", self.scratch / "once.json"]
        used = in_turn(
            {
                "nothing": lambda: use(nothing),
                "import": lambda: use([PYTHON, "-c", "import cltrace"]),
                "nothing traced": lambda: use([*self.traced_by(), *nothing]),
                "once": lambda: use(once),
                "once traced": lambda: use([*self.traced_by(), *once]),
            },
            2 * self.rounds,
        )

        def added_ms(name: str, beside: str) -> Spread:
            return spread(differences(_walls_ms(used[name]), _walls_ms(used[beside])))

        return [
            Figure("`import cltrace`", "ms", added_ms("import", "nothing"), 60),
            Figure(
                "`run`, a program without OpenCL", "ms", added_ms("nothing traced", "nothing"), 250
            ),
            Figure("`run`, a program with one launch", "ms", added_ms("once traced", "once"), 250),
        ]

    def reading(self) -> list[Figure]:
        """The summary of a long trace."""
        self.launch(1, READ_LAUNCHES, profiling=True, traced=True)
        summary = [*CLTRACE, "summary", self.trace]
        used = in_turn({"summary": lambda: use(summary)}, self.rounds)["summary"]
        what = f"`summary` of {READ_LAUNCHES:,} commands"
        return [
            Figure(what, "s", spread([one.wall_ns / 1e9 for one in used]), 1.0),
            Figure(f"{what}, memory", "MB", spread([one.peak_bytes / MB for one in used]), 300),
        ]


def _walls_ms(used: list[Used]) -> list[float]:
    return [one.wall_ns / 1e6 for one in used]


def table_of(figures: list[Figure]) -> Table:
    """The figures beside what they may be."""
    table = Table(box=None, pad_edge=False)
    table.add_column("what")
    for heading in ("median (quartiles)", "unit", "at most"):
        table.add_column(heading, justify="right")
    for figure in figures:
        is_single = figure.value.low == figure.value.high
        value = shown(figure.value.median) if is_single else str(figure.value)
        target = "" if figure.target is None else f"{figure.target:g}"
        is_over = figure.target is not None and figure.value.median > figure.target
        table.add_row(figure.name, value, figure.unit, f"{target} over" if is_over else target)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="2 or more (default 9)")
    parser.add_argument("--only", default="start,launches,program,reading,many")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cltrace-bench-") as scratch:
        bench = Bench(Path(scratch), arguments.rounds)
        sections: dict[str, Callable[[], list[Figure]]] = {
            "start": bench.start,
            "launches": lambda: [*bench.launches(1, 1.0), *bench.launches(4, 1.3)],
            "program": bench.program,
            "reading": bench.reading,
            "many": bench.many,
        }
        figures = [Figure("reading the clock once, before", "ns", single(clock_reading_ns()))]
        for name in arguments.only.split(","):
            figures += sections[name]()
        figures.append(Figure("reading the clock once, after", "ns", single(clock_reading_ns())))
    Console().print(table_of(figures))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in figures], indent=1))


if __name__ == "__main__":
    main()
