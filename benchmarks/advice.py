"""Gains that advice states, against gains that following it has: a table in Markdown.

    python benchmarks/advice.py [--rounds 7] [--only finish-in-loop,…] [--json FILE]

Each case of `programs/advice` is a mistake and its remedy. The program with the mistake is recorded, and
its finding states a gain with an interval. Both variants run in turn within one process, untraced and
traced; the measured gain is the difference of their medians. Recordings and such runs take turns, because
a machine is not equally fast at all times. A measured gain within the interval holds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

import cltrace
from cltrace.timeline.advice import Finding
from cltrace.timeline.analysis import Analysis

PROGRAMS = Path(__file__).parent / "programs" / "advice"
MODULES = ("waits", "transfers", "launches", "gaps", "queues")
CLTRACE = [sys.executable, "-m", "cltrace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A stated gain, two measured ones, and times of the variant with the mistake: `recorded_ns` is that
    of the recording with the statement.

    `noise_ns` is half of the distance between the quartiles of the untraced gain. `others` are rules with
    further findings. The stated gain is `None` without a finding.
    """

    case: str
    rule: str
    before_ns: int
    recorded_ns: int
    stated_ns: int | None
    low_ns: int | None
    high_ns: int | None
    measured_ns: int
    noise_ns: int
    traced_ns: int
    others: tuple[str, ...]

    def holds(self, measured_ns: int) -> bool:
        """Return whether a measured gain lies within the stated interval."""
        if self.low_ns is None or self.high_ns is None:
            return False
        return self.low_ns <= measured_ns <= self.high_ns


def cases() -> Iterator[tuple[Path, str, str]]:
    """Yield the module, the name and the rule of each case."""
    for module in MODULES:
        path = PROGRAMS / f"{module}.py"
        listed = subprocess.run([sys.executable, path, "--list"], capture_output=True, check=True)
        for name, rule in json.loads(listed.stdout).items():
            yield path, name, rule


def compare(command: Sequence[str | Path], rounds: int) -> tuple[int, int, int]:
    """Return the median time of the mistake, the gain, and the gain's noise, in ns."""
    done = subprocess.run([*command, "compare", str(rounds)], capture_output=True, check=True)
    times = json.loads(done.stdout.splitlines()[-1])
    before, after = times["before_ns"], times["after_ns"]
    whole = statistics.median(before)
    differences = [one - other for one, other in zip(before, after, strict=True)]
    first, _, third = statistics.quantiles(differences, n=4)
    return round(whole), round(whole - statistics.median(after)), round((third - first) / 2)


def record(path: Path, name: str, trace: Path) -> tuple[int, tuple[Finding, ...]]:
    """Record a mistake, and return its time in ns and its findings, also those of little gain."""
    command = [*CLTRACE, "run", "-q", "-o", trace, sys.executable, path, name, "before"]
    done = subprocess.run(command, check=True, capture_output=True)
    with cltrace.load(trace) as opened:
        findings = Analysis(opened).findings
    return int(json.loads(done.stdout)["ns"]), findings.worthwhile(0.0)


def measure(path: Path, name: str, rule: str, rounds: int) -> Pair:
    """Return the stated and the measured gains of a case."""
    command: list[str | Path] = [sys.executable, path, name]
    with tempfile.TemporaryDirectory() as directory:
        traced_as = [*CLTRACE, "run", "-q", "-o", Path(directory) / "rounds.cltrace"]
        recordings = [record(path, name, Path(directory) / "0.cltrace")]
        before_ns, measured_ns, noise_ns = compare(command, rounds)
        recordings.append(record(path, name, Path(directory) / "1.cltrace"))
        _, traced_ns, _ = compare([*traced_as, *command], rounds)
        recordings.append(record(path, name, Path(directory) / "2.cltrace"))
    # The quietest recording: another program's work would count as the mistake's.
    recorded_ns, findings = min(recordings, key=lambda each: each[0])
    gain = next((each.gain for each in findings if each.rule == rule), None)
    return Pair(
        case=name,
        rule=rule,
        before_ns=before_ns,
        recorded_ns=recorded_ns,
        stated_ns=None if gain is None else gain.expected_ns,
        low_ns=None if gain is None else gain.low_ns,
        high_ns=None if gain is None else gain.high_ns,
        measured_ns=measured_ns,
        noise_ns=noise_ns,
        traced_ns=traced_ns,
        others=tuple(each.rule for each in findings if each.rule != rule),
    )


def table(pairs: Sequence[Pair]) -> str:
    """Return the pairs as a table in Markdown."""
    lines = [
        "| case | rule | time | stated gain (ms) | interval | measured | traced |",
        "| --- | --- | --: | --: | --: | --: | --: |",
    ]
    for pair in pairs:
        marks = ["" if pair.holds(each) else " ✗" for each in (pair.measured_ns, pair.traced_ns)]
        cells = (
            pair.case,
            f"`{pair.rule}`",
            f"{_ms(pair.before_ns)} ms",
            _ms(pair.stated_ns),
            f"{_ms(pair.low_ns)} … {_ms(pair.high_ns)}",
            f"{_ms(pair.measured_ns)} ± {_ms(pair.noise_ns)}{marks[0]}",
            f"{_ms(pair.traced_ns)}{marks[1]}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _ms(time_ns: int | None) -> str:
    return "–" if time_ns is None else f"{time_ns / 1e6:.2f}"


def main() -> None:
    """Measure the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pairs = []
    console = Console()
    for path, name, rule in cases():
        if arguments.only is None or name in arguments.only:
            pairs.append(measure(path, name, rule, arguments.rounds))
            console.print(table(pairs[-1:]).splitlines()[-1], pairs[-1].others, soft_wrap=True)
    console.print(table(pairs), soft_wrap=True)
    untraced = sum(pair.holds(pair.measured_ns) for pair in pairs)
    traced = sum(pair.holds(pair.traced_ns) for pair in pairs)
    console.print(f"{untraced} of {len(pairs)} hold untraced, {traced} traced")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")


if __name__ == "__main__":
    main()
