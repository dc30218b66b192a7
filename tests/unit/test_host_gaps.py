"""Work of the host between calls: how long devices were idle for it, and what changes would save."""

from dataclasses import replace

import pytest

from cltrace.timeline.advice import Evidence, advise
from cltrace.timeline.advice.gains import find_gains
from cltrace.timeline.advice.host_gaps import host_gaps
from cltrace.timeline.advice.model import Place, Proposal
from cltrace.timeline.host_gaps import find_host_gaps
from cltrace.timeline.replay import Replay, RunGraph, build_run_graph
from tests.activities import Call, Run
from tests.evidence import evidence_of

US = 1000
STEPS = 20
PLACES = {1: Place("app.py:1"), 2: Place("app.py:2"), 3: Place("app.py:3")}


def steps(kernel_us: int, work_us: int) -> list[Run]:
    """A loop: a kernel, a blocking read of its results, and work of the host on them."""
    runs = []
    for at in range(STEPS):
        begin = at * (kernel_us + work_us + 40)
        end = begin + 20 + kernel_us
        runs.append(Run(begin * US, (begin + 10) * US, end * US, site=1))
        read = Run((begin + 5) * US, end * US, (end + 10) * US, kind="read", site=2)
        runs.append(Run(read.enter, read.start, read.end, "read", 1, 1, 1, 1, (), (end + 20) * US))
    return [each if each.kind == "kernel" else _at(each, 2) for each in runs]


def _at(run: Run, site: int) -> Run:
    values = {name: getattr(run, name) for name in Run.__dataclass_fields__}
    return Run(**(values | {"site": site}))


def graph_of(evidence: Evidence) -> RunGraph:
    return build_run_graph(evidence.activity, evidence.dependencies, evidence.events)


def gain_us(evidence: Evidence, proposal: Proposal) -> float:
    assert proposal.change is not None
    return Replay(graph_of(evidence)).gain_ns(proposal.change) / US


def test_gaps_have_the_lines_around_them_and_their_idle_time() -> None:
    evidence = evidence_of(steps(1000, 500), places=PLACES)
    gaps = find_host_gaps(evidence.activity, evidence.events)
    long = gaps.work_ns > 100 * US
    assert long.sum() == STEPS - 1
    assert set(gaps.work_ns[long].tolist()) == {500 * US}
    assert (gaps.idle_ns[long] == 500 * US).all()
    assert set(gaps.before_site[long].tolist()) == {2}
    assert set(gaps.after_site[long].tolist()) == {1}


def test_work_beside_a_busy_device_is_no_gap() -> None:
    runs = [Run(at * 1000 * US, (at * 1000 + 10) * US, (at + 1) * 1000 * US) for at in range(10)]
    evidence = evidence_of(runs, places=PLACES)
    gaps = find_host_gaps(evidence.activity, evidence.events)
    assert (gaps.idle_ns < 20 * US).all()
    assert not host_gaps(evidence)


@pytest.mark.parametrize(("kernel_us", "work_us"), [(1000, 500), (500, 1000)])
def test_working_on_results_beside_the_next_step_saves_the_shorter_of_both(
    kernel_us: int, work_us: int
) -> None:
    evidence = evidence_of(steps(kernel_us, work_us), places=PLACES)
    (proposal,) = host_gaps(evidence)
    assert (proposal.place.site, proposal.until_site) == ("app.py:2", "app.py:1")
    assert proposal.times == STEPS - 1
    shorter = min(kernel_us, work_us) * (STEPS - 1)
    assert gain_us(evidence, proposal) == pytest.approx(shorter, rel=0.1)


def test_no_more_is_expected_than_the_time_without_a_device_at_work() -> None:
    """A device that is always busy starts commands sooner, too, which is not what the evidence shows."""
    runs = []
    for at in range(STEPS):
        begin = at * 1600
        end = begin + 1000
        late = replace(Run(begin * US, (begin + 300) * US, end * US), site=1)
        read = Run(
            (begin + 5) * US, end * US, (end + 10) * US, "read", blocking_until=(end + 20) * US
        )
        runs += [late, _at(read, 2)]
    evidence = evidence_of(runs, places=PLACES)
    (proposal,) = host_gaps(evidence)
    idle_us = 580 * (STEPS - 1)
    assert proposal.limit_ns == idle_us * US
    assert gain_us(evidence, proposal) > idle_us
    found = find_gains([proposal], Replay(graph_of(evidence)), {})
    (finding,) = found.findings
    assert finding.gain is not None
    assert found.together is not None
    assert finding.gain.expected_ns == found.together.expected_ns == idle_us * US
    assert finding.gain.high_ns > idle_us * US


def test_calls_after_the_wait_and_a_few_other_gaps_hide_nothing() -> None:
    """Programs drop events between a read and their work, and collect garbage now and then."""
    runs = steps(1000, 500)
    calls = [
        Call((run.blocking_until or 0) + 2, (run.blocking_until or 0) + 3, waits_for=(0,), site=2)
        for run in runs
        if run.kind == "read"
    ]
    runs[6] = _at(Run(runs[6].enter, runs[6].start, runs[6].end), 1)
    evidence = evidence_of(runs, calls[:-2], places=PLACES)
    (proposal,) = host_gaps(evidence)
    assert proposal.times == STEPS - 1
    assert gain_us(evidence, proposal) == pytest.approx(500 * (STEPS - 1), rel=0.1)


def test_results_that_are_awaited_one_step_later_are_no_mistake() -> None:
    runs, calls = [], []
    for at in range(STEPS):
        begin = at * 1000
        runs.append(Run(begin * US, (begin + 10) * US, (begin + 700) * US, site=1))
        start, end = (begin + 700) * US, (begin + 710) * US
        runs.append(_at(Run((begin + 5) * US, start, end, "read"), 2))
        if at:
            returned = (begin + 20) * US
            calls.append(Call((begin + 15) * US, returned, waits_for=(2 * at - 1,), site=3))
    assert not host_gaps(evidence_of(runs, calls, places=PLACES))


def test_work_that_the_device_mostly_waits_for_is_told_with_what_it_costs() -> None:
    runs = [
        Run(at * 1000 * US, (at * 1000 + 10) * US, (at * 1000 + 110) * US) for at in range(STEPS)
    ]
    evidence = evidence_of(runs, places=PLACES)
    (proposal,) = host_gaps(evidence)
    assert (proposal.place.site, proposal.until_site) == ("app.py:1", "app.py:1")
    # Without the work the kernels follow each other.
    assert gain_us(evidence, proposal) == pytest.approx(890 * (STEPS - 1), rel=0.02)


def test_work_that_takes_less_than_the_device_is_no_finding() -> None:
    runs = [
        Run(at * 1000 * US, (at * 1000 + 10) * US, (at * 1000 + 700) * US) for at in range(STEPS)
    ]
    assert not host_gaps(evidence_of(runs, places=PLACES))


def test_a_wait_for_kernels_is_left_to_its_own_rule() -> None:
    runs, calls = [], []
    for at in range(STEPS):
        begin = at * 1000
        runs.append(Run(begin * US, (begin + 10) * US, (begin + 110) * US))
        calls.append(Call((begin + 20) * US, (begin + 115) * US, queue=1, site=2))
    assert not host_gaps(evidence_of(runs, calls, places=PLACES))


def test_a_run_with_calls_and_no_command_has_no_gap() -> None:
    evidence = evidence_of([], [Call(1000 * US * at, 1000 * US * at + 1, 1) for at in range(STEPS)])
    assert not host_gaps(evidence)
    assert not advise(evidence).findings
