"""Documents as one static page for the browser: text, tables and pictures, no scripts."""

import base64
import hashlib
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.report.document import Document, Table, Value
from cltrace.report.quantities import value_text
from cltrace.report.untrusted_text import escape_controls
from cltrace.version import __version__

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2129; --soft: #5b6472; --line: #d9dde3; --back: #fff; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e4e7ec; --soft: #9aa3b2; --line: #353b46; --back: #15181d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back);
  max-width: 72rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.5rem; margin: 2rem 0 .6rem; } h2 { font-size: 1.1rem; margin: 1.8rem 0 .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
div.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; text-align: left; }
.n { text-align: right; } td.n { white-space: nowrap; }
p.note, footer { color: var(--soft); } img { max-width: 100%; height: auto; background: #fff; }
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture of a page: an SVG, and a title that describes it."""

    title: str
    svg: bytes


def plain_page(title: str, documents: Sequence[Document], pictures: Sequence[Picture] = ()) -> str:
    """Return the whole page. It fetches nothing, and its policy forbids all scripts."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = [_picture(picture) for picture in pictures]
    parts += [part for document in documents for part in _document(document)]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_escape(title)}</title>",
            f"<style>{_STYLE}</style></head>",
            f"<body><h1>{_escape(title)}</h1>",
            *parts,
            f"<footer><p>made by cltrace {__version__}</p></footer></body></html>\n",
        ]
    )


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.svg).decode("ascii")
    title = _escape(picture.title)
    return f'<h2>{title}</h2><img alt="{title}" src="data:image/svg+xml;base64,{data}">'


def _document(document: Document) -> Iterator[str]:
    if document.title:
        yield f"<h1>{_escape(document.title)}</h1>"
    if document.facts:
        facts = (
            f"<dt>{_escape(fact.label)}</dt><dd>{_escape(fact.text)}</dd>"
            for fact in document.facts
        )
        yield f"<dl>{''.join(facts)}</dl>"
    for table in document.tables:
        if table.rows or table.why_empty:
            yield from _table(table)
    for note in document.notes:
        yield f'<p class="note">{_escape(note)}</p>'


def _table(table: Table) -> Iterator[str]:
    yield f"<h2>{_escape(table.title)}</h2>"
    if not table.rows:
        yield f'<p class="note">{_escape(table.why_empty)}</p>'
        return
    kinds = ["" if column.unit.is_text else ' class="n"' for column in table.columns]
    heads = (
        f"<th{kind}>{_escape(column.header)}</th>"
        for kind, column in zip(kinds, table.columns, strict=True)
    )
    yield f'<div class="wide"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>'
    for row in table.rows:
        yield f"<tr>{''.join(_cells(table, kinds, row))}</tr>"
    yield "</tbody></table></div>"
    if note := table.note_with(table.columns):
        yield f'<p class="note">{_escape(note)}</p>'


def _cells(table: Table, kinds: Sequence[str], row: Sequence[Value]) -> Iterator[str]:
    for kind, column, value in zip(kinds, table.columns, row, strict=True):
        yield f"<td{kind}>{_escape(value_text(value, column.unit))}</td>"


def _escape(text: str) -> str:
    return html.escape(escape_controls(text))
