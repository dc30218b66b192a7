"""Cost of tracing per call of each entry point: a row per hook and form of call.

    python benchmarks/entry_points.py [--rounds 9] [--only launches,...] [--json FILE]

Each round times the same calls in one process per way: on a plain queue, on a queue with profiling, and
traced. The processes take turns, a few rows at a time. Every turn begins with another way, and every
round has another order of the rows. All threads of a process are bound to one processor.
The unit is µs of CPU time of the calling thread per call. *Added* is the difference of the traced way to
the queue with profiling, within a round; the table has medians with quartiles.
"""

import argparse
import json
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text
from samples import Spread, clock_reading_ns, differences, shown, spread
from turns import Round, Times, Way, run_round

import cltrace

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.programs.cases import SUBJECTS
from benchmarks.programs.cases.case import Case

WIDTH: Final = 80
NATIVE, PROFILING, TRACED, BESIDE = "native", "profiling", "traced", "beside"


@dataclass(frozen=True, slots=True)
class Costs:
    """Times per call in µs. `beside` is what another tool adds, `None` without such a tool."""

    native: Spread
    profiling: Spread
    added: Spread
    beside: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Figures of a case. `reason` tells why it was not measured; it is empty otherwise.

    `cpu` is the CPU time of the calling thread, `wall` the wall time; `None` if not measured.
    `samples_ns` are the CPU times of all rounds, by way.
    """

    subject: str
    name: str
    hooks: Sequence[str]
    calls: int
    target_us: float | None
    reason: str
    cpu: Costs | None
    wall: Costs | None
    samples_ns: Mapping[str, Sequence[float]]

    @property
    def is_over(self) -> bool:
        """True if tracing adds more than the target."""
        if self.cpu is None or self.target_us is None:
            return False
        return self.cpu.added.median > self.target_us


def ways_of(request: Mapping[str, Any], beside: Sequence[str], trace: Path) -> Mapping[str, Way]:
    """Return the ways to make the calls. `beside` are the words before them of another tool, if any."""
    recorder = [sys.executable, "-m", "cltrace", "run", "-q", "-f", "-o", str(trace), "--"]
    plain = {**request, "has_profiling": False}
    ways = {
        NATIVE: Way([], plain),
        PROFILING: Way([], {**request, "has_profiling": True}),
        TRACED: Way(recorder, plain),
    }
    return {**ways, BESIDE: Way(beside, plain)} if beside else ways


def run_rounds(request: Mapping[str, Any], beside: Sequence[str], rounds: int) -> Sequence[Round]:
    """Run the rounds. Raises `RuntimeError` when a process fails or tracing stops in it."""
    cases = [(subject, case.name) for subject in request["subjects"] for case in SUBJECTS[subject]]
    results = []
    with tempfile.TemporaryDirectory(prefix="cltrace-bench-") as scratch:
        trace = Path(scratch) / "a.cltrace"
        ways = ways_of(request, beside, trace)
        for number in range(rounds):
            results.append(run_round(ways, cases, number))
            check_trace(trace)
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return results


def check_trace(path: Path) -> None:
    """Raise `RuntimeError` if tracing stopped: the calls after that cost nothing."""
    with cltrace.load(path) as trace:
        errors = trace.rows("SELECT message FROM v_diagnostic WHERE severity = 'error'")
    if errors:
        raise RuntimeError(f"tracing failed, so there are no figures: {errors[0][0]}")


def rows_of(subjects: Sequence[str], rounds: Sequence[Round]) -> Iterator[Row]:
    """Yield the rows of subjects in the order of their declaration."""
    for subject in subjects:
        for case in SUBJECTS[subject]:
            key = (subject, case.name)
            ways = rounds[0].times
            yield row_of(
                subject, case, {way: [each.times[way][key] for each in rounds] for way in ways}
            )


def row_of(subject: str, case: Case, runs: Mapping[str, Sequence[Times]]) -> Row:
    """Return the row of a case from its reports, by way and round."""
    reason = reason_of(runs)
    return Row(
        subject=subject,
        name=case.name,
        hooks=case.hooks,
        target_us=case.target_us,
        reason=reason,
        calls=0 if reason else runs[NATIVE][0]["calls"],
        cpu=None if reason else costs_of(runs, "cpu_ns"),
        wall=None if reason else costs_of(runs, "wall_ns"),
        samples_ns={}
        if reason
        else {way: [round(run["cpu_ns"]) for run in kept] for way, kept in runs.items()},
    )


def reason_of(runs: Mapping[str, Sequence[Times]]) -> str:
    """Return the reason why a case was not measured; empty if it was, in all ways."""
    reasons = {way: run["reason"] for way, kept in runs.items() for run in kept if "reason" in run}
    if NATIVE in reasons:
        return str(reasons[NATIVE])
    return "; ".join(f"{way}: {reason}" for way, reason in reasons.items())


def costs_of(runs: Mapping[str, Sequence[Times]], unit: str) -> Costs:
    """Return the costs of a case in µs, from its times in ns."""
    times_us = {way: [case[unit] / 1e3 for case in cases] for way, cases in runs.items()}
    beside = times_us.get(BESIDE)
    return Costs(
        native=spread(times_us[NATIVE]),
        profiling=spread(times_us[PROFILING]),
        added=spread(differences(times_us[TRACED], times_us[PROFILING])),
        beside=None if beside is None else spread(differences(beside, times_us[PROFILING])),
    )


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows by subject, with the targets beside the figures."""
    has_beside = any(row.cpu is not None and row.cpu.beside is not None for row in rows)
    table = Table(box=None, pad_edge=False, width=WIDTH)
    table.add_column("CPU time per call, µs", ratio=1)
    headings = ["native", "added (quartiles)", *(["beside"] if has_beside else []), "target"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    subject = ""
    for row in rows:
        if row.cpu is None:
            continue
        if row.subject != subject:
            subject = row.subject
            table.add_row(Text(subject, style="bold"))
        beside = [] if row.cpu.beside is None else [shown(row.cpu.beside.median)]
        target = "" if row.target_us is None else f"{row.target_us:g}"
        target = f"{target} over" if row.is_over else target
        figures = [shown(row.cpu.native.median), str(row.cpu.added), *beside, target]
        table.add_row(Text(f"  {row.name}"), *figures)
    return table


def provenance(device: Mapping[str, str], clock_ns: Sequence[float]) -> Mapping[str, Any]:
    """Return the device, the versions and the speed of the machine."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "cltrace": cltrace.__version__,
        "device": device,
        "clock_reading_ns": clock_ns,
    }


def parse_arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="run N rounds, 2 or more (default 9)")
    parser.add_argument(
        "--only",
        default=",".join(SUBJECTS),
        metavar="SUBJECT,...",
        help=f"measure these subjects only: {', '.join(SUBJECTS)}",
    )
    parser.add_argument(
        "--calls-factor",
        type=float,
        default=1.0,
        metavar="X",
        help="multiply the numbers of calls by X",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument(
        "--platform",
        default="",
        metavar="NAME",
        help="use the first platform whose name contains NAME",
    )
    parser.add_argument(
        "--beside",
        default="",
        metavar="COMMAND",
        help="measure the calls under another tool too: `VARIABLE=VALUE ... PROGRAM ARGUMENT ...`, "
        "words before the program's command line",
    )
    arguments = parser.parse_args()
    requested = arguments.only.split(",")
    if unknown := sorted(set(requested) - set(SUBJECTS)):
        parser.error(f"no subject {', '.join(unknown)}: choose from {', '.join(SUBJECTS)}")
    arguments.only = [subject for subject in SUBJECTS if subject in requested]
    if arguments.rounds < 2:
        parser.error(f"--rounds {arguments.rounds}: quartiles need 2 or more")
    return arguments


def words_before(command: str) -> list[str]:
    """Return the words before a program's command line that run it under another tool."""
    words = shlex.split(command)
    return ["env", *words] if words else []


def main() -> None:
    """Measure, print, store."""
    arguments = parse_arguments()
    request = {
        "platform": arguments.platform,
        "subjects": arguments.only,
        "calls_factor": arguments.calls_factor,
    }
    clock_before_ns = clock_reading_ns()
    try:
        rounds = run_rounds(request, words_before(arguments.beside), arguments.rounds)
    except RuntimeError as error:
        sys.exit(f"entry_points.py: {error}")
    device = rounds[0].device
    conditions = provenance(device, [clock_before_ns, clock_reading_ns()])
    rows = list(rows_of(arguments.only, rounds))
    console = Console(width=WIDTH)
    console.print(table_of(rows))
    for row in rows:
        if row.reason:
            console.print(Text(f"not measured: {row.subject}, {row.name}: {row.reason}"))
    console.print(Text(f"{device['name']}, {device['platform']} {device['driver_version']}"))
    if arguments.json:
        options = {"rounds": arguments.rounds, "beside": arguments.beside, **request}
        figures = {**conditions, **options, "rows": [asdict(row) for row in rows]}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
