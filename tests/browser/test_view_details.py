"""The page in a browser: what its colours, bounds and keys promise in particular."""

from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.timeline.clock_map import clock_maps
from cltrace.timeline.reading import stored_segments
from tests.browser.pages import Open

pytestmark = [pytest.mark.browser, pytest.mark.opencl]


def test_bounds_are_those_of_the_clock_that_placed_each_command(
    open_page: Open, mixed_trace: Path
) -> None:
    shown = open_page().number("[...cltrace.model.links.bound_ns]")
    with cltrace.load(mixed_trace) as trace:
        clocks = clock_maps(stored_segments(trace))
        names = ("enter_host_ns", "start_device_ns", "end_device_ns")
        raw = trace.columns({name: name for name in names}, "command ORDER BY id")
    (clock,) = clocks.values()
    ends = [clock.bound_ns(raw[name], raw["enter_host_ns"]) for name in names[1:]]
    assert shown == np.ceil(np.maximum(*ends)).tolist()


def test_an_exact_name_finds_no_other(open_page: Open) -> None:
    opened = open_page()
    found = "[cltrace.find('\"total\"'), cltrace.search.count][1]"
    exact = opened.number(found)
    names = opened.number("cltrace.scene.names.map(one => one.text)")
    assert exact > 0
    assert opened.page.inner_text("#matches") == f"{exact} found"
    assert [name for name in names if "clEnqueue" in name]
    assert opened.number("[cltrace.find('\"clEnqueue\"'), cltrace.search.count][1]") == 0


@pytest.mark.firefox
def test_what_is_found_is_painted_however_narrow(open_page: Open) -> None:
    """Thousands of slices in a pixel: the one that is searched for is the one that is shown."""
    opened = open_page()
    shown = opened.number(
        """() => {
            const {timeline, model, search} = cltrace, row = model.rows.find(one => !model.isPath(one));
            const rare = row.first + Math.floor((row.end - row.first) * 0.37);
            search.set("x");
            search.isMatch = slice => slice === rare;
            search.matchesBefore = Uint32Array.from(
                {length: model.length + 1}, (_, at) => Number(at > rare));
            timeline.highlight(search);
            const painted = [];
            const {painter} = timeline, before = painter.colours;
            const told = at => ({toString: () => { painted.push(at); return "#000000"; }});
            painter.colours = before.map((_, at) => told(at));
            const span = 1e13;
            timeline.painter.paint(timeline.plot.ctx, {from: -span, to: span, left: 0, width: 900,
                top: 0, height: 400, scroll: 0});
            painter.colours = before;
            return painted.includes(model.name[rare]);
        }"""
    )
    assert shown


def test_the_legend_has_the_colours_of_the_plot(open_page: Open) -> None:
    opened = open_page(dark="dark")
    swatches = """[...document.querySelectorAll(".legend .swatch")].slice(0, 4)
        .map(one => getComputedStyle(one).backgroundColor)"""

    def painted() -> list[str]:
        colours = opened.number("cltrace.colours().kernels.slice(0, 4)")
        parts = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in colours]
        return [f"rgb({red}, {green}, {blue})" for red, green, blue in parts]

    assert opened.number(swatches) == painted()
    opened.page.click("#change-theme")
    assert opened.number("cltrace.themeShown") == "light"
    assert opened.number(swatches) == painted()


