"""Headless browsers, and a server for what they open. Nothing leaves the machine.

Tests of the page run in Chromium, those marked `firefox` in Firefox, too; with
`CLTRACE_TESTS_FIREFOX=all` in the environment all do. Firefox is Debian's, and driven by WebDriver BiDi.
"""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cltrace
from cltrace.report.page.comparison import render_comparison
from cltrace.report.page.trace_page import PageOptions, render_page
from tests.browser.pages import READY, Open, Opened
from tests.conftest import MakeTrace
from tests.hostile import hostile_text
from tests.patience import HANG_S
from tests.synthetic import as_it_is

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

BROWSER_WAIT_MS = 300_000
"""Limit of a wait for an element: ten times Playwright's own, for a loaded machine."""
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
BIDI = "moz-firefox"
"""Channel of a Firefox that is not Playwright's own build: it is driven by WebDriver BiDi."""
COLOR_SCHEME = "layout.css.prefers-color-scheme.content-override"
"""Preference of Firefox: 0 is dark, 1 is light."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of the page in Chromium, and those that are to be in Firefox, too, in both."""
    if "kind_of_browser" in metafunc.fixturenames:
        is_for_both = any(mark.name == "firefox" for mark in metafunc.definition.iter_markers())
        wants_all = os.environ.get("CLTRACE_TESTS_FIREFOX") == "all"
        kinds = ["chromium", "firefox"] if is_for_both or wants_all else ["chromium"]
        metafunc.parametrize("kind_of_browser", kinds, indirect=True)


@pytest.fixture
def kind_of_browser(request: pytest.FixtureRequest) -> str:
    """Name of the browser that a page is opened in."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="session")
def driver() -> "Iterator[Playwright]":
    """Driver of browsers."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(driver: "Playwright") -> "Iterator[Browser]":
    """Headless Chromium; the test is skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    browser = driver.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
    )
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def launch_firefox(driver: "Playwright") -> "Iterator[Callable[[str], Browser]]":
    """Launches headless Firefox with a colour scheme, once each. Without Firefox the test is skipped."""
    launched: dict[str, Browser] = {}

    def launch(scheme: str) -> "Browser":
        if FIREFOX is None:
            pytest.skip("needs Firefox")
        if scheme not in launched:
            launched[scheme] = driver.firefox.launch(
                executable_path=FIREFOX,
                channel=BIDI,
                firefox_user_prefs={COLOR_SCHEME: 0 if scheme == "dark" else 1},
            )
        return launched[scheme]

    yield launch
    for browser in launched.values():
        browser.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves a directory on this machine: `serve(directory)` is its address."""
    servers = []

    def start(directory: Path) -> str:
        handler = functools.partial(_Quiet, directory=str(directory))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def mixed_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of a program with threads, queues, wait lists and several kernels."""
    path = tmp_path_factory.mktemp("traced") / "mixed.cltrace"
    graph = Path(__file__).parents[2] / "benchmarks" / "programs" / "graph.py"
    words = [sys.executable, "-m", "cltrace", "run", "-q", "-o", path, graph, "200"]
    subprocess.run(list(map(str, words)), check=True, timeout=HANG_S)
    return path


def page_text(paths: Sequence[Path], options: PageOptions | None) -> str:
    """The page of one trace, or of two."""
    with ExitStack() as opened:
        traces = [opened.enter_context(cltrace.load(path)) for path in paths]
        chosen = options or PageOptions()
        if len(traces) == 1:
            return render_page(traces[0], chosen)
        return render_comparison(traces[0], traces[1], chosen)


def note_troubles(opened: Opened, address: str) -> None:
    """Note errors, messages, dialogs, and requests of anything but the page itself."""
    page, trouble = opened.page, opened.trouble
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("console", lambda said: trouble.append(f"console: {said.text}"))
    page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
    page.on(
        "request",
        lambda sent: (
            None
            if sent.url in {address, "about:srcdoc"}
            else trouble.append(f"request: {sent.url}")
        ),
    )


@pytest.fixture
def open_text(
    request: pytest.FixtureRequest, kind_of_browser: str, tmp_path: Path
) -> Iterator[Callable[[str, str], Opened]]:
    """Opens the text of a page as a file; nothing may go wrong in it, nothing be asked for."""
    yield from opened_texts(request, kind_of_browser, tmp_path, READY)


@pytest.fixture
def open_pair(
    request: pytest.FixtureRequest, kind_of_browser: str, tmp_path: Path
) -> Iterator[Callable[[str, str], Opened]]:
    """Opens the text of a page that has others in frames, which are ready later than it."""
    yield from opened_texts(request, kind_of_browser, tmp_path, "iframe")


def opened_texts(
    request: pytest.FixtureRequest, kind_of_browser: str, tmp_path: Path, ready: str
) -> Iterator[Callable[[str, str], Opened]]:
    """Yield what opens texts of pages, and close them."""
    found: list[Opened] = []

    def opener(text: str, dark: str = "light") -> Opened:
        target = tmp_path / "page.html"
        target.write_text(text, encoding="utf-8")
        if kind_of_browser == "firefox":
            browser = request.getfixturevalue("launch_firefox")(dark)
        else:
            browser = request.getfixturevalue("browser")
        page = browser.new_page(viewport={"width": 1300, "height": 800}, color_scheme=dark)
        one = Opened(page)
        found.append(one)
        address = target.as_uri()
        note_troubles(one, address)
        page.goto(address)
        page.set_default_timeout(BROWSER_WAIT_MS)
        page.wait_for_selector(ready, state="attached")
        return one

    yield opener
    for one in found:
        one.page.close()
        assert one.trouble == []


@pytest.fixture
def open_page(
    open_text: Callable[[str, str], Opened], mixed_trace: Path, make_trace: MakeTrace
) -> Open:
    """Opens the page of a trace, or of two."""

    def opener(
        *,
        options: PageOptions | None = None,
        dark: str = "light",
        which: str = "mixed",
        path: Path = mixed_trace,
        second: Path | None = None,
    ) -> Opened:
        made = {"made": as_it_is, "hostile": hostile_text}
        trace_path = make_trace("t.cltrace", text=made[which]) if which in made else path
        paths = [trace_path, *([] if second is None else [second])]
        return open_text(page_text(paths, options), dark)

    return opener
