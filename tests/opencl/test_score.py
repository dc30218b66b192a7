"""The score's benchmarks on a device: right results, and a wrong one that is found."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest
from numpy.typing import NDArray

from cltrace.events.benchmarks import Arrays, BenchmarkCopy, BenchmarkLaunch
from cltrace.measure import Bench, find_device
from cltrace.measure.sequential import CCompiler, find_c_compiler, run_sequentially
from cltrace.measure.whole_runs import RunCounts, WholeRunTimer, time_whole_runs
from cltrace.regress.score_files import read_score
from cltrace.runs.scoring import ScoreRunner
from cltrace.suite.score import BENCHMARKS
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

BY_NAME = {one.name: one for one in BENCHMARKS}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(find_device("Portable"))


def runner(bench: Bench, compiler: CCompiler | None) -> ScoreRunner:
    """Return a runner that does the work of each benchmark once on the device and on the host."""
    return ScoreRunner(WholeRunTimer(bench, 0), 1, compiler, lambda _: None, host_runs=1)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_benchmark_is_right_by_numpy_and_by_c(name: str, bench: Bench) -> None:
    (found,) = runner(bench, find_c_compiler()).run([BY_NAME[name]], ()).results
    assert found.wrong == ""
    assert found.is_right
    assert len(found.seconds) == 1
    assert found.sequential.c_s is not None


@pytest.mark.parametrize("name", ["MonteCarloPi", "StringMatch", "matrix product", "triad"])
def test_a_wrong_kernel_fails_its_benchmark(name: str, bench: Bench) -> None:
    wrong = {
        "MonteCarloPi": ("12345u", "12346u"), "StringMatch": ("atomic_min", "atomic_max"),
        "matrix product": ("k < 16", "k < 15"), "triad": ("3.0f", "3.001f"),
    }[name]  # fmt: skip
    one = BY_NAME[name]
    assert wrong[0] in one.source
    broken = replace(one, source=one.source.replace(*wrong))
    (found,) = runner(bench, None).run([broken], ()).results
    assert found.wrong
    assert not found.is_right


def test_c_finds_what_numpy_has_wrong_too(bench: Bench) -> None:
    one = BY_NAME["triad"]

    def wrong(before: Arrays) -> dict[int, NDArray[np.float32]]:
        b, c = (one.view(np.float32) for one in before[:2])
        return {2: b + np.float32(3.00005) * c}

    broken = replace(one, source=one.source.replace("3.0f", "3.00005f"), reference=wrong)
    assert broken.source != one.source
    compiler = find_c_compiler()
    for given, text in ((None, ""), (compiler, "a result is off by 1.3e-05 of the largest, by C")):
        assert runner(bench, given).run([broken], ()).results[0].wrong == text


def test_a_device_that_cannot_even_release_is_a_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def release(_: object) -> None:
        raise cl.RuntimeError("release failed: OUT_OF_RESOURCES")

    one = BY_NAME["small launches"]
    large = replace(one, steps=(BenchmarkLaunch("count_one", (1 << 20,), (1 << 20,), (0,)),))
    monkeypatch.setattr(cl.Buffer, "release", release)
    (found,) = runner(bench, None).run([large], ()).results
    assert found.wrong.startswith("it cannot run")


def test_a_kernel_that_cannot_be_built_is_a_result(bench: Bench) -> None:
    broken = replace(BY_NAME["triad"], source="no OpenCL C")
    (found,) = runner(bench, None).run([broken], ()).results
    assert found.seconds == ()
    assert "cannot be built" in found.wrong


def test_runs_begin_with_the_same_and_are_counted_apart(bench: Bench) -> None:
    one = BY_NAME["small launches"]
    found = time_whole_runs(bench, one.source, one.buffers, one.steps, RunCounts(2, 3))
    assert (len(found.discarded_s), len(found.counted_s)) == (2, 3)
    assert set(found.after[0].tolist()) == {2048}
    assert all(0 < seconds < 60 for seconds in found.counted_s)


def test_steps_are_done_in_order(bench: Bench) -> None:
    one = BY_NAME["there and back"]
    kinds = [type(step) for step in one.steps]
    assert kinds == [BenchmarkCopy, BenchmarkLaunch, BenchmarkCopy]
    before = one.buffers[0].contents().view(np.uint32)
    # What is told is what the timed copy read; what was sent was not there before.
    cases = ((one.steps[::-1], ~before), (one.steps[1:], ~before), (one.steps[::2], before))
    for steps, expected in cases:
        after = time_whole_runs(bench, one.source, one.buffers, steps, RunCounts(0, 1)).after[0]
        assert np.array_equal(after.view(np.uint32), expected)


def test_c_that_does_not_compile_is_left_out(tmp_path: Path) -> None:
    compiler = find_c_compiler()
    assert compiler is not None
    assert run_sequentially(compiler, "no C", [np.zeros(4)], 4) is None
    gone = CCompiler(str(tmp_path / "cc"), "gone")
    assert run_sequentially(gone, "void run(void **b, long n) {}", [np.zeros(4)], 4) is None


def test_the_verb_writes_a_file_and_a_page(tmp_path: Path, run: Runner) -> None:
    words = ("score", "--device", "Portable", "--only", "launches", "--runs", "2")
    done = run(
        *words, "--only", "histo*", "--no-c", "-o", "s.json", "--html", "s.html", cwd=tmp_path
    )
    assert done.status == 0, done.stderr
    assert "none: 11 benchmarks were not run" in done.stdout
    found = read_score(tmp_path / "s.json")
    assert [one.name for one in found.results] == ["histogram", "small launches"]
    assert [len(one.seconds) for one in found.results] == [2, 2]
    assert "<h1>" in (tmp_path / "s.html").read_text()
    assert run(*words, "-o", "s.json", cwd=tmp_path).status == 2
    done = run(*words, "--reference", "s.json", "--no-c", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["benchmarks"][0]["result"] == "right"
    for wrong in (("--only", "nothing"), ("--device", "no such"), ("--reference", "none.json")):
        done = run("score", *wrong, cwd=tmp_path)
        assert (done.status, "Traceback" in done.stderr) == (2, False), done.stderr


def test_a_reference_of_another_suite_is_refused_before_anything_runs(
    tmp_path: Path, run: Runner
) -> None:
    stored = json.loads(Path("cltrace/regress/score-reference.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps({**stored, "suite": 1}))
    for flag in ("--reference", "--beside"):
        done = run("score", "--device", "no such device", flag, "old.json", cwd=tmp_path)
        assert done.status != 0
        assert "of suite 1, but this cltrace has suite 2" in done.stderr
