"""Stacks in speedscope's format: as its published schema asks, with the times of the trace."""

import json
from pathlib import Path
from typing import Any, Final

import cltrace
from cltrace.report.call_stacks import stack_table
from cltrace.report.export import EXPORTS
from cltrace.report.selection import Selection
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.analysis import Analysis
from tests.conftest import MakeTrace, Runner
from tests.hostile import hostile_text

_FRAME: Final = {"name": str, "file": str, "line": int, "col": int}
_PROFILE: Final = {
    "type": str,
    "name": str,
    "unit": str,
    "startValue": int,
    "endValue": int,
    "samples": list,
    "weights": list,
}
_FILE: Final = {
    "$schema": str,
    "shared": dict,
    "profiles": list,
    "name": str,
    "activeProfileIndex": int,
    "exporter": str,
}


def check_fields(value: dict[str, Any], types: dict[str, type], required: set[str]) -> None:
    assert required <= set(value) <= set(types)
    for name, each in value.items():
        assert type(each) is types[name]


def check_file(content: dict[str, Any]) -> None:
    """Check a file against the rules of https://www.speedscope.app/file-format-schema.json."""
    check_fields(content, _FILE, {"$schema", "shared", "profiles"})
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(content["shared"]) == {"frames"}
    frames = content["shared"]["frames"]
    for frame in frames:
        check_fields(frame, _FRAME, {"name"})
    for profile in content["profiles"]:
        check_fields(profile, _PROFILE, set(_PROFILE))
        assert profile["type"] == "sampled"
        assert profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        assert all(type(weight) is int and weight > 0 for weight in profile["weights"])
        for stack in profile["samples"]:
            assert stack
            assert all(type(number) is int and 0 <= number < len(frames) for number in stack)


def exported(path: Path, target: Path) -> dict[str, Any]:
    with cltrace.load(path) as trace:
        EXPORTS["speedscope"].write(trace, target)
    content: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    check_file(content)
    return content


def test_profiles_have_the_times_of_the_trace(make_trace: MakeTrace, tmp_path: Path) -> None:
    path = make_trace()
    content = exported(path, tmp_path / "a.speedscope.json")
    with cltrace.load(path) as trace:
        table = stack_table(Analysis(trace), Selection(), sort="total", top=None)
        keys = [column.key for column in table.columns]
        rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    host, device = content["profiles"]
    assert (host["name"], device["name"]) == ("host calls", "device time")
    assert host["endValue"] == sum(int(row["own_host_ns"] or 0) for row in rows)
    assert device["endValue"] == sum(int(row["own_device_ns"] or 0) for row in rows)


def test_a_stack_begins_at_the_programs_line_and_ends_in_the_call(
    make_trace: MakeTrace, tmp_path: Path
) -> None:
    content = exported(make_trace(), tmp_path / "a.speedscope.json")
    frames = content["shared"]["frames"]
    host, device = (
        {tuple(frames[number]["name"] for number in stack) for stack in profile["samples"]}
        for profile in content["profiles"]
    )
    assert ("main", "step", "clEnqueueNDRangeKernel") in host
    assert any(stack[:2] == ("main", "step") for stack in device)
    assert {"name": "step", "file": "/srv/heat/heat.py", "line": 42} in frames


def test_text_from_the_trace_is_escaped(make_trace: MakeTrace, tmp_path: Path) -> None:
    content = exported(make_trace(text=hostile_text), tmp_path / "a.speedscope.json")
    for frame in content["shared"]["frames"]:
        for text in (frame["name"], frame.get("file", "")):
            assert text == escape_controls(text)


def test_the_ending_names_the_format(make_trace: MakeTrace, run: Runner, tmp_path: Path) -> None:
    target = tmp_path / "x.speedscope.json"
    done = run("export", make_trace(), "-o", target)
    assert done.status == 0, done.stderr
    check_file(json.loads(target.read_text()))
