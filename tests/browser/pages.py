"""Pages of traces in the browser, and what goes wrong in them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

READY = "html[data-ready=yes]"


@dataclass
class Opened:
    """A page in the browser, and what went wrong in it so far."""

    page: "Page"
    trouble: list[str] = field(default_factory=list)

    def number(self, expression: str) -> Any:
        """What an expression is in the page."""
        return self.page.evaluate(expression)

    @property
    def range_ns(self) -> tuple[float, float]:
        """The time that the timeline shows."""
        low, high = self.number("[cltrace.timeline.range.from, cltrace.timeline.range.to]")
        return low, high


Open = Callable[..., Opened]


def double_click(page: "Page", x: float, y: float) -> None:
    """Double-click at a point of the page.

    WebDriver BiDi sends each press in a command of its own, of which Firefox makes two single clicks:
    there, the event that follows two clicks of a person is sent to the same element.
    """
    page.mouse.dblclick(x, y)
    browser = page.context.browser
    if browser is not None and browser.browser_type.name == "firefox":
        page.evaluate(
            """([clientX, clientY]) => {
                const about = {clientX, clientY, detail: 2, bubbles: true, cancelable: true};
                const target = document.elementFromPoint(clientX, clientY);
                target.dispatchEvent(new MouseEvent("dblclick", about));
            }""",
            [x, y],
        )


def drag(page: "Page", box: Any, begin: float, end: float) -> None:
    """Drag over a plot, from one part of its width to another."""
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + begin * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], height, steps=4)
    page.mouse.up()
