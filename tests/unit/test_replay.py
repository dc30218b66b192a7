"""Replay of a run: exact without a change, and what each kind of change saves."""

import contextlib
import lzma
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cltrace
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.staged_writes import at_worst
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.hosts import ChildStart, read_axis
from cltrace.timeline.reading import read_activity
from cltrace.timeline.replay import (
    Change,
    MovedWaits,
    Replay,
    build_run_graph,
    combine,
    find_host_events,
)
from cltrace.timeline.replay.bounds import changed_span_ns
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.commands import FIRST_LAUNCH
from tests.activities import Call, Run, activity
from tests.synthetic import write_recording

ROOT = Path(__file__).parents[1]
TRACES = sorted((*(ROOT / "golden").glob("*.cltrace"), *(ROOT / "data").glob("*.cltrace*")))


def positions(*values: int) -> Int64s:
    return np.array(values, np.int64)


def replay_of(made: Activity, *dropped: int) -> Replay:
    dependencies = find_dependencies(made)
    events = find_host_events(made, dependencies, positions(*dropped))
    return Replay(build_run_graph(made, dependencies, events))


def expect_exact(replay: Replay) -> None:
    """Expect that a replay without a change gives the recorded times back."""
    graph, replayed = replay.graph, replay.run()
    placed = graph.activity.commands.is_placed
    ends = graph.activity.commands.end_ns
    assert replayed.command_end_ns[placed].tolist() == ends[placed].tolist()
    assert replayed.enter_ns.tolist() == graph.events.enter_ns.tolist()
    assert replayed.return_ns.tolist() == graph.events.return_ns.tolist()
    assert replayed.end_ns == graph.end_ns


@st.composite
def programs(draw: st.DrawFn) -> Activity:
    """Programs of two threads, two devices and three queues, with stamps that are off by a little."""
    runs: list[Run] = []
    calls: list[Call] = []
    time = {1: 0, 2: draw(st.integers(0, 50))}
    free = {1: 0, 2: 0, 3: 0}
    for _ in range(draw(st.integers(1, 14))):
        thread = draw(st.sampled_from((1, 2)))
        enter = max(
            time[thread] + draw(st.integers(0, 30)), max((run.enter for run in runs), default=0)
        )
        queue = draw(st.integers(1, 3))
        start = max(enter + draw(st.integers(-2, 60)), free[queue])
        end = start + draw(st.integers(1, 40))
        free[queue] = end if queue < 3 else 0
        earlier = st.integers(0, max(len(runs) - 1, 0))
        size = 2 if runs else 0
        waits_for = tuple(draw(st.lists(earlier, max_size=size, unique=True)))
        blocking = max(end + draw(st.integers(-2, 5)), enter + 1) if draw(st.booleans()) else None
        is_placed = draw(st.integers(0, 9)) > 0
        runs.append(
            Run(
                enter,
                start if is_placed else None,
                end if is_placed else None,
                queue=queue,
                device=1 + queue // 3,
                thread=thread,
                waits_for=waits_for,
                blocking_until=blocking,
            )
        )
        time[thread] = blocking or enter + 1
        if draw(st.booleans()):
            since = time[thread] + draw(st.integers(0, 5))
            until = max(since, end + draw(st.integers(-2, 5)))
            named = (len(runs) - 1,) if draw(st.booleans()) else ()
            calls.append(Call(since, until, queue=queue, waits_for=named, thread=thread))
            time[thread] = until
    return activity(runs, calls, out_of_order=(3,))


@settings(max_examples=100)
@given(programs())
def test_without_a_change_the_recorded_times_result(made: Activity) -> None:
    expect_exact(replay_of(made))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_recorded_runs_are_replayed_exactly(path: Path, tmp_path: Path) -> None:
    if path.suffix == ".xz":
        unpacked = tmp_path / path.stem
        unpacked.write_bytes(lzma.decompress(path.read_bytes()))
        path = unpacked
    with cltrace.load(path) as trace:
        analysis = Analysis(trace)
        expect_exact(replay_of(analysis.activity))


