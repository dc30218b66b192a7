"""The gate as a command: its exit statuses, its files, baselines, and what it says."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import cltrace
from cltrace.regress.counters import CounterKey, CounterKind
from cltrace.regress.run_records import DeviceIdentity, KernelKey, Round, RunSample
from cltrace.regress.sample_files import SampleFile, Side, read_samples, write_samples
from cltrace.regress.samples import read_sample
from tests.conftest import Runner
from tests.run_samples import LIGHT, round_of

H200 = Path(__file__).parents[2] / "benchmarks/results/verdicts/h200-3-percent.json"
"""Samples of an H200: one of twenty kernels makes 3 % more trips."""
GOLDEN = Path(__file__).parents[1] / "golden" / "schema-3.cltrace"
DATA = Path(__file__).parents[1] / "data"


def written(path: Path, *rounds: Round, is_paired: bool = True) -> Path:
    side = Side(("python", "app.py"), "/work", "abc123def4567", is_dirty=False)
    found = SampleFile(
        date="2026-11-22",
        host="here",
        processor="a processor",
        cltrace="0.1.0",
        dropped=5,
        head=side,
        base=side if is_paired else None,
        rounds=rounds,
    )
    write_samples(found, path)
    return path


def alone(path: Path, one: Round) -> Path:
    return written(path, Round((), one.head), is_paired=False)


def slower(seed: int, change: float = 1.3) -> Round:
    return round_of(seed, {LIGHT: change})


def test_exit_statuses(tmp_path: Path, run: Runner) -> None:
    same = written(tmp_path / "same.json", round_of(1, {}))
    slow = written(tmp_path / "slow.json", slower(2), slower(3))
    once = written(tmp_path / "once.json", slower(2))
    few = written(tmp_path / "few.json", round_of(4, {}, pairs=3))
    single = alone(tmp_path / "single.json", round_of(5, {}))
    garbage = tmp_path / "garbage.json"
    garbage.write_text("{}")
    expected = [
        ((same,), 0), ((slow,), 1), ((slow, "--floor", "50%"), 0),
        ((slow, "--limit", "light=60%", "--limit", "he*=5%"), 0), ((once,), 3), ((few,), 3),
        ((single,), 3), ((single, "--missing-baseline", "ok"), 0), ((garbage,), 2),
        ((tmp_path / "none.json",), 2), ((same, same, "--baseline", "x"), 2),
        ((same, "--floor", "nan"), 2), ((same, "--floor", "5"), 2), ((same, "--limit", "5%"), 2),
    ]  # fmt: skip
    for words, status in expected:
        done = run("check", *words, cwd=tmp_path)
        assert done.status == status, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr


def test_counters_fail_unless_they_are_off(tmp_path: Path, run: Runner) -> None:
    more = written(tmp_path / "more.json", round_of(1, {}, launches=11))
    assert run("check", more).status == 1
    assert run("check", more, "--counters", "off").status == 0
    for glob, status in (("launches*", 0), ("launches heavy*", 0), ("builds", 1), ("launches", 1)):
        assert run("check", more, "--allow", "builds", "--allow", glob).status == status
    fewer = written(tmp_path / "fewer.json", round_of(1, {}, launches=9))
    assert run("check", fewer).status == 0


def test_what_is_open_passes_or_not(tmp_path: Path, run: Runner) -> None:
    open_one = written(tmp_path / "open.json", slower(2, 1.09))
    done = run("check", open_one)
    assert done.status == 0
    assert "1 kernel is not decided" in done.stdout
    assert run("check", open_one, "--on-ambiguous", "fail").status == 3


def test_single_traces_are_compared_by_counters_only(tmp_path: Path, run: Runner) -> None:
    done = run("check", GOLDEN, GOLDEN, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert "counters only" in done.stdout
    assert "no counter changed" in done.stdout
    with cltrace.load(GOLDEN) as trace:
        one = read_sample(trace)
    fewer = replace(one, counters={**one.counters, CounterKey(CounterKind.BUILDS): 0})
    samples = alone(tmp_path / "samples.json", Round((), (fewer,) * 3))
    done = run("check", GOLDEN, samples, cwd=tmp_path)
    assert done.status == 1
    assert "counters only" in done.stdout
    assert "Time of kernels" not in done.stdout
    # What wavers in the samples tells nothing, and neither does another device.
    wavering = alone(tmp_path / "wavering.json", Round((), (fewer, one, one)))
    assert run("check", GOLDEN, wavering, cwd=tmp_path).status == 0
    assert run("check", DATA / "h200-mixture.cltrace", GOLDEN, cwd=tmp_path).status == 3


def test_a_report_names_the_commands_and_revisions_of_both_sides(
    tmp_path: Path, run: Runner
) -> None:
    pairs = written(tmp_path / "pairs.json", round_of(1, {}))
    line = "python app.py, revision abc123def456"
    for words in ((pairs,), (pairs, alone(tmp_path / "base.json", round_of(2, {})))):
        shown = run("check", *words).stdout
        assert [
            " ".join(each.split()) for each in shown.splitlines() if "python app.py" in each
        ] == [
            f"base {line}",
            f"head {line}",
        ]
        whole = json.loads(run("check", *words, "--format", "json").stdout)
        assert (whole["facts"]["base"], whole["facts"]["head"]) == (line, line)
        assert f"- **head**: {line}" in run("check", *words, "--format", "md").stdout
    traces = json.loads(run("check", GOLDEN, GOLDEN, "--format", "json").stdout)["facts"]
    with cltrace.load(GOLDEN) as trace:
        assert traces["base"] == " ".join(trace.command_line)


def test_samples_that_say_nothing_of_each_other(tmp_path: Path, run: Runner) -> None:
    one = alone(tmp_path / "one.json", round_of(1, {}))
    other = alone(tmp_path / "other.json", round_of(2, {}))
    stored = json.loads(other.read_text())
    other.write_text(json.dumps({**stored, "dropped": 0}))
    done = run("check", one, other)
    assert (done.status, "--drop 5" in done.stderr) == (3, True)
    stored["rounds"][0]["head"] = []
    other.write_text(json.dumps(stored))
    assert run("check", one, other).status == 2
    paired = written(tmp_path / "paired.json", Round((), round_of(1, {}).head))
    assert run("check", paired).status == 3


def test_who_has_seen_enough_gets_the_same_status(tmp_path: Path) -> None:
    slow = written(tmp_path / "slow.json", slower(2), slower(3))
    command = f"{sys.executable} -m cltrace check {slow} --all --junit {tmp_path}/a.xml | true"
    words = ["bash", "-c", f'{command}; exit "${{PIPESTATUS[0]}}"']
    assert subprocess.run(words, check=False, capture_output=True).returncode == 1
    assert (tmp_path / "a.xml").exists()


def test_files_for_other_tools(tmp_path: Path, run: Runner) -> None:
    hostile = KernelKey('<"&]]>\x1b[31m\x00', "[64]", "board")
    odd = [
        Round(*(tuple(renamed(one, hostile) for one in side) for side in (each.base, each.head)))
        for each in (slower(2), slower(3))
    ]
    slow = written(tmp_path / "slow.json", *odd)
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = run(
        *("check", slow, "--json", tmp_path / "o/a.json", "--junit", tmp_path / "a.xml"),
        *("--markdown", tmp_path / "a.md", "--gab-json", tmp_path / "gab.json"),
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert done.status == 1
    assert "\x1b" not in done.stdout
    whole = json.loads((tmp_path / "o/a.json").read_text())
    assert (whole["schema"], whole["outcome"]) == (1, "regression")
    assert len(whole["samples"]) == 2
    assert len(whole["samples"][0]["head"]) == 12
    suite = ET.parse(tmp_path / "a.xml").getroot().find("testsuite")
    assert suite is not None
    failed = [case for case in suite if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failed)) == "1"
    assert "SLOW: +3" in str(failed[0][0].get("message"))
    assert "][" not in str(failed[0].get("name"))
    markdown = (tmp_path / "a.md").read_text()
    assert "SLOW" in markdown
    assert summary.read_text() == "before\n" + markdown
    entries = json.loads((tmp_path / "gab.json").read_text())
    assert {entry["unit"] for entry in entries} == {"ms"}
    (heavy,) = [entry for entry in entries if entry["name"].startswith("heavy")]
    assert heavy["value"] == pytest.approx(5.0, rel=0.05)


def renamed(run: RunSample, to: KernelKey) -> RunSample:
    kernels = {to if key == LIGHT else key: one for key, one in run.kernels.items()}
    return replace(run, kernels=kernels)


def test_a_summary_that_cannot_be_written_changes_nothing(tmp_path: Path, run: Runner) -> None:
    same = written(tmp_path / "same.json", round_of(1, {}))
    assert run("check", same, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no/where")}).status == 0
    done = run("check", same, "--junit", "/proc/none/a.xml")
    assert done.status == 2
    assert "cannot be written" in done.stderr


def test_baselines_are_kept_listed_compared_and_removed(tmp_path: Path, run: Runner) -> None:
    base, same = (alone(tmp_path / f"{n}.json", round_of(n, {}, pairs=16)) for n in (1, 2))
    slow = alone(tmp_path / "slow.json", round_of(3, {LIGHT: 1.5}, pairs=16))

    def cltrace(*words: str | Path, status: int = 0) -> str:
        done = run(*words, cwd=tmp_path)
        assert done.status == status, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    assert "no baseline is stored here" in cltrace("baseline", "list")
    assert "there is no baseline main" in cltrace("check", same, "--baseline", "main", status=3)
    cltrace("check", same, "--baseline", "main", "--missing-baseline", "ok")
    cltrace("baseline", "save", "main", base)
    assert "exists already" in cltrace("baseline", "save", "main", base, status=2)
    cltrace("baseline", "save", "main", base, "-f")
    (stored,) = (tmp_path / ".cltrace" / "baselines").glob("board-*/main.json")
    assert read_samples(stored) == read_samples(base)
    assert "main" in cltrace("baseline", "list")
    assert "abc123def456" in cltrace("baseline", "show", "main")
    said = cltrace("check", same, "--baseline", "main")
    assert "did not take turns" in said
    assert "regression" in cltrace("check", slow, "--baseline", "main", status=1)
    for words in (["rm", "other"], ["show"], ["save", "../x", base], ["list", "x"], ["save", "x"]):
        cltrace("baseline", *words, status=2)
    other = stored.parent.with_name("zzz")
    other.mkdir()
    (other / "main.json").write_text("{}")
    assert "holds no samples" in cltrace("baseline", "list")
    assert "--machine names one" in cltrace("baseline", "rm", "main", status=2)
    cltrace("baseline", "rm", "main", "--machine", "zzz")
    cltrace("baseline", "rm", "main")
    assert not stored.exists()


def test_a_baseline_of_another_device_is_refused(tmp_path: Path, run: Runner) -> None:
    here = round_of(1, {})
    other = DeviceIdentity("other board", "platform", "1.0", "OpenCL 3.0")
    there = Round((), tuple(replace(one, devices=(other,)) for one in here.head))
    base = written(tmp_path / "base.json", there, is_paired=False)
    head = alone(tmp_path / "head.json", here)
    run("baseline", "save", "main", base, cwd=tmp_path)
    done = run("check", head, "--baseline", "main", cwd=tmp_path)
    assert done.status == 3
    assert "of another machine" in done.stderr
    assert "only one side ran on board (driver 1.0), other board" in " ".join(done.stdout.split())
    done = run("check", head, "--baseline", "main", "--through-model", cwd=tmp_path)
    assert "the model knows no kernel on both devices" in " ".join(done.stdout.split())
    assert done.status == 3
    assert "not compared, as the model does not know them" in " ".join(done.stdout.split())
    assert (
        run("check", head, "--baseline", "main", "--missing-baseline", "ok", cwd=tmp_path).status
        == 0
    )


@pytest.mark.parametrize(("floor", "status"), [("2%", 1), ("10%", 0)])
def test_three_percent_on_an_h200_are_found_where_they_matter(
    floor: str, status: int, run: Runner, tmp_path: Path
) -> None:
    done = run("check", str(H200), "--floor", floor, "--color", "never", cwd=tmp_path)
    assert done.status == status
    assert ("1 of 20 kernels slower: mixed_2 +2.9%" in done.stdout) == bool(status)
    assert "no clang for base and head" in " ".join(done.stdout.split())
    assert "clang" not in run("check", str(H200), "--counters", "off", cwd=tmp_path).stdout
