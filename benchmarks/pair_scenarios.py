"""Scenarios of `two_devices.py`: the program of each, its traces, and the record that it writes."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

_PROGRAMS: Final = Path(__file__).with_name("programs") / "pair"
_ROOT: Final = Path(__file__).parents[1]
_TAIL: Final = 3000


class Sizes(Enum):
    """Sizes of the work: for GPUs, or to rehearse."""

    USUAL = "usual"
    SMALL = "small"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Command that runs beside the others of its scenario. `trace` is `None` where nothing is traced."""

    words: Sequence[str]
    trace: Path | None
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Programs that run at once; `seconds` is the time that they take at most.

    `trace` is the one to compare with `records`; it is merged from those of several processes.
    """

    name: str
    seconds: float
    processes: Sequence[Process]
    trace: Path | None
    records: Sequence[Path]


@dataclass(frozen=True, slots=True)
class _Maker:
    """Maker of scenarios with the same platform, directory and power reader."""

    platform: str
    out: Path
    power: str

    def scenario(
        self, name: str, program: str, seconds: float, *words: str, records: int = 0
    ) -> Scenario:
        """Return a scenario of one traced program."""
        trace = self.out / f"{name}.cltrace"
        names = [f"{name}-{n}.json" for n in range(records)] or [f"{name}.json"]
        record = f"{name}-%d.json" if records else f"{name}.json"
        process = self.process(program, record, trace, {}, *words)
        paths = [self.out / each for each in names]
        return Scenario(name=name, seconds=seconds, processes=[process], trace=trace, records=paths)

    def process(
        self,
        program: str,
        record: str,
        trace: Path | None,
        environment: Mapping[str, str],
        *words: str,
    ) -> Process:
        """Return a process of a program, traced if there is a path for the trace."""
        command = [sys.executable, str(_PROGRAMS / program), "--platform", self.platform]
        command += [*words, "--record", str(self.out / record)]
        if trace is not None:
            power = [] if self.power == "none" else ["--power", self.power]
            tracing = [sys.executable, "-m", "cltrace", "run", "-q", "-f", *power, "-o", str(trace)]
            command = [*tracing, "--", *command]
        return Process(words=command, trace=trace, environment=environment)

    def ranks(self, name: str, program: str, seconds: float, *words: str) -> Scenario:
        """Return a scenario of two ranks, a trace each, which are merged."""
        processes = [
            self.process(
                program,
                f"{name}-{rank}.json",
                self.out / f"{name}-{rank}.cltrace",
                {"OMPI_COMM_WORLD_RANK": str(rank)},
                *words,
                *("--device", str(rank)),
            )
            for rank in range(2)
        ]
        return Scenario(
            name=name,
            seconds=seconds,
            processes=processes,
            trace=self.out / f"{name}.cltrace",
            records=[self.out / f"{name}-{rank}.json" for rank in range(2)],
        )

    def untraced(self, name: str, program: str, seconds: float, *words: str) -> Scenario:
        """Return a scenario of a program that is not traced."""
        record = f"{name}.json"
        process = self.process(program, record, None, {}, *words)
        return Scenario(
            name=name, seconds=seconds, processes=[process], trace=None, records=[self.out / record]
        )


def scenarios(platform: str, out: Path, sizes: Sizes, power: str) -> list[Scenario]:
    """Return all scenarios, in the order in which they run."""
    maker = _Maker(platform, out, power)

    def size(flag: str, usual: float, little: float) -> tuple[str, str]:
        return flag, str(little if sizes is Sizes.SMALL else usual)

    items = size("--items", 1 << 22, 1 << 12)
    largest = size("--largest", 1 << 24, 1 << 18)
    repeats = size("--repeats", 8, 2)
    seconds = size("--seconds", 5, 2)
    return [
        maker.scenario(
            *("one-context", "one_context.py", 25),
            *(*size("--items", 1 << 20, 1 << 12), *size("--count", 60, 12)),
        ),
        maker.scenario("copies", "copies.py", 25, *size("--elements", 1 << 22, 1 << 18),
                       *size("--count", 30, 9)),
        maker.scenario(
            "process-each", "one_device.py", 15, "--each", *items, *seconds, records=2
        ),
        maker.ranks("ranks", "one_device.py", 15, *items, *seconds),
        maker.scenario("loads", "loads.py", 70, *items, *size("--seconds", 11, 3),
                       *size("--rest", 3, 1)),
        maker.untraced("neighbour", "neighbour.py", 45, *size("--items", 1 << 24, 1 << 16),
                       *size("--seconds", 25, 4)),
        *(
            maker.scenario(
                f"set-{name}", "launch_set.py", 20, *largest, *repeats, "--devices", devices
            )
            for name, devices in (("first", "0"), ("second", "1"), ("both", "0,1"))
        ),
    ]  # fmt: skip


def run_scenario(scenario: Scenario, limit_s: float) -> dict[str, Any]:
    """Run the programs of a scenario, and merge their traces; return how they ended."""
    paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
    python_path = os.pathsep.join(filter(None, paths))
    children = [
        subprocess.Popen(
            process.words,
            env={**os.environ, "PYTHONPATH": python_path, **process.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for process in scenario.processes
    ]
    outputs = []
    for child in children:
        try:
            output, _ = child.communicate(timeout=min(limit_s, 2 * scenario.seconds + 10))
        except subprocess.TimeoutExpired:
            child.kill()
            output, _ = child.communicate()
        outputs.append({"status": child.returncode, "output": output[-_TAIL:]})
    traces = [process.trace for process in scenario.processes if process.trace is not None]
    if len(traces) > 1:
        outputs.append(_merge(traces, scenario.trace))
    return {"processes": outputs}


def _merge(traces: Sequence[Path], merged: Path | None) -> dict[str, Any]:
    words = [sys.executable, "-m", "cltrace", "merge", "-f", "-o", str(merged), *map(str, traces)]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return {"status": done.returncode, "output": done.stderr[-_TAIL:]}
