"""Scores: ratios, harmonic means, what a wrong result does to them, files and pages."""

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cltrace.errors import SampleFileError, WorkloadError
from cltrace.events.benchmarks import (
    Benchmark,
    BenchmarkBuffer,
    BenchmarkKind,
    BenchmarkLaunch,
    LimitProbe,
    RateLimit,
    Step,
)
from cltrace.installation import suggest_install
from cltrace.measure.sequential import SequentialRun, time_shortest
from cltrace.measure.whole_runs import WholeRuns
from cltrace.regress.score import (
    BenchmarkResult,
    Ratio,
    ScoreFile,
    Sequential,
    check_suites,
    compute_ratios,
    compute_score,
    harmonic_mean,
    speedups,
)
from cltrace.regress.score_files import read_score, score_text, shipped_reference, write_score
from cltrace.report.score import distinct_labels, score_report, scores_report
from cltrace.runs.scoring import ScoreRunner, find_mismatch
from cltrace.suite import calibration, evaluation
from cltrace.suite.score import BENCHMARKS, PROBES, SUITE
from cltrace.suite.score.fills import zeros
from tests.conftest import Runner

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-3.cltrace"


def result(name: str, kind: BenchmarkKind, *seconds: float, wrong: str = "") -> BenchmarkResult:
    return BenchmarkResult(
        name=name,
        kind=kind,
        seconds=seconds,
        wrong=wrong,
        sequential=Sequential(4.0, 2.0),
        limit=None,
        limit_share=None,
    )


def file_of(*results: BenchmarkResult) -> ScoreFile:
    return replace(shipped_reference(), results=results)


REFERENCE = file_of(
    result("a", BenchmarkKind.COMPUTE, 1.0, 3.0), result("b", BenchmarkKind.COMPUTE, 4.0, 4.0),
    result("c", BenchmarkKind.LATENCY, 1.0, 1.0),
)  # fmt: skip


def test_ratios_are_the_references_time_by_the_own() -> None:
    own = file_of(
        result("a", BenchmarkKind.COMPUTE, 0.5, 0.5), result("b", BenchmarkKind.COMPUTE, 8.0, 8.0)
    )
    assert compute_ratios(own, REFERENCE) == {"a": Ratio(2.0, 4.0), "b": Ratio(0.5, 0.5)}
    found = compute_score(own, REFERENCE)
    compute = found.kinds[BenchmarkKind.COMPUTE]
    assert compute is not None
    assert compute.peak == pytest.approx(0.8)
    assert compute.average == pytest.approx(2 / (1 / 4 + 1 / 0.5))
    # A part of the benchmarks has no score over all, and a part of a class none of the class.
    assert (found.overall, found.missing) == (None, ("c",))
    part = compute_score(file_of(result("a", BenchmarkKind.COMPUTE, 1.0)), REFERENCE)
    assert part.kinds == {BenchmarkKind.COMPUTE: None}
    assert (
        "2 benchmarks were not run"
        in score_report(file_of(own.results[0]), REFERENCE).facts[0].text
    )


def test_a_device_is_one_by_itself() -> None:
    found = compute_score(REFERENCE, REFERENCE)
    assert found.overall == Ratio(1.0, 1.0)
    assert set(found.kinds.values()) == {Ratio(1.0, 1.0)}


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.floats(0.1, 10))
def test_a_score_is_inversely_proportional_to_time(seconds: list[float], factor: float) -> None:
    reference = file_of(*(result(str(n), BenchmarkKind.COMPUTE, 1.0) for n in range(len(seconds))))
    one, other = (
        compute_score(
            file_of(
                *(result(str(n), BenchmarkKind.COMPUTE, s * by) for n, s in enumerate(seconds))
            ),
            reference,
        ).overall
        for by in (1.0, factor)
    )
    assert one is not None
    assert other is not None
    assert other.peak == pytest.approx(one.peak / factor)
    assert one.peak == pytest.approx(len(seconds) / sum(seconds))


