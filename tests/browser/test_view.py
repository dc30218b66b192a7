"""The page in a browser: it shows what the trace has, and does what a hand or a key asks."""

from pathlib import Path

import pytest

import cltrace
from cltrace.report.page.trace_page import PageOptions
from tests.browser.pages import Open, Opened, double_click, drag

pytestmark = [pytest.mark.browser, pytest.mark.opencl]

TABS = ["Timeline", "Kernels", "What kernels do",
    "Transfers", "Advice", "Stacks", "Critical path", "Devices", "Host", "Memory",
        "Clocks", "File"]  # fmt: skip


@pytest.mark.firefox
def test_the_slices_are_those_of_the_trace(open_page: Open, mixed_trace: Path) -> None:
    shown = open_page().number(
        """[...cltrace.model.links.id].map((id, at) => {
            const {model} = cltrace, slice = model.links.device_slice[at];
            return slice < 0 ? null
                : [id, model.nameOf(slice).text, model.begin_ns[slice], model.end(slice)];
        }).filter(one => one)"""
    )
    with cltrace.load(mixed_trace) as trace:
        origin = trace.meta_int("origin_host_ns")
        rows = trace.rows(
            "SELECT command_id, coalesce(kernel, kind), start_host_ns - :o, end_host_ns - :o "
            "FROM v_command WHERE start_host_ns IS NOT NULL ORDER BY 1",
            {"o": origin},
        )
    assert shown == [list(row) for row in rows]


@pytest.mark.firefox
def test_something_is_painted(open_page: Open) -> None:
    opened = open_page()
    count = """() => {
        const canvas = document.querySelector("#plot canvas");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const wanted = [1, 3, 5].map(at => parseInt(cltrace.colours().kernels[0].slice(at, at + 2), 16));
        let found = 0;
        for (let at = 0; at < data.length; at += 4)
            if (wanted.every((one, part) => data[at + part] === one)) found += 1;
        return found;
    }"""
    assert opened.number(count) > 100
    opened.page.fill("#search", "no such name")
    assert opened.number(count) == 0
    assert opened.page.inner_text("#matches") == "0 found"
    opened.trouble[:] = [one for one in opened.trouble if "willReadFrequently" not in one]


def span_of(opened: Opened) -> float:
    """How long a time the timeline shows."""
    low, high = opened.range_ns
    return high - low


@pytest.mark.firefox
def test_keys_zoom_and_move(open_page: Open) -> None:
    opened = open_page()
    whole = span_of(opened)
    opened.page.keyboard.press("w")
    assert span_of(opened) == pytest.approx(whole / 1.5)
    opened.page.keyboard.press("s")
    assert span_of(opened) == pytest.approx(whole)
    opened.page.keyboard.press("w")
    low, _ = opened.range_ns
    opened.page.keyboard.press("d")
    assert opened.range_ns[0] > low
    opened.page.keyboard.press("f")
    assert span_of(opened) == pytest.approx(whole)


