"""The page: its numbers survive the packing, its rows are what the trace says, it asks for nothing."""

import base64
import hashlib
import json
import re
import shutil
import sqlite3
import zlib
from importlib import resources
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import cltrace
from cltrace.report.page.columns import LARGEST, ColumnLayout, pack_columns
from cltrace.report.page.compose import build_scene
from cltrace.report.page.histograms import histograms
from cltrace.report.page.launches import describe_launches
from cltrace.report.page.thinning import choose_level_steps, clip_levels, merge_short_slices
from cltrace.report.page.trace_page import PageOptions, render_page
from cltrace.report.timeline import span_ns
from cltrace.report.tracks.scene import NONE, Scene, Slices, TrackKind
from cltrace.report.tracks.slices import nesting_depths
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Int64s
from cltrace.trace.schema.activity import CLOCK_SEGMENT
from tests.conftest import MakeTrace
from tests.hostile import changed as with_changes
from tests.hostile import hostile_text

ASSETS = resources.files("cltrace.report.page") / "assets"
numbers = arrays.arrays(np.int64, st.integers(0, 30), elements=st.integers(-LARGEST, LARGEST))


def unpacked(layout: ColumnLayout, data: str) -> list[int]:
    """What the page makes of a column, by the description of the format."""
    raw = zlib.decompress(base64.b64decode(data))
    values, total = [], 0
    for at in range(layout.count):
        planes = range(layout.width_bytes)
        code = sum(
            raw[layout.offset_bytes + plane * layout.count + at] << (8 * plane) for plane in planes
        )
        value = -(code + 1) // 2 if code % 2 else code // 2
        total = total + value if layout.is_differences else value
        values.append(total)
    return values


@given(st.lists(numbers, min_size=1, max_size=4))
def test_packed_numbers_come_out_as_they_went_in(columns: list[Int64s]) -> None:
    found = pack_columns({str(at): column for at, column in enumerate(columns)})
    for layout, column in zip(found.layouts, columns, strict=True):
        assert unpacked(layout, found.data) == column.tolist()


def test_numbers_that_grow_evenly_take_a_byte_or_two() -> None:
    found = pack_columns({"time": np.arange(10_000) * 1000 + 2**40})
    assert found.layouts[0].is_differences
    assert len(found.data) < 200


def test_depth_counts_the_slices_around() -> None:
    begin, end = np.array([[0, 100], [10, 50], [10, 20], [20, 30], [60, 70], [100, 120]]).T
    assert nesting_depths(begin, end).tolist() == [0, 1, 2, 2, 1, 0]


def scene(path: Path, max_slices: int = 10**6) -> tuple[Scene, Analysis]:
    """The scene of a whole trace."""
    with cltrace.load(path) as trace:
        analysis = Analysis(trace)
        begin, end = span_ns(analysis.activity, None, None)
        launches = describe_launches(trace, (), analysis.activity.commands.launch)
        found = build_scene(analysis, launches, begin, end, home="", max_slices=max_slices)
        return found, analysis


def rows_of(found: Scene) -> list[tuple[TrackKind, Slices]]:
    """Each row with the kind of its track."""
    kinds = [track.kind for track in found.tracks for _ in range(track.rows)]
    ends = np.cumsum(found.row_sizes)
    return [
        (kind, found.slices.at(np.arange(end - size, end)))
        for kind, end, size in zip(kinds, ends, found.row_sizes, strict=True)
    ]


def test_rows_are_apart_and_ascend_and_have_everything(make_trace: MakeTrace) -> None:
    found, analysis = scene(make_trace())
    rows = rows_of(found)
    for _, row in rows:
        ends = row.begin_ns + row.duration_ns
        assert (row.duration_ns >= 0).all()
        assert (row.begin_ns[1:] >= ends[:-1]).all()
    activity = analysis.activity
    ran = sum(len(row) for kind, row in rows if kind is TrackKind.QUEUE)
    called = sum(len(row) for kind, row in rows if kind is TrackKind.THREAD)
    assert ran == int(activity.commands.is_placed.sum()) > 0
    with cltrace.load(analysis.trace.path) as trace:
        regions = trace.rows("SELECT count(*) FROM v_region WHERE duration_ns >= 0")[0][0]
    assert called == len(activity.commands) + len(activity.calls) + regions > regions > 0


