"""A recording becomes a trace, and the trace says what was recorded."""

import json
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cltrace
from cltrace.errors import CltraceError, NewerTraceError
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.merge import merge
from cltrace.trace.reader import Trace
from cltrace.trace.schema import SCHEMA_VERSION, TABLES
from cltrace.trace.views import VIEWS
from cltrace.trace.views.unpacked import UNPACKED_VIEWS
from tests.conftest import MakeTrace, Runner
from tests.synthetic import LAUNCHES_EACH, ORIGIN_NS, SENT, SOURCE, write_recording

GOLDEN = Path(__file__).parents[1] / "golden"


def check_contents(trace: Trace, processes: int = 2) -> None:
    """What a trace of the made-up recording must say."""
    one = dict(trace.rows("SELECT kind, count(*) FROM v_command GROUP BY kind"))
    others = dict.fromkeys(("write", "fill", "copy"), processes)
    assert one == {"kernel": LAUNCHES_EACH * processes, **others}
    kernels = trace.rows(
        "SELECT calls, timed_calls, total_ns, min_ns, median_ns, max_ns, first_calls, first_wait_ns "
        "FROM v_rollup WHERE dimension = 'kernel' AND key = 'scale'"
    )
    launches = LAUNCHES_EACH * processes
    assert kernels == [
        (launches, launches, 100_000 * launches, 100_000, 100_000.0, 100_000, 2 * processes,
         5_000_000 * 2 * processes),
    ]  # fmt: skip
    written = trace.rows(
        "SELECT c.size_bytes, c.target_offset_bytes, c.blocking, b.size_bytes, c.site "
        "FROM v_command c JOIN v_buffer b ON b.buffer_id = c.target_buffer_id "
        "WHERE c.kind = 'write'"
    )
    assert written == [(4096, 64, 1, 1 << 20, "/srv/heat/heat.py:10")] * processes
    failed = trace.rows("SELECT api, status FROM v_api_call WHERE status <> 0")
    assert failed == [("clEnqueueCopyBuffer", -30)] * processes
    fill = trace.rows("SELECT duration_ns, start_device_ns FROM v_command WHERE kind = 'fill'")
    assert fill == [(50_000, None)] * processes
    check_relations(trace, processes)


def check_relations(trace: Trace, processes: int) -> None:
    """What must belong together in a trace of the made-up recording."""
    edge = trace.rows(
        "SELECT a.kind, b.kind FROM v_edge JOIN v_command a USING (command_id) "
        "JOIN v_command b ON b.command_id = waits_for_command_id"
    )
    assert edge == [("fill", "write")] * processes
    waits = trace.rows(
        "SELECT a.api, c.kind FROM v_wait JOIN v_api_call a USING (call_id) "
        "JOIN v_command c ON c.command_id = v_wait.command_id"
    )
    assert waits == [("clWaitForEvents", "write")] * processes
    arguments = trace.rows(
        "SELECT a.kind, a.value FROM v_launch_arg a JOIN v_launch l USING (launch_id) "
        "WHERE l.local_size = '[64]' ORDER BY launch_id, position"
    )
    assert arguments == [("buffer", None), ("scalar", b"\0\0\0?")] * processes
    assert trace.rows("SELECT DISTINCT source FROM v_program WHERE origin = 'source'") == [
        (SOURCE,)
    ]
    fates = dict(trace.rows("SELECT fate, count(*) FROM v_buffer GROUP BY fate"))
    assert fates["released"] == processes
    assert fates.get("leaked", 0) + fates.get("alive", 0) == 2 * processes
    region = trace.rows("SELECT name, enter_host_ns, duration_ns FROM v_region")
    assert region == [("assembly", ORIGIN_NS + 1_000_000, 44_000_000)] * processes
    assert {row[0] for row in trace.rows("SELECT size_bytes FROM v_content")} == {len(SENT)}
    busy = trace.rows("SELECT label, busy_ns FROM v_rollup WHERE dimension = 'whole-device'")
    assert sum(value for label, value in busy if value and "pthread" in label) > 0


