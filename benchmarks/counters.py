"""Compare the counts of launches with the hardware counters of an NVIDIA GPU.

    python benchmarks/counters.py prepare JOBS --trace TRACE...
    python benchmarks/counters.py measure JOBS COUNTERS      # on the device; needs Nsight Compute
    python benchmarks/counters.py compare JOBS COUNTERS

`prepare` writes a file of launches with their contents. `measure` builds them with NVIDIA's OpenCL, takes
the PTX of the programs and launches it through CUDA's driver, whose counters Nsight Compute reads; it
writes a CSV file with a row per launch. `compare` counts the same launches and prints how far the counts
are from the counters.
"""

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import counter_choice
from benchmarks.counter_jobs import Job, read_jobs, write_jobs
from benchmarks.counter_profiler import Measurement
from benchmarks.counter_report import compare_jobs, print_json, print_table, read_rows
from benchmarks.counter_stages import ptx_path

_LIMIT_S: Final = 345.0


def main() -> None:
    """Run the action that the command line names."""
    parser = argparse.ArgumentParser(description="Compare counts with hardware counters.")
    actions = parser.add_subparsers(dest="action", required=True)
    prepare = actions.add_parser("prepare", help="choose launches")
    prepare.add_argument("jobs", type=Path)
    prepare.add_argument("--trace", type=Path, action="append", default=[])
    prepare.add_argument("--traced", type=int, default=36, help="use at most N launches per trace")
    prepare.add_argument("--seed", type=int, default=7001)
    measure = actions.add_parser("measure", help="read hardware counters")
    measure.add_argument("jobs", type=Path)
    measure.add_argument("output", type=Path)
    measure.add_argument(
        "--platform", default="NVIDIA", help="use the OpenCL platform of this name"
    )
    measure.add_argument(
        "--limit", type=float, default=_LIMIT_S, help="start nothing after S seconds"
    )
    comparing = actions.add_parser("compare", help="compare counts with counters")
    comparing.add_argument("jobs", type=Path)
    comparing.add_argument("counters", type=Path)
    comparing.add_argument("--profile", default="nvidia-h200", help="count for the device of this")
    comparing.add_argument("--format", choices=("table", "json"), default="table")
    arguments = parser.parse_args()
    match arguments.action:
        case "prepare":
            jobs = counter_choice.choose(arguments.trace, arguments.seed, arguments.traced)
            write_jobs(jobs, arguments.jobs)
            print(f"{len(jobs)} launches, {arguments.jobs.stat().st_size:,} B")
        case "measure":
            measure_jobs(arguments.jobs, arguments.output, arguments.limit, arguments.platform)
        case _:
            rows = read_rows(arguments.counters)
            comparison = compare_jobs(read_jobs(arguments.jobs), rows, arguments.profile)
            (print_json if arguments.format == "json" else print_table)(comparison)


def measure_jobs(jobs_path: Path, output: Path, limit_s: float, platform: str) -> None:
    """Measure jobs, and write counters, PTX and a log beside each other."""
    jobs = read_jobs(jobs_path)
    with (
        tempfile.TemporaryDirectory(prefix="cltrace-counters-") as name,
        output.with_suffix(".log").open("w", encoding="utf-8") as log,
    ):
        directory = Path(name)
        measurement = Measurement(
            jobs_path, jobs, output, directory, platform, log, time.monotonic() + limit_s
        )
        try:
            measurement.run()
        finally:
            texts = json.dumps(dict(_assemblies(jobs, directory)))
            output.with_suffix(".ptx.json.gz").write_bytes(gzip.compress(texts.encode(), mtime=0))
    failed = sum("error" in row for row in measurement.rows.values())
    counted = sum("warm dram__bytes_read.sum" in row for row in measurement.rows.values())
    print(f"{len(jobs)} launches, {counted} with counters, {failed} failed")


def _assemblies(jobs: Sequence[Job], directory: Path) -> Iterator[tuple[str, str]]:
    for number, job in enumerate(jobs):
        path = ptx_path(directory, number)
        if path.exists():
            yield job.name, path.read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()
