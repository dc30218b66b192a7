"""Time by the line of the program and by stack: sums that agree with the trace."""

import dataclasses
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cltrace
from cltrace.report.call_stacks import place_times_table, stack_table
from cltrace.report.document import Table, Value
from cltrace.report.selection import Selection
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.dropped_events import number_lines
from cltrace.timeline.reading import read_activity
from cltrace.timeline.stack_times import sum_commands, sum_host_calls
from cltrace.trace.reader import Trace
from cltrace.trace.stacks import StackFrame, merge_stacks, program_site, stack_of
from tests.conftest import MakeTrace, Runner

GOLDEN = Path(__file__).parents[1] / "golden"
EVERYTHING = Selection()


def rows_of(table: Table) -> list[dict[str, Value]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def whole_times(trace: Trace) -> tuple[int, int]:
    """Return the sums of all host calls and of all commands, in ns."""
    (host,) = trace.rows("SELECT sum(duration_ns) FROM v_api_call")
    (device,) = trace.rows("SELECT sum(total_ns) FROM v_rollup WHERE dimension = 'device'")
    return int(host[0]), int(device[0])


def test_stacks_add_up_to_the_trace(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        host_ns, device_ns = whole_times(trace)
        by_place = rows_of(place_times_table(Analysis(trace), EVERYTHING, sort="total", top=None))
        by_stack = rows_of(stack_table(Analysis(trace), EVERYTHING, sort="total", top=None))
    assert sum(int(row["host_ns"] or 0) for row in by_place) == host_ns
    assert sum(int(row["device_ns"] or 0) for row in by_place) == device_ns
    assert sum(int(row["own_host_ns"] or 0) for row in by_stack) == host_ns
    assert sum(int(row["own_device_ns"] or 0) for row in by_stack) == device_ns


def test_callers_have_the_time_of_what_they_call(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        rows = rows_of(stack_table(Analysis(trace), EVERYTHING, sort="total", top=None))
        first = rows_of(stack_table(Analysis(trace), EVERYTHING, sort="total", top=1))
    # Both processes of the trace have these stacks.
    assert [row["function"] for row in rows] == ["main", "  step"]
    outer, inner = rows[:2]
    assert outer["device_ns"] == int(outer["own_device_ns"] or 0) + int(inner["device_ns"] or 0)
    assert outer["host_ns"] == int(outer["own_host_ns"] or 0) + int(inner["host_ns"] or 0)
    assert first == rows[:1]


def test_a_selection_holds_for_stacks(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        names = {
            str(name) for (name,) in trace.rows("SELECT DISTINCT kernel FROM v_command") if name
        }
        for name in sorted(names):
            table = place_times_table(
                Analysis(trace), Selection(kernel=name), sort="total", top=None
            )
            (expected,) = trace.rows(
                "SELECT sum(total_ns), sum(timed_calls) FROM v_rollup "
                "WHERE dimension = 'kernel' AND label = :name AND activity = 'kernel'",
                {"name": name},
            )
            rows = rows_of(table)
            assert sum(int(row["device_ns"] or 0) for row in rows) == expected[0]
            assert sum(int(row["commands"] or 0) for row in rows) == expected[1]
        nothing = stack_table(Analysis(trace), Selection(to_ns=-1), sort="total", top=None)
        assert not nothing.rows


def test_frames_of_packages_that_pass_on_are_left_out(tmp_path: Path) -> None:
    frames = {
        1: StackFrame("/home/app.py", 3, "main", 0),
        2: StackFrame("/x/site-packages/p.py", 7, "outer", 1),
        3: StackFrame("/x/site-packages/p.py", 9, "inner", 2),
    }
    assert list(stack_of(3, frames)) == [3, 2, 1]
    assert program_site(3, frames) == 1
    assert program_site(1, frames) == 1
    path = tmp_path / "nested.cltrace"
    path.write_bytes((GOLDEN / "schema-5.cltrace").read_bytes())
    database = sqlite3.connect(path)
    database.execute("UPDATE site SET file = '/x/site-packages/p.py' WHERE id IN (2, 4)")
    database.execute("INSERT INTO site VALUES (5, '/x/site-packages/p.py', 9, 'inner', 2)")
    database.execute("UPDATE api_call SET site_id = 5 WHERE site_id = 2")
    database.commit()
    database.close()
    with cltrace.load(path) as trace:
        rows = rows_of(stack_table(Analysis(trace), EVERYTHING, sort="total", top=None))
        places = rows_of(place_times_table(Analysis(trace), EVERYTHING, sort="total", top=None))
    assert {row["name"] for row in places} <= {"/srv/heat/heat.py:10", "(not known)"}
    assert "main" in {row["function"] for row in rows}


def test_a_site_that_calls_itself_ends() -> None:
    frames = {1: StackFrame("a.py", 1, "f", 1)}
    assert len(list(stack_of(1, frames))) < 1000


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_older_traces_have_the_stacks_that_they_recorded(version: int) -> None:
    with cltrace.load(GOLDEN / f"schema-{version}.cltrace") as trace:
        host_ns, device_ns = whole_times(trace)
        rows = rows_of(stack_table(Analysis(trace), EVERYTHING, sort="total", top=None))
        depths = trace.rows("SELECT site_id, count(*) FROM v_stack GROUP BY site_id ORDER BY 1")
    assert sum(int(row["own_host_ns"] or 0) for row in rows) == host_ns
    assert sum(int(row["own_device_ns"] or 0) for row in rows) == device_ns
    assert depths[:2] == [(1, 1), (2, 2)]


def test_calls_without_a_site_are_kept(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        activity = read_activity(trace)
    commands = dataclasses.replace(activity.commands, site=np.zeros(len(activity.commands), int))
    calls = dataclasses.replace(activity.calls, site=np.full(len(activity.calls), -(2**63)))
    unplaced = dataclasses.replace(activity, commands=commands, calls=calls)
    everything = np.ones(len(commands), np.bool_), np.ones(len(calls), np.bool_)
    assert {time.site for time in sum_host_calls(unplaced, *everything)} == {0}
    assert {time.site for time in sum_commands(unplaced, everything[0])} == {0}


def test_sites_of_one_line_count_together() -> None:
    sites = np.array([3, 1, 2, 9, 3])
    lines = number_lines(sites, {1: "a.py:1", 2: "a.py:2", 3: "a.py:1"})
    assert lines[0] == lines[1] == lines[4]
    assert len(set(lines.tolist())) == 3


def test_the_verb_shows_both(run: Runner, make_trace: MakeTrace) -> None:
    path = make_trace()
    done = run("summary", path, "--by", "callsite", "--format", "json")
    assert done.status == 0, done.stderr
    assert "times_by_callsite" in json.loads(done.stdout)
    done = run("summary", path, "--by", "stack")
    assert "  step" in done.stdout


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=9))
def test_merged_stacks_end(sites: list[tuple[int, int]]) -> None:
    frames = {
        number: StackFrame("app.py", line, "work", outer)
        for number, (outer, line) in enumerate(sites, 1)
    }
    merged = merge_stacks(frames)
    assert merged.site_of.keys() == frames.keys()
    for site in merged.site_of.values():
        stack = list(stack_of(site, merged.frames))
        assert stack
        assert len(set(stack)) == len(stack)
        assert merged.frames[stack[-1]].outer_site_id == 0
