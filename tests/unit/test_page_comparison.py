"""The page of two traces: the verb, and the differences by kernel."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

import cltrace
from cltrace.report.document import Table
from cltrace.report.page.comparison import render_comparison
from cltrace.report.page.compose import build_scene
from cltrace.report.page.differences import difference_tables
from cltrace.report.page.joined_scene import join_scenes
from cltrace.report.page.launches import describe_launches
from cltrace.report.page.renamed_kernels import Rename, RenameReason, _pairs, find_renames
from cltrace.report.page.trace_page import PageOptions
from cltrace.report.timeline import span_ns
from cltrace.report.tracks.scene import NONE, NameKind, Scene
from cltrace.timeline.analysis import Analysis
from tests.conftest import MakeTrace, Runner

DATA = Path(__file__).parents[1] / "data"


def test_the_verb_writes_two_traces_to_a_page_of_both_names(
    run: Runner, make_trace: MakeTrace, tmp_path: Path
) -> None:
    shutil.copy(make_trace(), tmp_path / "other.cltrace")
    page = tmp_path / "made-other.html"
    done = run("view", "made.cltrace", "other.cltrace")
    assert (done.status, done.stdout) == (0, "")
    assert done.stderr.startswith("cltrace: wrote made-other.html\n")
    assert run("view", "made.cltrace", "other.cltrace").status == 0
    page.write_bytes(b"mine")
    assert run("view", "made.cltrace", "other.cltrace").status == 2
    assert page.read_bytes() == b"mine"


def test_three_traces_are_refused_with_one_line(run: Runner, make_trace: MakeTrace) -> None:
    path = make_trace()
    done = run("view", path, path, path)
    assert done.status == 2
    assert done.stderr.count("\n") == 1
    assert "3 traces: a page shows one, or two side by side" in done.stderr


def test_totals_of_kernels_are_those_of_the_commands(make_trace: MakeTrace) -> None:
    path = make_trace()
    with sqlite3.connect(path) as connection:
        rows = pd.read_sql("SELECT * FROM v_command", connection)
    rows = rows[rows["kernel"].notna()]
    expected = rows.groupby("kernel")["duration_ns"].sum().to_dict()
    with cltrace.load(path) as first, cltrace.load(path) as second:
        table = difference_tables(first, second)[0]
    at = [column.key for column in table.columns].index
    totals = {row[at("name")]: row[at("total_a_ns")] for row in table.rows}
    assert totals == expected
    assert all(row[at("total_change_ns")] == 0 for row in table.rows)
    assert {row[at("in")] for row in table.rows} == {"both"}


def columns_of(table: Table) -> dict[str, dict[str, object]]:
    """Rows by name, each by column."""
    return {
        str(row[0]): dict(zip([column.key for column in table.columns], row, strict=True))
        for row in table.rows
    }


def test_kernels_of_two_programs_on_other_devices_have_their_own_times(
    make_trace: MakeTrace,
) -> None:
    paths = [make_trace(), DATA / "two-devices.cltrace"]
    with cltrace.load(paths[0]) as first, cltrace.load(paths[1]) as second:
        assert first.rows("SELECT name FROM v_device") != second.rows("SELECT name FROM v_device")
        rows = columns_of(difference_tables(first, second)[0])
        for letter, trace, names in (("a", first, ("B only",)), ("b", second, ("A only",))):
            commands = trace.rows(
                "SELECT kernel, count(*), sum(duration_ns) FROM v_command WHERE kernel IS NOT NULL "
                "GROUP BY 1"
            )
            listed = [
                (name, row[f"calls_{letter}"], row[f"total_{letter}_ns"])
                for name, row in rows.items()
                if row["in"] not in names
            ]
            assert sorted(listed) == sorted(map(tuple, commands))
    assert {name: row["in"] for name, row in rows.items()} == {"scale": "both", "add": "B only"}
    added = rows["add"]
    assert added["calls_a"] == 0
    assert added["total_a_ns"] is added["median_a_ns"] is added["total_ratio"] is None
    ratio = float(str(rows["scale"]["total_b_ns"])) / float(str(rows["scale"]["total_a_ns"]))
    assert rows["scale"]["total_ratio"] == pytest.approx(ratio, rel=0.01)
    changes = [abs(int(str(row["total_change_ns"]))) for row in rows.values()]
    assert changes == sorted(changes, reverse=True)


def renamed(text: str) -> str:
    """Rename the kernel, in its source too."""
    return "renamed" if text == "scale" else text.replace("void scale(", "void  renamed(")


def at_another_line(text: str) -> str:
    return text.replace("heat.py", "other.py")


def with_another_body(text: str) -> str:
    return text.replace("*= by", "+= by")


CODE, PLACE = RenameReason.CODE, RenameReason.PLACE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (renamed, CODE),
        (lambda text: at_another_line(renamed(text)), CODE),
        (lambda text: with_another_body(renamed(text)), PLACE),
        (lambda text: "renamed" if text == "scale" else text, PLACE),
        (lambda text: with_another_body(at_another_line(renamed(text))), None),
    ],
)
def test_a_renamed_kernel_is_one_by_its_code_or_by_its_line(
    make_trace: MakeTrace, change: Callable[[str], str], reason: RenameReason | None
) -> None:
    before, after = make_trace("before.cltrace"), make_trace("after.cltrace", change)
    with cltrace.load(before) as first, cltrace.load(after) as second:
        renames = find_renames(Analysis(first), Analysis(second))
        kernels, transfers = map(columns_of, difference_tables(first, second, renames))
        assert not find_renames(Analysis(first), Analysis(first))
    assert transfers
    for row in transfers.values():
        assert (row["in"], row["total_a_ns"]) == ("both", row["total_b_ns"])
    if reason is None:
        assert {name: row["in"] for name, row in kernels.items()} == {
            "scale": "A only",
            "renamed": "B only",
        }
        assert kernels["scale"]["total_a_ns"] == kernels["renamed"]["total_b_ns"]
        return
    assert renames == (Rename("scale", "renamed", reason),)
    (row,) = kernels.values()
    assert (row["name"], row["in"]) == ("scale → renamed", f"renamed, {reason}")
    assert row["total_a_ns"] == row["total_b_ns"]
    assert row["total_change_ns"] == 0


def test_a_renamed_kernel_has_one_name_on_the_axis(make_trace: MakeTrace) -> None:
    before, after = make_trace("before.cltrace"), make_trace("after.cltrace", renamed)
    scenes = [scene_of(path) for path in (before, after)]
    renames = (Rename("scale", "renamed", CODE),)
    joined = join_scenes(scenes[0], scenes[1], ("A", "B"), renames)
    kernels = [name.text for name in joined.scene.names if name.kind is NameKind.KERNEL]
    assert kernels == ["scale → renamed"]
    with cltrace.load(before) as first, cltrace.load(after) as second:
        assert "renamed, same code" in render_comparison(first, second, PageOptions())
    apart = join_scenes(scenes[0], scenes[1], ("A", "B"))
    kernels = [name.text for name in apart.scene.names if name.kind is NameKind.KERNEL]
    assert kernels == ["scale", "renamed"]


def test_names_that_share_code_or_a_line_with_others_are_left_apart() -> None:
    assert _pairs({"a": {1}, "b": {2}}, {"c": {2}, "d": {1}}) == {"a": "d", "b": "c"}
    assert _pairs({"a": {1}, "b": {1}}, {"c": {1}}) == {}
    assert _pairs({"a": {1}}, {"c": {1}, "d": {1}}) == {}
    assert _pairs({"a": {1, 2}}, {"c": {1}, "d": {2}}) == {}
    assert _pairs({"a": {1, 2}}, {"c": {2, 3}}) == {"a": "c"}
    assert _pairs({"a": set()}, {"c": set()}) == {}


def without_times(path: Path, activity: str) -> Path:
    """The trace with commands of an activity that have no times."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE rollup SET timed_calls = 0, total_ns = 0, min_ns = NULL, median_ns = NULL, "
            "max_ns = NULL, busy_ns = NULL WHERE activity = ?",
            (activity,),
        )
    return path


