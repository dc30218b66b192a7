"""Processes that take turns at timing calls, so that a change of the machine's speed meets all of them.

`programs/timed_cases.py` is the program of each process; it describes the lines that are exchanged.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = Path(__file__).with_name("programs") / "timed_cases.py"
MARK: Final = "timed_cases: "
"""Begin of a line of a process; other lines are those of the tool that runs it."""

CASES_PER_TURN: Final = 8
PAUSE_S: Final = 0.05
"""Pause after a turn, in which the threads of drivers and tracers end its work."""

Key = tuple[str, str]
"""Subject and name of a case."""

Times = Mapping[str, Any]
"""Times of a case in ns per call, `cpu_ns` and `wall_ns`, and its `calls`; or the `reason` for none."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to make the calls: words before the command line of the process, and its request."""

    prefix: Sequence[str]
    request: Mapping[str, Any]


class TimedProcess:
    """A process that has prepared the cases of its request and waits for its turns in a round.

    Raises: `RuntimeError` when the process ends before it is finished.
    """

    def __init__(self, way: Way, number: int) -> None:
        request = json.dumps({**way.request, "round": number})
        self._words = [*way.prefix, sys.executable, str(PROGRAM), request]
        self._process = subprocess.Popen(
            self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.device: Final[Mapping[str, str]] = self._receive()

    def __enter__(self) -> "TimedProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def take_turn(self, cases: Sequence[Key]) -> Sequence[Times]:
        """Return the times of cases, in their order."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(cases), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None
        times: Sequence[Times] = self._receive()
        return times

    def finish(self) -> None:
        """Let the process end by itself, and with it the tool that runs it."""
        self._process.communicate()
        if self._process.returncode:
            raise self._ended()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(MARK):
                return json.loads(line.removeprefix(MARK))
        raise self._ended()

    def _ended(self) -> RuntimeError:
        return RuntimeError(f"{self._words} ended with {self._process.wait()}")


@dataclass(frozen=True, slots=True)
class Round:
    """Times of all cases, by way and case, and the device that all ways used."""

    times: Mapping[str, Mapping[Key, Times]]
    device: Mapping[str, str]


def run_round(ways: Mapping[str, Way], cases: Sequence[Key], number: int) -> Round:
    """Run a process for each way, and let them take turns.

    The number of the round decides the order of the cases and the processor. Each turn begins with
    another way.
    """
    order = list(cases)
    random.Random(number).shuffle(order)
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(TimedProcess(way, number)) for name, way in ways.items()
        }
        times: dict[str, dict[Key, Times]] = {name: {} for name in ways}
        for turn, keys in enumerate(_groups(order)):
            for name in _rotated(list(ways), turn + number):
                times[name].update(zip(keys, processes[name].take_turn(keys), strict=True))
                time.sleep(PAUSE_S)
        for process in processes.values():
            process.finish()
        return Round(times, processes[next(iter(ways))].device)


def _groups(cases: Sequence[Key]) -> Iterator[Sequence[Key]]:
    for begin in range(0, len(cases), CASES_PER_TURN):
        yield cases[begin : begin + CASES_PER_TURN]


def _rotated(names: Sequence[str], turn: int) -> Sequence[str]:
    first = turn % len(names)
    return [*names[first:], *names[:first]]