def test_the_keyboard_alone_selects_sorts_and_unfolds(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    page.focus("#plot")
    page.keyboard.press("ArrowDown")
    assert opened.number("cltrace.timeline.selected") >= 0
    page.keyboard.press("2")
    page.locator("#panel-kernels .tabulator-row").first.wait_for()
    page.locator('#panel-kernels .tabulator-col[tabulator-field="name"]').first.focus()
    page.keyboard.press("Enter")
    names = page.locator('#panel-kernels .tabulator-cell[tabulator-field="name"]').all_inner_texts()
    assert names[:4] == sorted(names[:4])
    page.locator("#panel-kernels .tabulator-row").nth(2).focus()
    page.keyboard.press("Enter")
    assert page.inner_text("#panel-kernels .chart-head h3") == names[2]
    page.keyboard.press("1")
    page.focus("#about summary")
    before = opened.number("document.querySelector('#about').open")
    page.keyboard.press("Enter")
    assert opened.number("document.querySelector('#about').open") is not before


def test_a_folded_track_still_tells_its_rows_apart(open_page: Open) -> None:
    opened = open_page(which="made")
    found, wanted = opened.number(
        """() => {
            const {timeline, model} = cltrace;
            const item = timeline.layout.items.find(one => one.rows.length > 1);
            const last = model.rows[item.rows.at(-1)].first;
            timeline.layout.fold(item);
            timeline.reveal(last);
            timeline.zoomToSelected();
            const middle = (model.begin_ns[last] + model.end(last)) / 2;
            const x = timeline.plot.valToPos(middle, "x"), ns = timeline.plot.posToVal(x, "x");
            const wanted = item.rows.map(row => model.nearest(model.rows[row], ns, 0));
            return [timeline.sliceAt(x, item.top + 4 - timeline.parts.labels.scrollTop), wanted];
        }"""
    )
    assert wanted[-1] >= 0
    assert found == next(one for one in wanted if one >= 0)


def test_revealing_unfolds_and_regions_are_found(open_page: Open) -> None:
    opened = open_page(which="made")
    name = opened.number("cltrace.scene.names.find(one => one.kind === 'region').text")
    opened.page.fill("#search", f'"{name}"')
    opened.page.keyboard.press("Enter")
    chosen = opened.number("cltrace.timeline.selected")
    assert opened.number(f"cltrace.model.nameOf({chosen}).text") == name
    assert opened.number(f"cltrace.timeline.layout.rowTops.has(cltrace.model.rowOf({chosen}))")


def test_a_launch_has_arguments_wait_list_and_source_lines(open_page: Open) -> None:
    opened = open_page()
    opened.number(
        """() => {
            const {model, timeline} = cltrace, {links} = model;
            const command = links.id.findIndex((_, at) => links.device_slice[at] >= 0 &&
                model.nameOf(links.device_slice[at]).text === "axpy" && model.waitsFor.of(at).length);
            timeline.reveal(links.device_slice[command]);
        }"""
    )
    arguments = opened.page.locator("#detail section:has-text('arguments') li").all_inner_texts()
    assert [text.split(",")[-1] for text in arguments[1:]] == [" 16.0 KiB", " 16.0 KiB"]
    assert "1 as a float" in arguments[0]
    assert opened.page.locator("#detail section:has-text('wait list') button").count() >= 1
    source = opened.page.inner_text("#detail section:has-text('source, with counts')")
    assert "y[i] += a * x[i];" in source
    assert "3 accesses" in source
    opened.page.click("#detail button:has-text('all lines')")
    assert opened.page.locator("#panel-understood").is_visible()


def test_a_transfer_has_its_rate(open_page: Open) -> None:
    opened = open_page()
    size, duration = opened.number(
        """() => {
            const {model, timeline} = cltrace;
            const slice = model.links.device_slice.find(
                at => at >= 0 && model.nameOf(at).text === "read" && model.size_bytes[at]);
            timeline.reveal(slice);
            return [model.size_bytes[slice], model.duration_ns[slice]];
        }"""
    )
    term = opened.page.locator("#detail dt", has_text="rate")
    value, unit = term.locator("xpath=following-sibling::dd[1]").inner_text().split()
    scale = {"kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}[unit]
    assert abs(float(value) * scale / (size * 1e9 / duration) - 1) < 0.006


@pytest.mark.firefox
@pytest.mark.parametrize("width", [1280, 800])
def test_no_table_goes_beyond_the_window(open_page: Open, width: int) -> None:
    opened = open_page()
    page = opened.page
    page.set_viewport_size({"width": width, "height": 720})
    for tab in page.locator('[role="tab"]').all():
        tab.click()
        tables = page.locator('[role="tabpanel"]:visible .table')
        for table in tables.all():
            table.locator(".tabulator-row").first.wait_for()
            box = table.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width, (tab.inner_text(), width)
    assert opened.number("document.documentElement.scrollWidth") <= width


@pytest.mark.firefox
def test_all_tabs_are_in_the_header_of_one_line_at_1280_pixels(open_page: Open) -> None:
    opened = open_page()
    opened.page.set_viewport_size({"width": 1280, "height": 720})
    width, room, height = opened.number(
        """() => {
            const tabs = document.getElementById("tabs");
            const has = new Set([...tabs.children].map(tab => tab.textContent));
            // The tabs of a trace with predictions and energy.
            for (const title of ["Predicted", "Energy"].filter(title => !has.has(title))) {
                const tab = tabs.firstElementChild.cloneNode();
                tab.textContent = title;
                tabs.append(tab);
            }
            return [tabs.scrollWidth, tabs.clientWidth, document.querySelector("header").offsetHeight];
        }"""
    )
    assert width <= room
    assert height < 48
