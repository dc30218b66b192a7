"""Launches beside others on a real device: measured, stored, and predicted."""

from pathlib import Path

import pytest

from cltrace.errors import WorkloadError
from cltrace.events.workloads import LaunchBeside
from cltrace.measure import Bench, StopRule, find_device
from cltrace.measure.beside import time_beside
from cltrace.predict.measurements import read_measurements
from cltrace.suite.together import CALIBRATION, Kind, Room
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

ONCE = StopRule(min_runs=1, max_runs=1, warm_runs=0)


def test_a_set_is_measured_and_predicted(run: Runner, tmp_path: Path) -> None:
    """Launches alone always have a time; those beside others only where queues overlap."""
    path = tmp_path / "together.json"
    done = run("accuracy", "--set", "together", "--samples", "2", "--measure-only", path)
    assert done.status == 0, done.stderr
    timings = read_measurements(path).timings
    alone = [timing for timing in timings if timing.family == "1"]
    assert {timing.name.split()[0] for timing in alone} == set(Kind)
    assert all(timing.first_ns and timing.second_ns for timing in alone)
    shown = run("accuracy", "--from", path, "--profile", "pocl-cpu", "--plot", tmp_path / "figures")
    if any(timing.first_ns for timing in timings if timing.family != "1"):
        assert "measured again" in shown.stdout
        assert len(list((tmp_path / "figures").glob("together-*.svg"))) == 3
    else:
        assert "do not overlap" in shown.stderr


@pytest.mark.parametrize("is_memory_shared", [False, True])
def test_a_launch_that_cannot_run_is_named(is_memory_shared: bool) -> None:
    room = Room(1 << 20, 1 << 20, groups=None, group_items=1)
    work = CALIBRATION[Kind.STREAM].launch(Kind.STREAM, room)
    broken = CALIBRATION[Kind.STREAM].launch(Kind.COMPUTE, room)  # a kernel that its source has not
    with Bench(find_device()) as bench, pytest.raises(WorkloadError):
        time_beside(bench, LaunchBeside(work, (broken,), 1, is_memory_shared), ONCE)