def test_commands_lead_to_their_slices_and_each_other(make_trace: MakeTrace) -> None:
    found, analysis = scene(make_trace())
    links, slices, commands = found.links, found.slices, analysis.activity.commands
    assert links.id.tolist() == commands.id.tolist()
    for at in range(len(links.id)):
        host, device = links.host_slice[at], links.device_slice[at]
        assert slices.command[host] == at
        assert slices.begin_ns[host] == commands.enter_ns[at]
        if device != NONE:
            assert slices.command[device] == at
            assert slices.begin_ns[device] == commands.start_ns[at]
            assert slices.begin_ns[device] - links.queued_ns[at] == commands.queued_ns[at]
    assert links.edges.tolist() == analysis.activity.edges.tolist()
    assert len(links.edges)
    for call, command in links.waits.tolist():
        assert found.names[slices.name[call]].text in {"clFinish", "clWaitForEvents"}
        assert slices.begin_ns[call] >= slices.begin_ns[links.host_slice[command]]
    assert len(links.waits)
    kernels = {found.names[one].text for one in slices.name[links.device_slice[links.launch > 0]]}
    assert kernels == {one for one in analysis.activity.names.kernels if one}


def second_clock(database: sqlite3.Connection) -> None:
    """From half of the stamps on the clock is known three times as badly, and not proven."""
    (middle,) = database.execute(
        "SELECT start_device_ns FROM command WHERE start_device_ns IS NOT NULL ORDER BY 1 "
        "LIMIT 1 OFFSET (SELECT count(start_device_ns) / 2 FROM command)"
    ).fetchone()
    names = ", ".join(one.split()[0] for one in CLOCK_SEGMENT.columns)
    changed = names.replace("from_device_ns", str(middle)).replace("bound_ns", "3 * bound_ns + 7")
    changed = changed.replace("state", "'conditional'")
    database.execute(f"INSERT INTO clock_segment SELECT {changed} FROM clock_segment")
    database.execute(
        "UPDATE clock_segment SET to_device_ns = :middle, state = 'proven' "
        "WHERE from_device_ns <> :middle",
        {"middle": middle},
    )


def test_each_command_has_the_bound_of_the_clock_that_placed_it(tmp_path: Path) -> None:
    path = tmp_path / "two.cltrace"
    shutil.copy(Path(__file__).parents[1] / "golden" / "schema-2.cltrace", path)
    found, _ = scene(with_changes(path, second_clock))
    with cltrace.load(path) as trace:
        pieces = trace.rows(
            "SELECT device_id, from_device_ns, to_device_ns, bound_ns, state FROM v_clock_segment"
        )
        rows = trace.rows(
            "SELECT q.device_id, iif(c.start_host_ns IS NULL, NULL, c.start_device_ns), "
            "c.end_device_ns FROM v_command c JOIN v_queue q USING (queue_id) ORDER BY c.command_id"
        )
    states = set()
    for at, (device, *stamps) in enumerate(rows):
        placing = [
            (bound, state)
            for stamp in stamps
            for own, low, high, bound, state in pieces
            if own == device and stamp is not None and low <= stamp < high and state != "unaligned"
        ]
        if len(placing) < 2:
            assert found.links.bound_ns[at] == NONE
            continue
        assert found.links.bound_ns[at] == np.ceil(max(bound for bound, _ in placing))
        assert found.links.is_proven[at] == all(state == "proven" for _, state in placing)
        states |= {state for _, state in placing}
    assert states == {"proven", "conditional"}


def test_a_part_has_what_was_open_then(make_trace: MakeTrace) -> None:
    path = make_trace()
    whole, analysis = scene(path)
    middle = (whole.begin_ns + whole.end_ns) // 2
    with cltrace.load(path) as trace:
        analysis = Analysis(trace)
        launches = describe_launches(trace, (), analysis.activity.commands.launch)
        part = build_scene(analysis, launches, middle, whole.end_ns, home="", max_slices=10**6)
    ends = whole.slices.begin_ns + whole.slices.duration_ns
    assert len(part.slices) == int((ends >= middle).sum()) < len(whole.slices)
    assert len(part.links.id) <= len(analysis.activity.commands)
    assert (part.links.host_slice < len(part.slices)).all()
    known = part.links.device_slice[part.links.device_slice != NONE]
    assert (
        part.slices.command[known].tolist()
        == np.flatnonzero(part.links.device_slice != NONE).tolist()
    )


