"""The page of a trace as the verb writes it, and what it says of launches and builds."""

import dataclasses
import sys
from pathlib import Path

import numpy as np

import cltrace
from cltrace.events.apis import Api
from cltrace.report.page.launches import describe_shapes
from cltrace.report.tracks.arguments import read_argument_texts
from cltrace.report.tracks.launches import LaunchShape
from cltrace.report.tracks.path_builds import split_at_builds
from cltrace.report.tracks.scene import NONE, LaunchDescription
from cltrace.timeline.activity import Calls
from cltrace.timeline.critical_path import PathStep, StepKind
from tests.conftest import MakeTrace, Runner


def test_the_verb_overwrites_its_own_page_and_nothing_else(
    run: Runner, make_trace: MakeTrace, tmp_path: Path
) -> None:
    path = make_trace()
    page = tmp_path / "made.html"
    done = run("view", path)
    assert (done.status, done.stdout) == (0, "")
    assert done.stderr.startswith("cltrace: wrote made.html\n")
    first = page.read_bytes()
    assert run("view", path, "--from", "0", "--to", "1ms").status == 0
    assert page.read_bytes() != first
    foreign = b'<!doctype html><title>x</title><meta name="generator" content="cltrace 1">'
    for content in (foreign, b"", first[20:]):
        page.write_bytes(content)
        refused = run("view", path)
        assert refused.status == 2
        assert "-f overwrites it" in refused.stderr
        assert page.read_bytes() == content
    assert run("view", path, "-f").status == 0
    assert page.read_bytes() == first
    assert run("view", path, "-f", "-o", path).status == 2
    assert run("view", path, "-f", "-o", tmp_path).status == 2
    assert sorted(one.name for one in tmp_path.iterdir()) == ["made.cltrace", "made.html"]


def test_a_trace_without_commands_has_a_page(run: Runner, tmp_path: Path) -> None:
    run("run", "-q", "-o", "none.cltrace", sys.executable, "-c", "import pyopencl")
    done = run("view", "none.cltrace")
    assert done.status == 0, done.stderr
    assert (tmp_path / "none.html").exists()


def test_launches_are_described_with_arguments_and_annotations(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        arguments = read_argument_texts(trace)
    assert arguments[1] == ("buffer 1, 1.00 MiB, from byte 16", "0.5")
    assert arguments[2][0] == "local memory, 256 B"
    facts = (("predicted", "2.00 ms"), ("limited_by", "DRAM"))
    shapes = {7: LaunchShape((64, 2), (32, 1), facts), 9: LaunchShape((64,), None)}
    found = describe_shapes(shapes, {7: ("buffer 1",)}, np.array([9, 0, 7]))
    described = [found.descriptions[number] for number in found.of_command.tolist()]
    assert described[0].size == "64, groups by the driver"
    assert described[1] == LaunchDescription()
    assert described[2].size == "64 × 2 in groups of 32 × 1"
    assert described[2].facts == (("predicted", "2.00 ms"), ("limited by", "DRAM"))
    assert described[2].arguments == ("buffer 1",)
    assert found.has_arguments
    assert not describe_shapes(shapes, None, np.array([7])).has_arguments


def test_builds_are_steps_of_the_critical_path() -> None:
    host = PathStep(StepKind.HOST, 100, 500, NONE, 3)
    other = PathStep(StepKind.LAUNCH, 500, 600, 7, NONE)
    build, finish = int(Api.clBuildProgram), int(Api.clFinish)
    enter, leave = [50, 200, 320, 340, 210], [120, 300, 330, 700, 290]
    api, thread = [build, build, finish, build, build], [3, 3, 3, 3, 4]
    empty = np.zeros(5, np.int64)
    given = {
        "api": np.array(api),
        "thread": np.array(thread),
        "enter_ns": np.array(enter),
        "return_ns": np.array(leave),
    }
    columns = {each.name: given.get(each.name, empty) for each in dataclasses.fields(Calls)}
    steps, apis = split_at_builds([host, other], Calls(**columns))
    assert [(step.begin_ns, step.end_ns) for step in steps] == [
        *((100, 120), (120, 200), (200, 300), (300, 340), (340, 500)),
        (500, 600),
    ]
    assert apis.tolist() == [build, NONE, build, NONE, build, NONE]
    assert steps[-1] == other
