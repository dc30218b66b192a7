"""How often the gate is wrong: checks of twenty kernels with no change, and with known ones.

    python benchmarks/verdicts.py record --runs 800 -o series.json    # processes, one after the other
    python benchmarks/verdicts.py live --checks 20 -o live.json       # whole checks of real runs
    python benchmarks/verdicts.py table series.json live.json         # the table of docs/ci.md

`table` resamples: a check takes runs from the series as they came, base and head in turns, from a place
in it that is drawn at random, so that what drifted in the series drifts in the check. A change of time is
put in by a factor on one kernel's times of head. Live checks run `benchmarks/programs/twenty.py` with and
without a real change. Words after `--` are the program's, as `-- --items 1048576 --longer 8`, which
makes its launches long enough for a GPU.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.regress.comparison import Comparison, compare_rounds
from cltrace.regress.floors import Floors
from cltrace.regress.gate import Basis, Outcome, judge
from cltrace.regress.host import host_facts
from cltrace.regress.rounds import Budget, take_rounds
from cltrace.regress.run_records import KernelKey, KernelTime, Round, RunSample
from cltrace.regress.verdicts import Verdict
from cltrace.runs.run_sampler import Invocation, RunSampler
from cltrace.version import __version__

PROGRAM: Final = Path(__file__).with_name("programs") / "twenty.py"
DROP: Final = 2
CHECKS: Final = 200
USUAL: Final = Budget(8, 32)
FEW: Final = Budget(6, 6)
LONG: Final = Budget(8, 64)
Z: Final = 1.96


@dataclass(frozen=True, slots=True)
class Tried:
    """Checks of one kind: how many, how many failed, how many left the changed kernel ambiguous."""

    what: str
    checks: int
    failed: int
    ambiguous: int
    pairs: float


def main() -> None:
    """Record, run or tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    record = actions.add_parser("record")
    record.add_argument("--runs", type=int, default=800)
    record.add_argument("-o", "--output", type=Path, required=True)
    live = actions.add_parser("live")
    live.add_argument("--checks", type=int, default=20)
    live.add_argument("--counted", type=int, default=10, help="checks of each change of a counter")
    live.add_argument(
        "--only", default="", metavar="TEXT,...", help="checks whose names have one of these"
    )
    live.add_argument("--quick", action="store_true", help="six pairs for each check, no more")
    live.add_argument("-o", "--output", type=Path)
    table = actions.add_parser("table")
    table.add_argument("series", type=Path)
    table.add_argument("live", type=Path, nargs="?")
    words, size = parted_words(sys.argv[1:])
    arguments = parser.parse_args(words)
    if size and arguments.action == "table":
        parser.error("a table runs nothing: words after -- are for record and live")
    match arguments.action:
        case "record":
            write(arguments.output, recorded(arguments.runs, size))
        case "live":
            usual = FEW if arguments.quick else USUAL
            found = live_checks(arguments.checks, arguments.counted, usual, arguments.only, size)
            print_rows(found)
            if arguments.output is not None:
                checks = [asdict(one) for one in found]
                write(arguments.output, {**ran_on(size), "checks": checks})
        case _:
            told(arguments.series, arguments.live)


def place(*words: str) -> Invocation:
    """The program with arguments."""
    return Invocation((sys.executable, str(PROGRAM), *words), Path.cwd())