@settings(max_examples=100)
@given(programs(), st.data())
def test_less_work_never_ends_later(made: Activity, data: st.DataObject) -> None:
    replay = replay_of(made)
    count, call_count = len(made.commands), len(made.calls)
    chosen = st.lists(st.integers(0, count - 1), max_size=4, unique=True).map(
        lambda values: positions(*values)
    )
    scaled = data.draw(chosen)
    change = Change(
        scaled=scaled,
        scales=np.full(len(scaled), 0.5),
        removed=data.draw(chosen),
        prompt=data.draw(chosen),
        unblocked=data.draw(chosen),
        removed_calls=positions(*range(call_count)) if data.draw(st.booleans()) else positions(),
    )
    assert 0 <= replay.gain_ns(change) <= replay.span_ns
    both = combine([change, Change(merged=data.draw(chosen))])
    assert replay.gain_ns(change) <= replay.gain_ns(both) <= replay.span_ns


# Three rounds: the host works 20, enqueues, and waits for a command of 50 that starts 5 after its call.
ROUNDS = [Run(20 + 90 * at, 25 + 90 * at, 75 + 90 * at) for at in range(3)]
WAITS = [Call(21 + 90 * at, 90 + 90 * at, queue=1) for at in range(3)]


def test_without_waits_the_host_enqueues_ahead() -> None:
    replay = replay_of(activity(ROUNDS, WAITS))
    # A command follows the one before with the usual latency, here that after calls, and the last wait
    # remains.
    without = replay.run(Change(removed_calls=positions(0, 1)))
    assert without.command_end_ns.tolist() == [75, 130, 185]
    assert without.end_ns == 200
    assert replay.graph.end_ns == 270


def test_a_later_wait_waits_for_what_a_removed_one_waited_for() -> None:
    made = activity([Run(0, 5, 100)], [Call(10, 105, queue=1), Call(110, 111, queue=1)])
    replay = replay_of(made)
    assert replay.gain_ns(Change(removed_calls=positions(0))) <= 6


def test_two_threads_finish_a_queue_in_the_order_of_their_times() -> None:
    runs = [Run(0, 1, 2, queue=3), Run(25, 26, 28, queue=3)]
    calls = [Call(30, 31, queue=3), Call(20, 21, queue=3, thread=2)]
    expect_exact(replay_of(activity(runs, calls, out_of_order=(3,))))


def test_scaled_commands_shorten_a_run_only_where_it_waited_for_them() -> None:
    runs = [Run(0, 5, 105), Run(1, 6, 56, queue=2, device=2)]
    replay = replay_of(activity(runs, [Call(10, 110, queue=1), Call(111, 112, queue=2)]))
    half = np.array([0.5])
    assert replay.gain_ns(Change(scaled=positions(1), scales=half)) == 0
    assert replay.gain_ns(Change(scaled=positions(0), scales=half)) == 50


def test_work_of_the_host_that_ran_beside_a_command_gains_nothing() -> None:
    runs = [Run(0, 5, 105), Run(60, 110, 120)]
    replay = replay_of(activity(runs, [Call(62, 125, queue=1)]))
    saved = Change(saved_commands=positions(1), saved_ns=positions(40))
    assert replay.gain_ns(saved) == 0
    alone = replay_of(activity([Run(0, 5, 50), Run(60, 65, 75)], [Call(62, 80, queue=1)]))
    assert alone.gain_ns(saved) == 10, "only until the device is free"


def test_the_part_that_a_change_concerns_has_the_work_before_it() -> None:
    runs = [Run(0, 5, 50), Run(60, 65, 75), Run(200, 205, 300)]
    graph = replay_of(activity(runs, [Call(62, 80, queue=1), Call(210, 305, queue=1)])).graph
    assert changed_span_ns(graph, Change()) == 0
    saved = Change(saved_commands=positions(1), saved_ns=positions(40))
    # From the return of the call before, at 1 at the latest, to the end of the command.
    assert 74 <= changed_span_ns(graph, saved) <= 75
    assert changed_span_ns(graph, Change(removed_calls=positions(0))) <= 80 - 60
    both = Change(removed=positions(0), removed_calls=positions(1))
    assert changed_span_ns(graph, both) == 305


