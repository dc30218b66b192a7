"""The browser in which benchmarks open pages, where there is one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a headless Chromium of playwright, `None` without one of them."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may be absent

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_tab(browser: Any) -> Any:
    """Return a new tab of the size in which pages are measured."""
    return browser.new_page(viewport={"width": 1400, "height": 860})
