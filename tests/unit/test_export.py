"""What is exported says what the trace says, and is as its readers want it."""

import csv
import gzip
import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cltrace
from cltrace.installation import suggest_install
from cltrace.report.export.protobuf import varint
from cltrace.report.tracks.slices import nested_rows
from cltrace.timeline.reading import read_activity
from cltrace.trace.reader import Trace
from cltrace.trace.views import VIEWS
from cltrace.trace.views.kinds import ValueKind, value_kind
from tests.conftest import MakeTrace, Runner

Slice = tuple[str, int, int]


def export(run: Runner, path: Path, name: str, *flags: str) -> Path:
    target = path.with_name(name)
    done = run("export", path, "-o", target, *flags)
    assert done.status == 0, done.stderr
    assert done.stderr.startswith(f"cltrace: wrote {target}\n")
    return target


def partial_overlaps(slices: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The slices of one track that overlap another in part: viewers draw those wrong."""
    found = []
    stack: list[int] = []
    for begin, end in sorted(slices, key=lambda one: (one[0], -one[1])):
        while stack and stack[-1] <= begin:
            stack.pop()
        if stack and end > stack[-1]:
            found.append((begin, end))
        stack.append(end)
    return found


def device_slices(trace: Trace) -> list[Slice]:
    """Name, start and duration of everything that is placed, in ns on the host's clock."""
    commands = read_activity(trace).commands
    origin = trace.meta_int("origin_host_ns") or 0
    names = dict(trace.rows("SELECT command_id, coalesce(kernel, kind) FROM v_command"))
    placed = commands.is_placed
    return sorted(
        (names[number], start + origin, end - start)
        for number, start, end in zip(
            commands.id[placed].tolist(),
            commands.start_ns[placed].tolist(),
            commands.end_ns[placed].tolist(),
            strict=True,
        )
    )


def host_slices(trace: Trace) -> list[Slice]:
    return sorted(trace.rows("SELECT api, enter_host_ns, duration_ns FROM v_api_call"))


def packets(path: Path) -> list[Any]:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415 - an extra

    data = path.read_bytes()
    return list(perfetto_trace_pb2.Trace.FromString(data).packet)


def begun_and_ended(found: list[Any]) -> dict[int, list[tuple[int, int, Any]]]:
    """By track, the slices that begin and end packets make: begin, end, and the beginning event."""
    slices = defaultdict(list)
    open_ones: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for packet in found:
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            open_ones[event.track_uuid].append((packet.timestamp, event))
        elif event.type == event.TYPE_SLICE_END:
            begin, first = open_ones[event.track_uuid].pop()
            slices[event.track_uuid].append((begin, packet.timestamp, first))
    assert not any(open_ones.values())
    return slices


def test_perfetto_has_every_call_and_every_command(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    found = packets(export(run, path, "t.pftrace"))
    (interned,) = (one.interned_data for one in found if one.HasField("interned_data"))
    names = {one.iid: one.name for one in interned.event_names}
    stages = {one.iid: one for one in interned.gpu_specifications}
    slices = begun_and_ended(found)
    calls = sorted(
        (names[event.name_iid], begin, end - begin)
        for one in slices.values()
        for begin, end, event in one
    )
    stages_seen = [(one.timestamp, one.gpu_render_stage_event) for one in found
                   if one.HasField("gpu_render_stage_event")]  # fmt: skip
    with cltrace.load(path) as trace:
        assert calls == host_slices(trace)
        assert sorted(
            (event.name, begin, event.duration) for begin, event in stages_seen
        ) == device_slices(trace)
    for one in slices.values():
        assert not partial_overlaps([(begin, end) for begin, end, _ in one])
    queues = defaultdict(list)
    for begin, event in stages_seen:
        queues[event.hw_queue_iid].append((begin, begin + event.duration))
        assert stages[event.stage_iid].name == event.name
        assert stages[event.hw_queue_iid].name.startswith("queue ")
    for spans in queues.values():
        ordered = sorted(spans)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ordered))


