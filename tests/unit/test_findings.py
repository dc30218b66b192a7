"""Findings: gains by replay, one per cause, and their blocks on a screen."""

import io
from dataclasses import replace

import numpy as np
import pytest

from cltrace.report.advice import advice_table
from cltrace.report.document import Document
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.timeline import _uncounted_notes
from cltrace.timeline.advice.gains import find_gains
from cltrace.timeline.advice.model import (
    DeviceSummary,
    Findings,
    KernelAdvice,
    Place,
    Proposal,
    Remedy,
    UncountedKernel,
    metric_count,
    typical_count,
)
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.replay import Change, Replay, build_run_graph, find_host_events
from tests.activities import Call, Run, activity

US = 1000
ROUNDS = 100
GPU = {1: DeviceSummary("a device", "GPU", 64)}
PROCESSOR = {1: DeviceSummary("a processor", "CPU", 2)}


def replay() -> Replay:
    """A loop: the host works 20 µs, enqueues 50 µs of work, and waits for it."""
    runs, calls = [], []
    for at in range(ROUNDS):
        begin = 90 * at * US
        runs.append(Run(begin + 20 * US, begin + 25 * US, begin + 75 * US))
        calls.append(Call(begin + 22 * US, begin + 90 * US, queue=1))
    made = activity(runs, calls)
    dependencies = find_dependencies(made)
    events = find_host_events(made, dependencies, np.empty(0, np.int64))
    return Replay(build_run_graph(made, dependencies, events))


def without_waits(calls: Int64s, site: str = "app.py:3", rule: str = "unneeded-wait") -> Proposal:
    return Proposal(
        rule=rule,
        title="The host waits for kernels only",
        place=Place(site),
        times=len(calls),
        metrics=(metric_count("waits", len(calls)),),
        remedy=Remedy("Leave the wait out.", "step(); queue.finish()", "step()"),
        change=Change(removed_calls=calls),
    )


def leak() -> Proposal:
    proposal = without_waits(np.arange(1), "app.py:9", "leak")
    return replace(proposal, title="Memory that is never released", change=None)


def test_a_gain_is_what_the_replay_saves() -> None:
    run = replay()
    proposal = without_waits(np.arange(ROUNDS - 1))
    found = find_gains([leak(), proposal], run, GPU)
    assert [finding.rule for finding in found.findings] == ["unneeded-wait", "leak"]
    gain = found.findings[0].gain
    assert gain is not None
    # The 20 µs of work run beside the kernels, and so does the call's return.
    assert 25 * US * ROUNDS <= gain.expected_ns <= 36 * US * ROUNDS
    assert gain.expected_ns == run.gain_ns(proposal.change or Change())
    assert gain.low_ns < gain.expected_ns < gain.high_ns < found.span_ns
    assert found.findings[1].gain is None


def test_runs_differ_by_a_share_of_the_part_that_changes() -> None:
    early = np.arange(10)
    short, whole = (
        find_gains([without_waits(waits)], replay(), GPU).findings[0].gain
        for waits in (early, np.arange(0, ROUNDS - 1, 10))
    )
    assert short is not None
    assert whole is not None
    # Ten waits each; the first ten in a tenth of the run. The rest of the run is not theirs.
    assert short.high_ns - short.expected_ns < 0.2 * short.expected_ns + 0.03 * 900 * US
    assert whole.high_ns - whole.expected_ns > 0.03 * 8000 * US
    assert short.low_ns > 0.5 * short.expected_ns


def test_on_a_processor_the_host_competes_with_kernels() -> None:
    proposal = without_waits(np.arange(ROUNDS - 1))
    low = [
        finding.gain.low_ns
        for devices in (GPU, PROCESSOR)
        for finding in find_gains([proposal], replay(), devices).findings
        if finding.gain is not None
    ]
    assert low[0] > 20 * US * ROUNDS
    assert low[1] == 0


def test_two_rules_that_see_the_same_waits_are_one_finding() -> None:
    waits = np.arange(ROUNDS - 1)
    turns = without_waits(waits, rule="devices-in-turns")
    found = find_gains([turns, without_waits(waits)], replay(), GPU)
    assert [finding.rule for finding in found.findings] == ["devices-in-turns"]
    elsewhere = without_waits(waits[::2], "app.py:4")
    assert len(find_gains([turns, elsewhere], replay(), GPU).findings) == 2


def test_gains_of_the_same_waits_do_not_add_up() -> None:
    waits = np.arange(ROUNDS - 1)
    found = find_gains([without_waits(waits), without_waits(waits, "app.py:4")], replay(), GPU)
    first = found.findings[0].gain
    assert first is not None
    assert found.together is not None
    assert found.together.expected_ns == first.expected_ns


