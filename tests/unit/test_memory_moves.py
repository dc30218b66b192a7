"""Memory that devices use after one another: what is a move, what it costs, and what is advised."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.events.kinds import CallFlag
from cltrace.report.memory_moves import moves_table
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.blocked_enqueues import find_blocked_enqueues
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.memory_moves import HOST, MemoryMoves, find_memory_moves, slow_moves
from tests.activities import Run, activity
from tests.conftest import Runner
from tests.recorded_pairs import LABELS, unpack_pair

MS = 1_000_000
SIZES = {1: 600, 2: 400}
USED = {1: frozenset({1}), 2: frozenset({1, 2})}


def second(run: Run) -> Run:
    return replace(run, queue=2, device=2)


def taking(made: Activity, *call_ns: int) -> Activity:
    """The activity with calls that took so long."""
    commands = made.commands
    returned = commands.enter_ns + np.array(call_ns)
    return replace(made, commands=replace(commands, return_ns=returned))


def moves_of(made: Activity, sizes: dict[int, int] = SIZES) -> MemoryMoves:
    blocked = find_blocked_enqueues(made, find_dependencies(made))
    return find_memory_moves(made, USED, sizes, blocked)


def test_a_use_on_another_device_than_the_last_is_a_move() -> None:
    runs = [
        Run(0, 1, 2),
        Run(10, 11, 12),
        second(Run(20, 21, 22)),
        Run(30, 31, 32, kind="read", buffer=1),
        second(Run(40, 41, 42, kind="write", buffer=2)),
    ]
    made = taking(activity(runs), 3, 3, 5, 7, 9)
    found = moves_of(made)
    assert found.command.tolist() == [2, 3]
    assert found.origin.tolist() == [1, 2]
    assert found.target.tolist() == [2, 1]
    assert found.size_bytes.tolist() == [600, 600]
    assert found.call_ns.tolist() == [5, 7]
    assert not len(moves_of(made, {2: 400}).command), "memory of unknown size is not followed"


def test_several_objects_share_the_time_of_their_call() -> None:
    made = taking(
        activity([replace(Run(0, 1, 2), launch=2), second(replace(Run(10, 11, 12), launch=2))]),
        1,
        2 * MS,
    )
    found = moves_of(made)
    assert sorted(zip(found.size_bytes.tolist(), found.call_ns.tolist(), strict=True)) == [
        (400, 8 * MS // 10),
        (600, 12 * MS // 10),
    ]
    assert slow_moves(found, 2 * MS).all()
    assert not slow_moves(found, 2 * MS + 1).any()


def test_waiting_for_other_commands_is_no_time_of_a_move() -> None:
    made = activity([Run(0, 1, 10 * MS), second(Run(2 * MS, 13 * MS, 14 * MS, waits_for=(0,)))])
    late = replace(made.commands, queued_ns=np.array([0, 13 * MS - 1]))
    made = taking(replace(made, commands=late), 1, 11 * MS)
    assert moves_of(made).call_ns.tolist() == [3 * MS]


def test_a_migration_to_the_host_goes_there() -> None:
    runs = [Run(0, 1, 2), Run(10, 11, 12, kind="write", buffer=1), second(Run(20, 21, 22))]
    made = activity(runs)
    flags = np.array([0, int(CallFlag.TO_HOST), 0])
    found = moves_of(replace(made, commands=replace(made.commands, flags=flags)))
    assert (found.origin.tolist(), found.target.tolist()) == ([1, HOST], [HOST, 2])
    names = [row[:2] for row in moves_table(made, found, None).rows]
    assert sorted(map(str, names)) == ["('device 1', 'host')", "('host', 'device 2')"]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies between two H200s of 16 MiB: by commands, migrations, launches, and in a pipeline."""
    return unpack_pair("copies", tmp_path_factory.mktemp("copies"))


def test_moves_of_a_recording_have_their_routes(copies: Path) -> None:
    with cltrace.load(copies) as trace:
        analysis = Analysis(trace)
        rows = moves_table(analysis.activity, analysis.memory_moves, None).rows
    routes = {row[:3]: row[3:] for row in rows}
    first, second = LABELS
    times, size, _, rate = routes[first, second, "kernel"]
    assert (times, size) == (60, 60 << 24)
    # The driver moves through the host's memory, at some GB per second.
    assert 2e9 < float(str(rate)) < 8e9
    assert {route: facts[0] for route, facts in routes.items() if route[2] == "migrate"} == {
        (second, first, "migrate"): 30,
        (first, "host", "migrate"): 30,
        ("host", second, "migrate"): 29,
    }


def test_a_recording_is_advised_on_its_moves(copies: Path, tmp_path: Path) -> None:
    with cltrace.load(copies) as trace:
        advice = [each for each in Analysis(trace).advice if each.rule == "moved-memory"]
        launch_bound = [each for each in Analysis(trace).advice if each.rule == "launch-bound"]
    assert sum(each.times for each in advice) >= 260
    assert not launch_bound, "the moves kept the device waiting, not the launches"
    with cltrace.load(unpack_pair("one-context", tmp_path)) as trace:
        analysis = Analysis(trace)
        assert not len(analysis.memory_moves.command)
        assert "moved-memory" not in {each.rule for each in analysis.advice}


@pytest.mark.parametrize("width", ["60", "80"])
def test_the_timeline_shows_the_routes(width: str, copies: Path, run: Runner) -> None:
    done = run("timeline", copies, env={"COLUMNS": width})
    text = done.stdout.split("Memory used on another device than before\n")[1].split("\n\n")[0]
    assert len({tuple(line.split()[:6]) for line in text.splitlines()[2:]}) >= 8
    assert "migrate" in text