def test_no_score_hides_a_wrong_result() -> None:
    own = file_of(
        result("a", BenchmarkKind.COMPUTE, 0.5, wrong="5 of 9 results are wrong"),
        result("b", BenchmarkKind.COMPUTE, 4.0),
        result("c", BenchmarkKind.LATENCY, 0.5),
    )
    found = compute_score(own, REFERENCE)
    assert found.overall is None
    assert found.failed == ("a",)
    assert found.kinds == {BenchmarkKind.COMPUTE: None, BenchmarkKind.LATENCY: Ratio(2.0, 2.0)}
    document = score_report(own, REFERENCE)
    assert document.facts[0].text == "none: a failed"
    assert any("5 of 9 results are wrong" in note for note in document.notes)
    assert harmonic_mean([]) is None
    could_not_run = file_of(result("a", BenchmarkKind.COMPUTE, wrong="it cannot run"))
    assert compute_score(could_not_run, REFERENCE).overall is None
    assert speedups(could_not_run.results[0]) == (None, None)
    new = file_of(
        result("a", BenchmarkKind.COMPUTE, 1.0),
        result("new", BenchmarkKind.LOCAL, 1.0, wrong="bad"),
    )
    assert compute_score(new, REFERENCE).overall is None


def test_speed_ups_are_by_the_mean_of_runs() -> None:
    assert speedups(result("a", BenchmarkKind.COMPUTE, 1.0, 3.0)) == (2.0, 1.0)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "score.json"
    write_score(shipped_reference(), path)
    assert read_score(path) == shipped_reference()
    stored = json.loads(path.read_text())
    changes: list[dict[str, object]] = [
        {"cltrace_score": 1}, {"host": {}}, {"date": 5}, {"results": [{}]}, {"suite": "1"},
        {"limits": {"x": 1}}, {"limits": {"launches": -1}}, {"device": None},
        {"results": stored["results"] * 2},
    ]  # fmt: skip
    for change in changes:
        path.write_text(json.dumps({**stored, **change}))
        with pytest.raises(SampleFileError):
            read_score(path)
    for text in ("", "[]", "\x00", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(SampleFileError):
            read_score(path)


def test_scores_of_different_suites_do_not_compare() -> None:
    with pytest.raises(SampleFileError, match="different suites"):
        check_suites({"a": REFERENCE, "b": replace(REFERENCE, suite=SUITE + 1)})
    with pytest.raises(
        SampleFileError, match=f"b of suite {SUITE + 1}, but this cltrace has suite {SUITE}: run"
    ):
        check_suites({"a": REFERENCE, "b": replace(REFERENCE, suite=SUITE + 1)}, SUITE)
    check_suites({"a": REFERENCE}, SUITE)


def test_the_shipped_reference_has_every_benchmark_and_is_right() -> None:
    reference = shipped_reference()
    assert reference.suite == SUITE
    assert [one.name for one in reference.results] == [one.name for one in BENCHMARKS]
    assert all(one.is_right and len(one.seconds) == 10 for one in reference.results)
    assert all(one.sequential.c_s for one in reference.results)
    assert set(reference.limits) == {one.limit for one in PROBES}


def test_the_suite_has_every_class_and_is_of_no_other_role() -> None:
    assert {one.kind for one in BENCHMARKS} == set(BenchmarkKind)
    assert {"MonteCarloPi", "StringMatch"} <= {one.name for one in BENCHMARKS}
    others = {
        re.sub(r"\s+", "", path.read_text())
        for package in (calibration, evaluation)
        for path in Path(package.__file__ or "").parent.glob("*.py")
    }
    for one in BENCHMARKS:
        bodies = re.findall(r"__kernel[^{]*\{.*?\n\}", one.source, re.DOTALL) or [one.source]
        assert bodies
        for body in bodies:
            assert not any(re.sub(r"\s+", "", body) in text for text in others), one.name


@pytest.mark.parametrize("one", BENCHMARKS, ids=lambda one: one.name)
def test_a_run_repeats_itself_where_all_see_it(one: Benchmark) -> None:
    """What is done again is said by `repeats`, for the device, C and numpy alike, and nowhere else."""
    assert one.run_steps == one.steps * one.repeats
    times = {step.times for step in one.steps if isinstance(step, BenchmarkLaunch)}
    assert times == ({2048} if one.name == "small launches" else {1})
    assert ("n < 2048" in one.c_source) == (one.name == "small launches")


def test_results_are_compared_bit_by_bit_or_within_a_tolerance() -> None:
    exact = next(one for one in BENCHMARKS if one.name == "histogram")
    counts = np.arange(256, dtype=np.uint32)
    assert find_mismatch(exact, {1: counts}, {1: counts}) == ""
    changed = counts.copy()
    changed[7] += 1
    assert find_mismatch(exact, {1: changed}, {1: counts}) == "1 of 256 results are wrong"
    close = next(one for one in BENCHMARKS if one.name == "matrix product")
    product = np.linspace(1, 2, 1 << 20, dtype=np.float32)
    assert find_mismatch(close, {2: product * np.float32(1 + 2e-6)}, {2: product}) == ""
    product_off = product.copy()
    product_off[5] += np.float32(0.01)
    assert "off by 0.005" in find_mismatch(close, {2: product_off}, {2: product})
    product_off[5] = np.nan
    assert "off by inf" in find_mismatch(close, {2: product_off}, {2: product})


def test_names_tell_scores_apart() -> None:
    other = replace(REFERENCE, device=replace(REFERENCE.device, platform="Other"))
    assert len(set(distinct_labels([REFERENCE, other, REFERENCE, REFERENCE]))) == 4


def test_side_by_side_has_what_all_have() -> None:
    few = file_of(result("a", BenchmarkKind.COMPUTE, 1.0))
    document = scores_report([few, REFERENCE], REFERENCE)
    tables = {table.key: table for table in document.tables}
    assert [row[0] for row in tables["times"].rows] == ["a"]
    assert "2 results are left out: not all files have them" in document.notes[0]


def test_compare_puts_scores_beside_each_other(tmp_path: Path, run: Runner) -> None:
    for name, hostile in (("a", "<script>alert(1)</script>"), ("b", "plain")):
        found = replace(
            shipped_reference(), device=replace(shipped_reference().device, name=hostile)
        )
        (tmp_path / f"{name}.json").write_text(score_text(found))
    done = run("compare", "a.json", "b.json", "--html", "page.html", cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert "Peak, over all" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "http" not in re.sub(r"base64,[A-Za-z0-9+/=]*|http-equiv", "", page)
    for words, text in (
        (("a.json",), "two files or more"),
        (("a.json", str(GOLDEN)), "scores compare with scores"),
        (("a.json", "none.json"), "cannot be read"),
        (("a.json", "b.json", "--html", "page.html"), "exists already"),
    ):
        done = run("compare", *words, cwd=tmp_path)
        assert (done.status, text in done.stderr) == (2, True), done.stderr


def test_compare_puts_traces_beside_each_other(tmp_path: Path, run: Runner) -> None:
    data = Path(__file__).parents[1] / "data" / "h200-mixture.cltrace"
    done = run("compare", GOLDEN, data, GOLDEN, "--html", tmp_path / "page.html")
    assert done.status == 0, done.stderr
    assert "times of a single run decide nothing" in done.stdout
    assert "chain" in (tmp_path / "page.html").read_text()
    assert "no clang" not in done.stdout
    samples = GOLDEN.parents[2] / "benchmarks/results/verdicts/h200-same.json"
    text = " ".join(run("compare", samples, data, samples).stdout.split())
    assert f"there was no clang for A and C: `{suggest_install('predict')}`" in text


def zeroing_benchmark(step: Step, calls: Iterator[int]) -> Benchmark:
    """A benchmark whose reference takes a number of `calls` each time that it runs."""
    return Benchmark(
        name="one",
        kind=BenchmarkKind.COMPUTE,
        about="",
        source="",
        buffers=(BenchmarkBuffer(zeros(2), is_output=True),),
        steps=(step,),
        items=2,
        reference=lambda before: {0: before[0].view(np.uint32) * np.uint32(0 * next(calls))},
        c_source="",
        repeats=5,
        amounts={RateLimit.FLOPS: 3.0},
    )


class FakeDevice:
    """A device whose runs take the time that is known of their source, or fail."""

    facts = REFERENCE.device

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = seconds
        self.timed: list[tuple[str, int]] = []
        self.steps: list[Step] = []

    def time_runs(
        self, source: str, _: Sequence[BenchmarkBuffer], steps: Sequence[Step], counted: int
    ) -> WholeRuns:
        self.timed.append((source, counted))
        self.steps.extend(steps)
        if source not in self._seconds:
            raise WorkloadError("no room")
        return WholeRuns((), (self._seconds[source],) * counted, {0: np.zeros(2, np.uint32)})


class FakeCompiler:
    """C that leaves every buffer as it is, and takes 2 s."""

    version = "a compiler"

    def __init__(self) -> None:
        self.repeats: list[int] = []

    def time_run(
        self, _: str, buffers: Sequence[NDArray[np.generic]], __: int, repeats: int, max_runs: int
    ) -> SequentialRun:
        self.repeats.append(repeats)
        assert max_runs == 3
        return SequentialRun(2.0, tuple(buffers))


def test_device_numpy_and_c_do_the_same_as_often() -> None:
    calls = itertools.count(1)
    step = BenchmarkLaunch("f", (2,), (1,), (0,))
    one = zeroing_benchmark(step, calls)
    device, compiler = FakeDevice({"": 1.0}), FakeCompiler()
    scoring = ScoreRunner(device, 1, compiler, print)
    probe = LimitProbe(RateLimit.FLOPS, "", (), (), 60.0)
    (found,) = scoring.run([one], [probe]).results
    assert device.steps == [step] * 5
    assert compiler.repeats == [5]
    assert next(calls) == 3 * 5 + 1
    assert found.is_right
    assert found.limit_share == pytest.approx(5 * 3 / 60)

    def out_of_memory(_: object) -> Mapping[int, NDArray[np.uint32]]:
        raise MemoryError

    (found,) = scoring.run([replace(one, reference=out_of_memory)], []).results
    assert (found.wrong, found.seconds) == ("it cannot run: the host has not enough memory", ())


def test_the_shortest_of_three_runs_counts_and_preparing_is_not_timed() -> None:
    calls = itertools.count(1)

    def prepared() -> Callable[[], int]:
        time.sleep(0.3)
        return lambda: next(calls)

    seconds, last = time_shortest(prepared, 4)
    assert last == 12
    assert 0 < seconds < 0.3


def test_a_reference_without_a_right_result_makes_no_score() -> None:
    part = file_of(result("a", BenchmarkKind.COMPUTE, 1.0), result("c", BenchmarkKind.LATENCY, 1.0))
    found = compute_score(REFERENCE, part)
    assert (found.overall, found.unreferred) == (None, ("b",))
    assert found.kinds == {BenchmarkKind.COMPUTE: None, BenchmarkKind.LATENCY: Ratio(1.0, 1.0)}
    wrong = file_of(*REFERENCE.results[:2], result("c", BenchmarkKind.LATENCY, 1.0, wrong="bad"))
    for reference, name in ((part, "b"), (wrong, "c")):
        text = f"the reference has no right result of {name}"
        assert text in score_report(REFERENCE, reference).facts[0].text
        assert any(text in note for note in scores_report([REFERENCE] * 2, reference).notes)


def test_a_probe_that_one_run_shows_to_be_slow_is_not_repeated() -> None:
    device = FakeDevice({"fast": 1.0, "slow": 5.0, "near": 1.5, "best": 0.5})
    asks = replace(BENCHMARKS[0], source="none", amounts={RateLimit.FLOPS: 1.0})
    probes = [
        LimitProbe(RateLimit.FLOPS, name, (), (), 6.0)
        for name in ("none", "fast", "slow", "near", "best")
    ]
    found = ScoreRunner(device, 10, None, lambda _: None).run([asks], probes)
    assert found.limits == {RateLimit.FLOPS: 12.0}
    assert found.results[0].wrong == "no room"
    assert device.timed.pop() == ("none", 10)
    assert device.timed == [
        ("none", 10), ("fast", 10), ("slow", 1), ("near", 1), ("near", 10), ("best", 1),
        ("best", 10),
    ]  # fmt: skip