def test_merged_launches_keep_their_work() -> None:
    runs = [Run(20 * at, 20 * at + 10, 20 * at + 15) for at in range(4)]
    replay = replay_of(activity(runs, [Call(70, 80, queue=1)]))
    merged = replay.run(
        Change(
            merged=positions(1, 2, 3),
            saved_commands=positions(1, 2, 3),
            saved_ns=positions(100, 100, 100),
        )
    )
    assert merged.command_end_ns.tolist() == [15, 20, 25, 30]


def test_blocking_writes_that_do_not_block_wait_before_the_next_one() -> None:
    runs = [
        Run(100 * at, 100 * at + 5, 100 * at + 45, kind="write", blocking_until=100 * at + 50)
        for at in range(3)
    ]
    replay = replay_of(activity(runs))
    commands = positions(0, 1, 2)
    until = MovedWaits(commands[:2], commands[1:], positions(-1, -1))
    # The host's work of 50 between two writes runs beside them.
    unblocked = Change(unblocked=commands, moved=(until,))
    assert 80 <= replay.gain_ns(unblocked) <= 110
    assert replay.gain_ns(Change(unblocked=commands)) >= replay.gain_ns(unblocked)


@pytest.mark.parametrize(("staged_ns", "gain_ns"), [(5, 45), (80, 90)])
def test_writes_that_do_not_block_are_still_staged(staged_ns: int, gain_ns: int) -> None:
    """The driver copies their data first, in the call or in a thread of its own."""
    runs: list[Run] = []
    time = 0
    for _ in range(4):
        start = time + staged_ns
        runs.append(Run(time, start, start + 10, kind="write", blocking_until=start + 10))
        runs.append(Run(start + 10, start + 15, start + 25))
        time = start + 55
    replay = replay_of(activity(runs))
    expect_exact(replay)
    gain = replay.gain_ns(Change(unblocked=positions(0, 2, 4, 6)))
    assert gain == pytest.approx(gain_ns, abs=20)
    worst = at_worst(replay.graph, Change(unblocked=positions(0, 2, 4, 6)))
    slower = combine([Change(unblocked=positions(0, 2, 4, 6)), worst])
    assert replay.gain_ns(slower) <= gain


def test_events_that_are_kept_do_not_hold_the_host() -> None:
    runs = [Run(0, 5, 55, kind="write"), Run(60, 65, 115)]
    replay = replay_of(activity(runs, [Call(70, 120, queue=1)]), 0)
    expect_exact(replay)
    kept = replay.run(Change(unawaited=positions(0)))
    # The launch is entered at once after the write's call, and starts when the write has ended.
    assert kept.end_ns < 120
    assert kept.command_end_ns[1] - kept.command_end_ns[0] <= 55


def test_transfers_of_a_queue_run_beside_its_kernels() -> None:
    runs = []
    for at in range(4):
        runs.append(Run(2 * at, 10 + 100 * at, 60 + 100 * at, kind="write"))
        runs.append(Run(2 * at + 1, 60 + 100 * at, 110 + 100 * at))
    replay = replay_of(activity(runs, [Call(20, 412, queue=1)]))
    overlapped = replay.run(Change(overlapped=np.arange(8)))
    assert overlapped.command_end_ns[7] <= 10 + 50 * 5 + 20
    assert replay.graph.end_ns - overlapped.end_ns >= 130


def test_a_thread_that_joined_another_ends_earlier_with_it() -> None:
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
    replay = replay_of(activity(runs, calls))
    half = Change(scaled=positions(1), scales=np.array([0.5]))
    assert replay.gain_ns(half) == 42 * ms
    assert replay.gain_ns(half, worked_share=1.0) == 0