def test_too_many_slices_are_put_together_and_the_page_says_so(make_trace: MakeTrace) -> None:
    path = make_trace()
    whole, _ = scene(path)
    fewer, _ = scene(path, max_slices=20)
    assert fewer.merged_below_ns > 0
    assert len(fewer.slices) < len(whole.slices)
    assert fewer.slices.count.sum() == len(whole.slices)
    with cltrace.load(path) as trace:
        text = render_page(trace, PageOptions(max_slices=20))
    assert "are drawn together" in text


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), max_size=40), st.integers(1, 90))
def test_merging_keeps_extent_count_and_long_slices(
    steps: list[tuple[int, int]], resolution: int
) -> None:
    gap, duration = np.array(steps, np.int64).reshape(-1, 2).T
    begin = np.cumsum(gap + np.concatenate([[0], duration[:-1]])) if len(gap) else gap
    ones = np.ones(len(begin), np.int64)
    number = np.arange(len(begin))
    row = Slices(
        begin_ns=begin,
        duration_ns=duration,
        name=number,
        command=number,
        site=ones,
        status=0 * ones,
        size_bytes=ones,
        count=ones,
        busy_ns=duration,
    )
    found, first = merge_short_slices(row, resolution)
    assert found.count.sum() == len(begin)
    assert found.size_bytes.sum() == len(begin)
    assert found.busy_ns.sum() == duration.sum()
    assert (found.begin_ns[1:] >= (found.begin_ns + found.duration_ns)[:-1]).all()
    assert (found.duration_ns[found.count > 1] <= 2 * resolution).all()
    assert found.begin_ns.tolist() == begin[first].tolist()
    runs = np.split(duration, first[1:])
    assert duration[found.name].tolist() == [int(run.max()) for run in runs if len(run)]
    kept = set(zip(found.begin_ns.tolist(), found.duration_ns.tolist(), strict=True))
    long = duration >= resolution
    assert set(zip(begin[long].tolist(), duration[long].tolist(), strict=True)) <= kept
    assert (found.command[found.count > 1] == NONE).all()


def test_thinned_levels_keep_the_highest_and_the_last() -> None:
    rng = np.random.default_rng(1)
    time_ns = np.cumsum(rng.integers(1, 1000, 100_000))
    value = rng.integers(0, 10**9, 100_000)
    kept = choose_level_steps(time_ns, value)
    times, values = time_ns[kept], value[kept]
    assert len(times) < 25_000
    assert values.max() == value.max()
    assert (times[-1], values[-1]) == (time_ns[-1], value[-1])
    assert (np.diff(times) > 0).all()


def test_a_part_of_a_quantity_begins_with_what_it_was() -> None:
    times, values = clip_levels(np.array([0, 10, 20, 30]), np.array([1, 2, 3, 4]), 15, 20)
    assert (times.tolist(), values.tolist()) == ([15, 20], [2, 3])
    times, values = clip_levels(np.array([10]), np.array([5]), 0, 5)
    assert (times.tolist(), values.tolist()) == ([], [])


def test_histograms_count_every_launch(make_trace: MakeTrace) -> None:
    _, analysis = scene(make_trace())
    found = histograms(analysis.activity)
    took = [one for one in found if one.title == "time on the device"]
    with cltrace.load(analysis.trace.path) as trace:
        counts = dict(
            trace.rows(
                "SELECT coalesce(kernel, kind), count(*) FROM v_command WHERE duration_ns IS NOT NULL "
                "AND kind NOT IN ('marker', 'barrier') GROUP BY 1"
            )
        )
    assert {one.search: sum(one.counts) for one in took} == counts
    for one in found:
        assert all(low < high for low, high in zip(one.edges, one.edges[1:], strict=False))


def scripts_and_styles(text: str) -> list[str]:
    """Whatever of a page a browser runs or applies."""
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    return scripts + re.findall(r"<style>(.*?)</style>", text, re.DOTALL)


def test_the_policy_names_every_script_and_style_and_nothing_else(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        text = render_page(trace, PageOptions())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    named = set(re.findall(r"'sha256-([^']+)'", policy[1]))
    found = {
        base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()
        for one in scripts_and_styles(text)
    }
    assert named == found
    assert len(named) == 4
    assert "unsafe" not in policy[1]
    assert policy[1].startswith("default-src 'none'")


def test_the_page_names_nothing_outside_itself(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        text = render_page(trace, PageOptions())
    assert not re.search(r"<[^>]+\s(?:src|href|action|srcset|data)\s*=", text.split("<script")[0])
    styles = "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    assert not re.search(r"@import|url\(", styles)
    assert "sourceMappingURL" not in text


def test_hostile_text_stays_text(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace("hostile.cltrace", text=hostile_text)) as trace:
        text = render_page(trace, PageOptions())
    assert text.count("</script>") == text.count("<script") == 4
    assert "<script>alert" not in text
    assert "<img" not in text
    report = re.search(r'id="report">(.*?)</script>', text, re.DOTALL)
    assert report is not None
    assert "alert(1)" in json.dumps(json.loads(report[1]))


def test_bundled_libraries_are_as_published_and_have_their_licences() -> None:
    vendor = ASSETS / "vendor"
    listed = json.loads((vendor / "vendor.json").read_text())
    files = {one["file"]: one["sha256"] for library in listed for one in library["files"]}
    present = {one.name for one in vendor.iterdir()} - {"vendor.json"}
    assert present == set(files)
    for name, digest in files.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest
    for library in listed:
        licences = [one["file"] for one in library["files"] if one["file"].endswith("LICENSE")]
        assert "MIT" in (vendor / licences[0]).read_text()
