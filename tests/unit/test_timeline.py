"""What is derived from a timeline: unions, lanes, idleness, dependencies, the critical path, slack."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.timeline.activity import Activity, clip_activity
from cltrace.timeline.busy import device_busy_times, queue_busy_times
from cltrace.timeline.columns import Int64s
from cltrace.timeline.critical_path import PathStep, StepKind, find_critical_path
from cltrace.timeline.dependencies import NONE, find_dependencies
from cltrace.timeline.intervals import (
    Intervals,
    assign_rows,
    covered_ns,
    gaps,
    intersection,
    overlap,
    union,
)
from cltrace.timeline.latency import measure_latencies
from cltrace.timeline.slack import UNLIMITED_NS, compute_slack_ns
from cltrace.timeline.starvation import measure_starvation
from tests.activities import Call, Run, activity

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=25)


def arrays(spans: Sequence[tuple[int, int]]) -> tuple[Int64s, Int64s]:
    start = np.array([begin for begin, _ in spans], np.int64)
    return start, start + np.array([length for _, length in spans], np.int64)


def depth(spans: Sequence[tuple[int, int]]) -> list[int]:
    """How many intervals are open in each unit of time."""
    return [sum(begin <= at < begin + length for begin, length in spans) for at in range(90)]


@given(SPANS)
def test_a_union_is_what_at_least_one_covers(spans: list[tuple[int, int]]) -> None:
    found = union(*arrays(spans))
    assert found.total_ns == sum(one > 0 for one in depth(spans))
    assert (found.start_ns[1:] > found.end_ns[:-1]).all()


@given(SPANS, st.integers(1, 4))
def test_at_least_counts_how_many_are_open(spans: list[tuple[int, int]], least: int) -> None:
    assert overlap(*arrays(spans), least).total_ns == sum(one >= least for one in depth(spans))


@given(SPANS, SPANS)
def test_common_is_what_both_cover(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    found = intersection(union(*arrays(first)), union(*arrays(second)))
    both = [one > 0 and other > 0 for one, other in zip(depth(first), depth(second), strict=True)]
    assert found.total_ns == sum(both)


@given(SPANS, SPANS)
def test_covered_is_how_much_of_each_a_union_covers(
    busy: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    covered = depth(busy)
    start, end = arrays(asked)
    expected = [sum(one > 0 for one in covered[begin : begin + length]) for begin, length in asked]
    assert covered_ns(union(*arrays(busy)), start, end).tolist() == expected


@given(SPANS)
def test_lanes_never_overlap_and_are_as_few_as_can_be(spans: list[tuple[int, int]]) -> None:
    spans = [(begin, length) for begin, length in spans if length]
    start, end = arrays(spans)
    lane = assign_rows(start, end)
    for one in np.unique(lane):
        here = lane == one
        assert union(start[here], end[here]).total_ns == int((end - start)[here].sum())
    assert len(np.unique(lane)) == max(depth(spans), default=0)


def test_gaps_are_between() -> None:
    found = gaps(Intervals(np.array([0, 10, 30]), np.array([5, 20, 40])))
    assert list(zip(*map(list, found), strict=True)) == [(5, 10), (20, 30)]


def test_busy_is_of_each_device_and_queue() -> None:
    one = activity(
        [
            Run(0, 0, 10),
            Run(1, 5, 15, kind="write", queue=2),
            Run(2, 20, 30),
            Run(3, 100, 110, queue=3, device=2),
        ]
    )
    first, second = device_busy_times(one)
    assert first.span_ns == 30
    assert first.busy_ns == 25
    assert first.idle_ns == 5
    assert first.overlapped_ns == 5
    assert first.transfer_ns == 10
    assert first.compute_ns == 20
    assert first.both_ns == 5
    assert first.max_concurrent == 2
    assert (second.busy_ns, second.longest_gap_ns) == (10, 0)
    assert [each.busy_ns for each in queue_busy_times(one)] == [20, 10, 10]


def test_idle_time_is_told_by_why() -> None:
    # Asked for after the first had ended, in the call, and after it was queued.
    (found,) = measure_starvation(activity([Run(0, 2, 10), Run(14, 30, 40), Run(35, 55, 60)]))
    assert found.gaps == 2
    assert found.program_ns == 4
    assert found.call_ns == 0
    assert found.latency_ns == 31
    assert found.launch_bound_ns == 4


def test_latency_is_split_at_submission() -> None:
    (found,) = measure_latencies(activity([Run(0, 5, 10), Run(10, 15, 20), Run(20, 25, 30)]))
    assert found.commands == 3
    assert found.queued_ns[0] == 0
    assert found.submitted_ns[0] == 5


def test_dependencies_of_a_queue_in_order_a_wait_list_and_a_barrier() -> None:
    runs = [
        Run(0, 1, 10),
        Run(1, 10, 20),
        Run(2, 3, 12, queue=2),
        Run(3, 4, 30, queue=2),
        Run(4, 31, 32, kind="barrier", queue=2),
        Run(5, 33, 40, queue=2, waits_for=(1,)),
    ]
    dependencies = find_dependencies(activity(runs, out_of_order=[2]))
    assert dependencies.queue_predecessor.tolist() == [NONE, 0, NONE, NONE, 3, 4]
    assert dependencies.edges.tolist() == [[5, 1]]
    assert dependencies.release_ns.tolist() == [0, 10, 2, 3, 30, 32]
    assert dependencies.last_predecessor.tolist() == [NONE, 0, NONE, NONE, 3, 4]


def path_of(one: Activity) -> list[PathStep]:
    steps = find_critical_path(one, find_dependencies(one))
    for before, after in itertools.pairwise(steps):
        assert before.end_ns == after.begin_ns, "a path has neither gaps nor overlaps"
    return steps


def words(steps: list[PathStep]) -> list[tuple[str, int]]:
    return [(step.kind.value, step.duration_ns) for step in steps]


def test_the_path_goes_through_what_the_host_waited_for() -> None:
    one = activity([Run(10, 15, 115)], [Call(20, 120, queue=1), Call(150, 151)])
    assert words(path_of(one)) == [
        ("launch", 5),
        ("device", 100),
        ("return", 5),
        ("host", 31),
    ]


def test_the_path_ignores_what_nobody_waited_long_for() -> None:
    one = activity([Run(10, 15, 20)], [Call(500, 501, queue=1)])
    assert words(path_of(one)) == [("host", 491)]


def test_the_path_crosses_queues_by_a_wait_list() -> None:
    runs = [
        Run(0, 2, 50, queue=1),
        Run(1, 3, 20, queue=2),
        Run(2, 55, 90, queue=2, waits_for=(0,)),
    ]
    one = activity(runs, [Call(5, 95, queue=2)])
    steps = path_of(one)
    assert words(steps) == [
        ("launch", 2),
        ("device", 48),
        ("launch", 5),
        ("device", 35),
        ("return", 5),
    ]
    assert [step.command for step in steps] == [0, 0, 2, 2, 2]


def test_the_path_sees_a_device_that_another_queue_kept_busy() -> None:
    runs = [Run(0, 2, 50, queue=1), Run(1, 52, 60, queue=2)]
    steps = path_of(activity(runs, [Call(5, 61, queue=2)]))
    assert [(step.kind, step.command) for step in steps[:4]] == [
        (StepKind.LAUNCH, 0),
        (StepKind.DEVICE, 0),
        (StepKind.LAUNCH, 1),
        (StepKind.DEVICE, 1),
    ]


def test_the_path_follows_the_thread_that_enqueued() -> None:
    runs = [Run(5, 10, 40, thread=2), Run(60, 62, 80, thread=1)]
    calls = [Call(8, 41, waits_for=(0,), thread=2), Call(61, 82, waits_for=(1,), thread=1)]
    assert words(path_of(activity(runs, calls))) == [
        ("host", 55),
        ("launch", 2),
        ("device", 18),
        ("return", 2),
    ]


def test_no_placed_command_has_no_path() -> None:
    assert path_of(activity([Run(0, None, None)])) == []


def slack_of(one: Activity) -> list[int]:
    found: list[int] = compute_slack_ns(one, find_dependencies(one)).tolist()
    return found


def test_slack_is_zero_on_the_path_and_what_is_left_beside_it() -> None:
    runs = [
        Run(0, 2, 50, queue=1),
        Run(1, 3, 20, queue=2),
        Run(2, 55, 90, queue=2, waits_for=(0,)),
        Run(3, 4, 30, queue=3),
    ]
    calls = [Call(5, 95, queue=2), Call(96, 97, queue=3)]
    assert slack_of(activity(runs, calls)) == [0, 30, 0, 66]


def test_slack_of_what_nobody_waited_for_ends_with_the_program() -> None:
    assert slack_of(activity([Run(0, 5, 10)], [Call(50, 51)])) == [41]
    assert slack_of(activity([Run(0, None, None)], [Call(50, 51)])) == [UNLIMITED_NS]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_on_the_path_has_no_slack(data: st.DataObject) -> None:
    program = data.draw(
        st.lists(
            st.tuples(st.integers(1, 30), st.integers(0, 2), st.booleans()), min_size=1, max_size=12
        )
    )
    _, runs, calls = simulate(program, {})
    one = activity(runs, calls)
    slack = slack_of(one)
    for step in path_of(one):
        if step.kind is StepKind.DEVICE:
            assert slack[step.command] == 0, (step, runs, calls)


def test_a_program_that_ends_without_waiting_ends_with_its_last_command() -> None:
    one = activity([Run(0, 5, 100), Run(1, 2, 50, queue=2, device=2)])
    assert slack_of(one) == [0, 50]
    assert words(path_of(one)) == [("launch", 5), ("device", 95)]


def test_a_thread_that_joined_others_went_on_because_of_the_last_of_them() -> None:
    ms = 1_000_000
    runs = [
        Run(1, 2, 3, thread=1),
        Run(5 * ms, 6 * ms, 90 * ms, thread=2),
        Run(100 * ms, 101 * ms, 102 * ms, thread=1),
    ]
    calls = [
        Call(7 * ms, 91 * ms, waits_for=(1,), thread=2),
        Call(101 * ms, 103 * ms, waits_for=(2,), thread=1),
    ]
    assert [(step.kind.value, step.thread) for step in path_of(activity(runs, calls))] == [
        ("host", 1),
        ("host", 2),
        ("launch", NONE),
        ("device", NONE),
        ("return", NONE),
        ("host", 1),
        ("launch", NONE),
        ("device", NONE),
        ("return", NONE),
    ]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_delaying_a_command_by_its_slack_moves_no_end(data: st.DataObject) -> None:
    """A little machine that runs its program agrees with the analysis of what it did."""
    program = data.draw(
        st.lists(
            st.tuples(st.integers(1, 30), st.integers(0, 2), st.booleans()), min_size=1, max_size=8
        )
    )
    end, runs, calls = simulate(program, {})
    slack = slack_of(activity(runs, calls))
    for at, room in enumerate(slack):
        if room < UNLIMITED_NS:
            assert simulate(program, {at: room})[0] == end
            assert simulate(program, {at: room + 1})[0] > end


def simulate(
    program: list[tuple[int, int, bool]], delays: dict[int, int]
) -> tuple[int, list[Run], list[Call]]:
    """Run a program: each entry is a kernel's length, its queue, and whether the host then waits for it.

    The host takes 3 between calls; a queue runs its commands in order, 1 after the one before. The
    host waits for all at the end.
    """
    now, free = 0, {0: 0, 1: 0, 2: 0}
    runs: list[Run] = []
    calls: list[Call] = []
    ends: list[int] = []
    last: dict[int, int] = {}
    for at, (length, queue, waits) in enumerate(program):
        start = max(now, free[queue]) + 1
        end = start + length + delays.get(at, 0)
        runs.append(Run(now, start, end, queue=queue + 1, device=queue + 1))
        ends.append(end)
        free[queue], last[queue] = end, at
        now += 3
        if waits:
            returned = max(now, end) + 1
            calls.append(Call(now, returned, waits_for=(at,)))
            now = returned + 1
    for queue in sorted(last):
        returned = max(now, ends[last[queue]]) + 1
        calls.append(Call(now, returned, waits_for=(last[queue],)))
        now = returned + 1
    return now, runs, calls


def test_a_part_keeps_what_belongs_together() -> None:
    whole = activity(
        [Run(0, 1, 10), Run(1, 10, 20), Run(2, 30, 40, waits_for=(1,))],
        [Call(3, 25, waits_for=(1,)), Call(26, 45, waits_for=(2,))],
    )
    part = clip_activity(whole, 12, 50)
    assert part.commands.start_ns.tolist() == [12, 30]
    assert part.edges.tolist() == [[1, 0]]
    assert part.waits.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(IndexError):
        part.commands.id[2]
