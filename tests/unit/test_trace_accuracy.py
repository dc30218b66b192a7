"""Predictions scored against traces: launches, kernels, the part at fault, and what is not scored."""

import io
import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.errors import TraceError
from cltrace.events.workloads import STEADY, Direction
from cltrace.kernels.counts.traced_launches import TracedLaunch, TracedProgram
from cltrace.predict.accuracy import ErrorSummary, summarise_errors
from cltrace.predict.models import MODELS, Cache, Prediction
from cltrace.predict.models.overlap.diagnosis import PartFactor
from cltrace.predict.scored_launches import (
    ScoredLaunch,
    by_kernel,
    evaluate_kernels,
    evaluate_launches,
    summarise_transfers,
)
from cltrace.predict.trace_accuracy import (
    TraceAccuracy,
    UnscoredCommands,
    require_scorable,
    score_trace,
)
from cltrace.predict.trace_profile import choose_profiles, devices_of_trace
from cltrace.predict.traced_transfers import PredictedTransfers
from cltrace.predict.traces import (
    PredictedLaunch,
)
from cltrace.profile import load_profile
from cltrace.report.document import Document, Table
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.formats.text import to_json
from cltrace.report.trace_accuracy import trace_accuracy_report
from tests.conftest import MakeTrace, Runner
from tests.part_kernels import counts_of

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDED = Path(__file__).parents[1] / "data" / "h200-mixture.cltrace"
H200 = load_profile("nvidia-h200")
COUNTS = counts_of("stream", 1 << 16)


def traced_launch(name: str, source: str) -> TracedLaunch:
    return TracedLaunch(
        launch_id=1,
        kernel=name,
        program=TracedProgram(source, (), {}),
        global_size=(1 << 20,),
        local_size=None,
        global_offset=None,
        arguments=[],
        calls=3,
    )


def launch_of(
    quotient: float,
    *,
    name: str = "stream",
    source: str = "one",
    measured_ns: float = 50_000.0,
    trace: str = "app",
    again: float = 1.01,
    causes: Sequence[PartFactor] = (),
) -> ScoredLaunch:
    """A launch that is predicted to take `quotient` times its time."""
    predicted_ns = quotient * measured_ns
    bounds_ns = (predicted_ns / 1.2, predicted_ns * 1.2)
    predicted = PredictedLaunch(
        launch=traced_launch(name, source),
        launch_ids=(1,),
        measured_ns=measured_ns,
        total_ns=3 * measured_ns,
        cache=Cache.WARM,
        arrivals=(STEADY,),
        prediction=Prediction(predicted_ns, "memory", (), bounds_ns),
        counts=COUNTS,
    )
    return ScoredLaunch(
        trace=trace,
        device="NVIDIA H200",
        program=source,
        predicted=predicted,
        measured_ns=measured_ns,
        again_ns=again * measured_ns,
        by_model=dict.fromkeys(MODELS, predicted_ns),
        causes=tuple(causes),
    )


def trace_of(
    launches: Sequence[ScoredLaunch], name: str = "app", what_if: Sequence[str] = ()
) -> TraceAccuracy:
    transfers = [
        PredictedTransfers(
            Direction.TO_DEVICE, size, 4, measured_ns, 4 * measured_ns, Prediction(1.5e4, "", ())
        )
        for size, measured_ns in ((1 << 20, 1e4), (1 << 22, 3e4), (64, 1e3))
    ]
    return TraceAccuracy(
        trace=name,
        profiles=(("NVIDIA H200", H200),),
        what_if=tuple(what_if),
        launches=tuple(launches),
        transfers=tuple(transfers),
        unscored=(UnscoredCommands("hidden", 7, "the arguments are not recorded"),),
        recorded_ns=2 * sum(launch.predicted.total_ns for launch in launches),
    )


def default_of(scores: Sequence[ErrorSummary]) -> ErrorSummary:
    return next(score for score in scores if score.name == "overlap")


def table_of(document: Document, key: str) -> Table:
    return next(table for table in document.tables if table.key == key)


