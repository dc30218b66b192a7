"""Measurement of jobs on NVIDIA: OpenCL's time and PTX, then hardware counters by Nsight Compute.

Jobs run in batches, each in a process of its own. Where a process ends early, the job at which it ended
is recorded as failed, and the next process continues behind it.
"""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from benchmarks.counter_jobs import Job
from benchmarks.counter_metrics import COLD_METRICS, DESCRIBING_PREFIXES, WARM_METRICS
from benchmarks.counter_stages import LAST_KEY, kernel_name, ptx_path

BATCH_JOBS: Final = 15
_BATCH_LIMIT_S: Final = 100.0
_MAX_EMPTY_BATCHES: Final = 3
"""Batches in a row of which no job was done, after which a stage ends."""
_NCU: Final = (
    "ncu",
    "--csv",
    "--page",
    "raw",
    "--print-units",
    "base",
    "--target-processes",
    "all",
)
_AS_IT_IS: Final = ("--cache-control", "none", "--clock-control", "none")
_UNKNOWN_METRIC: Final = re.compile(r"Failed to find metric (?:regex:\^)?([\w.]+)")
_METRIC_NAME: Final = re.compile(r"\b[a-z][a-z0-9]*__\w+")
_PASSES: Final = re.compile(r'Profiling "([^"]+)".* (\d+) pass')
_MAX_ATTEMPTS: Final = 12
_MIN_KNOWN_METRICS: Final = 500
_KERNEL_COLUMN: Final = "Kernel Name"
_FACT_COLUMNS: Final = 11
"""Columns of a row before the first metric: ID, process, kernel, sizes, device."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of launches by kernel name: of the last launch of each kernel."""

    by_kernel: Mapping[str, Mapping[str, float]]
    units: Mapping[str, str]


def read_counters(lines: Iterable[str]) -> Counters:
    """Read the output of `ncu --csv --page raw`: a header, a row of units, and a row per launch.

    Lines before the header are messages. What is no number is left out.
    """
    reader = csv.reader(line for line in lines if line.startswith('"'))
    header: Sequence[str] = ()
    units: Mapping[str, str] = {}
    by_kernel: dict[str, Mapping[str, float]] = {}
    for row in reader:
        if row[0] == "ID":
            header = row
        elif not row[0]:
            units = {name: unit for name, unit in zip(header, row, strict=False) if unit}
        elif _KERNEL_COLUMN in header:
            cells = dict(zip(header, row, strict=False))
            by_kernel[cells[_KERNEL_COLUMN].partition("(")[0]] = _numbers(cells)
    return Counters(by_kernel, units)


def _numbers(cells: Mapping[str, str]) -> dict[str, float]:
    numbers = {}
    for name, text in cells.items():
        if "__" in name:
            try:
                numbers[name] = float(text.replace(",", ""))
            except ValueError:
                continue
    return numbers


def read_passes(text: str) -> Mapping[str, int]:
    """Return the number of passes in which each kernel was profiled, from a profiler's messages."""
    return {match[1]: int(match[2]) for match in _PASSES.finditer(text)}


def unknown_metrics(text: str) -> frozenset[str]:
    """Return the metrics that a profiler's messages call unknown, without their suffixes."""
    return frozenset(name.split(".")[0] for name in _UNKNOWN_METRIC.findall(text))


def available_metrics(listing: str, metrics: Sequence[str]) -> list[str]:
    """Return the metrics that a profiler lists. A short list is taken for an error message."""
    listed = set(_METRIC_NAME.findall(listing))
    if len(listed) < _MIN_KNOWN_METRICS:
        return list(metrics)
    return [
        metric
        for metric in metrics
        if metric.split(".")[0] in listed or metric.startswith(DESCRIBING_PREFIXES)
    ]


def without_metrics(metrics: Sequence[str], names: frozenset[str]) -> list[str]:
    """Return the metrics whose names without suffix are not in `names`."""
    return [metric for metric in metrics if metric.split(".")[0] not in names]


