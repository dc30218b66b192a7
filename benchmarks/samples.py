"""Running commands and keeping what they took: samples, their medians and their spread."""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and the quartiles around it."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{shown(self.median)} ({shown(self.low)} … {shown(self.high)})"


def shown(value: float) -> str:
    """Three significant figures, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2f}"


def spread(values: Sequence[float]) -> Spread:
    """The median and the quartiles of at least two values."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """One minus the other, sample by sample: those of one round ran next to each other."""
    return [a - b for a, b in zip(one, other, strict=True)]


@dataclass(frozen=True, slots=True)
class Used:
    """What a command and all that it waited for took. Times in ns."""

    wall_ns: int
    cpu_ns: int
    peak_bytes: int


def use(command: Sequence[str | Path], errors: Path | None = None) -> Used:
    """Run a command without its output. Raises `RuntimeError` when it fails.

    `errors` is the file for what it writes to stderr, `None` for our own stderr.
    """
    words = [str(word) for word in command]
    silence = os.open(os.devnull, os.O_RDWR)
    error_file = 2 if errors is None else os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    begin_ns = time.perf_counter_ns()
    pid = os.posix_spawnp(
        words[0],
        words,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, silence, 0),
            (os.POSIX_SPAWN_DUP2, silence, 1),
            (os.POSIX_SPAWN_DUP2, error_file, 2),
        ],
    )
    _, status, used = os.wait4(pid, 0)
    wall_ns = time.perf_counter_ns() - begin_ns
    os.close(silence)
    if errors is not None:
        os.close(error_file)
    if status:
        end = "" if errors is None else f": {errors.read_text(errors='replace')[-500:]}"
        raise RuntimeError(f"{words} ended with {os.waitstatus_to_exitcode(status)}{end}")
    cpu_ns = round((used.ru_utime + used.ru_stime) * 1e9)
    return Used(wall_ns, cpu_ns, used.ru_maxrss * 1024)


def in_turn(ways: Mapping[str, Callable[[], Result]], rounds: int) -> dict[str, list[Result]]:
    """Call every way once a round, each round beginning with another, after one that is not kept."""
    names = list(ways)
    kept: dict[str, list[Result]] = {name: [] for name in names}
    for number in range(-1, rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            result = ways[name]()
            if number >= 0:
                kept[name].append(result)
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return kept


def report_in(path: Path) -> dict[str, Any]:
    """What a program of `programs/` wrote."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def clock_reading_ns() -> float:
    """What a pass through a loop that reads the clock takes here: how fast this machine is now."""
    clock = time.perf_counter_ns
    passes = []
    for _ in range(9):
        begin = clock()
        for _ in range(100_000):
            clock()
        passes.append((clock() - begin) / 100_000)
    return min(passes)
