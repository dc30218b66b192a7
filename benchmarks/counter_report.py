"""Last step of `counters.py`: count jobs, compare them with counters, and print the agreement."""

import csv
import gzip
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.counter_comparison import QUANTITIES, Pair, Quantity, Score, compare, scores
from benchmarks.counter_counts import JobCounts, Row, count_job
from benchmarks.counter_jobs import Job
from cltrace.errors import KernelError
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

_NOTE: Final = """\
Values agree within 1 % (requests, sectors, operations, cycles), 15 % (L2, DRAM, registers) or 10 points
(warps). DRAM bytes below 1 MiB or 1 % of the footprint on both sides agree.\
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Agreement of all quantities. `failures` has the reason of each job that cannot be counted."""

    pairs: Mapping[str, Sequence[Pair]]
    quantities: Sequence[Quantity]
    failures: Mapping[str, str]

    def scores(self) -> Iterator[Score]:
        """Yield the scores of each quantity, by set."""
        for quantity in self.quantities:
            yield from scores(quantity, self.pairs[quantity.name])

    def share(self, name: str) -> float:
        """Return the share of launches in which a quantity agrees."""
        pairs = self.pairs[name]
        return sum(pair.agrees for pair in pairs) / len(pairs)


def read_rows(path: Path) -> Mapping[str, Row]:
    """Read the rows of measured launches by name, from a CSV file, compressed or not."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return {row["name"]: row for row in csv.DictReader(io.StringIO(text)) if not row["error"]}


def compare_jobs(jobs: Sequence[Job], rows: Mapping[str, Row], profile: str) -> Comparison:
    """Count jobs on the machine of a profile, and compare them with rows of counters."""
    stored = load_profile(profile)
    costs, machine = OVERLAP.for_device(stored).costs, machine_of(stored.device)
    counted: dict[str, JobCounts] = {}
    failures: dict[str, str] = {}
    for job in jobs:
        if job.name in rows:
            try:
                counted[job.name] = count_job(job, machine, costs)
            except (KernelError, ValueError) as error:
                failures[job.name] = str(error)
    sets = {job.name: job.set_name for job in jobs}
    pairs = {item.name: compare(item, counted, rows, sets) for item in QUANTITIES}
    return Comparison(pairs, QUANTITIES, failures)


def print_table(comparison: Comparison) -> None:
    """Print a table of scores, then all disagreements."""
    print(f"{'quantity':45} {'set':16} {'launches':>8} {'agree':>7} {'goal':>6} {'median':>8}")
    for score in comparison.scores():
        goal = "" if score.goal is None else f"{score.goal:.0%}"
        print(
            f"{score.quantity:45} {score.set_name:16} {score.launches:8} {score.share:7.1%} {goal:>6} "
            f"{score.median_ratio:8.3f}"
        )
    print(f"\n{_NOTE}")
    for quantity, pairs in comparison.pairs.items():
        outside = [pair for pair in pairs if not pair.agrees]
        if outside:
            print(f"\n{quantity}: counted, measured, ratio")
        for pair in sorted(outside, key=lambda pair: pair.launch):
            print(f"  {pair.launch:60} {pair.value:16,.1f} {pair.counter:16,.1f} {pair.ratio:8.3f}")
    for name, reason in comparison.failures.items():
        print(f"{name}: {reason}", file=sys.stderr)


def print_json(comparison: Comparison) -> None:
    """Print scores and disagreements as JSON."""
    document = {
        "scores": [_finite(asdict(score)) for score in comparison.scores()],
        "disagreements": [
            {"quantity": quantity, **_finite(asdict(pair))}
            for quantity, pairs in comparison.pairs.items()
            for pair in pairs
            if not pair.agrees
        ],
        "failures": dict(comparison.failures),
    }
    print(json.dumps(document, indent=1))


def _finite(values: Mapping[str, object]) -> Mapping[str, object]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in values.items()
    }
