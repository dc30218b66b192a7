"""A headless Chromium, and a server for what it opens. Nothing leaves the machine."""

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cltrace
from cltrace.report.page import PageOptions, render_page
from tests.browser.pages import READY, Open, Opened
from tests.conftest import MakeTrace
from tests.hostile import hostile_text
from tests.patience import HANG_S
from tests.synthetic import as_it_is

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSER_WAIT_MS = 300_000
"""Limit of a wait for an element: ten times Playwright's own, for a loaded machine."""
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Headless Chromium; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
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


@pytest.fixture
def open_page(
    browser: "Browser", mixed_trace: Path, make_trace: MakeTrace, tmp_path: Path
) -> Iterator[Open]:
    """Opens the page of a trace as a file; nothing may go wrong in it, nothing be asked for."""
    found: list[Opened] = []

    def opener(
        *,
        options: PageOptions | None = None,
        dark: str = "light",
        which: str = "mixed",
        path: Path = mixed_trace,
    ) -> Opened:
        made = {"made": as_it_is, "hostile": hostile_text}
        trace_path = make_trace("t.cltrace", text=made[which]) if which in made else path
        target = tmp_path / "page.html"
        with cltrace.load(trace_path) as trace:
            target.write_text(render_page(trace, options or PageOptions()), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1300, "height": 800}, color_scheme=dark)  # type: ignore[arg-type]
        one = Opened(page)
        found.append(one)
        address = target.as_uri()
        page.on("pageerror", lambda error: one.trouble.append(f"error: {error}"))
        page.on("console", lambda said: one.trouble.append(f"console: {said.text}"))
        page.on("dialog", lambda dialog: one.trouble.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda asked: (
                None if asked.url == address else one.trouble.append(f"request: {asked.url}")
            ),
        )
        page.goto(address)
        page.set_default_timeout(BROWSER_WAIT_MS)
        page.wait_for_selector(READY, state="attached")
        return one

    yield opener
    for one in found:
        one.page.close()
        assert one.trouble == []
