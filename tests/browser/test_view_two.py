"""The page of two traces in a browser: one axis, alignment, the header, differences by kernel."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.pages import Open, Opened
from tests.conftest import MakeTrace

pytestmark = [pytest.mark.browser, pytest.mark.firefox]

DATA = Path(__file__).parents[1] / "data"
COMMON = """() => {
    const {model} = cltrace;
    return [...model.links.device_slice].find(
        slice => slice >= 0 && model.counterpart(slice) >= 0 && model.nameOf(slice).text === "scale");
}"""
"""The run of a kernel that both traces have."""


SHORT = Path(__file__).parents[1] / "golden" / "schema-5.cltrace"
"""A trace of 34 ms with power, beside one of more than a second."""
WHOLE = """(() => {
    const {ranges, model} = cltrace;
    ranges.choose(model.scene.begin_ns, model.scene.end_ns);
    return ranges.isOfTwoTraces ? [ranges.pinned, ranges.chosen] : [ranges.chosen];
})()"""
"""Statistics of each trace over the whole axis."""
POWER_AT = """times => {
    const {timeline: {plot, layout, parts, range}} = cltrace;
    const item = layout.items.find(item => item.level?.unit === "w");
    const y = plot.bbox.top + (item.top + item.height - 2 - parts.labels.scrollTop) * devicePixelRatio;
    const {data} = plot.ctx.getImageData(plot.bbox.left, Math.round(y), plot.bbox.width, 1);
    const at = ns => Math.round(plot.bbox.width * (ns - range.from) / (range.to - range.from));
    return times.map(ns => [...data.slice(4 * at(ns), 4 * at(ns) + 4)]);
}"""
"""Pixels at the foot of the first power curve, at times."""


@pytest.fixture
def two(open_page: Open, make_trace: MakeTrace) -> Opened:
    """The page of two traces of different programs on different devices."""
    return open_page(path=make_trace("first.cltrace"), second=DATA / "two-devices.cltrace")


def begins(two: Opened, *slices: int) -> list[float]:
    begin_ns: list[float] = two.number(
        f"{list(slices)}.map(slice => cltrace.model.begin_ns[slice])"
    )
    return begin_ns


def test_a_kernel_of_both_is_aligned_on_one_axis_and_back(two: Opened) -> None:
    page = two.page
    first = two.number(COMMON)
    second = two.number(f"cltrace.model.counterpart({first})")
    traces = two.number(f"[{first}, {second}].map(slice => cltrace.model.traceOf(slice))")
    assert traces == [0, 1]
    names = two.number(f"[{first}, {second}].map(slice => cltrace.model.nameOf(slice).text)")
    assert names == ["scale", "scale"]
    before = begins(two, first, second)
    assert before[0] != before[1]
    two.number(f"cltrace.timeline.reveal({second})")
    assert page.inner_text("#detail dd >> nth=0") == "B"
    page.click("#align")
    moved = begins(two, first, second)
    assert moved == [before[0], before[0]]
    shown = page.inner_text("#shift")
    assert shown.startswith("B is ")
    assert shown.endswith("earlier" if before[1] > before[0] else "later")
    page.click("#unalign")
    assert begins(two, first, second) == before
    assert page.inner_text("#shift") == ""


def test_differences_name_kernels_of_one_trace_and_of_both(two: Opened) -> None:
    page = two.page
    page.click("#tab-differences")
    table = page.locator('[data-table="kernel_differences"]')
    table.locator(".tabulator-row").first.wait_for()
    rows = [
        [row.locator(f'[tabulator-field="{field}"]').inner_text() for field in ("name", "in")]
        for row in table.locator(".tabulator-row").all()
    ]
    assert sorted(rows) == [["add", "B only"], ["scale", "both"]]


def test_statistics_of_the_shorter_trace_are_those_of_its_own_page(open_page: Open) -> None:
    paths = [DATA / "two-devices.cltrace", SHORT]
    expected = [open_page(path=path).number(WHOLE)[0] for path in paths]
    two = open_page(path=paths[0], second=paths[1])
    assert two.number(WHOLE) == expected
    assert expected[1]["span_ns"] < expected[0]["span_ns"] / 10
    panel = two.page.inner_text("#ranges")
    assert "from its own begin to its own end" in panel
    # A shift beyond the end of the first trace.
    shift = two.number("cltrace.model.bounds[0].end + 1e6")
    two.number(f"cltrace.timeline.shiftSecond({shift})")
    shifted = two.number(WHOLE)[1]
    begin = expected[1]["from"]
    assert (shifted["from"], shifted["busy_ns"]) == (begin + shift, expected[1]["busy_ns"])
    two.number(f"cltrace.ranges.choose({begin}, {shift})")
    rows = two.page.locator("#ranges tbody tr").all()
    cells = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}
    assert {cells[name][1] for name in ("length", "busy", "busy share", "gaps")} == {"–"}
    assert cells["length"][0] != "–"


def test_a_curve_ends_with_its_trace(open_page: Open) -> None:
    two = open_page(path=DATA / "two-devices.cltrace", second=SHORT)
    end = two.number("cltrace.model.bounds[1].end")
    two.number(f"cltrace.timeline.show(0, {2 * end})")
    two.page.wait_for_function(f"cltrace.timeline.range.to === {2 * end}")
    pixels = two.page.evaluate(POWER_AT, [part * end for part in (0.7, 0.9, 1.1, 1.9)])
    assert pixels[0] == pixels[1]
    assert pixels[2] == pixels[3] != pixels[0]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (800, "dark")])
def test_both_commands_are_in_the_header_and_no_table_is_cut(
    open_page: Open, make_trace: MakeTrace, width: int, scheme: str
) -> None:
    paths = [make_trace(f"{name}.cltrace") for name in ("first", "second")]
    two = open_page(path=paths[0], second=paths[1], dark=scheme)
    page = two.page
    page.set_viewport_size({"width": width, "height": 720})
    lines: list[Any] = two.number(
        """[...document.querySelectorAll("#digest .trace")].map(line => {
            const {top, right} = line.getBoundingClientRect();
            return [line.textContent, top, right];
        })"""
    )
    assert [text.partition(",")[0] for text, *_ in lines] == [
        "A: first.cltrace",
        "B: second.cltrace",
    ]
    assert lines[0][1] < lines[1][1], "each has a line of its own"
    assert all(right <= width for *_, right in lines)
    page.click("#tab-differences")
    page.locator(".tabulator-row").first.wait_for()
    ends: list[float] = two.number(
        """[...document.querySelectorAll("#panel-differences .tabulator")]
            .map(table => table.getBoundingClientRect().right)"""
    )
    assert len(ends) == 2
    assert max(ends) <= width
    assert not page.locator("#overview canvas").count()