def test_a_kernel_has_the_geometric_mean_of_its_launches() -> None:
    launches = [launch_of(4.0), launch_of(1.0), launch_of(0.5, source="other")]
    score = default_of(summarise_errors(evaluate_kernels(launches)))
    assert score.launches == len(by_kernel(launches)) == 2
    assert score.mean.value == pytest.approx((2.0 + 0.5) / 2)
    assert score.mape == pytest.approx((1.0 + 0.5) / 2)
    assert score.median_distance == pytest.approx(2.0)
    assert score.coverage is None
    each = default_of(summarise_errors(evaluate_launches(launches)))
    assert each.launches == 3
    assert each.beyond == pytest.approx(1 / 3)
    assert each.coverage == pytest.approx(1 / 3)


def test_short_launches_are_judged_by_their_absolute_error() -> None:
    short = launch_of(3.0, measured_ns=2_000.0)
    assert not short.is_long
    assert not short.is_outlier
    both = [short, launch_of(1.1)]
    score = default_of(summarise_errors(evaluate_launches(both)))
    assert (score.launches, score.short) == (1, 1)
    assert score.short_error_ns == pytest.approx(4_000.0)
    (kernel,) = [
        each for each in summarise_errors(evaluate_kernels(both)) if each.name == "overlap"
    ]
    assert (kernel.launches, kernel.short) == (1, 0)
    assert kernel.mean.value == pytest.approx(1.1)
    report = json.loads(to_json(trace_accuracy_report([trace_of([short])], None)))
    overlap = next(row for row in report["scores"] if row["model"] == "overlap")
    assert (overlap["launches"], overlap["mape"], overlap["median_distance"]) == (0, None, None)
    assert overlap["short_error_ns"] == pytest.approx(4_000.0)
    assert report["kernels"][0]["short_error_ns"] == 4_000


def test_launches_of_a_single_call_are_not_measured_again() -> None:
    once = launch_of(1.0, again=np.nan)
    names = [score.name for score in summarise_errors(evaluate_launches([once]))]
    assert "measured again" not in names
    again = summarise_errors(evaluate_launches([once, launch_of(1.0, again=1.5)]))[-1]
    assert (again.name, again.launches) == ("measured again", 1)
    assert again.mean.value == pytest.approx(1.5)


def test_transfers_are_judged_by_direction_and_size() -> None:
    (score,) = summarise_transfers(trace_of([]).transfers)
    assert (score.name, score.launches, score.short) == ("to device", 2, 1)
    assert score.median_distance == pytest.approx((1.5 + 2.0) / 2)
    assert score.short_error_ns == pytest.approx(14_000.0)
    assert score.mean.low < score.mean.value < score.mean.high, "sizes are resampled"
    assert summarise_transfers(()) == ()


def test_an_error_that_no_part_explains_is_said() -> None:
    rows = table_of(trace_accuracy_report([trace_of([launch_of(9.0)])], None), "outliers")
    cells = dict(zip((column.key for column in rows.columns), rows.rows[0], strict=True))
    assert (cells["part"], cells["factor"]) == ("no one part", None)


def changed_recording(path: Path, *statements: str) -> Path:
    """A copy of a recording of an H200, changed by SQL."""
    shutil.copy(RECORDED, path)
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    return path


def launches_in(path: Path) -> int:
    with cltrace.load(path) as trace:
        return int(trace.rows("SELECT count(*) FROM v_command WHERE kind = 'kernel'")[0][0])


def scored(path: Path, *requests: str) -> TraceAccuracy:
    with cltrace.load(path) as trace:
        choice = choose_profiles(devices_of_trace(trace), requests)
        return score_trace(trace, path.stem, choice)


def test_a_recording_is_scored() -> None:
    found = scored(RECORDED)
    assert {launch.kernel for launch in found.launches} == {
        "chain", "whole", "double_chain", "stream", "gather",
    }  # fmt: skip
    assert found.what_if == ()
    assert found.unscored == ()
    assert sum(each.predicted.launch.calls for each in found.launches) == launches_in(RECORDED)
    assert sum(each.predicted.total_ns for each in found.launches) == found.recorded_ns
    for launch in found.launches:
        assert set(launch.by_model) == set(MODELS)
        assert launch.again_ns == pytest.approx(launch.measured_ns, rel=0.05)
        assert bool(launch.causes) <= launch.is_outlier
    assert default_of(summarise_errors(evaluate_launches(found.launches))).median_distance < 1.5


