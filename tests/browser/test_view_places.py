"""The page in a browser: tables lead to the timeline and back, and its parts fit the window."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.pages import Open, double_click
from tests.patience import HANG_S

pytestmark = [pytest.mark.browser, pytest.mark.opencl]


@pytest.fixture(scope="session")
def wasteful_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of a program with a finding, a failed call and memory live at its exit."""
    directory = tmp_path_factory.mktemp("wasteful")
    program = directory / "wasteful.py"
    program.write_text(PROGRAM)
    trace = directory / "wasteful.cltrace"
    words = [sys.executable, "-m", "cltrace", "run", "-q", "-o", trace, sys.executable, program]
    subprocess.run(list(map(str, words)), check=True, timeout=HANG_S)
    return trace


PROGRAM = """
import builtins
import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Program(context, "kernel void f(global float *x) { x[get_global_id(0)] *= 2; }").build().f
data = np.zeros(1 << 20, np.float32)
builtins.kept = buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
for _ in range(300):
    cl.enqueue_copy(queue, buffer, data)
    kernel(queue, data.shape, None, buffer)
    queue.finish()
cl._cl._enqueue_marker(queue)
try:
    cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 60)
except cl.Error:
    pass
"""


@pytest.mark.parametrize(
    ("tab", "table", "line", "name"),
    [
        ("advice", "advice", 15, "clEnqueueMarker"),
        ("host", "failures", 17, "clCreateBuffer"),
        ("memory", "live_at_exit", 10, "clCreateBuffer"),
    ],
)
def test_rows_lead_to_the_timeline_and_back(
    open_page: Open, wasteful_trace: Path, tab: str, table: str, line: int, name: str
) -> None:
    opened = open_page(path=wasteful_trace)
    page = opened.page
    opened.number(f"cltrace.showTab('{tab}')")
    rows = page.locator(f"[data-table='{table}'] .tabulator-row")
    row = rows.filter(has_text=f"wasteful.py:{line}").first
    shown = row.inner_text()
    row.locator(".tabulator-cell").first.click()
    assert page.locator("#panel-timeline").is_visible()
    chosen = opened.number("cltrace.timeline.selected")
    assert opened.number(f"cltrace.model.siteOf({chosen})").endswith(f"wasteful.py:{line}")
    assert opened.number(f"cltrace.model.nameOf({chosen}).text").startswith(name)
    if table == "failures":
        assert opened.number(f"cltrace.model.status[{chosen}]") != 0
    page.locator("#detail section:has-text('about this place') button").first.click()
    marked = page.locator(f"[data-table='{table}'] .tabulator-row.marked")
    assert marked.inner_text() == shown


@pytest.mark.parametrize("width", [1280, 800])
def test_sentences_of_advice_are_in_view(open_page: Open, wasteful_trace: Path, width: int) -> None:
    opened = open_page(path=wasteful_trace)
    opened.page.set_viewport_size({"width": width, "height": 720})
    opened.page.reload()
    opened.number("cltrace.showTab('advice')")
    cells = opened.page.locator("[data-table='advice'] .tabulator-col[tabulator-field='advice']")
    box = cells.first.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    row = opened.page.locator("[data-table='advice'] .tabulator-row", has_text="wasteful.py:").first
    lines = row.locator(".code-line")
    assert [text.split("\n")[0] for text in lines.all_inner_texts()] == ["before", "after"]
    for line in lines.all():
        code = line.bounding_box()
        assert code is not None
        assert code["x"] + code["width"] <= width


def test_an_exact_place_finds_no_other(open_page: Open, wasteful_trace: Path) -> None:
    opened = open_page(path=wasteful_trace)
    sites = opened.number("cltrace.scene.sites")
    site = next(each for each in sites if each.endswith(":12"))
    found = opened.number(
        f"""() => {{
            cltrace.search.set('"{site}"');
            const {{model, search}} = cltrace, places = new Set();
            for (let slice = 0; slice < model.length; slice += 1)
                if (search.isMatch(slice)) places.add(model.siteOf(slice));
            return [...places];
        }}"""
    )
    assert found == [site]


@pytest.mark.firefox
def test_the_labels_widen_by_pointer_and_keys(open_page: Open) -> None:
    opened = open_page()
    page = opened.page
    width = "document.querySelector('#labels').getBoundingClientRect().width"
    assert opened.number(width) == 190
    box = page.locator("#gutter").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 103, box["y"] + 100, steps=3)
    page.mouse.up()
    assert opened.number(width) == pytest.approx(290, abs=4)
    page.focus("#gutter")
    page.keyboard.press("ArrowLeft")
    assert opened.number(width) == pytest.approx(270, abs=4)
    cut = """[...document.querySelectorAll('.label:not(.counter) span:first-child')]
        .filter(label => label.scrollWidth > label.offsetWidth ||
            label.offsetWidth > label.parentElement.clientWidth - 22).length"""
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert opened.number(cut) > 0
    box = page.locator("#gutter").bounding_box()
    assert box is not None
    double_click(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert opened.number(cut) == 0


def test_the_memory_has_an_axis_of_bytes(open_page: Open) -> None:
    opened = open_page()
    ticks = opened.page.locator(".label.counter .tick").all_inner_texts()
    assert ticks[0] == "0 B"
    assert len(ticks) >= 3
    assert all(re.fullmatch(r"\d+ (B|KiB|MiB|GiB)", tick) for tick in ticks)


def test_the_header_is_one_line_and_nothing_is_cut(open_page: Open) -> None:
    opened = open_page(which="made")
    page = opened.page
    page.set_viewport_size({"width": 1280, "height": 720})
    assert page.locator("#about").bounding_box()["height"] < 30  # type: ignore[index]
    assert page.locator(".head").bounding_box()["height"] < 50  # type: ignore[index]
    for width in (1280, 800):
        page.set_viewport_size({"width": width, "height": 720})
        page.wait_for_timeout(100)
        assert opened.number("document.documentElement.scrollWidth") <= width
        cut = """[...document.querySelectorAll('.head, #tabs, .toolbar, #beside')]
            .filter(part => part.scrollWidth > part.clientWidth).map(part => part.id || part.className)"""
        assert opened.number(cut) == []
