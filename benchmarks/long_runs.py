"""Long recordings: what a program, its parent, the spool and the trace take, and that nothing is lost.

    python benchmarks/long_runs.py [--launches 20000000] [--rate 0] [--layer auto|off] [--json FILE]

Runs a program that launches an empty kernel `--launches` times, `--rate` times per second or, with 0, as
often as it can, under `cltrace run`. One hour at 20,000 per second is `--launches 72000000 --rate 20000`.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import cltrace

PROGRAM = """
import json, sys, time
import pyopencl as cl
launches, rate = int(sys.argv[1]), float(sys.argv[2])
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")

def peak_kb():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

begin, early_kb, early = time.perf_counter(), 0, max(launches // 10, 1)
for number in range(0, launches, 100):
    for _ in range(min(100, launches - number)): kernel(queue, (1,), None)
    if number % 1000 == 0: queue.finish()
    if rate: time.sleep(max(0.0, begin + number / rate - time.perf_counter()))
    if number <= early < number + 100: early_kb = peak_kb()
queue.finish()
print(json.dumps([time.perf_counter() - begin, early_kb, peak_kb()]))
"""
"""Launches, and prints the seconds and its peak memory after a tenth and at the end."""

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class LongRun:
    """Figures of one long recording. The memory is the highest resident set of each process.

    Attributes:
        program_early_mb: that of the program after a tenth of its launches.
        parent_running_mb: that of `cltrace run` while the program ran.
        parent_mb: that of `cltrace run` at its end.
        finish_s: time from the end of the program's launches to the end of `cltrace run`.
    """

    launches: int
    recorded: int
    missing: int
    state: str
    seconds: float
    program_early_mb: float
    program_mb: float
    parent_running_mb: float
    parent_mb: float
    parts_mb: float
    trace_mb: float
    finish_s: float


def main() -> None:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description="What long recordings take.")
    parser.add_argument("--launches", type=int, default=20_000_000)
    parser.add_argument("--rate", type=float, default=0.0, help="launches per second, 0: no limit")
    parser.add_argument("--layer", choices=("auto", "off"), default="auto")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cltrace-long-", dir=Path.cwd()) as directory:
        run = measure(Path(directory), arguments.launches, arguments.rate, arguments.layer)
    whole = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "cltrace": cltrace.__version__,
        "rate": arguments.rate,
        "layer": arguments.layer,
        "figures": asdict(run),
    }
    print(json.dumps(whole, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")


def measure(directory: Path, launches: int, rate: float, layer: str) -> LongRun:
    """Record the program in a directory, and return the figures."""
    path = directory / "long.cltrace"
    command = [sys.executable, "-m", "cltrace", "run", "-q", "--layer", layer, "-o", str(path)]
    words = [sys.executable, "-c", PROGRAM, str(launches), str(rate)]
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True) as process:
        watch = _Watch(process.pid, path.with_name(f"{path.name}.parts"))
        while process.poll() is None:
            watch.look()
            time.sleep(0.05)
        ended = time.perf_counter()
        output = process.stdout.read() if process.stdout is not None else ""
    if process.returncode:
        raise SystemExit(f"the program ended with {process.returncode}")
    seconds, early_kb, program_kb = json.loads(output)
    with cltrace.load(path) as trace:
        recorded = int(trace.rows("SELECT count(*) FROM v_command WHERE kernel = 'k'")[0][0])
        missing = trace.meta_int("commands_missing") or 0
        state = trace.meta["state"]
    return LongRun(
        launches, recorded, missing, state, round(seconds, 2), early_kb / 1000, program_kb / 1000,
        watch.running_kb / 1000, watch.peak_kb / 1000, watch.parts_bytes / MB,
        path.stat().st_size / MB, round(ended - watch.program_ended, 2),
    )  # fmt: skip


class _Watch:
    """Observer of `cltrace run`, its child and its parts."""

    def __init__(self, pid: int, parts: Path) -> None:
        self._pid, self._parts = pid, parts
        self.peak_kb = self.running_kb = self.parts_bytes = 0
        self.program_ended = time.perf_counter()

    def look(self) -> None:
        """Look once. What has ended meanwhile keeps its last figures."""
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children")
        try:
            self.peak_kb = max(self.peak_kb, _peak_kb(self._pid))
            is_running = bool(children.read_text().split())
        except (OSError, StopIteration):
            return
        if is_running:
            self.running_kb, self.program_ended = self.peak_kb, time.perf_counter()
        self.parts_bytes = max(self.parts_bytes, _size_bytes(self._parts))


def _peak_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def _size_bytes(directory: Path) -> int:
    """Return the size of all files in a directory, which may vanish meanwhile."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(folder) / name).stat().st_size
    return total


if __name__ == "__main__":
    main()
