"""Flame graphs of the page: times of the trace, by hand and by key, in both colour schemes."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cltrace
from cltrace.report.page.flames import flame_graphs
from cltrace.timeline.analysis import Analysis
from tests.browser.pages import Open, Opened

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.opencl]

FRAMES = "#panel-stacks .flame-holder:nth-of-type(1) .flame-frame"


@pytest.fixture
def stacks(open_page: Open) -> Opened:
    """The page with the tab of stacks."""
    opened = open_page()
    opened.page.click("#tab-stacks")
    return opened


def frame_texts(page: "Page") -> list[str]:
    texts: list[str] = page.eval_on_selector_all(FRAMES, "all => all.map(one => one.textContent)")
    return texts


def chosen_width(page: "Page") -> float:
    """Return the width of the chosen frame as a share of its graph."""
    share: float = page.evaluate(
        "selector => { const frame = document.querySelector(selector); "
        "return frame.offsetWidth / frame.parentElement.clientWidth; }",
        f"{FRAMES}.is-chosen",
    )
    return share


def test_both_graphs_have_the_times_of_the_trace(stacks: Opened, mixed_trace: Path) -> None:
    with cltrace.load(mixed_trace) as trace:
        graphs = flame_graphs(Analysis(trace), "")
        (host,) = trace.rows("SELECT sum(duration_ns) FROM v_api_call")
    assert [graph.title for graph in graphs] == ["Host calls", "Device time"]
    totals = [sum(node.total_ns for node in graph.nodes if node.outer < 0) for graph in graphs]
    assert totals[0] == host[0]
    shown = stacks.number("cltrace.report.flames.map(one => one.nodes"
        ".filter(node => node.outer < 0).reduce((sum, node) => sum + node.total_ns, 0))")  # fmt: skip
    assert shown == totals
    assert stacks.page.locator("#panel-stacks .flame").count() == 2
    assert any(text.startswith("<module>  ") for text in frame_texts(stacks.page))


@pytest.mark.firefox
def test_a_click_enlarges_and_the_button_shows_all(stacks: Opened) -> None:
    page = stacks.page
    before = frame_texts(page)
    narrow = page.locator(FRAMES).last
    narrow.click()
    assert chosen_width(page) > 0.98
    page.locator("#panel-stacks .flame-holder").first.get_by_text("show all").click()
    assert frame_texts(page) == before


@pytest.mark.firefox
def test_keys_step_through_callers_and_what_they_call(stacks: Opened) -> None:
    page = stacks.page
    page.locator("#panel-stacks .flame").first.focus()
    detail = page.locator("#panel-stacks .flame-detail").first
    outermost = detail.inner_text()
    page.keyboard.press("ArrowDown")
    inner = detail.inner_text()
    assert inner != outermost
    page.keyboard.press("Enter")
    assert chosen_width(page) > 0.98
    page.keyboard.press("ArrowUp")
    assert detail.inner_text() == outermost
    page.keyboard.press("Escape")
    assert page.locator("#panel-stacks .flame-holder button").first.is_hidden()
    assert not page.locator("#panel-stacks").is_hidden()


def test_a_search_marks_frames(stacks: Opened) -> None:
    page = stacks.page
    page.fill("#panel-stacks .filter", "no such frame")
    assert page.locator(FRAMES).count() == page.locator(f"{FRAMES}.is-faded").count() > 0
    page.fill("#panel-stacks .filter", "")
    assert page.locator(f"{FRAMES}.is-faded").count() == 0


def test_colours_follow_the_scheme(stacks: Opened) -> None:
    page = stacks.page
    colour = f"getComputedStyle(document.querySelector('{FRAMES}')).backgroundColor"
    found = set()
    for _ in range(3):
        found.add(stacks.number(colour))
        page.click("#change-theme")
    assert len(found) == 2


@pytest.mark.firefox
@pytest.mark.parametrize("width", [800, 1280])
def test_nothing_is_cut(stacks: Opened, width: int) -> None:
    page = stacks.page
    page.set_viewport_size({"width": width, "height": 720})
    # Observers of sizes are told between two frames of the browser.
    stacks.number("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    is_inside = (
        f"[...document.querySelectorAll('{FRAMES}')].map(frame => "
        "frame.offsetLeft + frame.offsetWidth <= frame.parentElement.clientWidth + 1)"
    )
    assert all(stacks.number(is_inside))
    assert stacks.number("document.documentElement.scrollWidth") <= width
