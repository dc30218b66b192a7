"""Assembly of a page: one file that fetches nothing and runs only its own scripts."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from cltrace.version import __version__

_ASSETS: Final = resources.files("cltrace.report.page") / "assets"
_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_SOURCE_MAP: Final = re.compile(r"(?:/\*|//)# sourceMappingURL=\S*(?: \*/)?")


@dataclass(frozen=True, slots=True)
class PageKind:
    """Kind of a page.

    Attributes:
        template: the asset with its markup.
        style: the asset with its style.
        entry: the module that starts it.
        vendored: the libraries that it needs.
    """

    template: str
    style: str
    entry: str
    vendored: tuple[str, ...]


TRACE_PAGE: Final = PageKind("page.html", "page.css", "main.js", ("uplot", "tabulator"))
"""The page of a trace."""
INSIDE_PAGE: Final = PageKind("inside.html", "inside.css", "inside.js", ())
"""The page of the events inside a launch."""


def assemble_page(title: str, report: object, columns: str, kind: PageKind = TRACE_PAGE) -> str:
    """Return the whole page. `report` can be written as JSON, `columns` is base64 text."""
    scripts = {"vendor_script": _vendored(kind, "min.js"), "script": bundle(kind.entry)}
    styles = {"vendor_style": _vendored(kind, "min.css"), "style": _asset(kind.style)}
    values = {
        "policy": _policy(list(scripts.values()), list(styles.values())),
        "version": __version__,
        "title": html.escape(title),
        "report": json_in_html(report),
        "columns": columns,
        **scripts,
        **styles,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _asset(kind.template))


def assemble_pair(
    title: str, rows: Sequence[tuple[str, str, str]], pages: tuple[str, str], kind: PageKind
) -> str:
    """Return one page with two others of a kind side by side, below rows that compare them."""
    scripts = [_vendored(kind, "min.js"), bundle(kind.entry)]
    styles = [_vendored(kind, "min.css"), _asset(kind.style), _asset("pair.css")]
    values = {
        "policy": _policy(scripts, styles),  # pages inside are under it, too
        "version": __version__,
        "title": html.escape(title),
        "style": _asset("pair.css"),
        "rows": "".join(_pair_row(*row) for row in rows),
        "first": html.escape(pages[0]),
        "second": html.escape(pages[1]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _asset("pair.html"))


def _pair_row(label: str, first: str, second: str) -> str:
    differs = ' class="differs"' if first != second else ""
    cells = "".join(f"<td>{html.escape(text)}</td>" for text in (first, second))
    return f'<tr{differs}><th scope="row">{html.escape(label)}</th>{cells}</tr>'


def json_in_html(value: object) -> str:
    """Return JSON for a script element: nothing in it ends the element, or begins a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def bundle(entry: str = TRACE_PAGE.entry) -> str:
    """Return our modules as one script, each in a scope of its own after those that it imports."""
    ordered: dict[str, str] = {}
    _add_module(entry, ordered)
    return '"use strict";\nconst modules = {};\n' + "".join(ordered.values())


def _add_module(name: str, ordered: dict[str, str]) -> None:
    source = _asset(name)
    for statement in _IMPORT.finditer(source):
        if statement[2] not in ordered:
            _add_module(statement[2], ordered)
    exported = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(_as_constants, source))
    ordered[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n'


def _as_constants(statement: re.Match[str]) -> str:
    return f'const {{{statement[1]}}} = modules["{statement[2]}"];\n'


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return a policy that forbids all requests, and all scripts and styles but these."""
    directives = {
        "default-src": "'none'",
        "script-src": " ".join(map(_hash, scripts)),
        "style-src": " ".join(map(_hash, styles)),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _vendored(kind: PageKind, ending: str) -> str:
    """Return the vendored libraries, without references to source maps that are not here."""
    texts = (_asset(f"vendor/{name}.{ending}") for name in kind.vendored)
    return "\n".join(_SOURCE_MAP.sub("", text) for text in texts)


@cache
def _asset(name: str) -> str:
    text = _ASSETS.joinpath(*name.split("/")).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
