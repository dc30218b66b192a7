"""Small kernels of one queue that nothing orders: found, and what running them side by side saves."""

import pytest

from cltrace.timeline.advice.model import (
    DeviceSummary,
    Evidence,
    LaunchConfiguration,
    MemoryObject,
    Place,
    Proposal,
)
from cltrace.timeline.advice.serial_queues import serial_queues
from cltrace.timeline.replay import Change, Replay, build_run_graph
from tests.activities import Call, Run
from tests.evidence import evidence_of

US = 1000
PAIRS = 10
GPU = {1: DeviceSummary("gpu", "GPU", 100)}
PLACES = {1: Place("app.py:1"), 2: Place("app.py:2")}
BUFFER = MemoryObject("buffer", 1, 4096, "", "")


def launched(groups: int, group_items: int | None = 64) -> LaunchConfiguration:
    local = None if group_items is None else (group_items,)
    return LaunchConfiguration("k", (64 * groups,), local, 32)


def in_turn(count: int, duration_us: int = 100) -> list[Run]:
    """Launches that run one after another, those with odd numbers of another kind."""
    return [
        Run(
            at * US,
            (count + at * duration_us) * US,
            (count + (at + 1) * duration_us) * US,
            launch=1 + at % 2,
        )
        for at in range(count)
    ]


def advice_on(
    runs: list[Run],
    calls: list[Call],
    *,
    groups: int = 10,
    group_items: int | None = 64,
    used: tuple[frozenset[int], frozenset[int]] = (frozenset({1}), frozenset({2})),
    devices: dict[int, DeviceSummary] = GPU,
) -> tuple[Evidence, list[Proposal]]:
    evidence = evidence_of(
        runs,
        calls,
        used_buffers={1: used[0], 2: used[1]},
        configurations=dict.fromkeys((1, 2), launched(groups, group_items)),
        devices=devices,
        memory={1: BUFFER, 2: BUFFER},
        places=PLACES,
    )
    return evidence, serial_queues(evidence)


def gain_us(evidence: Evidence, change: Change | None) -> float:
    assert change is not None
    graph = build_run_graph(evidence.activity, evidence.dependencies, evidence.events)
    return Replay(graph).gain_ns(change) / US


def finished(runs: list[Run]) -> list[Call]:
    end = max(run.end or 0 for run in runs)
    return [Call(50 * US, end + 5 * US, queue=1)]


def test_two_chains_take_half_of_the_time_side_by_side() -> None:
    runs = in_turn(2 * PAIRS)
    evidence, (proposal,) = advice_on(runs, finished(runs))
    assert proposal.times == 2 * PAIRS - 1
    # Each launch needs the one before the last, so more queues gain nothing.
    assert gain_us(evidence, proposal.change) == pytest.approx(100 * PAIRS, abs=50)
    assert gain_us(evidence, proposal.most) == pytest.approx(100 * PAIRS, abs=50)


def test_the_end_waits_for_all_that_ran_side_by_side() -> None:
    runs = in_turn(2 * PAIRS - 2)
    last = runs[-1].end or 0
    runs.append(Run(40 * US, last, last + 500 * US))
    runs.append(Run(41 * US, last + 500 * US, last + 600 * US, launch=2))
    evidence, (proposal,) = advice_on(runs, finished(runs))
    graph = build_run_graph(evidence.activity, evidence.dependencies, evidence.events)
    assert proposal.change is not None
    replayed = Replay(graph).run(proposal.change)
    assert replayed.return_ns.max() >= replayed.command_end_ns.max()


def test_what_follows_in_the_queue_waits_for_all_of_them() -> None:
    runs = in_turn(2 * PAIRS)
    end = runs[-1].end or 0
    runs.append(Run(45 * US, end, end + 10 * US, "read", blocking_until=end + 20 * US))
    evidence, (proposal,) = advice_on(runs, [])
    graph = build_run_graph(evidence.activity, evidence.dependencies, evidence.events)
    assert proposal.change is not None
    ends = Replay(graph).run(proposal.change).command_end_ns
    assert ends[-1] - 10 * US >= ends[:-1].max()
    assert ends[-1] < end - 900 * US


@pytest.mark.parametrize(
    "used",
    [(frozenset({1}), frozenset({1})), (frozenset({1}), frozenset({1, 2}))],
    ids=["the same buffer", "one in common"],
)
def test_launches_that_share_memory_stay_in_order(
    used: tuple[frozenset[int], frozenset[int]],
) -> None:
    runs = in_turn(2 * PAIRS)
    assert not advice_on(runs, finished(runs), used=used)[1]


def test_launches_that_fill_the_device_stay_in_order() -> None:
    runs = in_turn(2 * PAIRS)
    assert not advice_on(runs, finished(runs), groups=150)[1]


def test_a_processor_whose_work_groups_are_not_known_has_no_finding() -> None:
    runs = in_turn(2 * PAIRS)
    cpu = {1: DeviceSummary("cpu", "CPU", 2)}
    assert not advice_on(runs, finished(runs), devices=cpu, groups=1, group_items=None)[1]
    assert advice_on(runs, finished(runs), devices=cpu, groups=1)[1]


def test_launches_that_are_awaited_one_by_one_have_no_finding() -> None:
    runs = in_turn(2 * PAIRS)
    calls = [Call(run.enter + 1, run.end or 0, waits_for=(at,)) for at, run in enumerate(runs)]
    assert not advice_on(runs, calls)[1]


def test_launches_beside_another_queue_have_no_finding() -> None:
    runs = in_turn(2 * PAIRS)
    beside = [
        Run(run.enter, run.start, run.end, queue=2, launch=3)  # what it is does not matter
        for run in runs
    ]
    assert not advice_on([*runs, *beside], finished(runs))[1]
