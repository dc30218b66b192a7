"""Several devices in one recording: a context over all, a process each, ranks; hooks and layer."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cltrace
from cltrace.intercept.native.build import find_compilers
from cltrace.report.clocks import MAX_LISTED_DEVICES
from tests.conftest import PROGRAMS, Runner

pytestmark = [
    pytest.mark.opencl,
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="sub-devices need two cores"),
]

PROGRAM = PROGRAMS / "sub_devices.py"
ELEMENTS = 1 << 14
Recorded = Callable[..., Path]


@pytest.fixture(params=["off", "on"])
def layer(request: pytest.FixtureRequest) -> str:
    """The Python hooks record, or the layer."""
    if request.param == "on" and not find_compilers():
        pytest.skip("the layer needs a compiler")
    return str(request.param)


@pytest.fixture
def recorded(run: Runner, tmp_path: Path, layer: str) -> Recorded:
    """Record the program with some arguments."""

    def record(*words: str, rank: int | None = None) -> Path:
        path = tmp_path / f"{'-'.join(('t', *words))}-{rank}.cltrace"
        env = {} if rank is None else {"OMPI_COMM_WORLD_RANK": str(rank)}
        done = run(
            *("run", "-q", "--layer", layer, "-o", path, sys.executable, PROGRAM, *words), env=env
        )
        assert done.status == 0, done.stderr
        return path

    return record


def report(run: Runner, *words: str | Path) -> dict[str, Any]:
    done = run(*words, "--format", "json")
    assert done.status == 0, done.stderr
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def used(path: Path) -> list[int]:
    with cltrace.load(path) as trace:
        return [row[0] for row in trace.rows("SELECT DISTINCT device_id FROM v_queue ORDER BY 1")]


def test_a_context_over_two_devices(recorded: Recorded, run: Runner) -> None:
    path = recorded()
    numbers = used(path)
    assert len(numbers) == 2
    summary = report(run, "summary", path)
    labels = [f"#{number}" for number in numbers]

    def marks(table: str) -> list[str]:
        return [row["device"].rpartition(" ")[2] for row in summary[table]]

    kernels = [(row["name"], row["calls"]) for row in summary["kernels_by_device"]]
    assert marks("kernels_by_device") == [labels[0], labels[1], labels[1]]
    assert sorted(kernels) == [("add", 1), ("scale", 10), ("scale", 10)]
    assert marks("memory_by_device") == [*labels, "device"]  # the last: not used on a device
    sizes = [(row["objects"], row["peak_bytes"]) for row in summary["memory_by_device"]]
    assert sizes == [(2, 8 * ELEMENTS), (2, 8 * ELEMENTS), (1, 4096)]
    assert len(summary["facts"]["busy_ns"]) == len(summary["facts"]["clock"]) == 2


def test_by_device_and_by_queue_tell_them_apart(recorded: Recorded, run: Runner) -> None:
    path = recorded()
    labels = {f"#{number}" for number in used(path)}
    by_device = report(run, "summary", path, "--by", "device")["by_device"]
    by_queue = report(run, "summary", path, "--by", "queue")["by_queue"]
    assert {row["name"].rpartition(" ")[2] for row in by_device} == labels
    assert {row["device"].rpartition(" ")[2] for row in by_queue} == labels
    chosen = report(run, "summary", path, "--by", "device", "--kernel", "add")["by_device"]
    (row,) = chosen
    assert row["name"].rpartition(" ")[2] == f"#{max(used(path))}"
    shown = run("summary", path, "--by", "queue", env={"COLUMNS": "80"}).stdout
    assert all(label in shown for label in labels)


@pytest.mark.parametrize("columns", ["60", "80"])
def test_the_timeline_shows_the_device_of_each_queue(
    columns: str, recorded: Recorded, run: Runner
) -> None:
    path = recorded()
    lines = run("timeline", path, env={"COLUMNS": columns}).stdout.splitlines()
    queues = [line.partition("│")[0].strip() for line in lines if line.startswith("queue ")]
    charted = [name for name in queues if " o" in name][:2]
    assert [name.rpartition(" ")[2] for name in charted] == [f"#{n}" for n in used(path)]


def test_advice_says_that_devices_took_turns(recorded: Recorded, run: Runner) -> None:
    rows = report(run, "timeline", recorded(), "--all")["advice"]
    (row,) = [row for row in rows if row["rule"] in {"unneeded-wait", "devices-in-turns"}]
    assert "no other device worked for" in json.dumps(row)


def test_the_timeline_relates_the_devices(recorded: Recorded, run: Runner) -> None:
    path = recorded()
    numbers = used(path)
    timeline = report(run, "timeline", path)
    (offset,) = timeline["clock_offsets"]
    # Both parts have the clock of their processor.
    assert abs(offset["offset_ns"]) <= offset["bound_ns"]
    assert (offset["state"], offset["ordered"], offset["early"]) == ("proven", 2, 0)
    assert offset["device"].endswith(f"#{numbers[1]}")
    assert [row["devices"] for row in timeline["devices_at_once"]] == [0, 1, 2]
    ran = {row["device"] for row in timeline["critical_path"] if row["what"] == "scale"}
    assert {name.rpartition("#")[2] for name in ran} == {str(number) for number in numbers}


def test_info_lists_the_devices(recorded: Recorded, run: Runner) -> None:
    path = recorded()
    rows = report(run, "info", path)["devices"]
    assert [row["device_id"] for row in rows if row["queues"]] == used(path)


def test_a_process_per_device(recorded: Recorded, run: Runner) -> None:
    path = recorded("fork")
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT ended_how FROM v_process WHERE pid IN "
                          "(SELECT pid FROM v_process p JOIN v_thread USING (process_id) "
                          "JOIN v_command USING (thread_id))") == [("_exit",)] * 2  # fmt: skip
        assert not trace.rows("SELECT 1 FROM v_command WHERE duration_ns IS NULL")
        assert trace.meta["state"] == "complete"
        pids = [
            row[0] for row in trace.rows("SELECT DISTINCT process_id FROM v_command ORDER BY 1")
        ]
    rows = report(run, "summary", path)["kernels_by_device"]
    assert [row["calls"] for row in rows] == [3, 3]
    assert len({row["device"].rpartition(", process ")[2] for row in rows}) == len(pids) == 2


def test_ranks_on_a_device_each(recorded: Recorded, run: Runner, tmp_path: Path) -> None:
    ranks = MAX_LISTED_DEVICES + 1
    paths = [recorded(str(rank % 2), rank=rank) for rank in range(ranks)]
    merged = tmp_path / "all.cltrace"
    assert run("merge", "-o", merged, *paths).status == 0
    summary = report(run, "summary", merged)
    names = [row["device"] for row in summary["kernels_by_device"]]
    assert [name.rpartition(", ")[2] for name in names] == [f"rank {rank}" for rank in range(ranks)]
    shown = run("summary", merged, env={"COLUMNS": "200"}).stdout
    assert f"mean of {ranks} devices, from " in shown
    assert f"{ranks} devices: " in shown


def test_each_device_is_predicted_with_the_profile_for_it(recorded: Recorded, run: Runner) -> None:
    path = recorded()
    first, second = used(path)
    done = run("predict", path)
    assert (done.status, "there is no profile of" in done.stderr) == (2, True), done.stderr
    found = report(run, "predict", path, "--profile", f"#{second}=pocl-cpu")
    assert {row["device"].rpartition(" ")[2] for row in found["predicted_launches"]} == {
        f"#{second}"
    }
    assert sum(row["calls"] for row in found["predicted_launches"]) == 11
    assert any(f"#{first}: not predicted" in note for note in found["notes"])
    both = report(run, "predict", path, "--profile", "pocl-cpu")
    assert sum(row["calls"] for row in both["predicted_launches"]) == 21
