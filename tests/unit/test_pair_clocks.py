"""Clocks of two recorded boards: proven, with their offset, and kept by orders across the boards."""

from pathlib import Path

import pytest

import cltrace
from cltrace.events.kinds import ClockState, StampFault
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.clock_offsets import ClockOffset, find_clock_offsets
from cltrace.timeline.device_concurrency import concurrency_ns
from cltrace.timeline.reading import read_commands
from cltrace.timeline.timekeeping import fit_device_clocks
from cltrace.trace.device_labels import device_hosts, physical_devices
from tests.recorded_pairs import unpack_pair


def offset_of(path: Path) -> ClockOffset:
    with cltrace.load(path) as trace:
        analysis = Analysis(trace)
        (offset,) = find_clock_offsets(analysis.activity, device_hosts(trace))
        states = {
            segment.state
            for clock in analysis.activity.clocks.values()
            for segment in clock.segments
        }
    assert states == {ClockState.PROVEN}
    return offset


def test_both_clocks_are_proven_with_their_offset(tmp_path: Path) -> None:
    offset = offset_of(unpack_pair("one-context", tmp_path))
    assert offset.is_proven
    assert offset.bound_ns < 40_000
    # 60 rounds of a kernel on one board that waits for the other board's last one.
    assert (offset.ordered, offset.early) == (119, 0)


def test_offsets_of_successive_recordings_agree_within_their_bounds(tmp_path: Path) -> None:
    # The drift of both clocks to each other, -0.4 ± 0.3 ppm, is 10 µs at most in the 24 s between.
    first, second = (offset_of(unpack_pair(name, tmp_path)) for name in ("one-context", "ranks"))
    assert abs(first.offset_ns - second.offset_ns) <= first.bound_ns + second.bound_ns + 17_000


def test_unstamped_migrations_do_not_contradict_the_clocks(tmp_path: Path) -> None:
    # NVIDIA's driver leaves QUEUED and SUBMIT of 90 migrations at 0.
    with cltrace.load(unpack_pair("copies", tmp_path)) as trace:
        found, queues = read_commands(trace)
    kept = fit_device_clocks(found, queues)
    assert {segment.state for segment in kept.segments} == {ClockState.PROVEN}
    assert {segment.rejected for segment in kept.segments} == {0}
    faulty = kept.faults[kept.faults != 0]
    assert faulty.tolist() == [int(StampFault.ZERO)] * 90


@pytest.mark.parametrize(("name", "together"), [("one-context", 0.080), ("ranks", 0.531)])
def test_boards_at_once_are_those_of_the_program(
    name: str, together: float, tmp_path: Path
) -> None:
    with cltrace.load(unpack_pair(name, tmp_path)) as trace:
        times_ns = concurrency_ns(Analysis(trace).activity, physical_devices(trace))
    assert len(times_ns) == 3
    assert times_ns[2] / sum(times_ns) == pytest.approx(together, abs=0.001)


def test_turns_are_advised_where_nothing_orders_them(tmp_path: Path) -> None:
    with cltrace.load(unpack_pair("one-context", tmp_path)) as trace:
        turns = [each for each in Analysis(trace).advice if each.rule == "devices-in-turns"]
    # Two programs' phases take turns, with a wait at a line for each board; two phases are ordered.
    # What waits cost in the second phase is too little for findings of their own.
    places = [[each.site, *(other.site for other in each.other_places)] for each in turns]
    lines = [sorted(int(site.rpartition(":")[2]) for site in sites) for sites in places]
    assert lines == [[63], [65], [72, 74]]
    assert [each.times for each in turns] == [60, 60, 120]
    # The same waits are counted in the metrics, at all places of a finding.
    assert [each.proposal.metrics[0].value for each in turns] == [60, 60, 120]