@pytest.mark.parametrize(("started", "gain"), [(205, 90), (150, 0)])
def test_a_child_process_starts_after_what_its_parent_did_before(started: int, gain: int) -> None:
    """What the parent does once the child runs does not hold the child."""
    runs = [
        Run(0, 5, 95, blocking_until=100),
        Run(101, 105, 195, blocking_until=200),
        Run(300, 305, 400, queue=2, device=2, thread=2, blocking_until=410),
    ]
    made = activity(runs)
    process = made.commands.thread.copy()
    made = replace(made, commands=replace(made.commands, process=process))
    child = (ChildStart(2, 1, started),)
    replay = replay_of(replace(made, children=child))
    expect_exact(replay)
    assert replay.gain_ns(Change(scaled=positions(1), scales=np.zeros(1))) == gain
    assert replay_of(made).gain_ns(Change(scaled=positions(1), scales=np.zeros(1))) == 0


def test_a_parent_is_a_traced_process_of_the_same_machine_that_was_there_before(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.cltrace"
    finalise(write_recording(path), path)
    with contextlib.closing(sqlite3.connect(path)) as trace, trace:
        trace.execute("UPDATE process SET started_host_ns = started_host_ns + 1000 * (id - 1)")
        (pid,) = trace.execute("SELECT pid FROM process WHERE id = 1").fetchone()
        trace.execute("UPDATE process SET parent_pid = ? WHERE id = 2", (pid,))
    with cltrace.load(path) as trace:
        (child,) = read_activity(trace).children
        origin = trace.rows("SELECT started_host_ns FROM v_process ORDER BY process_id")[0][0]
        axis = read_axis(trace)
    assert child[:2] == (2, 1)
    assert child.started_ns == origin + 1000 - axis.origin_host_ns[2]
    for wrong in (
        "parent_pid = 1",
        "host = 'elsewhere'",
        "started_host_ns = started_host_ns - 2000",
    ):
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            (row,) = database.execute(
                "SELECT parent_pid, host, started_host_ns FROM process WHERE id = 2"
            )
            database.execute(f"UPDATE process SET {wrong} WHERE id = 2")
        with cltrace.load(path) as trace:
            assert not read_activity(trace).children
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute(
                "UPDATE process SET parent_pid = ?, host = ?, started_host_ns = ? WHERE id = 2", row
            )


def test_circles_of_a_damaged_trace_end() -> None:
    made = activity([Run(0, 5, 10, waits_for=(1,)), Run(1, 20, 30, waits_for=(0,))])
    replay = replay_of(made)
    assert replay.run().end_ns <= replay.graph.end_ns


def test_a_trace_without_activity_has_no_gain() -> None:
    replay = replay_of(activity([]))
    assert replay.run().end_ns == replay.graph.end_ns


def test_one_slow_start_after_another_command_is_not_the_usual_one() -> None:
    compiled = [Run(0, 5, 10), Run(1, 1000, 1010)]
    later = [Run(2000 + 90 * at, 2005 + 90 * at, 2055 + 90 * at) for at in range(3)]
    calls = [Call(2001 + 90 * at, 2070 + 90 * at, queue=1) for at in range(3)]
    replay = replay_of(activity([*compiled, *later], calls))
    assert replay.gain_ns(Change(removed_calls=positions(0, 1))) >= 2 * 30


def test_a_kernel_is_compiled_after_the_commands_before_it() -> None:
    runs = [Run(0, 5, 90), Run(100, 400, 450), Run(500, 505, 550)]
    calls = [Call(10, 95, queue=1), Call(110, 460, queue=1), Call(510, 560, queue=1)]
    made = activity(runs, calls)
    flags = made.commands.flags.copy()
    flags[1] |= FIRST_LAUNCH
    replay = replay_of(replace(made, commands=replace(made.commands, flags=flags)))
    expect_exact(replay)
    without = replay.run(Change(removed_calls=positions(0, 1)))
    # The compilation of 300 begins at the end of the first command, not at the call.
    assert without.command_end_ns.tolist()[:2] == [90, 440]
