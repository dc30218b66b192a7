"""Putting a page together: one file, which asks for nothing and runs nothing but its own scripts."""

import base64
import hashlib
import html
import json
import re
from functools import cache
from importlib import resources
from typing import Final

from cltrace.version import __version__

_ASSETS: Final = resources.files("cltrace.report.page") / "assets"
_ENTRY: Final = "main.js"
_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_SOURCE_MAP: Final = re.compile(r"(?:/\*|//)# sourceMappingURL=\S*(?: \*/)?")
_VENDORED: Final = ("uplot", "tabulator")


def page_text(title: str, report: object, columns: str) -> str:
    """The whole page. `report` is what JSON can hold, `columns` text of the base64 alphabet."""
    scripts = {"vendor_script": _vendored("min.js"), "script": bundle()}
    styles = {"vendor_style": _vendored("min.css"), "style": _asset("page.css")}
    values = {
        "policy": _policy(list(scripts.values()), list(styles.values())),
        "version": __version__,
        "title": html.escape(title),
        "report": json_in_html(report),
        "columns": columns,
        **scripts,
        **styles,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], _asset("page.html"))


def json_in_html(value: object) -> str:
    """JSON that can stand in a script element: nothing in it ends that, or begins a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def bundle() -> str:
    """Our modules as one script, each in a scope of its own, what it imports before it."""
    ordered: dict[str, str] = {}
    _add_module(_ENTRY, ordered)
    return '"use strict";\nconst modules = {};\n' + "".join(ordered.values())


def _add_module(name: str, ordered: dict[str, str]) -> None:
    source = _asset(name)
    for found in _IMPORT.finditer(source):
        if found[2] not in ordered:
            _add_module(found[2], ordered)
    exported = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(_as_constants, source))
    ordered[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n'


def _as_constants(found: re.Match[str]) -> str:
    return f'const {{{found[1]}}} = modules["{found[2]}"];\n'


def _policy(scripts: list[str], styles: list[str]) -> str:
    """A policy that lets nothing be asked for, and only these scripts and styles be used."""
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


def _vendored(ending: str) -> str:
    """Libraries of others, without the mention of maps that are not here."""
    texts = (_asset(f"vendor/{name}.{ending}") for name in _VENDORED)
    return "\n".join(_SOURCE_MAP.sub("", text) for text in texts)


@cache
def _asset(name: str) -> str:
    text = _ASSETS.joinpath(*name.split("/")).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
