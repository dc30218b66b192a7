"""The page of the events inside a launch, in browsers: what is pointed at is shown in all its views."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, ImageArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import EventMemory, LaunchEvents
from cltrace.report.kernel_events import analyse_events
from cltrace.report.page.inside_kernel import render_inside_page, render_inside_pair
from tests.browser.pages import READY, Opened
from tests.hostile import hostile_text
from tests.kernels.inside import record_sum, record_tile
from tests.unit.test_annotations import ANNOTATED, record

OpenText = Callable[[str, str], Opened]


def open_events(open_text: OpenText, events: LaunchEvents, dark: str = "light") -> Opened:
    return open_text(render_inside_page(analyse_events(events)), dark)


def line_of(opened: Opened, text: str) -> Any:
    return opened.page.locator("#source li", has_text=text)


@pytest.mark.firefox
@pytest.mark.parametrize("dark", ["light", "dark"])
def test_a_bar_shows_what_its_work_items_run(open_text: OpenText, dark: str) -> None:
    opened = open_events(open_text, record_sum("sum_by_stride", 64), dark)
    page = opened.page
    bars = page.locator("#histogram button")
    assert bars.count() == 7
    assert page.locator("#histogram-note").inner_text().startswith("7 ways through the kernel")
    assert bars.locator("small").all_inner_texts() == ["512", "256", "128", "64", "32", "16", "16"]
    assert bars.nth(2).locator("code").inner_text() == "1111…000"
    bars.nth(2).hover()
    assert "111111010101000: 128 work-items" in page.locator("#histogram-note").inner_text()
    condition = line_of(opened, "if (at < get_local_size(0))").locator(".mark")
    assert condition.inner_text() == "2× true"
    assert "is-both" in (condition.get_attribute("class") or "")
    last = page.locator("#source li .mark.is-false")
    assert last.all_inner_texts() == ["false"]
    assert page.locator("#source li.is-idle .text").all_inner_texts() != []
    assert opened.number("document.querySelectorAll('#donuts path.is-faded').length") == 6
    page.mouse.move(5, 5)
    page.wait_for_function("document.querySelectorAll('#source li.is-idle').length === 0")


@pytest.mark.firefox
def test_what_is_clicked_stays_until_escape(open_text: OpenText) -> None:
    opened = open_events(open_text, record_sum("sum_by_modulo", 64))
    page = opened.page
    page.locator("#histogram button").first.click()
    page.mouse.move(5, 5)
    assert page.locator("#clear").is_visible()
    assert page.locator("#histogram button[aria-pressed=true]").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#histogram button[aria-pressed=true]").count() == 0
    assert not page.locator("#clear").is_visible()


@pytest.mark.firefox
@pytest.mark.parametrize("dark", ["light", "dark"])
def test_the_tree_shows_who_takes_each_outcome(open_text: OpenText, dark: str) -> None:
    opened = open_events(open_text, record_sum("sum_by_stride", 64), dark)
    page = opened.page
    nodes = page.locator("#tree [role=treeitem]")
    first = [text.replace("\n", " ").split() for text in nodes.all_inner_texts()[4:7]]
    assert first[0][:3] == ["30", "loop", "for"]
    assert [line[0] for line in first[1:]] == ["trip", "32"]
    trip = nodes.nth(5)
    assert "7\u202f168" not in trip.inner_text()
    assert trip.locator(".amount").inner_text() == "1\u202f024, 6\u202f144×"
    true = nodes.nth(7)
    true.hover()
    assert page.locator("#choice").inner_text() == "line 32: true"
    assert page.locator("#histogram .is-faded").count() == 1
    assert "sums[at] += sums[at + s]" in "".join(
        page.locator("#source li.is-marked .text").all_inner_texts()
    )
    page.mouse.move(5, 5)
    page.locator("#histogram button").first.hover()
    assert page.locator("#tree .is-faded").count() > 0
    assert "of 1\u202f024" in trip.locator(".amount").inner_text()


@pytest.mark.firefox
def test_the_tree_is_walked_by_keys(open_text: OpenText) -> None:
    page = open_events(open_text, record_sum("sum_by_stride", 64)).page
    page.locator("#tree [tabindex='0']").focus()
    focused = "document.activeElement.ariaLabel"
    for key, label in (
        ("End", "line 36 false"),
        ("ArrowLeft", "condition of line 36"),
        ("ArrowUp", "line 30 false"),
        ("Home", "begin"),
        ("ArrowRight", "condition of line 25"),
    ):
        page.keyboard.press(key)
        assert page.evaluate(focused).startswith(label)
    page.keyboard.press("Enter")
    assert page.locator("#clear").is_visible()


def test_a_donut_marks_the_work_items_of_its_warps(open_text: OpenText) -> None:
    page = open_events(open_text, record_tile(16)).page
    page.locator(".donut").nth(0).focus()
    assert page.locator(".donut.is-chosen").count() == 1
    pixels = (
        "(() => { const c = document.getElementById('image');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] === 255; return n; })()"
    )
    assert page.evaluate(pixels) == 1344 * 32
    page.keyboard.press("Enter")
    page.mouse.move(5, 5)
    assert page.locator("#choice").inner_text() == "work-items of warps of kind 1"


def test_donuts_are_the_proxy_warps(open_text: OpenText) -> None:
    opened = open_events(open_text, record_tile(16))
    numbers = opened.page.locator(".donut text").all_text_contents()
    assert [int(text.replace("\u202f", "")) for text in numbers[:2]] == [1344, 420]
    labels = opened.page.locator(".donut").evaluate_all("all => all.map(d => d.ariaLabel)")
    assert "3 ways" in labels[0]
    size = opened.number(
        "[document.getElementById('image').width, document.getElementById('image').height]"
    )
    assert size == [256, 256]


@pytest.mark.firefox
def test_a_block_shows_its_line_and_the_conflicts_of_its_banks(open_text: OpenText) -> None:
    opened = open_events(open_text, record_sum("sum_by_stride", 64))
    page = opened.page
    page.locator("#blocks").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    text = page.locator("#access").inner_text()
    assert "work-item 0: read of float, sums at byte" in text
    assert "32 lanes of its warp access it together" in text
    assert page.locator("#places .title").inner_text() == "banks: a 2-way conflict, 2 rounds"
    assert page.locator("#places .is-conflict").count() == 16
    marked = page.locator("#source li.is-marked .text")
    assert "sums[at] += sums[at + s]" in marked.inner_text()
    page.keyboard.press("ArrowRight")
    assert "work-item 1:" in page.locator("#access").inner_text()


def test_sectors_are_shown_of_global_memory(open_text: OpenText) -> None:
    opened = open_events(open_text, record_sum("sum_by_stride", 64))
    page = opened.page
    page.locator("#memory").select_option(label="input (global, 4.00 KiB)")
    page.locator("#blocks").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#places .title").inner_text().startswith("4 sectors of 32 B")
    page.locator("#places .sector").first.hover()
    assert page.locator("#choice").inner_text().startswith("bank or sector")


def test_faults_lead_to_their_lines(open_text: OpenText) -> None:
    opened = open_events(open_text, record_sum("sum_by_stride", 64, barrier="(void)0"))
    page = opened.page
    fault = page.locator("#faults button")
    assert "data race on sums" in fault.inner_text()
    fault.click()
    assert "sums[at] += sums[at + s]" in page.locator("#source li.is-marked .text").inner_text()
    assert page.locator("#source li.has-fault").count() == 1


MIRRORED = """__kernel void mirrored(__write_only image2d_t out, __global ushort *sums)
{   //@bind image out
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < 4)
        sums[y % 2 * 8] = x;
    write_imagef(out, (int2)(15 - x, y), (float4)(x));
}
"""


@pytest.mark.firefox
def test_a_picture_shows_who_writes_each_element(open_text: OpenText) -> None:
    arguments: list[Argument] = [ImageArgument(16, 8), BufferArgument(32)]
    events = record_events(KernelLaunch(parse(MIRRORED), "mirrored", (16, 8), (16, 2), arguments))
    page = open_events(open_text, events).page
    note = page.locator("#image-note")
    assert note.inner_text() == "out by who writes it, 16 × 8"
    page.locator("#histogram button").nth(1).focus()  # those on the left
    assert note.inner_text() == "32 of 128 written elements"
    opaque = (
        "(() => { const c = document.getElementById('image');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " return [...Array(c.width * c.height).keys()].filter(i => d[4 * i + 3] === 255); })()"
    )
    assert page.evaluate(opaque) == [16 * y + x for y in range(8) for x in range(12, 16)]
    canvas = page.locator("#image")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert note.inner_text() == "out(1, 1): written by work-item 30"
    assert page.locator("#choice").inner_text() == "out(1, 1)"
    assert page.locator("#histogram .is-faded").count() == 1
    page.keyboard.press("Escape")
    page.locator("#picture").select_option(label="sums, as written")
    canvas.hover(position={"x": 1, "y": 1})
    assert "written by work-items 0, 1, 2, 3, 32, 33 and 10 more" in note.inner_text()


def test_hostile_names_stay_text(open_text: OpenText) -> None:
    events = record_sum("sum_by_stride", 64)
    hostile = replace(
        events,
        kernel=hostile_text("kernel"),
        source=hostile_text(events.source),
        memories=tuple(
            EventMemory(hostile_text(memory.name), memory.space, memory.size_bytes)
            for memory in events.memories
        ),
        notes=(hostile_text("note"),),
    )
    opened = open_events(open_text, hostile)
    assert opened.page.locator("#histogram button").count() == 7
    assert opened.number("document.querySelectorAll('script:not([type]), img, b').length") == 2


def test_values_are_drawn_as_their_bindings_say(open_text: OpenText) -> None:
    source = ANNOTATED.replace(
        "multibar partial", "multibar partial\n    //@bind scatter partial twice"
    )
    events = record(source, "twice[l]=2 * sums[l]@9")
    page = open_events(open_text, events).page
    titles = page.locator("#charts figcaption").all_inner_texts()
    assert titles == [
        "partial: multibar, work-group 0",
        "partial, twice: scatter, work-group 0",
        "steps: line, work-group 0, 52 later series not drawn",
    ]
    bars = page.locator("#charts figure").nth(0).locator("rect")
    assert bars.count() == 32 + 16 + 8 + 4 + 2 + 1
    legends = page.locator("#charts figure .series")
    assert legends.nth(0).locator("span").all_inner_texts() == [
        f"partial, time {number}" for number in range(1, 7)
    ]
    page.locator("#group").select_option("1")
    assert (
        page.locator("#charts figcaption").first.inner_text() == "partial: multibar, work-group 1"
    )


@pytest.mark.firefox
def test_two_versions_are_side_by_side(open_pair: OpenText) -> None:
    first = analyse_events(record_sum("sum_by_stride", 64))
    second = analyse_events(record_sum("sum_by_stride", 64, barrier="(void)0"))
    opened = open_pair(render_inside_pair(first, second), "light")
    sides = opened.page.frames[1:]
    assert len(sides) == 2
    for side in sides:
        side.wait_for_selector(READY, state="attached")
        assert side.locator("#histogram button").count() == 7
    assert [side.locator("#faults").is_visible() for side in sides] == [False, True]
    differing = opened.page.locator("tr.differs th").all_inner_texts()
    assert "data races" in differing
    assert "divergence" not in differing


def test_many_kinds_of_warps_leave_the_tree_in_sight(open_text: OpenText) -> None:
    source = """__kernel void k(__global int *x, __global const int *bits) {
        const int i = get_global_id(0);
        for (int n = 0; n < 5; n++)
            if (bits[i] >> n & 1 && i + n > 3) x[i] += n; }"""
    rng = np.random.default_rng(3)
    contents = rng.integers(0, 32, 4096).astype(np.int32)
    arguments: list[Argument] = [BufferArgument(1 << 14), BufferArgument(1 << 14, contents)]
    events = record_events(KernelLaunch(parse(source), "k", (4096,), (64,), arguments))
    opened = open_events(open_text, events)
    assert opened.page.locator(".donut").count() > 40
    assert opened.number("document.querySelector('#donuts').clientHeight") <= 330
    shown = opened.page.locator("#tree .node").all_inner_texts()
    assert sum("bits[i] >> n & 1" in text for text in shown) == 1
    assert sum("i + n > 3" in text for text in shown) == 1


def test_the_page_fits_narrow_windows(open_text: OpenText) -> None:
    opened = open_events(open_text, record_tile(16))
    opened.page.set_viewport_size({"width": 800, "height": 720})
    assert opened.number("document.documentElement.scrollWidth") <= 800
