"""Generator of the parts of the documentation that follow from the code: flags, views, limits.

    python docs/generate.py            rewrite the pages
    python docs/generate.py --check    exit 1 and name the pages that are out of date

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from cltrace.cli import make_verb_parser
from cltrace.commands import VERBS
from cltrace.commands.shared.defaults import ONLY_TRUSTED, ONLY_TRUSTED_OF
from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.kernels.events.tables import TABLES
from cltrace.trace.limits import LIMITS
from cltrace.trace.schema import SCHEMA_VERSION
from cltrace.trace.views import VIEWS

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


_OUTPUTS = {
    "advice": ("timeline", "two-devices.cltrace"),
    "devices_kernels": ("summary", "two-devices.cltrace", "--table", "kernels_by_device"),
    "devices_queues": ("summary", "two-devices.cltrace", "--by", "queue", "--table", "by_queue"),
    "devices_memory": ("summary", "two-devices.cltrace", "--table", "memory_by_device"),
}
"""Generated outputs by name: the verb, the trace, and flags."""

_PARAGRAPHS = {"advice": ("Advice", "1 ")}
"""Beginnings of the paragraphs that a generated output shows; of the others all."""


def main() -> int:
    """Rewrite or check the pages. Return the exit status."""
    parser = argparse.ArgumentParser(description="Update the generated parts of the documentation.")
    parser.add_argument(
        "--check", action="store_true", help="change no page; exit 1 if one is out of date"
    )
    is_check = parser.parse_args().check
    stale = [page for page in pages() if page.read_text() != updated(page)]
    for page in stale:
        print(page.relative_to(ROOT))
        if not is_check:
            page.write_text(updated(page))
    return int(is_check and bool(stale))


def pages() -> list[Path]:
    """Return the pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def updated(page: Path) -> str:
    """Return the text of a page with its generated parts up to date."""
    return _PART.sub(lambda match: match[1] + part(match[2]) + match[3], page.read_text())


def part(name: str) -> str:
    """Return the text of a generated part."""
    match name:
        case "verbs":
            return table(
                ("verb", "purpose"),
                [(f"[`{name}`](docs/{name}.md)", verb.summary) for name, verb in VERBS.items()],
            )
        case "views" | "event_tables":
            return views() if name == "views" else event_tables()
        case "entry_points" | "limits":
            return codes(name)
        case "only_trusted" | "only_trusted_of":
            return refused_settings(name)
        case _ if name in _OUTPUTS:
            return output(*_OUTPUTS[name], beginnings=_PARAGRAPHS.get(name, ("",)))
        case _:
            return flags(name)


def refused_settings(name: str) -> str:
    """Return the options that a file does not set: those of all verbs, or a table of those of some."""
    if name == "only_trusted":
        return f"{_names(ONLY_TRUSTED)}\n"
    rows = [(f"`{' '.join(words)}`", _names(names)) for words, names in ONLY_TRUSTED_OF.items()]
    return table(("verb", "options"), rows)


def _names(options: Collection[str]) -> str:
    return ", ".join(f"`--{option}`" for option in sorted(options))


def codes(name: str) -> str:
    """Return the table of entry points, or that of limits."""
    if name == "entry_points":
        rows = [(f"`{api.name}`", COMMAND_KINDS.get(api, "–")) for api in Api]
        return table(("entry point", "kind of command"), rows)
    return table(
        ("limit", "missing from the trace"), [(f"`{limit.code}`", limit.text) for limit in LIMITS]
    )


def output(*words: str, beginnings: tuple[str, ...]) -> str:
    """Return a command with what it prints on a terminal of 80 columns, for a trace of the tests.

    Paragraphs with other beginnings are left out, with … at the end.
    """
    verb, trace, *flags = words
    done = subprocess.run(
        [sys.executable, "-m", "cltrace", verb, str(ROOT / "tests" / "data" / trace), *flags],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
    )
    paragraphs = done.stdout.split("\n\n")
    shown = [paragraph for paragraph in paragraphs if paragraph.startswith(beginnings)]
    lines = [f"$ cltrace {verb} app.cltrace {' '.join(flags)}", *"\n\n".join(shown).splitlines()]
    if len(shown) < len(paragraphs):
        lines.append("…")
    return "".join(f"    {line}".rstrip() + "\n" for line in lines)


def views() -> str:
    """Return every view with its columns."""
    parts = [f"Schema version {SCHEMA_VERSION}.\n"]
    for view in VIEWS:
        rows = [(f"`{column.name}`", column.description) for column in view.columns]
        parts.append(
            f"### `{view.name}`\n\n{view.description}\n\n{table(('column', 'description'), rows)}"
        )
    return "\n".join(parts)


def event_tables() -> str:
    """Return every table of a file of events with its columns."""
    parts = [
        f"### `{item.name}`: {item.description}\n\n"
        + table(("column", "meaning"), [(f"`{name}`", text) for name, text in item.columns.items()])
        for item in TABLES
    ]
    return "\n".join(parts)


def flags(verb: str) -> str:
    """Return the arguments of a verb, or of its action: `power` or `power_list`."""
    verb, _, action_name = verb.partition("_")
    parser = make_verb_parser(verb)
    if action_name:
        parser = next(
            action.choices[action_name]
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
        )
    return table(("argument", "effect"), _flag_rows(parser))


def _flag_rows(parser: argparse.ArgumentParser) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            rows += [(f"`{choice.dest}`", choice.help or "") for choice in action._choices_actions]
            continue
        value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
        names = ", ".join(action.option_strings)
        shown_value = str(value) if action.nargs != 0 else ""
        words = " ".join(filter(None, (names, shown_value)))
        help_text = (action.help or "").replace("%%", "%")
        rows.append((f"`{words}`", help_text))
    return rows


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    # A pipe ends a cell, even inside code.
    escaped = (tuple(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


if __name__ == "__main__":
    sys.exit(main())