@pytest.mark.firefox
def test_wheel_drag_strip_and_double_click_zoom(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    whole = span_of(opened)
    box = page.locator("#plot .u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    assert span_of(opened) < whole / 2
    double_click(page, box["x"] + box["width"] / 2, box["y"] + box["height"] - 3)
    assert span_of(opened) == pytest.approx(whole)
    page.keyboard.down("Shift")
    drag(page, box, 0.5, 0.75)
    page.keyboard.up("Shift")
    assert span_of(opened) == pytest.approx(whole / 4, rel=0.05)
    middle = whole / 2 + opened.number("cltrace.scene.begin_ns")
    assert opened.range_ns[0] == pytest.approx(middle, rel=0.05)
    drag(page, page.locator("#overview .u-over").bounding_box(), 0.01, 0.135)
    assert span_of(opened) == pytest.approx(whole / 8, rel=0.1)


PLACE = """number => {
    const {timeline, model} = cltrace, box = timeline.plot.over.getBoundingClientRect();
    const middle = (model.begin_ns[number] + model.end(number)) / 2;
    const row = timeline.layout.rowTops.get(model.rowOf(number));
    return [box.left + timeline.plot.valToPos(middle, "x"), box.top + row.top + 5];
}"""
"""Where a slice is on the screen."""


@pytest.mark.firefox
def test_a_click_selects_and_buttons_lead_on(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    number = opened.number(
        "cltrace.model.links.device_slice.find((one, at) => one >= 0 && "
        "cltrace.model.waitsFor.of(at).length > 0)"
    )
    x, y = page.evaluate(PLACE, number)
    page.mouse.click(x, y)
    chosen = opened.number("cltrace.timeline.selected")
    assert opened.number(f"cltrace.model.rowOf({chosen})") == opened.number(
        f"cltrace.model.rowOf({number})"
    )
    opened.number(f"cltrace.timeline.reveal({number})")
    text = page.inner_text("#detail")
    for word in ("begins", "takes", "clock", "proven", "NDRange", "enqueued by", "waited for"):
        assert word in text
    page.click("#detail section:has-text('waited for') button >> nth=0")
    before = opened.number("cltrace.timeline.selected")
    assert before != number
    page.keyboard.press("Escape")
    assert opened.number("cltrace.timeline.selected") == -1
    assert "Click a slice" in page.inner_text("#detail")


@pytest.mark.firefox
def test_keys_walk_along_and_across_rows(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    rows = opened.number("cltrace.model.rows.map(row => [row.first, row.end])")
    own = list(enumerate(rows))[1:]  # the first is the critical path, with nothing above it
    number, (first, end) = max(own, key=lambda one: one[1][1] - one[1][0])
    opened.number(f"cltrace.timeline.reveal({first})")
    page.keyboard.press("ArrowLeft")
    assert opened.number("cltrace.timeline.selected") == first
    for step in range(1, 4):
        page.keyboard.press("ArrowRight")
        assert opened.number("cltrace.timeline.selected") == first + step < end
    page.keyboard.press("ArrowUp")
    assert opened.number("cltrace.model.rowOf(cltrace.timeline.selected)") == number - 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    low, high = opened.range_ns
    chosen = opened.number("cltrace.timeline.selected")
    begin, end = opened.number(f"[cltrace.model.begin_ns[{chosen}], cltrace.model.end({chosen})]")
    assert low <= begin <= end <= high


def test_search_counts_steps_and_starts_over(open_page: Open, mixed_trace: Path) -> None:
    opened = open_page()
    page = opened.page
    with cltrace.load(mixed_trace) as trace:
        kernel, launches = trace.rows(
            "SELECT kernel, count(*) FROM v_command WHERE kernel = 'axpy' GROUP BY 1"
        )[0]
    page.keyboard.press("/")
    page.keyboard.type(kernel)
    assert page.inner_text("#matches") == f"{launches} found"
    seen = []
    for _ in range(launches + 1):
        page.keyboard.press("Enter")
        seen.append(opened.number("cltrace.timeline.selected"))
    assert len(set(seen)) == launches
    assert seen[-1] == seen[0]
    page.keyboard.press("Shift+Enter")
    assert opened.number("cltrace.timeline.selected") == seen[-2]


@pytest.mark.firefox
def test_every_tab_shows_its_tables_by_click_and_by_key(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    tabs = page.locator('[role="tab"]').all_inner_texts()
    assert tabs == [one for one in TABS if one in tabs]
    assert set(tabs) >= {
        "Timeline",
        "Kernels",
        "Transfers",
        "Advice",
        "Critical path",
        "Memory",
        "File",
    }
    for at, title in enumerate(tabs):
        page.locator('[role="tab"]').nth(at).click()
        panel = page.locator('[role="tabpanel"]:visible')
        assert panel.count() == 1
        assert panel.inner_text().strip()
        assert page.locator('[role="tab"][aria-selected="true"]').inner_text() == title
    page.keyboard.press("2")
    assert page.locator("#panel-kernels").is_visible()
    page.focus("#tab-kernels")
    page.keyboard.press("ArrowRight")
    assert page.locator("#panel-understood").is_visible()


@pytest.mark.firefox
def test_tables_sort_and_search_and_rows_show_histograms(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    page.click("#tab-kernels")
    table = page.locator("#panel-kernels .tabulator").first

    def column(field: str) -> list[str]:
        cells = table.locator(f'.tabulator-cell[tabulator-field="{field}"]')
        texts: list[str] = cells.all_inner_texts()
        return texts

    table.locator(".tabulator-row").first.wait_for()
    names = column("name")
    assert len(names) > 1
    table.locator('.tabulator-col[tabulator-field="name"]').click()
    assert column("name") == sorted(names)
    table.locator('.tabulator-col[tabulator-field="name"]').click()
    assert column("name") == sorted(names, reverse=True)
    table.locator('.tabulator-col[tabulator-field="calls"]').click()
    calls = [int(one) for one in column("calls")]
    assert calls == sorted(calls, reverse=True)
    chosen = column("name")[-1]
    table.locator(".tabulator-row").last.click()
    assert page.inner_text("#panel-kernels .chart-head h3") == chosen
    assert page.locator("#panel-kernels .chart canvas").count() >= 1
    page.fill("#panel-kernels .filter", chosen)
    assert column("name") == [one for one in column("name") if chosen in one]
    assert len(column("name")) < len(names)
    page.click("#panel-kernels .chart-head button")
    assert page.locator("#panel-timeline").is_visible()
    assert page.input_value("#search") == f'"{chosen}"'


def test_memory_over_time_and_clock_quality_are_shown(open_page: Open) -> None:
    opened = open_page()
    opened.page.click("#tab-memory")
    assert "at most" in opened.page.inner_text("#panel-memory figcaption >> nth=0")
    assert opened.page.locator("#panel-memory canvas").count() >= 1
    opened.page.click("#tab-clocks")
    opened.page.locator("#panel-clocks .tabulator-cell >> nth=0").wait_for()
    assert "proven" in opened.page.inner_text("#panel-clocks")
    opened.page.click("#tab-file")
    opened.page.locator("#panel-file .tabulator-cell >> nth=0").wait_for()
    assert "kernel sources" in opened.page.inner_text("#panel-file")


def test_power_over_time_and_joules_are_shown(open_page: Open) -> None:
    opened = open_page(which="made")
    opened.page.click("#tab-energy")
    opened.page.locator("#panel-energy .tabulator-cell >> nth=0").wait_for()
    captions = opened.page.locator("#panel-energy figcaption").all_inner_texts()
    assert "a meter (exec:meter:a): at most 40 W" in captions
    assert opened.page.locator("#panel-energy canvas").count() == 2
    assert "unresolved" in opened.page.inner_text("#panel-energy")


@pytest.mark.firefox
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_a_button_changes_them(open_page: Open, scheme: str) -> None:
    opened = open_page(dark=scheme)
    page = opened.page
    theme = "document.documentElement.dataset.theme"
    background = "getComputedStyle(document.body).backgroundColor"
    assert opened.number(theme) == scheme
    assert (
        opened.number(background)
        == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"}[scheme]
    )
    page.click("#change-theme")
    assert opened.number(theme) == "light"
    page.click("#change-theme")
    assert opened.number(theme) == "dark"
    assert opened.number("cltrace.timeline.palette.background") == "#16181c"


@pytest.mark.firefox
def test_the_policy_holds(open_page: Open) -> None:
    opened = open_page()
    opened.number(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.injected = true";
            document.body.append(script);
            const image = document.createElement("img");
            image.setAttribute("onerror", "window.injected = true");
            image.src = "data:,x";
            document.body.append(image);
        }"""
    )
    opened.page.wait_for_timeout(200)
    assert opened.number("window.injected") is None
    refused = [
        line
        for line in opened.trouble
        if "Content Security Policy" in line or "settings blocked" in line
    ]
    assert len(refused) >= 2
    opened.trouble[:] = [
        line for line in opened.trouble if line not in refused and "data:,x" not in line
    ]


@pytest.mark.firefox
def test_hostile_text_is_shown_as_text(open_page: Open) -> None:
    opened = open_page(which="hostile")
    page = opened.page
    for tab in page.locator('[role="tab"]').all():
        tab.click()
    assert page.locator("main img, main b, main a").count() == 0
    page.click("#tab-kernels")
    assert "alert(1)" in page.inner_text("main")


def test_help_says_what_keys_do(open_page: Open) -> None:
    opened = open_page()
    opened.page.keyboard.press("?")
    assert "zoom in" in opened.page.inner_text("#help")
    opened.page.keyboard.press("Escape")
    assert not opened.page.locator("#help").is_visible()


def test_too_many_slices_are_said_to_be_together(open_page: Open) -> None:
    opened = open_page(options=PageOptions(max_slices=20))
    opened.page.click("#about summary")
    assert "drawn together" in opened.page.inner_text("#notes")
    assert opened.number("Math.max(...cltrace.model.count)") > 1


@pytest.mark.firefox
def test_a_narrow_window_still_shows_all_parts(open_page: Open) -> None:
    opened = open_page()
    opened.page.set_viewport_size({"width": 420, "height": 800})
    opened.page.wait_for_timeout(100)
    assert opened.number("document.documentElement.scrollWidth") <= 420
    for part in ("#plot canvas", "#detail", "#search"):
        assert opened.page.locator(part).is_visible()