def test_perfetto_has_launches_waits_and_correlations(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    found = packets(export(run, path, "t.pftrace"))
    events = {
        one.gpu_render_stage_event.event_id: one.gpu_render_stage_event
        for one in found
        if one.HasField("gpu_render_stage_event")
    }
    launch = next(one.launch for one in events.values() if one.launch.workgroup_size.x)
    assert (launch.grid_size.x, launch.workgroup_size.x) == (16, 64)
    assert {one.name: one.string_value for one in launch.args} == {
        "global_size": "1024",
        "local_size": "64",
    }
    waits = {
        one.event_id: list(one.event_wait_ids) for one in events.values() if one.event_wait_ids
    }
    submitted, waited = correlations(found)
    with cltrace.load(path) as trace:
        edges = trace.rows("SELECT command_id, waits_for_command_id FROM v_edge")
        assert waits == {number: [before] for number, before in edges if number in events}
        commands = {row[0] for row in trace.rows("SELECT command_id FROM v_command")}
    assert submitted == commands
    assert set(events) <= submitted
    assert waited <= set(events)
    assert waited
    site = next(one for one in events.values() if one.name == "scale").extra_data[0]
    assert (site.name, site.value) == ("site", "/srv/heat/heat.py:42")


def correlations(found: list[Any]) -> tuple[set[int], set[int]]:
    """The commands that calls submitted and waited for, read by the extension's own description."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415

    (files,) = (
        one.extension_descriptor.extension_set for one in found
        if one.HasField("extension_descriptor")
    )  # fmt: skip
    own = descriptor_pb2.FileDescriptorSet.FromString(files.SerializeToString()).file[0]
    pool = descriptor_pool.DescriptorPool()
    # Only the message is wanted; what it extends is not in this pool.
    del own.message_type[1:]
    pool.Add(own)
    message = message_factory.GetMessageClass(
        pool.FindMessageTypeByName("perfetto.protos.GpuCorrelation")
    )
    submitted, waited = set(), set()
    for packet in found:
        for field in unknown_fields(packet.track_event):
            if field.field_number == 3000:
                one = message.FromString(field.data)
                submitted |= set(one.render_stage_submission_event_ids)
                waited |= set(one.render_stage_wait_event_ids)
    return submitted, waited


def unknown_fields(message: Any) -> Any:
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415 - an extra

    return UnknownFieldSet(message)


def test_chrome_has_every_call_and_every_command(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    events = json.loads(export(run, path, "t.json").read_text())["traceEvents"]
    compressed = export(run, path, "t.json.gz")
    assert json.loads(gzip.decompress(compressed.read_bytes()))["traceEvents"] == events
    tracks = defaultdict(list)
    found: dict[str, list[Slice]] = {"host": [], "device": []}
    with cltrace.load(path) as trace:
        origin = trace.meta_int("origin_host_ns") or 0
        for one in events:
            if one["ph"] == "X":
                begin, length = round(one["ts"] * 1000), round(one["dur"] * 1000)
                tracks[one["pid"], one["tid"]].append((begin, begin + length))
                found[one["cat"]].append((one["name"], begin + origin, length))
        assert sorted(found["host"]) == host_slices(trace)
        assert sorted(found["device"]) == device_slices(trace)
    for spans in tracks.values():
        assert not partial_overlaps(spans)
    starts = {one["id"]: (one["pid"], one["tid"], one["ts"]) for one in events if one["ph"] == "s"}
    ends = {one["id"]: (one["pid"], one["tid"], one["ts"]) for one in events if one["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(ends) == len(found["device"])
    begun = {(one["pid"], one["tid"], one["ts"]) for one in events if one["ph"] == "X"}
    assert set(starts.values()) | set(ends.values()) <= begun
    named = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert tracks.keys() <= named


def test_csv_has_every_view(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    directory = export(run, path, "tables.csv")
    with cltrace.load(path) as trace:
        for view in VIEWS:
            with (directory / f"{view.name}.csv").open(newline="") as file:
                header, *rows = list(csv.reader(file))
            assert header == [column.name for column in view.columns]
            assert len(rows) == trace.rows(f"SELECT count(*) FROM {view.name}")[0][0]


def test_parquet_has_every_row_divided_by_rank(make_trace: MakeTrace, run: Runner) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = make_trace()
    directory = export(run, path, "tables.parquet")
    with cltrace.load(path) as trace:
        for view in VIEWS:
            table = parquet.read_table(directory / view.name)
            names = [column.name for column in view.columns]
            key = names[0]
            order = f"ORDER BY {', '.join(names)}"
            expected = trace.rows(f"SELECT * FROM {view.name} {order}")
            rows = [tuple(row[name] for name in names) for row in table.to_pylist()]
            assert len(rows) == len(expected), view.name
            assert sorted(map(repr, rows)) == sorted(map(repr, expected)), (view.name, key)
        ranks = sorted(one.name for one in (directory / "v_command").iterdir())
        assert ranks == ["rank=0", "rank=1"]


def test_duckdb_reads_the_dataset_as_the_documentation_says(
    make_trace: MakeTrace, run: Runner
) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = make_trace()
    directory = export(run, path, "dataset.parquet")
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    sql = text.partition('duckdb -c "')[2].partition('"')[0]
    found = duckdb.sql(sql.replace("dataset.parquet", str(directory))).fetchall()
    with cltrace.load(path) as trace:
        expected = trace.rows(
            "SELECT p.rank, c.kernel, count(*), sum(c.duration_ns) / 1e6 FROM v_command c "
            "JOIN v_process p USING (process_id) GROUP BY 1, 2"
        )
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_every_column_holds_the_kind_that_is_said(make_trace: MakeTrace) -> None:
    types = {
        ValueKind.WHOLE: int,
        ValueKind.REAL: float,
        ValueKind.TEXT: str,
        ValueKind.BYTES: bytes,
    }
    with cltrace.load(make_trace()) as trace:
        for view in VIEWS:
            for column in view.columns:
                wanted = types[value_kind(view.name, column.name)]
                for (value,) in trace.rows(f"SELECT {column.name} FROM {view.name}"):
                    assert value is None or type(value) is wanted, (view.name, column.name, value)


def test_what_is_there_is_not_overwritten_unasked(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    target = export(run, path, "t.json")
    target.write_text("mine")
    done = run("export", path, "-o", target)
    assert done.status == 2
    assert "exists already: -f overwrites it" in done.stderr
    assert target.read_text() == "mine"
    assert run("export", path, "-f", "-o", target).status == 0
    assert target.read_text() != "mine"
    refused = run("export", path, "-f", "--to", "csv", "-o", target)
    assert refused.status == 2
    assert "is a file" in refused.stderr


def test_force_takes_nothing_that_is_not_an_export(
    make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    path = make_trace()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    for target in (mine, tmp_path, "..", ".", path):
        for form in ("csv", "chrome"):
            done = run("export", path, "-f", "--to", form, "-o", target)
            assert done.status == 2, (target, form)
            assert done.stderr.count("\n") == 1
    assert (mine / "thesis.txt").read_text() == "years of work"
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_command")[0][0]
    directory = export(run, path, "tables.csv")
    assert run("export", path, "-f", "-o", directory).status == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["made.cltrace", "mine", "tables.csv"]


def test_a_link_is_written_through(make_trace: MakeTrace, run: Runner, tmp_path: Path) -> None:
    path = make_trace()
    (tmp_path / "elsewhere.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "elsewhere.json")
    assert run("export", path, "-f", "-o", "link.json").status == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "elsewhere.json").read_text())["traceEvents"]


def test_processes_with_one_pid_stay_apart(make_trace: MakeTrace, run: Runner) -> None:
    paths = [make_trace(f"{one}.cltrace") for one in "ab"]
    whole = paths[0].with_name("whole.cltrace")
    assert run("merge", "-o", whole, *paths).status == 0
    found = packets(export(run, whole, "t.pftrace"))
    pids = [one.track_descriptor.process.pid for one in found if one.track_descriptor.process.pid]
    assert sorted(pids) == [1, 2, 3, 4]
    gpus = {
        one.gpu_render_stage_event.gpu_id for one in found if one.HasField("gpu_render_stage_event")
    }
    assert len(gpus) == 8
    events = json.loads(export(run, whole, "t.json").read_text())["traceEvents"]
    assert {one["pid"] for one in events if one["ph"] == "C"} == {1, 2, 3, 4}


def test_the_format_is_told_by_the_name_or_asked_for(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    done = run("export", path, "-o", "x.unknown")
    assert done.status == 2
    assert "say --to perfetto|chrome|speedscope|csv|parquet" in done.stderr
    messages = run("export", path, "--to", "chrome").stderr
    assert messages.startswith("cltrace: wrote made.json\n")


def test_a_missing_package_is_named(make_trace: MakeTrace, run: Runner, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "perfetto"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('none here')")
    done = run("export", make_trace(), "--to", "perfetto", env={"PYTHONPATH": str(hidden.parent)})
    assert done.status == 2
    assert f"{suggest_install('perfetto')} (none here)" in done.stderr
    assert not list(tmp_path.glob("*.pftrace"))


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_varints_are_what_the_library_writes(value: int) -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415 - an extra

    packet = perfetto_trace_pb2.TracePacket(timestamp=value)
    assert packet.SerializeToString() == b"\x40" + varint(value)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=20))
def test_rows_of_calls_nest_or_are_apart(spans: list[tuple[int, int]]) -> None:
    spans.sort(key=lambda one: (one[0], -one[1]))
    begin = np.array([one for one, _ in spans], np.int64)
    end = begin + np.array([length for _, length in spans], np.int64)
    row = nested_rows(begin, end)
    for one in np.unique(row):
        here = row == one
        assert not partial_overlaps(list(zip(begin[here], end[here], strict=True)))


def test_power_is_a_counter_in_every_viewer(make_trace: MakeTrace, run: Runner) -> None:
    """The made-up meter is at 40 W in 25 readings, 2 ms apart; the counter beside it at 40 W too."""
    path = make_trace()
    events = json.loads(export(run, path, "x.json").read_text())["traceEvents"]
    watts = [one["args"]["W"] for one in events if one["ph"] == "C" and "W" in one["args"]]
    assert watts.count(40.0) == 25 + 4
    assert watts.count(0.0) == 2
    shown = run("timeline", path).stdout
    assert "to 40 W" in shown


def test_launches_have_their_energy_where_it_is_known(run: Runner, tmp_path: Path) -> None:
    mixture = Path(__file__).parents[1] / "data" / "h200-mixture.cltrace"
    target = tmp_path / "x.json"
    assert run("export", mixture, "-o", target).status == 0
    events = json.loads(target.read_text())["traceEvents"]
    whole = next(one for one in events if one.get("name") == "whole" and one["ph"] == "X")
    assert whole["args"]["energy"].startswith("49")
    assert "mJ ±" in whole["args"]["energy"]
    assert whole["args"]["energy_tier"] == "regressed"
    gather = next(one for one in events if one.get("name") == "gather" and one["ph"] == "X")
    assert "energy" not in gather["args"]
    assert "Energy of kernels" in run("timeline", mixture).stdout