def test_what_a_limit_leaves_out_of_one_gain_may_be_the_gain_of_another() -> None:
    waits = np.arange(ROUNDS - 1)
    limit_ns = 150 * US
    limited = replace(without_waits(waits, "app.py:4"), limit_ns=limit_ns)
    found = find_gains([without_waits(waits), limited], replay(), GPU)
    first, second = (finding.gain for finding in found.findings)
    assert first is not None
    assert second is not None
    assert found.together is not None
    assert second.expected_ns == limit_ns < first.expected_ns
    assert found.together.expected_ns == first.expected_ns
    assert found.together.low_ns >= first.low_ns
    halves = [
        replace(without_waits(waits[at::2], f"app.py:{at}"), limit_ns=limit_ns) for at in range(2)
    ]
    limited_all = find_gains(halves, replay(), GPU).together
    assert limited_all is not None
    assert limited_all.expected_ns == 2 * limit_ns


def test_places_of_little_gain_are_one_finding() -> None:
    parts = [without_waits(np.array([at]), f"app.py:{at}") for at in range(40)]
    found = find_gains(parts, replay(), GPU)
    (finding,) = found.findings
    assert finding.times == 40
    assert len(finding.other_places) == 39
    assert found.worthwhile() == found.findings
    small = find_gains(parts[:1], replay(), GPU)
    assert small.findings
    assert not small.worthwhile()
    assert small.worthwhile(0.0) == small.findings


def test_places_of_one_cause_are_one_finding() -> None:
    halves = np.arange(0, ROUNDS - 1, 2), np.arange(1, ROUNDS - 1, 2)
    parts = [without_waits(half, f"app.py:{at}") for at, half in enumerate(halves)]
    run = replay()
    assert len(find_gains(parts, run, GPU).findings) == 2
    (finding,) = find_gains([replace(each, cause="both") for each in parts], run, GPU).findings
    assert finding.times == ROUNDS - 1
    assert (finding.site, finding.other_places) == ("app.py:0", (Place("app.py:1"),))
    assert finding.gain is not None
    assert finding.gain.expected_ns == run.gain_ns(Change(removed_calls=np.arange(ROUNDS - 1)))
    others = [replace(each, cause=f"cause {at}") for at, each in enumerate(parts)]
    assert len(find_gains(others, run, GPU).findings) == 2


def screen(found: Findings, width: int) -> str:
    table = advice_table(found, 8)
    out = io.StringIO()
    console = console_for(out, width=width)
    console.print(renderable(Document("", [], [table]), width=width, is_ascii=False))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80])
def test_blocks_fit_the_screen_and_cut_nothing(width: int) -> None:
    far = "/home/someone/" + "deep/" * 12 + "app.py:3"
    library = Place(far, "/usr/lib/python3/site-packages/array.py:7")
    proposal = replace(without_waits(np.arange(ROUNDS - 1)), place=library)
    text = screen(find_gains([proposal, leak()], replay(), GPU), width)
    assert max(map(len, text.splitlines())) <= width
    joined = "".join(text.split())
    for word in ("app.py:3", "array.py:7", "step();queue.finish()", "oftherun", "99waits"):
        assert word in joined
    assert "…" not in text


def test_the_note_counts_what_is_hidden() -> None:
    found = find_gains([without_waits(np.array([3]))], replay(), GPU)
    table = advice_table(found, 8)
    assert not table.rows
    assert "--all" in table.note
    assert "--all" in screen(found, 80)
    assert len(advice_table(found, 8, 0.0).rows) == 1


def test_numbers_of_a_typical_launch_are_not_added_up_over_places() -> None:
    few = typical_count("work-groups", 8)
    parts = [
        replace(
            without_waits(np.array([at]), f"app.py:{at}"), metrics=(few, metric_count("waits", 1))
        )
        for at in range(20)
    ]
    (finding,) = find_gains(parts, replay(), GPU).findings
    assert [metric.value for metric in finding.proposal.metrics] == [8, 20]


def test_kernels_without_counts_are_told_once_per_reason() -> None:
    kernels = ("f", "no clang", 0.5), ("g", "no clang", 0.01), ("h", "a pipe", 0.009)
    advice = KernelAdvice(uncounted=tuple(UncountedKernel(*kernel) for kernel in kernels))
    notes = [
        "note: no advice about f and 1 other kernel: no clang",
        "note: no advice about h: a pipe",
    ]
    assert list(_uncounted_notes(advice, 0.0)) == notes
    assert list(_uncounted_notes(advice, 0.01)) == notes[:1]