def test_a_recording_becomes_a_trace(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        check_contents(trace)
        assert trace.command_line == ["python", "heat.py", "--size", "64"]
        for name in trace.view_names:
            table = trace[name]
            assert len(table) == trace.rows(f"SELECT count(*) FROM {name}")[0][0]
            assert list(table.columns) == [
                column.name for view in VIEWS if view.name == name for column in view.columns
            ]
        assert trace["v_command"]["enter_host_ns"].dtype == "Int64"
        with pytest.raises(KeyError, match="v_command"):
            trace["nosuch"]


OF_LOGS = {"offset_ns", "offset_within_ns"}
"""Columns that only the import of a log fills: `test_power_logs.py` looks at them."""


def test_every_column_of_every_view_is_filled_by_something(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        for view in VIEWS:
            for column in view.columns:
                if column.name in OF_LOGS:
                    continue
                found = trace.rows(f"SELECT count({column.name}) FROM {view.name}")[0][0]
                assert found, f"{view.name}.{column.name}"


def test_a_merge_is_the_sum_of_its_parts(make_trace: MakeTrace, tmp_path: Path) -> None:
    traces = [make_trace("a.cltrace"), make_trace("b.cltrace")]
    merge(traces, tmp_path / "all.cltrace")
    with cltrace.load(tmp_path / "all.cltrace") as trace:
        check_contents(trace, processes=4)
        assert json.loads(trace.meta["merged_from"] or "") == [str(one) for one in traces]
        numbers = trace.rows("SELECT process_id FROM v_process ORDER BY 1")
        assert numbers == [(1,), (2,), (3,), (4,)]
    again = tmp_path / "again.cltrace"
    merge([tmp_path / "all.cltrace", make_trace("c.cltrace")], again)
    with cltrace.load(again) as trace:
        check_contents(trace, processes=6)


def test_what_a_killed_process_left_is_read_and_called_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    done = finalise(write_recording(path, is_whole=False), path)
    assert not done.is_complete
    with cltrace.load(path) as trace:
        check_contents(trace)
        assert trace.meta["state"] == "incomplete"
        assert [row[0] for row in trace.rows("SELECT ended_how FROM v_process")] == [
            "exit",
            "killed",
        ]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_recording_damaged_anywhere_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    directory = Path(tempfile.mkdtemp())
    try:
        path = directory / "t.cltrace"
        parts = write_recording(path)
        files = sorted(one for one in parts.rglob("*") if one.is_file())
        victim = data.draw(st.sampled_from(files))
        whole = bytearray(victim.read_bytes())
        if data.draw(st.booleans()):
            del whole[data.draw(st.integers(0, len(whole))) :]
        for _ in range(data.draw(st.integers(0, 3))):
            if whole:
                whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        victim.write_bytes(bytes(whole))
        try:
            finalise(parts, path)
        except CltraceError as error:
            lines = str(error).splitlines()
            assert len(lines) == 1
            assert not path.exists()
        else:
            with cltrace.load(path) as trace:
                for view in VIEWS:
                    trace.rows(f"SELECT count(*) FROM {view.name}")
        assert not list(directory.glob(".*tmp"))
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_a_trace_of_every_schema_opens(version: int, run: Runner) -> None:
    path = GOLDEN / f"schema-{version}.cltrace"
    with cltrace.load(path) as trace:
        check_contents(trace)
    for verb in ("summary", "info"):
        assert run(verb, path).status == 0


def test_a_newer_schema_is_said_in_one_line(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    with pytest.raises(NewerTraceError):
        cltrace.load(path)
    done = run("summary", path)
    assert done.status == 2
    assert done.stderr.count("\n") == 1
    assert "install a newer cltrace" in done.stderr


def test_the_schema_is_what_the_golden_file_has() -> None:
    """A change of the schema needs a new version, and a golden file of it."""
    database = sqlite3.connect(GOLDEN / f"schema-{SCHEMA_VERSION}.cltrace")
    found = {
        (kind, name): sql
        for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_schema")
        if sql is not None
    }
    database.close()
    expected = {("table", table.name): table.create_sql for table in TABLES}
    expected |= {("view", view.name): view.create_sql for view in (*UNPACKED_VIEWS, *VIEWS)}
    assert found == expected
