"""Stamps that cannot be right are flagged and counted, and never become negative durations or crashes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.errors import CltraceError
from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import FAULT_SHIFT, ClockState, StampFault
from cltrace.timeline.columns import NEVER, Int64s
from cltrace.timeline.completions import observe_completions
from cltrace.timeline.reading import read_activity, read_commands
from cltrace.timeline.stamps import STAGES, find_quantum_ns
from cltrace.timeline.stored_clocks import fit_stored_clocks
from cltrace.timeline.timekeeping import fit_device_clocks
from cltrace.trace import writer
from cltrace.trace.commands import ABSENT, HostCalls, QueueFacts, StoredHostCalls
from cltrace.trace.merge import merge
from tests.conftest import MakeTrace, Runner
from tests.synthetic import write_recording

Spoil = Callable[[dict[str, Int64s]], None]


def set_all(*values: int) -> Spoil:
    def spoil(commands: dict[str, Int64s]) -> None:
        for stage, value in zip(STAGES, values, strict=True):
            column = commands[f"{stage}_device_ns"]
            column[column != ABSENT] = value

    return spoil


def set_one(stage: str, value: int) -> Spoil:
    def spoil(commands: dict[str, Int64s]) -> None:
        commands[f"{stage}_device_ns"][5] = value

    return spoil


def swap(first: str, second: str) -> Spoil:
    def spoil(commands: dict[str, Int64s]) -> None:
        one, other = f"{first}_device_ns", f"{second}_device_ns"
        commands[one], commands[other] = commands[other].copy(), commands[one].copy()

    return spoil


CASES = {
    "rusticl": (set_all(0, 1, 2, 3), StampFault.ZERO, ClockState.UNALIGNED),
    "all zero": (set_all(0, 0, 0, 0), StampFault.ZERO, ClockState.UNALIGNED),
    "small numbers": (set_all(1, 2, 3, 4), StampFault.MADE_UP, ClockState.UNALIGNED),
    "always the same": (
        set_all(10**12, 10**12 + 1, 10**12 + 2, 10**12 + 3),
        StampFault.MADE_UP,
        ClockState.UNALIGNED,
    ),
    "one zero": (set_one("start", 0), StampFault.ZERO, ClockState.CONDITIONAL),
    "one end early": (set_one("end", 10**9), StampFault.REVERSED, ClockState.CONDITIONAL),
    "one far off": (set_one("end", 2**62), StampFault.FOREIGN, ClockState.CONDITIONAL),
    "start and end swapped": (swap("start", "end"), StampFault.REVERSED, ClockState.UNALIGNED),
    "queued and submit swapped": (
        swap("queued", "submit"),
        StampFault.REVERSED,
        ClockState.CONDITIONAL,  # of one device a copy's stamps become right
    ),
}


def finalise_spoiled(path: Path, spoil: Spoil) -> None:
    """Make the trace at `path` of the made-up recording, with spoiled stamps."""

    def keep_spoiled_time(
        host_calls: StoredHostCalls, queues: QueueFacts
    ) -> tuple[ClockSegment, ...]:
        commands = host_calls.commands
        parts = list(commands.parts())
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        spoil(columns)
        for number, begin in enumerate(commands.first_rows()):
            end = begin + len(parts[number]["api"])
            commands.put(number, {name: column[begin:end] for name, column in columns.items()})
        return fit_stored_clocks(host_calls, queues)

    writer.finalise(write_recording(path), path, keep_spoiled_time)


def read(make_trace: MakeTrace) -> tuple[HostCalls, QueueFacts]:
    with cltrace.load(make_trace()) as trace:
        return read_commands(trace)


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_right_is_flagged(case: str, make_trace: MakeTrace) -> None:
    spoil, fault, state = CASES[case]
    found, queues = read(make_trace)
    spoil(found.commands)
    kept = fit_device_clocks(found, queues)
    assert ClockState.PROVEN not in {one.state for one in kept.segments}
    assert (kept.faults & int(fault)).any()
    assert state in {one.state for one in kept.segments}


@pytest.mark.parametrize("case", CASES)
def test_a_trace_with_such_stamps_is_shown_whole(case: str, tmp_path: Path, run: Runner) -> None:
    path = tmp_path / "t.cltrace"
    finalise_spoiled(path, CASES[case][0])
    with cltrace.load(path) as trace:
        durations = trace.rows(
            "SELECT min(duration_ns), min(wait_ns), min(end_host_ns - start_host_ns) FROM v_command"
        )[0]
        assert all(one is None or one >= 0 for one in durations)
        assert trace.rows("SELECT count(*) FROM v_command WHERE stamp_faults IS NOT NULL")[0][0]
        commands = read_activity(trace).commands
        assert (commands.end_ns >= commands.start_ns)[commands.is_placed].all()
        assert (commands.duration_ns[commands.duration_ns != ABSENT] >= 0).all()
    assert run("summary", path).status == 0
    done = run("timeline", path, env={"COLUMNS": "100"})
    assert done.status == 0, done.stderr
    assert "Stamps that cannot be right" in done.stdout
    assert "unaligned" in done.stdout or "conditional" in done.stdout


def test_made_up_stamps_time_nothing(make_trace: MakeTrace) -> None:
    found, queues = read(make_trace)
    set_all(0, 1, 2, 3)(found.commands)
    kept = fit_device_clocks(found, queues)
    stamped = found.commands["end_device_ns"] != ABSENT
    assert (kept.faults[stamped] & int(StampFault.ZERO | StampFault.MADE_UP)).all()
    assert not kept.faults[~stamped].any()


def leave_out_queued(commands: dict[str, Int64s], *positions: int) -> None:
    """Spoil stamps as NVIDIA's driver does for migrations: START and END are another command's."""
    for stage in ("queued", "submit"):
        commands[f"{stage}_device_ns"][list(positions)] = 0
    for stage in ("start", "end"):
        column = commands[f"{stage}_device_ns"]
        column[list(positions)] = column[positions[0]]


def test_commands_that_the_driver_does_not_stamp_do_not_contradict_the_clock(
    make_trace: MakeTrace,
) -> None:
    found, queues = read(make_trace)
    before = fit_device_clocks(found, queues)
    leave_out_queued(found.commands, 5, 6, 7)
    after = fit_device_clocks(found, queues)
    assert [(one.state, one.rejected) for one in after.segments] == [
        (one.state, one.rejected) for one in before.segments
    ]
    assert after.faults[[5, 6, 7]].tolist() == [int(StampFault.ZERO)] * 3


def test_a_clock_in_steps_is_told_by_what_divides_its_stamps() -> None:
    stamps = np.array([640, 960, 1600, 32_000], np.int64) + 7
    commands = {f"{stage}_device_ns": stamps for stage in STAGES}
    assert find_quantum_ns(commands, np.arange(4)) == 320
    assert find_quantum_ns(commands, np.arange(0)) == 1


def test_steps_coarser_than_claimed_are_said(tmp_path: Path, run: Runner) -> None:
    def coarsen(commands: dict[str, Int64s]) -> None:
        for stage in STAGES:
            column = commands[f"{stage}_device_ns"]
            column[column != ABSENT] = column[column != ABSENT] // 1000 * 1000

    path = tmp_path / "t.cltrace"
    finalise_spoiled(path, coarsen)
    done = run("timeline", path, "--format", "csv")
    assert "its stamps move in steps of 1.00 µs, and it claims 1 ns" in done.stdout


def test_what_the_host_saw_complete(make_trace: MakeTrace) -> None:
    found, _ = read(make_trace)
    commands = found.commands
    in_order = np.ones(len(commands["api"]), np.bool_)
    seen = observe_completions(commands, found.calls, found.waits, in_order)
    # The blocking write by its own return, the fill by the completion that was told.
    write = commands["target_buffer_id"] == 1
    assert (seen[write] == commands["return_host_ns"][write]).all()
    told = commands["complete_host_ns"] != ABSENT
    assert (seen[told] == commands["complete_host_ns"][told]).all()
    assert (seen[commands["launch_id"] > 0] == NEVER).all()


def test_a_finish_proves_what_was_enqueued_before_it(make_trace: MakeTrace) -> None:
    found, _ = read(make_trace)
    commands, calls = found.commands, dict(found.calls)
    launches = np.flatnonzero(commands["launch_id"] > 0)
    last = commands["return_host_ns"][launches[9]] + 10
    row = {name: np.array([-1], np.int64) for name in calls}
    row |= {
        "api": np.array([64]),
        "queue_id": commands["queue_id"][launches[:1]],
        "enter_host_ns": np.array([last]),
        "return_host_ns": np.array([last + 1000]),
        "status": np.array([0]),
    }
    calls = {name: np.concatenate([column, row[name]]) for name, column in calls.items()}
    in_order = np.zeros(len(commands["api"]), np.bool_)
    seen = observe_completions(commands, calls, found.waits, in_order)
    is_before = commands["return_host_ns"] <= last
    is_there = commands["queue_id"] == row["queue_id"][0]
    assert (seen[launches[:10]] == last + 1000).all()
    assert (seen[is_there & ~is_before] == NEVER).all()


def test_segments_of_an_older_method_are_fitted_anew(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        stored = read_activity(trace).clocks
        older = replace(stored[1].segments[0], method=0)
        assert older.method < stored[1].segments[0].method
    with cltrace.load(Path(__file__).parents[1] / "golden" / "schema-1.cltrace") as trace:
        activity = read_activity(trace)
        assert activity.clocks[1].segments[0].observations > 0
        assert trace.rows("SELECT count(*) FROM v_clock_segment") == [(0,)]
        assert trace.rows("SELECT count(start_host_ns) FROM v_command") == [(0,)]
        assert activity.commands.is_placed.any()


def test_a_trace_that_an_older_one_was_merged_into_has_all_clocks(
    make_trace: MakeTrace, tmp_path: Path
) -> None:
    golden = Path(__file__).parents[1] / "golden" / "schema-1.cltrace"
    merge([make_trace(), golden], tmp_path / "both.cltrace")
    with cltrace.load(tmp_path / "both.cltrace") as trace:
        assert set(read_activity(trace).clocks) == {1, 3, 5, 7}


def test_the_view_places_as_the_map_does(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        commands = read_activity(trace).commands
        origin = trace.meta_int("origin_host_ns")
        assert origin is not None
        for stage in STAGES:
            name = f"{stage}_host_ns"
            seen = trace.columns({name: name}, "v_command ORDER BY command_id")[name]
            placed = getattr(commands, f"{stage}_ns")
            told = commands.flags >> FAULT_SHIFT != 0
            is_stamped = (seen != ABSENT) & ~told
            assert is_stamped.sum() >= 60
            assert (seen[is_stamped] - origin == placed[is_stamped]).all()


def test_no_number_leads_nowhere(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace, pytest.raises(CltraceError, match="damaged"):
        trace.columns({"name": "name"}, "v_device")
