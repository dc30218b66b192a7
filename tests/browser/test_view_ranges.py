"""Ranges of the page in a browser: their statistics are those of the trace, two of them compare."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cltrace
from cltrace.report.tracks.slices import command_name
from cltrace.timeline.activity import Activity, clip_activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.intervals import union
from tests.browser.pages import Open, Opened, drag

pytestmark = [pytest.mark.browser, pytest.mark.opencl]


def cutting_range(activity: Activity) -> tuple[int, int]:
    """Return a range that cuts a long command at its begin, and another one at its end."""
    commands = activity.commands
    durations = commands.end_ns - commands.start_ns
    first, last = sorted(np.argsort(durations)[-2:].tolist(), key=commands.start_ns.__getitem__)
    begin = int(commands.start_ns[first] + durations[first] // 3)
    return begin, int(commands.end_ns[last] - durations[last] // 3)


def expected_statistics(activity: Activity, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Return the statistics of a range, computed from the activity of a trace."""
    commands = clip_activity(activity, begin_ns, end_ns).commands
    commands_before = activity.commands
    placed = commands.is_placed
    busy_begin, busy_end = union(commands.start_ns[placed], commands.end_ns[placed])
    edges_begin, edges_end = np.append(begin_ns, busy_end), np.append(busy_begin, end_ns)
    lines: dict[str, list[float]] = {}
    whole = dict(
        zip(
            commands_before.id.tolist(),
            (commands_before.end_ns - commands_before.start_ns).tolist(),
            strict=True,
        )
    )
    part = clip_activity(activity, begin_ns, end_ns)
    for at in np.flatnonzero(placed).tolist():
        line = lines.setdefault(command_name(part, at), [0, 0, 0])
        took = int(commands.end_ns[at] - commands.start_ns[at])
        line[0] += 1
        line[1] += took
        line[2] += max(int(commands.size_bytes[at]), 0) * took / whole[int(commands.id[at])]
    return {
        "busy_ns": int((busy_end - busy_begin).sum()),
        "gaps": [
            [int(low), int(high)]
            for low, high in zip(edges_begin, edges_end, strict=True)
            if high > low
        ],
        "lines": lines,
    }


def shown_statistics(opened: Opened, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Return the statistics that the page has of a range."""
    opened.number(f"cltrace.ranges.choose({begin_ns}, {end_ns})")
    shown: dict[str, Any] = opened.number("cltrace.ranges.chosen")
    assert not shown["isApproximate"]
    return {
        "busy_ns": shown["busy_ns"],
        "gaps": shown["gaps"],
        "lines": {
            line["name"]: [line["count"], line["time_ns"], line["bytes"]]
            for line in (*shown["kernels"], *shown["transfers"])
        },
    }


def test_statistics_of_a_range_that_cuts_commands_are_those_of_the_trace(
    open_page: Open, mixed_trace: Path
) -> None:
    with cltrace.load(mixed_trace) as trace:
        activity = Analysis(trace).activity
    begin, end = cutting_range(activity)
    expected = expected_statistics(activity, begin, end)
    shown = shown_statistics(open_page(), begin, end)
    assert shown["busy_ns"] == expected["busy_ns"]
    assert shown["gaps"] == expected["gaps"]
    others = {"marker", "barrier"}
    assert shown["lines"].keys() == expected["lines"].keys() - others
    for name, line in shown["lines"].items():
        assert line == pytest.approx(expected["lines"][name]), name


def test_energy_of_a_range_is_the_integral_of_the_power(open_page: Open) -> None:
    opened = open_page(which="made")
    levels = opened.number("cltrace.scene.levels.filter(level => level.unit === 'w')")
    times = levels[0]["time_ns"]
    begin, end = int(times[2] + 1234), int(times[9] + 4321)
    opened.number(f"cltrace.ranges.choose({begin}, {end})")
    expected = []
    for level in levels:
        inside = np.clip(np.append(np.array(level["time_ns"]), 2**62), begin, end)
        expected.append((np.diff(inside) * np.array(level["value"])).sum() / 1e9)
    shown = opened.number("cltrace.ranges.chosen.energies.map(one => one.energy_j)")
    assert max(shown) > 0
    assert shown == pytest.approx(expected)
    # Two channels of one name have a row each.
    text = opened.page.inner_text("#ranges")
    assert "a meter (exec:meter:a)" in text
    assert "a meter (exec:meter:b)" in text


@pytest.mark.firefox
def test_dragging_shows_statistics_and_a_second_range_compares(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    whole = opened.range_ns
    box = page.locator("#plot .u-over").bounding_box()
    drag(page, box, 0.4, 0.7)
    assert opened.range_ns == whole
    text = page.inner_text("#ranges")
    chosen = opened.number("cltrace.ranges.chosen")
    names = [line["name"] for line in (*chosen["kernels"], *chosen["transfers"])]
    for word in ("busy", "gaps", "longest gap", *names):
        assert word in text
    low, high = opened.number("[cltrace.ranges.chosen.from, cltrace.ranges.chosen.to]")
    page.click("#ranges button:has-text('pin')")
    assert "compare another range" in page.inner_text("#ranges")
    drag(page, box, 0.75, 0.9)
    assert opened.number("cltrace.ranges.pinned.from") == low
    headers = page.locator("#ranges thead th").all_inner_texts()
    assert headers == ["", "A", "B", "B to A"]
    lengths = page.locator("#ranges tbody tr").first.locator("td").all_inner_texts()
    # A pixel of the plot is a third of a per cent of the longer range.
    assert float(lengths[2].replace("−", "-").removesuffix(" %")) == pytest.approx(-50, abs=2)
    page.focus("#plot")
    page.keyboard.press("z")
    zoomed = opened.range_ns
    assert zoomed[0] > high
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert not page.locator("#ranges").is_visible()


def test_the_time_in_view_is_taken_as_a_range_by_a_key(open_page: Open) -> None:
    opened = open_page()
    opened.page.keyboard.press("w")
    opened.page.keyboard.press("r")
    assert opened.number("[cltrace.ranges.chosen.from, cltrace.ranges.chosen.to]") == pytest.approx(
        opened.range_ns
    )


def test_names_beside_statistics_are_wrapped_and_not_cut(open_page: Open) -> None:
    opened = open_page(which="made")
    opened.page.set_viewport_size({"width": 800, "height": 720})
    opened.page.click("#take-range")
    overflow = opened.number(
        """[...document.querySelectorAll('#ranges th[scope="row"]')].map(name => {
            name.append(" with a long name of a sensor".repeat(2));
            return name.scrollWidth - name.clientWidth;
        })"""
    )
    assert overflow
    assert max(overflow) <= 0