WITHOUT = {
    "sources": ("UPDATE program SET source_string_id = NULL", "source"),
    "times": (
        "UPDATE command SET start_device_ns = NULL, end_device_ns = NULL, complete_host_ns = NULL",
        "no call has a measured time",
    ),
    "arguments": ("UPDATE launch SET arguments_known = 0", "the arguments are not recorded"),
}


@pytest.mark.parametrize("missing", WITHOUT)
def test_what_is_not_scored_has_its_reason(missing: str, tmp_path: Path, run: Runner) -> None:
    statement, reason = WITHOUT[missing]
    path = changed_recording(tmp_path / "less.cltrace", statement)
    found = scored(path)
    assert not found.launches
    kernels = {each.command: each for each in found.unscored if each.command != "fill"}
    assert "stream" in kernels
    assert reason in kernels["stream"].reason
    assert sum(each.calls for each in found.unscored) >= launches_in(path)
    done = run("accuracy", "--trace", path, "--plot", tmp_path)
    assert done.status == 0, done.stderr
    assert "no launch could be scored" in done.stdout
    assert "stream" in done.stdout
    assert not list(tmp_path.glob("*.svg"))


def test_a_device_without_a_profile_is_not_scored(tmp_path: Path, run: Runner) -> None:
    path = changed_recording(tmp_path / "other.cltrace", "UPDATE device SET name = 'Unheard of'")
    done = run("accuracy", "--trace", path)
    assert done.status == 2
    assert "there is no profile of Unheard of" in done.stderr
    done = run("accuracy", "--trace", path, "--trace", RECORDED, "--format", "json")
    assert done.status == 0, done.stderr
    report = json.loads(done.stdout)
    reasons = {row["why"] for row in report["unscored"] if row["trace"] == "other"}
    assert reasons == {"there is no profile of Unheard of"}
    assert "cltrace calibrate" in report["notes"][0]


def test_another_device_is_said_in_the_head(tmp_path: Path, run: Runner) -> None:
    path = changed_recording(tmp_path / "other.cltrace", "UPDATE device SET name = 'Unheard of'")
    assert scored(path, "nvidia-h200").what_if == ("Unheard of",)
    done = run("accuracy", "--trace", path, "--profile", "nvidia-h200")
    assert done.status == 0, done.stderr
    head = done.stdout.partition("\n\n")[0]
    assert "what if" in head
    assert "recorded on Unheard of" in " ".join(head.split())
    assert "what if" not in run("accuracy", "--trace", RECORDED).stdout


