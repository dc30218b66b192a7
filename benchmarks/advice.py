"""Gains that advice states, against gains that following it has: a table in Markdown.

    python benchmarks/advice.py [--rounds 7] [--only finish-in-loop,…] [--json FILE] [--traces FOLDER]

Each case of `programs/advice` is a mistake and its remedy. The program with the mistake is recorded,
after a run in which recording is paused, and the findings of its rule state a gain with an interval. Both
variants run in turn within one process, untraced and traced; the measured gain is the difference of
their medians. Gains are shares of the time of the mistake in their own run, because a machine is not
equally fast in all of them. A measured gain within the interval holds. `--traces` keeps the recordings.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from rich.console import Console

import cltrace
from cltrace.timeline.advice.model import Findings, Gain
from cltrace.timeline.analysis import Analysis

PROGRAMS = Path(__file__).parent / "programs" / "advice"
RECORDINGS = 3
MODULES = ("waits", "transfers", "launches", "gaps", "queues")
CLTRACE = [sys.executable, "-m", "cltrace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A stated gain and two measured ones, as shares of the time of the variant with the mistake.

    The stated gain is that of all findings of the rule together, as a remedy follows all of them; its
    shares are `None` without a finding. `noise` is half of the distance between the quartiles of the
    untraced gain. `others` are rules with further findings.
    """

    case: str
    rule: str
    recorded_ns: int
    stated: float | None
    low: float | None
    high: float | None
    before_ns: int
    measured: float
    noise: float
    traced: float
    others: tuple[str, ...]

    def holds(self, measured: float) -> bool:
        """Return whether a measured gain lies within the stated interval."""
        return self.low is not None and self.high is not None and self.low <= measured <= self.high


def cases() -> Iterator[tuple[Path, str, str]]:
    """Yield the module, the name and the rule of each case."""
    for module in MODULES:
        path = PROGRAMS / f"{module}.py"
        listed = subprocess.run([sys.executable, path, "--list"], capture_output=True, check=True)
        for name, rule in json.loads(listed.stdout).items():
            yield path, name, rule


def compare(command: Sequence[str | Path], rounds: int) -> tuple[float, float, float]:
    """Return the median time of the mistake in ns, the gain and its noise as shares of it."""
    done = subprocess.run([*command, "compare", str(rounds)], capture_output=True, check=True)
    times = json.loads(done.stdout.splitlines()[-1])
    before, after = times["before_ns"], times["after_ns"]
    whole = statistics.median(before)
    differences = [one - other for one, other in zip(before, after, strict=True)]
    first, _, third = statistics.quantiles(differences, n=4)
    return whole, (whole - statistics.median(after)) / whole, (third - first) / 2 / whole


def record(path: Path, name: str, trace: Path) -> tuple[int, Findings]:
    """Record a mistake, and return its time in ns and its findings."""
    command = [*CLTRACE, "run", "-q", "-o", trace, sys.executable, path, name, "before", "warm"]
    done = subprocess.run(command, check=True, capture_output=True)
    with cltrace.load(trace) as opened:
        findings = Analysis(opened).findings
    return int(json.loads(done.stdout)["ns"]), findings


def stated_gain(findings: Findings, rule: str) -> Gain | None:
    """Return the gain of all findings of a rule, also of those of little gain; `None` without one."""
    timed = [each for each in findings.worthwhile(0.0) if each.gain is not None]
    gains = [each.gain for each in timed if each.rule == rule and each.gain is not None]
    if len(gains) > 1 and len(gains) == len(timed):
        return findings.together
    if not gains:
        return None
    return Gain(*(sum(parts) for parts in zip(*map(astuple, gains), strict=True)))


def measure(path: Path, name: str, rule: str, rounds: int, kept: Path | None) -> Pair:
    """Return the stated and the measured gains of a case; its recording goes to the folder `kept`."""
    with tempfile.TemporaryDirectory() as directory:
        # The quietest of some recordings: another program's work would count as the mistake's.
        traces = [Path(directory) / f"{at}.cltrace" for at in range(RECORDINGS)]
        recordings = [(*record(path, name, trace), trace) for trace in traces]
        recorded_ns, findings, quietest = min(recordings, key=lambda each: each[0])
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy(quietest, kept / f"{name}.cltrace")
        gain = stated_gain(findings, rule)
        command: list[str | Path] = [sys.executable, path, name]
        before_ns, measured, noise = compare(command, rounds)
        traced_as = [*CLTRACE, "run", "-q", "-o", Path(directory) / "rounds.cltrace"]
        _, traced, _ = compare([*traced_as, *command], rounds)
    return Pair(
        case=name,
        rule=rule,
        recorded_ns=recorded_ns,
        stated=None if gain is None else min(gain.expected_ns / recorded_ns, 1.0),
        low=None if gain is None else min(gain.low_ns / recorded_ns, 1.0),
        high=None if gain is None else min(gain.high_ns / recorded_ns, 1.0),
        before_ns=round(before_ns),
        measured=measured,
        noise=noise,
        traced=traced,
        others=tuple(each.rule for each in findings.worthwhile(0.0) if each.rule != rule),
    )


def table(pairs: Sequence[Pair]) -> str:
    """Return the pairs as a table in Markdown."""
    lines = [
        "| case | rule | time | stated gain | interval | measured | traced |",
        "| --- | --- | --: | --: | --: | --: | --: |",
    ]
    for pair in pairs:
        marks = ["" if pair.holds(each) else " ✗" for each in (pair.measured, pair.traced)]
        cells = (
            pair.case,
            f"`{pair.rule}`",
            f"{pair.before_ns / 1e6:.0f} ms",
            _percent(pair.stated),
            f"{_percent(pair.low)} … {_percent(pair.high)}",
            f"{_percent(pair.measured)} ± {_percent(pair.noise)}{marks[0]}",
            f"{_percent(pair.traced)}{marks[1]}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def main() -> None:
    """Measure the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--traces", type=Path)
    arguments = parser.parse_args()
    pairs = []
    console = Console()
    for path, name, rule in cases():
        if arguments.only is None or name in arguments.only:
            pairs.append(measure(path, name, rule, arguments.rounds, arguments.traces))
            console.print(table(pairs[-1:]).splitlines()[-1], pairs[-1].others, soft_wrap=True)
    console.print(table(pairs), soft_wrap=True)
    untraced = sum(pair.holds(pair.measured) for pair in pairs)
    traced = sum(pair.holds(pair.traced) for pair in pairs)
    console.print(f"{untraced} of {len(pairs)} hold untraced, {traced} traced")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")


if __name__ == "__main__":
    main()