@pytest.mark.parametrize("is_first_timed", [True, False])
def test_commands_without_times_in_a_trace_have_no_change(
    make_trace: MakeTrace, *, is_first_timed: bool
) -> None:
    paths = [make_trace("timed.cltrace"), without_times(make_trace("not.cltrace"), "kernel")]
    with cltrace.load(paths[not is_first_timed]) as first, cltrace.load(paths[is_first_timed]) as b:
        kernels, transfers = map(columns_of, difference_tables(first, b))
    row = kernels["scale"]
    assert row["in"] == "both"
    totals = row["total_a_ns"], row["total_b_ns"]
    assert [total is None for total in totals] == [not is_first_timed, is_first_timed]
    assert row["total_change_ns"] is row["total_ratio"] is None
    assert (
        transfers["copy on device"]["total_a_ns"]
        is transfers["copy on device"]["total_b_ns"]
        is None
    )
    assert transfers["copy on device"]["total_change_ns"] is None
    assert transfers["write to device"]["total_change_ns"] == 0


def test_a_kernel_of_one_trace_without_times_has_no_change(make_trace: MakeTrace) -> None:
    path = without_times(make_trace(), "kernel")
    with cltrace.load(path) as first, cltrace.load(DATA / "two-devices.cltrace") as second:
        rows = columns_of(difference_tables(first, second)[0])
    assert rows["scale"]["total_change_ns"] is None
    assert rows["add"]["total_change_ns"] == rows["add"]["total_b_ns"]