def parted_words(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Our own words, and after `--` the program's."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def recorded(runs: int, size: Sequence[str]) -> Mapping[str, object]:
    """So many processes: the median of each kernel in ns, and when each ended in s from the start."""
    sampling = RunSampler(DROP, num_detailed=0)
    began, names, rows, ended = time.monotonic(), [], [], []
    for number in range(runs):
        found = sampling.run_once(place(*size))
        names = [key.kernel for key in found.kernels]
        rows.append([round(one.median_ns) for one in found.kernels.values()])
        ended.append(round(time.monotonic() - began, 2))
        if number % 50 == 49:
            sys.stderr.write(f"{number + 1} of {runs}\n")
    return {**ran_on(size), "kernels": names, "ended_s": ended, "median_ns": rows}


def ran_on(size: Sequence[str]) -> Mapping[str, object]:
    """What the program is told, and the devices that it ran on."""
    devices = RunSampler(DROP, num_detailed=0).run_once(place(*size)).devices
    return {"program": ["twenty.py", *size], "devices": [asdict(one) for one in devices]}


def live_checks(
    checks: int, counted: int, usual: Budget, only: str, size: Sequence[str]
) -> Sequence[Tried]:
    """Whole checks of real runs: with no change, with one that counters see, with a slower kernel."""
    kinds: Sequence[tuple[str, tuple[str, ...], int, Budget]] = (
        ("live: no change", (), checks, usual),
        ("live: a kernel launched once more", ("--again", "chain_1"), counted, FEW),
        ("live: a kernel's transactions doubled", ("--scattered", "walk_2"), counted, FEW),
        ("live: +25 % trips, by time alone", ("--slower", "mixed_2=1.25"), counted, usual),
    )
    parts = only.split(",")
    return [live(*one, size) for one in kinds if any(part in one[0] for part in parts)]


def live(
    what: str, words: tuple[str, ...], checks: int, budget: Budget, size: Sequence[str]
) -> Tried:
    """Checks of the program beside itself with arguments."""
    sampling = RunSampler(DROP)
    found = []
    for number in range(checks):
        rounds = take_rounds(
            lambda count: sampling.run_pairs(place(*size), place(*size, *words), count), budget
        )
        one = compare_rounds(rounds)
        # Counters see more trips, too: what is asked there is what time alone tells.
        found.append(replace(one, counters=(), work=()) if "time alone" in what else one)
        sys.stderr.write(
            f"{what}: {number + 1} of {checks}, {judge(found[-1], Basis.INTERLEAVED)}\n"
        )
    return counted_up(what, found, words[1].partition("=")[0] if words else "")


def counted_up(what: str, found: Sequence[Comparison], kernel: str) -> Tried:
    """How checks of one kind ended."""
    failed = [judge(one, Basis.INTERLEAVED).outcome is Outcome.REGRESSION for one in found]
    open_ones = [
        not bad and is_ambiguous(one, kernel) for one, bad in zip(found, failed, strict=True)
    ]
    pairs = float(np.median([one.num_pairs for one in found]))
    return Tried(what, len(found), sum(failed), sum(open_ones), pairs)


def is_ambiguous(found: Comparison, kernel: str) -> bool:
    """Whether the changed kernel, or without one any that counts, is left open."""
    return any(
        one.is_open for key, one in found.kernels.items() if not kernel or key.kernel == kernel
    )


class Series:
    """Recorded processes, from which checks take theirs as they came."""

    def __init__(self, stored: Mapping[str, list[list[float]]]) -> None:
        names = [str(one) for one in stored["kernels"]]
        keys = [KernelKey(name, "", "") for name in names]
        self.runs = [
            RunSample(
                (),
                {key: KernelTime(12, 10, ns, 12 * ns) for key, ns in zip(keys, row, strict=True)},
                {},
            )
            for row in stored["median_ns"]
        ]
        self.names = names

    def taker(self, start: int, kernel: str, factor: float) -> Callable[[int], Round]:
        """What takes pairs in turns from a place on, head's times of a kernel by a factor.

        At the end of the series it goes on at its beginning.
        """
        at = start

        def take(count: int) -> Round:
            nonlocal at
            bases: list[RunSample] = []
            heads: list[RunSample] = []
            for number in range(count):
                turn = [bases, heads] if number % 2 == 0 else [heads, bases]
                for side in turn:
                    run = self.runs[at % len(self.runs)]
                    side.append(run if side is bases else slowed(run, kernel, factor))
                    at += 1
            return Round(tuple(bases), tuple(heads))

        return take


def slowed(run: RunSample, kernel: str, factor: float) -> RunSample:
    """A run with one kernel's times by a factor."""
    kernels = {
        key: replace(one, median_ns=one.median_ns * factor, total_ns=one.total_ns * factor)
        if key.kernel == kernel
        else one
        for key, one in run.kernels.items()
    }
    return replace(run, kernels=kernels)


def resampled(series: Series, what: str, factor: float, budget: Budget, floor: float) -> Tried:
    """Checks of runs of the series."""
    chooser = np.random.default_rng(7)
    found = []
    kernel = ""
    verdicts = []
    for number in range(CHECKS):
        kernel = series.names[number % len(series.names)] if factor != 1 else ""
        take = series.taker(int(chooser.integers(len(series.runs))), kernel, factor)
        one = compare_rounds(take_rounds(take, budget, Floors(floor)), Floors(floor))
        found.append(one)
        verdicts.append(
            (judge(one, Basis.INTERLEAVED).outcome is Outcome.REGRESSION, is_ambiguous(one, kernel))
        )
    failed = [bad for bad, _ in verdicts]
    if kernel:  # found is that very kernel
        failed = [
            one.is_slower and slower(one, series.names[n % len(series.names)])
            for n, one in enumerate(found)
        ]
    ambiguous = sum(unsure and not bad for bad, (_, unsure) in zip(failed, verdicts, strict=True))
    pairs = float(np.median([one.num_pairs for one in found]))
    return Tried(what, CHECKS, sum(failed), ambiguous, pairs)


def slower(found: Comparison, kernel: str) -> bool:
    """Whether a kernel is slower beyond doubt."""
    return any(
        one.is_slower and one.finding is not None and one.finding.verdict is Verdict.SLOW
        for key, one in found.kernels.items()
        if key.kernel == kernel
    )


def interval(failed: int, checks: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    share, n = failed / checks, checks
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * float(np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def told(series_path: Path, live_path: Path | None) -> None:
    """Print the table."""
    stored = json.loads(series_path.read_text())
    series = Series(stored)
    rows = [
        resampled(series, "no change, floor 10 %", 1.0, USUAL, 0.10),
        resampled(series, "no change, floor 3 %", 1.0, LONG, 0.03),
        resampled(series, "+25 % on one kernel, floor 10 %", 1.25, USUAL, 0.10),
        resampled(series, "+10 % on one kernel, floor 3 %", 1.10, LONG, 0.03),
    ]
    if live_path is not None:
        rows += [Tried(**one) for one in json.loads(live_path.read_text())["checks"]]
    times = np.array(stored["median_ns"])
    spread = np.std(np.log(times), axis=0)
    print(f"{len(times)} processes of {times.shape[1]} kernels in {stored['ended_s'][-1]:.0f} s;")
    print(
        f"spread of a kernel's time from process to process: {spread.min():.0%} to {spread.max():.0%}\n"
    )
    print_rows(rows)


def print_rows(rows: Sequence[Tried]) -> None:
    """A table in Markdown."""
    print("| checks of 20 kernels | checks | failed | 95 % interval | ambiguous | pairs (median) |")
    print("| --- | --: | --: | --: | --: | --: |")
    for one in rows:
        low, high = interval(one.failed, one.checks)
        print(
            f"| {one.what} | {one.checks} | {one.failed} | {low:.1%} to {high:.1%} | {one.ambiguous} "
            f"| {one.pairs:.0f} |"
        )


def write(path: Path, found: Mapping[str, object]) -> None:
    """A file with where it was measured."""
    where = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "host": asdict(host_facts()),
        "cltrace": __version__,
    }
    path.write_text(json.dumps({**where, **found}) + "\n")


if __name__ == "__main__":
    main()
