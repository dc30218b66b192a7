"""Programs of `benchmarks/whole_programs.py`: each does its work, and every way of running is timed."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import clean_environment, needs

pytestmark = pytest.mark.opencl

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = {"filters": "gputools", "transforms": "reikna", "tuning": "kernel_tuner"}


def programs() -> list[str]:
    """Names of the Python programs."""
    files = (BENCHMARKS / "programs" / "whole").glob("*.py")
    return sorted(file.stem for file in files if file.stem not in {"__init__", "request"})


@pytest.mark.parametrize("name", programs())
def test_programs_do_their_work_with_and_without_profiling(name: str) -> None:
    module = MODULES.get(name, "pyopencl")
    needs(find_spec(module) is not None or name in {"filters", "tuning"}, module)
    if find_spec(module) is None:
        pytest.skip(f"no {module}")
    program = BENCHMARKS / "programs" / "whole" / f"{name}.py"
    outputs = [
        subprocess.run(
            [sys.executable, program, "2", profiling, ""],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for profiling in ("0", "1")
    ]
    assert outputs[0] == outputs[1] != ""


def test_benchmark_reports_every_way(tmp_path: Path) -> None:
    report = tmp_path / "figures.json"
    done = subprocess.run(
        [
            *(sys.executable, BENCHMARKS / "whole_programs.py", "--rounds", "2"),
            *("--length", "short", "--only", "paced,waves", "--json", report),
        ],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(report.read_text())
    needs("waves" not in figures["left_out"], "libOpenCL.so.1")
    rows = {(row["program"], row["way"]): row for row in figures["rows"]}
    assert set(rows) == {("paced", "off"), ("paced", "on"), ("waves", "on")}
    for row in rows.values():
        assert row["commands"] >= 500
        traced, native = row["samples_s"][row["way"]], row["samples_s"]["native"]
        # The whole command has the program in it.
        for unit in ("cpu_s", "wall_s"):
            assert all(
                whole > part > 0
                for whole, part in zip(
                    traced[f"command_{unit}"], traced[f"program_{unit}"], strict=True
                )
            )
            assert min(native[f"program_{unit}"]) > 0
