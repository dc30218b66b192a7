"""What reading a timeline costs: the last table of docs/performance.md.

    python benchmarks/timeline.py [--launches 1000000] [--rounds 3] [--json FILE]

Traces that many launches once, then reads the trace in every way, each in a process of its own but for
the clock map, which is fitted anew from what the trace recorded.
"""

import argparse
import gzip
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from samples import PROGRAMS, clock_reading_ns, spread, use

import cltrace
from cltrace.timeline.reading import read_commands
from cltrace.timeline.timekeeping import fit_device_clocks

CLTRACE = [sys.executable, "-m", "cltrace"]
MB = 1_000_000


def main() -> None:
    """Trace, read, print."""
    parser = argparse.ArgumentParser(description="What reading a timeline costs.")
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "launches.cltrace"
        report = str(Path(scratch) / "report.json")
        program = [PROGRAMS / "launches.py", "1", str(arguments.launches), "1", "bounded", report]
        use([*CLTRACE, "run", "-q", "-o", trace, sys.executable, *program])
        found = figures(trace, Path(scratch), arguments.rounds)
    whole = {
        "machine": platform.platform(),
        "cltrace": cltrace.__version__,
        "launches": arguments.launches,
        "clock_reading_ns": clock_reading_ns(),
        "figures": found,
    }
    print(json.dumps(whole, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")


def figures(trace: Path, scratch: Path, rounds: int) -> dict[str, str]:
    """Each figure in words: median and quartiles."""
    with cltrace.load(trace) as opened:
        commands = opened.rows("SELECT count(*) FROM v_command")[0][0]
    exported = scratch / "x.pftrace"
    verbs = {
        "summary": ["summary", trace],
        "summary of one kernel": ["summary", trace, "--kernel", "nothing"],
        "timeline": ["timeline", trace],
        "export to perfetto": ["export", trace, "-f", "-o", exported],
    }
    results = {"commands": str(commands)}
    for name, words in verbs.items():
        used = [use([*CLTRACE, *words]) for _ in range(max(rounds, 2))]
        seconds = spread([one.wall_ns / 1e9 for one in used])
        peak = statistics.median(one.peak_bytes for one in used) / MB
        results[name] = f"{seconds} s, {peak:.0f} MB"
    with cltrace.load(trace) as opened:
        found, queues = read_commands(opened)
    fits = [_seconds(lambda: fit_device_clocks(found, queues)) for _ in range(max(rounds, 2))]
    results["clock map"] = f"{spread(fits)} s"
    size = exported.stat().st_size
    squeezed = len(gzip.compress(exported.read_bytes(), 6))
    results["perfetto file"] = (
        f"{size / commands:.1f} B a command, {squeezed / commands:.1f} B compressed"
    )
    return results


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
