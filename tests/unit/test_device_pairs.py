"""Several devices of a host to each other: who worked at once, offsets of clocks, the path over both."""

from dataclasses import replace

import pytest

import cltrace
from cltrace.events.clocks import UNBOUNDED_NS, ClockSegment
from cltrace.events.kinds import ClockState
from cltrace.report.clocks import clock_table
from cltrace.report.critical_path import path_table
from cltrace.timeline.activity import Activity
from cltrace.timeline.clock_map import clock_maps
from cltrace.timeline.clock_offsets import find_clock_offsets
from cltrace.timeline.critical_path import find_critical_path
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.device_concurrency import concurrency_ns
from tests.activities import Call, Run, activity
from tests.conftest import MakeTrace


def second(run: Run) -> Run:
    """The same on the second device."""
    return replace(run, queue=2, device=2)


def segment(device: int, ahead_ns: int, drift: float, state: ClockState) -> ClockSegment:
    """A clock that shows `ahead_ns` more than the host at the host's 0."""
    return ClockSegment(
        device_id=device,
        state=state,
        is_straight=True,
        from_enter_host_ns=-UNBOUNDED_NS,
        to_enter_host_ns=UNBOUNDED_NS,
        from_device_ns=-UNBOUNDED_NS,
        to_device_ns=UNBOUNDED_NS,
        anchor_device_ns=ahead_ns,
        anchor_host_ns=0,
        drift=drift,
        drift_within=1e-7,
        half_width_ns=500.0,
        bound_ns=1000.0 * device,
        observations=10,
        rejected=0,
        reason="",
        quantum_ns=1,
    )


def with_clocks(runs: list[Run], *drifts: float, state: ClockState) -> Activity:
    segments = (segment(1, 100, drifts[0], ClockState.PROVEN), segment(2, 700, drifts[1], state))
    return replace(activity(runs), clocks=clock_maps(segments))


def test_devices_at_once_are_counted_by_board() -> None:
    runs = [Run(0, 10, 50), Run(1, 20, 40), second(Run(2, 30, 90)), second(Run(3, 100, 110))]
    made = activity(runs)
    # 90 to 100: none. The second command of the first device does not count twice.
    assert concurrency_ns(made, {}) == [10, 70, 20]
    assert concurrency_ns(made, {1: 1, 2: 1}) == [10, 90]
    assert concurrency_ns(activity([Run(0, None, None)]), {}) == []


def test_the_offset_of_two_clocks_follows_from_both_maps() -> None:
    runs = [
        Run(0, 10, 20),
        second(Run(0, 10, 20)),
        Run(2_000_000_000, 2_000_000_010, 2_000_000_020),
        second(Run(2_000_000_000, 2_000_000_010, 2_000_000_020)),
    ]
    made = with_clocks(runs, 0.0, -2e-6, state=ClockState.PROVEN)
    (found,) = find_clock_offsets(made, {1: "a", 2: "a"})
    # 600 ns at the host's 0; the second gains 2 µs per second, and the middle is at 1 s.
    assert found.offset_ns == 2600
    assert found.bound_ns == 3000.0
    assert found.drift == pytest.approx(2e-6, rel=1e-3)
    assert found.drift_within == pytest.approx(2e-7)
    assert (found.device, found.reference, found.is_proven) == (2, 1, True)
    assert not find_clock_offsets(made, {1: "a", 2: "b"}), "clocks of two hosts have no offset"


def test_an_offset_is_no_better_than_both_clocks() -> None:
    runs = [Run(0, 10, 20), second(Run(0, 10, 20))]
    conditional = with_clocks(runs, 0.0, 0.0, state=ClockState.CONDITIONAL)
    (found,) = find_clock_offsets(conditional, {})
    assert not found.is_proven
    assert not find_clock_offsets(with_clocks(runs, 0.0, 0.0, state=ClockState.UNALIGNED), {})


def test_commands_that_start_before_what_they_wait_for_are_counted() -> None:
    runs = [
        Run(0, 10, 5000),
        second(Run(1, 5100, 5200, waits_for=(0,))),
        second(Run(2, 4500, 5300, waits_for=(0,))),
        Run(3, 6000, 6100),
    ]
    made = with_clocks(runs, 0.0, 0.0, state=ClockState.PROVEN)
    commands = replace(made.commands, bound_ns=made.commands.bound_ns + 200)
    (found,) = find_clock_offsets(replace(made, commands=commands), {})
    assert (found.ordered, found.early) == (2, 1)


def test_the_critical_path_names_the_device_of_each_step() -> None:
    runs = [Run(0, 10, 50), second(Run(2, 60, 100, waits_for=(0,)))]
    made = activity(runs, [Call(5, 101, queue=2)])
    steps = find_critical_path(made, find_dependencies(made))
    table = path_table(made, steps, None)
    assert [column.key for column in table.columns][:2] == ["what", "device"]
    ran = {row[1]: row[3] for row in table.rows if row[0] == "k"}
    assert ran == {"device 1": 40, "device 2": 40}
    assert {row[1] for row in table.rows if row[0] != "k"} == {None}
    alone = activity(runs[:1], [Call(5, 51, queue=1)])
    table = path_table(alone, find_critical_path(alone, find_dependencies(alone)), None)
    assert "device" not in [column.key for column in table.columns]


@pytest.mark.parametrize(
    ("within", "text"),
    [(3.8e-8, "± 0.04"), (2.2e-7, "± 0.22"), (1.44e-6, "± 1.4"), (3e-9, "± 0.01")],
)
def test_the_error_of_a_drift_is_short(within: float, text: str, make_trace: MakeTrace) -> None:
    one = replace(segment(1, 0, -1.96e-6, ClockState.PROVEN), drift_within=within)
    with cltrace.load(make_trace()) as trace:
        (row,) = clock_table(trace, (one,)).rows
    assert f"-1.96 {text}" in row
