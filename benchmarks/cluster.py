"""What a run of many ranks costs to read: the tables of docs/cluster.md.

    python benchmarks/cluster.py [--ranks 8] [--launches 1250000] [--rounds 3] [--json FILE]

Traces each rank by itself, merges them, sums the whole up in every way, exports each rank to one Parquet
dataset, and asks DuckDB and Dask.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from samples import PROGRAMS, Used, clock_reading_ns, spread, use

import cltrace

CLTRACE = [sys.executable, "-m", "cltrace"]
EXAMPLE = Path(__file__).parents[1] / "examples" / "dask_summary.py"
MB = 1_000_000
DUCKDB = """
import duckdb, sys
duckdb.sql("SELECT rank, kernel, count(*), sum(duration_ns), median(duration_ns), max(duration_ns) "
           f"FROM read_parquet('{sys.argv[1]}/*/v_command/**/*.parquet', hive_partitioning = true) "
           "GROUP BY ALL ORDER BY ALL").fetchall()
"""


def main() -> None:
    """Trace, merge, export, ask, print."""
    parser = argparse.ArgumentParser(description="What many ranks cost.")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--launches", type=int, default=1_250_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = figures(Path(scratch), arguments.ranks, arguments.launches, arguments.rounds)
    whole = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "cltrace": cltrace.__version__,
        "ranks": arguments.ranks,
        "launches of a rank": arguments.launches,
        "clock_reading_ns": clock_reading_ns(),
        "figures": found,
    }
    print(json.dumps(whole, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")


def figures(scratch: Path, ranks: int, launches: int, rounds: int) -> dict[str, str]:
    """Each figure in words: median, quartiles and the most memory of one process."""
    traces = [scratch / f"rank{rank}.cltrace" for rank in range(ranks)]
    whole, dataset = scratch / "all.cltrace", scratch / "dataset"
    dataset.mkdir()
    for rank, trace in enumerate(traces):
        os.environ["OMPI_COMM_WORLD_RANK"] = str(rank)
        program = [PROGRAMS / "launches.py", "1", str(launches), "1", "bounded", scratch / "r.json"]
        use([*CLTRACE, "run", "-q", "-o", trace, sys.executable, *program])
    del os.environ["OMPI_COMM_WORLD_RANK"]
    merging = [use([*CLTRACE, "merge", "-f", "-o", whole, *traces])]
    exports = [
        use([*CLTRACE, "export", trace, "-o", dataset / f"{trace.stem}.parquet"])
        for trace in traces
    ]
    ways: dict[str, Sequence[str | Path]] = {
        "summary": [*CLTRACE, "summary", whole],
        "summary of one kernel": [*CLTRACE, "summary", whole, "--kernel", "nothing"],
        "DuckDB": [sys.executable, "-c", DUCKDB, dataset],
        "Dask, two workers": [sys.executable, EXAMPLE, dataset],
    }
    return {
        "merge": told(merging),
        "export of a rank": told(exports),
        **{name: told([use(words) for _ in range(rounds)]) for name, words in ways.items()},
    }


def told(used: Sequence[Used]) -> str:
    """Time and memory in words."""
    seconds = [one.wall_ns / 1e9 for one in used]
    time = str(spread(seconds)) if len(seconds) > 1 else f"{seconds[0]:.1f}"
    return f"{time} s, {statistics.median(one.peak_bytes for one in used) / MB:.0f} MB"


if __name__ == "__main__":
    main()
