"""Writes the parts of the documentation that the code knows: flags, views, limits.

    python docs/generate.py            rewrite the pages
    python docs/generate.py --check    exit 1 and name the pages that are not in step

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import argparse
import re
import sys
from pathlib import Path

from cltrace.cli import make_verb_parser
from cltrace.commands import VERBS
from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.trace.limits import LIMITS
from cltrace.trace.schema import SCHEMA_VERSION
from cltrace.trace.views import VIEWS

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Rewrite or check the pages; the exit status."""
    parser = argparse.ArgumentParser(description="Bring the documentation in step with the code.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if needed")
    is_check = parser.parse_args().check
    stale = [page for page in pages() if page.read_text() != in_step(page)]
    for page in stale:
        print(page.relative_to(ROOT))
        if not is_check:
            page.write_text(in_step(page))
    return int(is_check and bool(stale))


def pages() -> list[Path]:
    """The pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def in_step(page: Path) -> str:
    """What a page should say."""
    return _PART.sub(lambda found: found[1] + part(found[2]) + found[3], page.read_text())


def part(name: str) -> str:
    """The text of a generated part."""
    match name:
        case "verbs":
            return table(
                ("verb", "what it does"),
                [(f"[`{verb}`](docs/{verb}.md)", one.summary) for verb, one in VERBS.items()],
            )
        case "views":
            return views()
        case "entry_points":
            rows = [(f"`{api.name}`", COMMAND_KINDS.get(api, "–")) for api in Api]
            return table(("entry point", "kind of command"), rows)
        case "limits":
            return table(
                ("limit", "what is not seen"), [(f"`{one.code}`", one.text) for one in LIMITS]
            )
        case _:
            return flags(name)


def views() -> str:
    """Every view with its columns."""
    parts = [f"Schema version {SCHEMA_VERSION}.\n"]
    for view in VIEWS:
        rows = [(f"`{column.name}`", column.description) for column in view.columns]
        parts.append(
            f"### `{view.name}`\n\n{view.description}\n\n{table(('column', 'description'), rows)}"
        )
    return "\n".join(parts)


def flags(verb: str) -> str:
    """The arguments of a verb."""
    verb, _, own = verb.partition("_")
    parser = make_verb_parser(verb)
    if own:
        parser = next(
            action.choices[own]
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
        )
    return table(("argument", "what it does"), _flag_rows(parser))


def _flag_rows(parser: argparse.ArgumentParser) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            rows += [(f"`{one.dest}`", one.help or "") for one in action._choices_actions]
            continue
        value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
        names = ", ".join(action.option_strings)
        words = " ".join(one for one in (names, str(value) if action.nargs != 0 else "") if one)
        help_text = (action.help or "").replace("%%", "%")
        rows.append((f"`{words}`", help_text))
    return rows


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    # A pipe ends a cell, inside of code too.
    escaped = (tuple(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


if __name__ == "__main__":
    sys.exit(main())