def test_several_traces_have_tables_of_their_own_and_one_of_all(
    tmp_path: Path, run: Runner
) -> None:
    (tmp_path / "b").mkdir()
    path = changed_recording(
        tmp_path / "b" / RECORDED.name,
        "DELETE FROM command WHERE launch_id IN (SELECT l.id FROM launch l JOIN kernel k ON "
        "k.id = l.kernel_id WHERE k.name <> 'stream')",
    )
    words = ["accuracy", "--trace", RECORDED, "--trace", path]
    done = run(*words, "--format", "json", "--plot", tmp_path)
    assert done.status == 0, done.stderr
    report = json.loads(done.stdout)
    launches = {
        row["trace"]: row["launches"] for row in report["scores"] if row["model"] == "overlap"
    }
    assert launches == {"all traces": 6, "h200-mixture": 5, "h200-mixture-2": 1}
    kernels = {
        row["trace"]: row["kernels"] for row in report["kernel_scores"] if row["model"] == "overlap"
    }
    assert kernels["all traces"] == 5, "a kernel that two traces have is one"
    assert [fact.partition(":")[0] for fact in report["facts"]["trace"]] == [
        "h200-mixture",
        "h200-mixture-2",
    ]
    assert sorted(one.name for one in tmp_path.glob("*-times.svg")) == [
        "all-traces-times.svg",
        "h200-mixture-2-times.svg",
        "h200-mixture-times.svg",
    ]
    shown = run(*words)
    for name in ("all traces", "h200-mixture", "h200-mixture-2"):
        assert f"\nLaunches, {name}\n" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trace", "{}", "--set", "suite"], "leave out --set"),
        (["--trace", "{}", "--from", "x.json"], "leave out --from"),
        (["--trace", "{}", "--measure-only", "x.json"], "leave out --measure-only"),
        (["--trace", "{}", "--samples", "4"], "leave out --samples"),
        (["--trace", "{}", "--seed", "1"], "leave out --seed"),
        (["--trace", "{}", "--device", "x"], "leave out --device"),
        (["--trace", "{}", "--cold"], "leave out --cold"),
        (["--trace", "{}", "--trace", "{}"], "given twice"),
        (["--trace", "{}", "--profile", "Radeon=nvidia-h200"], "no device of the trace is like"),
        (["--trace", "{}", "--profile", "nosuch"], "nosuch"),
        (["--trace", "nosuch.cltrace"], "nosuch.cltrace"),
        (["--trace", __file__], "is not a cltrace trace"),
        (["--trace", "."], "is a directory"),
        (["--top", "3"], "add --trace"),
        (["--from", "x.json", "--profile", "a", "--profile", "b"], "give --profile once"),
    ],
)
def test_what_does_not_go_together_is_one_line(words: list[str], message: str, run: Runner) -> None:
    done = run("accuracy", *(word.replace("{}", str(RECORDED)) for word in words))
    assert done.status == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_trace_without_launches_and_transfers_is_said(tmp_path: Path, run: Runner) -> None:
    path = changed_recording(tmp_path / "empty.cltrace", "DELETE FROM command")
    with cltrace.load(path) as trace, pytest.raises(TraceError, match="nothing to score"):
        require_scorable(trace)
    done = run("accuracy", "--trace", path)
    assert done.status == 2
    assert "empty.cltrace has no kernel launches and no transfers" in done.stderr


def test_transfers_are_scored_without_launches(tmp_path: Path, run: Runner) -> None:
    path = changed_recording(
        tmp_path / "moving.cltrace", "DELETE FROM command WHERE launch_id IS NOT NULL"
    )
    done = run("accuracy", "--trace", path, "--format", "json")
    assert done.status == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["scores"] == []
    assert {row["direction"] for row in report["transfer_scores"]} == {"to device", "from device"}


def test_the_made_up_recording_is_scored(make_trace: MakeTrace, run: Runner) -> None:
    done = run("accuracy", "--trace", make_trace(), "--profile", "=nvidia-h200", "--format", "md")
    assert done.status == 0, done.stderr
    assert "what if" in done.stdout


def screen_of(document: Document, width: int) -> str:
    text = io.StringIO()
    console_for(text, width=width).print(renderable(document, width=width, is_ascii=False))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def golden_document() -> Document:
    """A report of two traces with outliers of all kinds."""
    memory = [PartFactor("memory", 1.6), PartFactor("L2", 3.1), PartFactor("latency", 8.2)]
    heat = [
        launch_of(0.6, name="diffuse", measured_ns=2.5e6, trace="heat", causes=memory),
        launch_of(0.9, name="diffuse", measured_ns=4e5, trace="heat"),
        launch_of(1.7, name="sum_of_all_cells", measured_ns=3e4, trace="heat"),
        launch_of(1.4, name="clear", measured_ns=3e3, trace="heat"),
    ]
    launch = [PartFactor("launch", 0.55)]
    sort = [
        launch_of(2.4, name="radix_scan", measured_ns=1.2e4, trace="sort", causes=launch),
        launch_of(1.05, name="radix_scatter", measured_ns=8e5, trace="sort"),
    ]
    traces = [trace_of(heat, "heat"), trace_of(sort, "sort", ["NVIDIA A100"])]
    return trace_accuracy_report(traces, 4)


@pytest.mark.parametrize("width", [60, 80])
def test_the_screen_is_as_it_was(width: int) -> None:
    """A change of the screen is seen: `CLTRACE_NEW_SCREENS=1` writes what it is now."""
    text = screen_of(golden_document(), width)
    kept = GOLDEN / f"accuracy-{width}.txt"
    if os.environ.get("CLTRACE_NEW_SCREENS"):
        kept.write_text(text)
    assert text == kept.read_text()
    assert max(map(len, text.splitlines())) <= width