def scene_of(path: Path) -> Scene:
    with cltrace.load(path) as trace:
        analysis = Analysis(trace)
        launches = describe_launches(trace, (), analysis.activity.commands.launch)
        begin_ns, end_ns = span_ns(analysis.activity, None, None)
        return build_scene(analysis, launches, begin_ns, end_ns, home="", max_slices=10_000)


def described_commands(scene: Scene, commands: slice, slices: slice) -> list[tuple[object, ...]]:
    """Commands by what their links lead to, whatever the numbers of that are."""
    links, parts = scene.links, scene.slices
    rows: list[tuple[object, ...]] = []
    for at in range(len(links.id))[commands]:
        device, host = int(links.device_slice[at]), int(links.host_slice[at])
        is_in = [number == NONE or number in range(len(parts))[slices] for number in (device, host)]
        before = int(links.queue_before[at])
        rows.append(
            (
                int(links.id[at]),
                None if device == NONE else scene.names[parts.name[device]].text,
                None if device == NONE else int(parts.begin_ns[device]),
                None if host == NONE else scene.sites[parts.site[host]],
                scene.launches[links.launch[at]],
                None if before == NONE else int(links.id[before]),
                is_in,
            )
        )
    return rows


def pairs(scene: Scene, commands: slice, slices: slice) -> list[tuple[object, ...]]:
    """Edges by the ids of commands, and waits by the begin of the call and the command's id."""
    links, own = scene.links, range(len(scene.links.id))[commands]
    edges = [(int(links.id[a]), int(links.id[b])) for a, b in links.edges if a in own and b in own]
    calls = range(len(scene.slices))[slices]
    waits = [
        (int(scene.slices.begin_ns[call]), int(links.id[command]))
        for call, command in links.waits
        if call in calls and command in own
    ]
    return [*edges, *waits]


def test_joined_scenes_are_both_scenes_with_their_own_links(make_trace: MakeTrace) -> None:
    first, second = scene_of(make_trace()), scene_of(DATA / "two-devices.cltrace")
    joined = join_scenes(first, second, ("A: one", "B: two"))
    scene, (slices, commands) = joined.scene, (joined.slices, len(first.links.id))
    assert (slices, joined.tracks) == (len(first.slices), len(first.tracks))
    for own, cut, part in (
        (first, slice(None, commands), slice(None, slices)),
        (second, slice(commands, None), slice(slices, None)),
    ):
        everything = slice(None)
        assert described_commands(scene, cut, part) == described_commands(
            own, everything, everything
        )
        assert pairs(scene, cut, part) == pairs(own, everything, everything)
    assert len(scene.links.edges) == len(first.links.edges) + len(second.links.edges)
    assert len(scene.links.waits) == len(first.links.waits) + len(second.links.waits)
    assert len(set(scene.names)) == len(scene.names), "a name that both have is one"
    assert scene.end_ns == max(first.end_ns, second.end_ns)
    processes = {track.process for track in scene.tracks[: joined.tracks]}
    assert not processes & {track.process for track in scene.tracks[joined.tracks :]}


def test_a_page_of_two_has_no_strip(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as first, cltrace.load(DATA / "two-devices.cltrace") as second:
        page = render_comparison(first, second, PageOptions())
    assert '"overview":{' not in page
    assert '"second":' in page
