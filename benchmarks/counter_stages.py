"""Stages of a measurement, each a program of its own: what fails in one does not end the others.

A stage writes one line of JSON per job as soon as the job is done, so the next process knows where the
last one ended.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.counter_jobs import Job, read_jobs

LAST_KEY: Final = "is_last"
"""Key of a row after which a stage ended although jobs were left."""


def kernel_name(number: int) -> str:
    """Return the name under which a profiler sees the job of a number."""
    return f"cltrace_job_{number}"


def ptx_path(directory: Path, number: int) -> Path:
    """Return the file of a job's PTX."""
    return directory / f"{number}.ptx"


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Append a line of JSON to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:300]


def stage_parser() -> argparse.ArgumentParser:
    """Return a parser of the arguments that all stages have."""
    parser = argparse.ArgumentParser(description="A stage of counters.py measure.")
    parser.add_argument("jobs", type=Path)
    parser.add_argument("numbers", help="numbers of jobs, with commas")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    return parser


def numbered_jobs(path: Path, numbers: str) -> Sequence[tuple[int, Job]]:
    """Return the jobs of a file that have the given numbers."""
    jobs = read_jobs(path)
    return [(number, jobs[number]) for number in map(int, numbers.split(","))]
