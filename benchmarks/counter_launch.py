"""Second stage of `counters.py measure`: launch jobs through CUDA's driver, under a profiler.

The profiler refuses programs with OpenCL, so this one imports nothing that loads it.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.counter_cuda import CudaError, Driver
from benchmarks.counter_jobs import Job
from benchmarks.counter_ptx import PtxError, convert
from benchmarks.counter_stages import (
    LAST_KEY,
    append_row,
    first_line,
    kernel_name,
    numbered_jobs,
    ptx_path,
    stage_parser,
)


def main() -> None:
    """Launch the jobs that the command line names."""
    parser = stage_parser()
    parser.add_argument("--warm-runs", type=int, required=True)
    arguments = parser.parse_args()
    jobs = numbered_jobs(arguments.jobs, arguments.numbers)
    launch(jobs, arguments.directory, arguments.rows, arguments.warm_runs)


def launch(jobs: Sequence[tuple[int, Job]], directory: Path, rows: Path, warm_runs: int) -> None:
    """Launch jobs once each, after `warm_runs` launches that leave their data in the caches.

    A job after which the driver's context is lost ends the stage.
    """
    driver = Driver()
    for number, job in jobs:
        try:
            row = dict(_launch(driver, number, job, directory, warm_runs))
        except (PtxError, ValueError, OSError) as error:
            row = {"error": f"PTX: {first_line(error)}"}
        except CudaError as error:
            row = {"error": f"CUDA: {first_line(error)}"}
            if error.is_sticky:
                append_row(rows, {"number": number, **row, LAST_KEY: True})
                return
        append_row(rows, {"number": number, **row})


def _launch(
    driver: Driver, number: int, job: Job, directory: Path, warm_runs: int
) -> Iterator[tuple[str, Any]]:
    ptx = ptx_path(directory, number).read_text(encoding="utf-8", errors="replace")
    module = convert(ptx, job, kernel_name(number))
    with driver.prepare(job, module) as prepared:
        prepared.fill()
        for _ in range(warm_runs):
            prepared.run()
        prepared.run()
        yield from prepared.attributes().items()


if __name__ == "__main__":
    main()
