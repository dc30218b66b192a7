"""Predictions of real traces: on the own device, on another one, in the summary, the page and exports."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cltrace.measure import device_facts, find_device
from cltrace.profile import load_profile, write_profile
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

PROGRAM = """
import numpy as np
import pyopencl as cl

SOURCE = '''
__kernel void scale(__global float *a, float by) { a[get_global_id(0)] *= by; }
__kernel void sums(__global const float *a, __global float *out, int n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[get_global_id(0) * n + k];
    out[get_global_id(0)] = sum;
}'''
platform = next(p for p in cl.get_platforms() if p.name == "Portable Computing Language")
context = cl.Context(platform.get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
host = np.ones(1 << 16, np.float32)
a = cl.Buffer(context, 0, host.nbytes)
out = cl.Buffer(context, 0, 4 << 10)
cl.enqueue_copy(queue, a, host)
scale, sums = cl.Kernel(program, "scale"), cl.Kernel(program, "sums")
for step in range(20):
    scale(queue, (1 << 16,), (64,), a, np.float32(step))
sums(queue, (1 << 10,), (64,), a, out, np.int32(64))
cl.enqueue_copy(queue, host, a)
queue.finish()
"""


@pytest.fixture
def trace(run: Runner, tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    done = run("run", "-o", "app.cltrace", sys.executable, "app.py")
    assert done.status == 0, done.stderr
    return tmp_path / "app.cltrace"


@pytest.fixture
def own_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of the device that tests run on: the shipped one of another CPU under its name."""
    profile = replace(load_profile("pocl-cpu"), device=device_facts(find_device()))
    write_profile(profile, tmp_path / "data" / "cltrace" / "profiles" / "mine.json")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def report_of(text: str) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(text)
    return found


def test_another_device_says_what_if(trace: Path, run: Runner) -> None:
    done = run("predict", trace, "--profile", "nvidia-h200", "--format", "json")
    assert done.status == 0, done.stderr
    report = report_of(done.stdout)
    rows = {str(row["kernel"]): row for row in report["predicted_launches"]}
    assert set(rows) == {"scale", "sums"}
    assert rows["scale"]["calls"] == 20, (
        "a number that only scales makes no configuration of its own"
    )
    for row in rows.values():
        least, said, most = (row[key] for key in ("least_ns", "predicted_ns", "most_ns"))
        assert isinstance(least, int)
        assert isinstance(said, int)
        assert isinstance(most, int)
        assert 4_000 < least < said < most < 60_000
        assert "quotient" not in row
    directions = {row["direction"] for row in report["predicted_transfers"]}
    assert directions == {"to device", "from device"}


def test_without_a_profile_of_the_device_the_error_says_what_to_do(
    trace: Path, run: Runner
) -> None:
    done = run("predict", trace)
    assert done.status == 2
    assert "cltrace calibrate" in done.stderr
    assert run("summary", trace, "--predict").status == 2


@pytest.mark.usefixtures("own_profile")
def test_the_own_device_is_compared_and_other_devices_with_it(trace: Path, run: Runner) -> None:
    own = report_of(run("predict", trace, "--format", "json").stdout)
    for row in own["predicted_launches"]:
        quotient, distance = row["quotient"], row["distance"]
        assert isinstance(quotient, float)
        assert isinstance(distance, float)
        assert distance == pytest.approx(max(quotient, 1 / quotient), rel=0.02)
    other = report_of(run("predict", trace, "--profile", "nvidia-h200", "--format", "json").stdout)
    names = [row["kernel"] for row in other["break_even"]]
    assert sorted(map(str, names)) == ["scale", "sums", "the whole program"]


@pytest.mark.usefixtures("own_profile")
def test_predictions_are_in_the_summary_the_page_and_exports(
    trace: Path, run: Runner, tmp_path: Path
) -> None:
    shown = run("summary", trace, "--predict", env={"COLUMNS": "100"})
    assert "limited by" in shown.stdout
    what_if = run("summary", trace, "--predict", "nvidia-h200", env={"COLUMNS": "100"})
    assert "speed-up" in what_if.stdout
    assert run("view", trace, "-o", "page.html").status == 0
    assert "predicted_launches" in (tmp_path / "page.html").read_text()
    assert run("export", trace, "--to", "chrome", "-o", "t.json").status == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    said = [event["args"] for event in events if "predicted" in event.get("args", {})]
    assert len(said) >= 21
    assert all({"predicted_between", "limited_by"} <= set(one) for one in said)
