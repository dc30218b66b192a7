"""Sums over commands are exact: held against the same sums made one command at a time."""

import statistics
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltrace.trace.busy_time import BusyTimes
from cltrace.trace.command_sums import command_columns, roll_up
from cltrace.trace.commands import ABSENT, FIRST_LAUNCH
from cltrace.trace.medians import Medians
from cltrace.trace.rollup import busy_ns
from cltrace.trace.rollup_builder import ApiRollupBuilder
from cltrace.trace.scratch import MemoryScratch

TIME = st.integers(0, 50)
MAYBE = st.none() | TIME


@st.composite
def commands(draw: st.DrawFn) -> list[dict[str, Any]]:
    one = st.fixed_dictionaries(
        {
            "group": st.integers(0, 3),
            "enter_host_ns": TIME,
            "complete_host_ns": MAYBE,
            "queued_device_ns": MAYBE,
            "start_device_ns": MAYBE,
            "end_device_ns": MAYBE,
            "size_bytes": MAYBE,
            "is_first": st.booleans(),
            "device": st.integers(1, 2),
        }
    )
    return draw(st.lists(one, max_size=25))


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = (
        *("enter_host_ns", "complete_host_ns", "queued_device_ns", "start_device_ns"),
        *("end_device_ns", "size_bytes"),
    )
    columns = {
        name: np.array([int(ABSENT) if row[name] is None else row[name] for row in rows], np.int64)
        for name in names
    }
    columns["device_id"] = np.array([row["device"] for row in rows], np.int64)
    columns["flags"] = np.array([FIRST_LAUNCH * row["is_first"] for row in rows], np.int64)
    return columns


def duration_of(row: dict[str, Any]) -> int | None:
    start, end, complete = row["start_device_ns"], row["end_device_ns"], row["complete_host_ns"]
    if start is not None and end is not None and end >= start:
        return int(end - start)
    if complete is not None and complete >= row["enter_host_ns"]:
        return int(complete - row["enter_host_ns"])
    return None


def has_stamps(row: dict[str, Any]) -> bool:
    start, end = row["start_device_ns"], row["end_device_ns"]
    return start is not None and end is not None and end >= start


def wait_of(row: dict[str, Any]) -> int | None:
    queued, start = row["queued_device_ns"], row["start_device_ns"]
    if not has_stamps(row) or queued is None or start < queued:
        return None
    return int(start - queued)


@given(commands())
def test_sums_are_those_of_the_commands(rows: list[dict[str, Any]]) -> None:
    columns = columns_of(rows)
    groups = np.array([row["group"] for row in rows], np.int64)
    found = dict(roll_up(groups, command_columns(columns, columns["device_id"])))
    assert sorted(found) == sorted({row["group"] for row in rows})
    for group, rollup in found.items():
        members = [row for row in rows if row["group"] == group]
        took = [value for row in members if (value := duration_of(row)) is not None]
        waits = [
            value for row in members if not row["is_first"] and (value := wait_of(row)) is not None
        ]
        assert (rollup.calls, rollup.timed_calls) == (len(members), len(took))
        assert rollup.total_ns == sum(took)
        assert rollup.min_ns == min(took, default=None)
        assert rollup.max_ns == max(took, default=None)
        assert rollup.median_ns == (statistics.median(took) if took else None)
        assert rollup.size_bytes == sum(row["size_bytes"] or 0 for row in members)
        assert (rollup.waited_calls, rollup.wait_total_ns) == (len(waits), sum(waits))
        ticks = {
            (row["device"], tick)
            for row in members
            if has_stamps(row)
            for tick in range(row["start_device_ns"], row["end_device_ns"])
        }
        assert (rollup.busy_ns or 0) == len(ticks)
        assert rollup.first_calls == sum(row["is_first"] for row in members)


@given(st.lists(st.tuples(TIME, TIME).map(sorted), max_size=20))
def test_busy_time_is_the_length_of_the_union(intervals: list[list[int]]) -> None:
    start = np.array([one[0] for one in intervals], np.int64)
    end = np.array([one[1] for one in intervals], np.int64)
    covered = {tick for low, high in intervals for tick in range(low, high)}
    assert busy_ns(start, end) == len(covered)


@given(
    st.lists(st.tuples(st.integers(1, 3), TIME, TIME, st.sampled_from([0, -5])), min_size=1),
    st.lists(st.tuples(st.integers(1, 3), TIME, TIME), max_size=5),
)
def test_host_calls_are_summed_over_all_tables(
    calls: list[tuple[int, int, int, int]], enqueues: list[tuple[int, int, int]]
) -> None:
    def table(rows: list[Any]) -> dict[str, Any]:
        return {
            "api": np.array([row[0] for row in rows], np.int64),
            "enter_host_ns": np.array([row[1] for row in rows], np.int64),
            "return_host_ns": np.array([row[1] + row[2] for row in rows], np.int64),
        }

    failing = {**table(calls), "status": np.array([row[3] for row in calls], np.int64)}
    everything: list[Any] = [*calls, *((*row, 0) for row in enqueues)]
    builder = ApiRollupBuilder(MemoryScratch(part_rows=2))
    for part in (table(enqueues), failing):
        builder.add(part)
    for rollup in builder.rollups():
        members = [row for row in everything if row[0] == rollup.api]
        took = [row[2] for row in members]
        assert rollup.calls == len(members)
        assert rollup.failed == sum(row[3] != 0 for row in members)
        assert rollup.total_ns == sum(took)
        assert rollup.min_ns == min(took)
        assert rollup.max_ns == max(took)
        assert rollup.median_ns == statistics.median(took)


CELLS = st.integers(0, 4)
VALUES = st.one_of(st.integers(-5, 300), st.integers(0, 2**62), st.sampled_from([2**53 + 1, 2**40]))


@given(
    st.lists(st.lists(st.tuples(CELLS, VALUES), max_size=12), max_size=6),
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.sampled_from([1, 2, 3, 1000]),
)
def test_medians_are_exact_in_any_parts(
    parts: list[list[tuple[int, int]]], group_of: list[int], part_rows: int
) -> None:
    medians = Medians(MemoryScratch(part_rows=part_rows))
    for part in parts:
        cells, values = np.array(part, np.int64).reshape(-1, 2).T
        medians.add(cells, values)
    groups: dict[int, list[int]] = {}
    for cell, value in (pair for part in parts for pair in part):
        groups.setdefault(group_of[cell], []).append(value)
    expected = {group: float(np.median(np.array(members))) for group, members in groups.items()}
    assert medians.of_groups(np.array(group_of)) == expected


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 2), TIME, TIME, CELLS), max_size=12), max_size=6),
    st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), min_size=1, max_size=3),
    st.sampled_from([1, 2, 3, 1000]),
)
def test_busy_times_are_the_unions_in_any_parts(
    parts: list[list[tuple[int, int, int, int]]], partitions: list[list[int]], part_rows: int
) -> None:
    busy = BusyTimes(MemoryScratch(part_rows=part_rows))
    intervals = [(device, *sorted(times), cell) for part in parts for device, *times, cell in part]
    for device, start, end, cell in intervals:
        busy.add(*(np.array([value], np.int64) for value in (device, start, end, cell)))
    for group_of, found in zip(
        partitions, busy.of_groups([np.array(groups) for groups in partitions]), strict=True
    ):
        for group, busy_time in enumerate(found.tolist()):
            ticks = {
                (device, tick)
                for device, start, end, cell in intervals
                if group_of[cell] == group
                for tick in range(start, end)
            }
            assert busy_time == len(ticks)