@dataclass(slots=True)
class Measurement:
    """Measurement of jobs. `rows` has what is known of each job, by its number."""

    jobs_path: Path
    jobs: Sequence[Job]
    output: Path
    directory: Path
    platform: str
    log: TextIO
    end_s: float
    rows: dict[int, Row] = field(default_factory=dict)
    metrics: dict[str, list[str]] = field(default_factory=dict)

    def run(self) -> None:
        """Measure all jobs, or as many as there is time for. The output is written after each batch."""
        self.rows = {number: {} for number in range(len(self.jobs))}
        self._find_metrics()
        self._in_batches("build", BATCH_JOBS * 2)
        if not any(ptx_path(self.directory, number).exists() for number in self.rows):
            self._note("no program was built")
            return
        self._in_batches("warm", BATCH_JOBS * 2)
        self._in_batches("cold", BATCH_JOBS)

    def _find_metrics(self) -> None:
        """Leave out metrics that the profiler does not have."""
        listing = ""
        try:
            done = subprocess.run(
                ["ncu", "--query-metrics"],
                capture_output=True,
                text=True,
                check=False,
                timeout=_BATCH_LIMIT_S,
            )
            listing = done.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            self._note(f"metrics are not listed: {error}")
        for stage, metrics in (("cold", COLD_METRICS), ("warm", WARM_METRICS)):
            self.metrics[stage] = available_metrics(listing, metrics)
            missing = sorted(set(metrics) - set(self.metrics[stage]))
            if missing:
                self._note(f"{stage}: no metrics {', '.join(missing)}")

    def _in_batches(self, stage: str, batch_jobs: int) -> None:
        pending = [number for number, row in self.rows.items() if "error" not in row]
        empty = 0
        while pending and time.monotonic() < self.end_s and empty < _MAX_EMPTY_BATCHES:
            batch, rest = pending[:batch_jobs], pending[batch_jobs:]
            began = time.monotonic()
            done = self._run_batch(stage, batch)
            missing = [number for number in batch if number not in done]
            if missing and not self._has_ended(done):
                row = {"error": f"the process of stage {stage} ended"}
                self._merge(missing.pop(0), stage, row)
            pending = missing + rest
            empty = 0 if done else empty + 1
            self.write()
            took = time.monotonic() - began
            self._note(f"{stage}: {len(done)} of {len(batch)} jobs in {took:.1f} s")

    def _has_ended(self, done: Iterable[int]) -> bool:
        """Return True if the last of some jobs ended the process, and has that as its error."""
        return any(self.rows[number].pop(LAST_KEY, False) for number in done)

    def _run_batch(self, stage: str, batch: Sequence[int]) -> set[int]:
        """Run a stage for some jobs, and return the numbers of those that it has done.

        Metrics that the profiler does not know are left out from then on, and the stage runs again.
        """
        attempt = 0
        while True:
            rows_path = self.directory / f"{stage}-{batch[0]}-{attempt}.jsonl"
            report = self.directory / f"{stage}-{batch[0]}-{attempt}.csv"
            self._run_process(self._command(stage, batch, rows_path, report))
            text = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
            self._note("\n".join(line for line in text.splitlines() if line.startswith("==")))
            unknown = unknown_metrics(text)
            kept = without_metrics(self.metrics.get(stage, []), unknown)
            attempt += 1
            if attempt == _MAX_ATTEMPTS or len(kept) == len(self.metrics.get(stage, [])):
                return self._collect(stage, rows_path, text)
            self.metrics[stage] = kept

    def _command(
        self, stage: str, batch: Sequence[int], rows_path: Path, report: Path
    ) -> list[str]:
        name = "counter_build.py" if stage == "build" else "counter_launch.py"
        program = str(Path(__file__).with_name(name))
        numbers = ",".join(map(str, batch))
        command = [sys.executable, program, str(self.jobs_path), numbers]
        command += ["--directory", str(self.directory), "--rows", str(rows_path)]
        if stage == "build":
            return [*command, "--platform", self.platform]
        command += ["--warm-runs", "1" if stage == "warm" else "0"]
        metrics = ("--metrics", ",".join(self.metrics[stage]))
        return [*_NCU, *_AS_IT_IS, "--log-file", str(report), *metrics, *command]

    def _run_process(self, command: Sequence[str]) -> None:
        """Run a command in a process group of its own; end the group after its time."""
        limit_s = max(min(_BATCH_LIMIT_S, self.end_s - time.monotonic()), 5.0)
        try:
            process = subprocess.Popen(
                command, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            self._note(f"{command[0]} does not start: {error}")
            return
        with process:
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self._note(f"ended after {limit_s:.0f} s")
                os.killpg(process.pid, signal.SIGKILL)

    def _collect(self, stage: str, rows_path: Path, text: str) -> set[int]:
        done = set()
        if rows_path.exists():
            for line in rows_path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                number = row.pop("number")
                done.add(number)
                self._merge(number, stage, row)
        counters, passes = read_counters(text.splitlines()), read_passes(text)
        prefix = "warm " if stage == "warm" else ""
        for number in done:
            name = kernel_name(number)
            measured = counters.by_kernel.get(name, {})
            self._merge(number, stage, {f"{prefix}{key}": value for key, value in measured.items()})
            if name in passes:
                self._merge(number, stage, {f"{stage} passes": passes[name]})
        return done

    def _merge(self, number: int, stage: str, row: Row) -> None:
        """Add to what is known of a job. The cold stage needs the PTX, the warm one only adds to it."""
        if stage == "warm" and "error" in row:
            row = {**row, "warm error": row["error"]}
            del row["error"]
        self.rows[number].update(row)

    def _note(self, text: str) -> None:
        if text:
            self.log.write(f"{text}\n")
            self.log.flush()

    def write(self) -> None:
        """Write the output: a row per job, a column per fact or counter."""
        columns = dict.fromkeys(key for row in self.rows.values() for key in row)
        columns.pop("error", None)
        partial = self.output.with_name(f".{self.output.name}.partial")
        with partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["name", "set", "kernel", "error", *columns])
            for number, row in self.rows.items():
                job = self.jobs[number]
                facts = [job.name, job.set_name, job.kernel, row.get("error", "")]
                writer.writerow([*facts, *(row.get(column, "") for column in columns)])
        partial.replace(self.output)
