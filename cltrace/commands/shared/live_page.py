"""Server of a page on this machine, which is made again whenever a file that it shows changes."""

import contextlib
import hashlib
import http.server
import secrets
import threading
import time
import webbrowser
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Final

from cltrace.commands.shared.messages import say
from cltrace.errors import CltraceError

_PERIOD_S: Final = 0.1
_SCRIPT: Final = """
let shown = "";
async function look() {
  try {
    const version = await (await fetch("version", { cache: "no-store" })).text();
    if (version !== shown) {
      shown = version;
      document.querySelector("iframe").src = `page?${version}`;
    }
    document.title = "cltrace, live";
  } catch {
    document.title = "cltrace has ended";
  }
  setTimeout(look, 200);
}
look();
"""
_STYLE: Final = (
    "html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block; }"
)


class LivePage:
    """The current version of a page. `make` returns its text, or raises `CltraceError`."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self.version = 0
        self.text = ""

    def renew(self) -> None:
        """Make the page again; a message takes its place where that fails."""
        try:
            self.text = self._make()
        except CltraceError as error:
            say(str(error))
            self.text = f"<!doctype html><title>cltrace</title><p>{escape(str(error))}</p>"
        self.version += 1


def serve_live(
    make: Callable[[], str], find_files: Callable[[], Sequence[Path]], *, opens: bool
) -> int:
    """Serve a page until the program is interrupted, and make it again when a file of it changes.

    `find_files` returns the files each time that the page is made.
    """
    page = LivePage(make)
    files = find_files()
    seen = _state_of(files)
    page.renew()
    secret = secrets.token_urlsafe(16)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(page, secret)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{secret}/"
        say(f"live at {address} until Ctrl+C")
        if opens:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(_PERIOD_S)
                state = _state_of(files)
                if state != seen:
                    files = find_files()
                    seen = _state_of(files)
                    page.renew()
        server.shutdown()
    return 0


def _state_of(files: Sequence[Path]) -> Sequence[tuple[int, int]]:
    """Return time and size of files; those that an editor is just replacing have none."""
    states = []
    for file in files:
        try:
            status = file.stat()
            states.append((status.st_mtime_ns, status.st_size))
        except OSError:
            states.append((0, 0))
    return states


def _handler(page: LivePage, secret: str) -> type[http.server.BaseHTTPRequestHandler]:
    """Return a handler of requests, which answers only those that know the secret."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """Answers with the frame, the version and the page."""

        def do_GET(self) -> None:
            """Answer a request."""
            root, path = f"/{secret}/", self.path.split("?")[0]
            match path.removeprefix(root) if path.startswith(root) else None:
                case "":
                    self._answer(_frame(), "text/html", _frame_policy())
                case "version":
                    self._answer(str(page.version), "text/plain", "default-src 'none'")
                case "page":
                    self._answer(page.text, "text/html", "")
                case _:
                    self.send_error(404)

        def _answer(self, text: str, kind: str, policy: str) -> None:
            content = text.encode("utf-8", "replace")
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    return Handler


def _frame() -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>cltrace, live</title>"
        f"<style>{_STYLE}</style></head><body><iframe title='the kernel'></iframe>"
        f"<script>{_SCRIPT}</script></body></html>"
    )


def _frame_policy() -> str:
    script, style = (
        b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (_SCRIPT, _STYLE)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
        "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
    )
