"""Builds of a program in a loop, and of several threads at a time, which wait for each other."""

from dataclasses import replace

import numpy as np
import pytest

from cltrace.events.apis import Api
from cltrace.timeline.advice import Evidence
from cltrace.timeline.advice.contended_builds import max_at_once, time_without_ns
from cltrace.timeline.advice.model import BuildStep, LaunchConfiguration, Proposal
from cltrace.timeline.advice.rebuilt_programs import rebuilt_programs
from cltrace.timeline.replay import Replay, build_run_graph
from tests.activities import Call, Run
from tests.evidence import evidence_of

MS = 1_000_000
BUILD_NS = 100 * MS
THREADS = 4


def build(thread: int, begin_ms: int, end_ms: int) -> Call:
    return Call(begin_ms * MS, end_ms * MS, thread=thread, api=Api.clBuildProgram)


def evidence(calls: list[Call], runs: list[Run], sources: dict[int, str] | None = None) -> Evidence:
    """Evidence of builds of one source, or of the sources of some of the calls."""
    made = evidence_of(
        runs, calls, configurations={1: LaunchConfiguration("k", (64,), None, None, 1)}
    )
    builds = tuple(
        BuildStep(
            (sources or {}).get(at, "kernel void k() {}"), "", 1, call.returned - call.enter, at
        )
        for at, call in enumerate(calls)
    )
    return replace(made, builds=builds)


def in_threads() -> Evidence:
    """Each thread builds and launches; each build ends when all have."""
    calls = [build(1 + at, 0, 400) for at in range(THREADS)]
    runs = [
        Run((401 + at) * MS, (402 + at) * MS, (403 + at) * MS, thread=1 + at, queue=1 + at)
        for at in range(THREADS)
    ]
    return evidence(calls, runs)


def metrics(proposal: Proposal) -> dict[str, float]:
    return {metric.label: metric.value for metric in proposal.metrics}


def gain_ms(evidence: Evidence, proposal: Proposal) -> float:
    assert proposal.change is not None
    graph = build_run_graph(evidence.activity, evidence.dependencies, evidence.events)
    return Replay(graph).gain_ns(proposal.change) / MS


def test_builds_at_a_time_take_the_time_that_they_cover() -> None:
    (proposal,) = rebuilt_programs(in_threads())
    found = metrics(proposal)
    assert found["builds"] == found["at a time at most"] == THREADS
    assert found["all but the first took"] == 3 * BUILD_NS
    assert found["with the calls that create programs and kernels"] == 3 * BUILD_NS


def test_the_first_of_several_builds_at_a_time_is_alone_then() -> None:
    threads = in_threads()
    (proposal,) = rebuilt_programs(threads)
    assert gain_ms(threads, proposal) == pytest.approx(300, abs=5)
    assert proposal.least is not None
    assert gain_ms(threads, replace(proposal, change=proposal.least)) < 5


def test_builds_one_after_another_are_added_up() -> None:
    calls = [build(1, 110 * at, 110 * at + 100) for at in range(THREADS)]
    loop = evidence(calls, [Run(500 * MS, 501 * MS, 502 * MS)])
    (proposal,) = rebuilt_programs(loop)
    found = metrics(proposal)
    assert "at a time at most" not in found
    assert found["all but the first took"] == 3 * BUILD_NS
    assert proposal.change is not None
    assert not len(proposal.change.shortened_calls)
    assert gain_ms(loop, proposal) == pytest.approx(300, abs=3)


def test_builds_without_their_calls_are_added_up() -> None:
    made = evidence([build(1, 0, 100), build(1, 200, 300)], [])
    without = replace(made, builds=tuple(replace(step, call=-1) for step in made.builds))
    (proposal,) = rebuilt_programs(without)
    assert metrics(proposal)["builds"] == 2
    assert metrics(proposal)["all but the first took"] == BUILD_NS


def test_other_programs_are_still_built_at_that_time() -> None:
    calls = [build(1, 0, 300), build(2, 100, 300), build(3, 100, 300)]
    made = evidence(calls, [], {2: "kernel void other() {}"}).activity.calls
    assert max_at_once(made, np.arange(3)) == 3
    # Alone for 100 ms, then one of three and later one of two.
    alone = time_without_ns(made, 0, np.array([1]))
    assert alone == pytest.approx((100 + 200 * 2 / 3) * MS, abs=2)
    assert time_without_ns(made, 0, np.array([], np.int64)) == 300 * MS
