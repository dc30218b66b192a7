"""`cltrace help`: show a page of the documentation in the terminal, offline."""

import argparse
import pydoc
import re
import sys
from importlib.resources.abc import Traversable
from typing import Final

from rich.console import Console
from rich.markdown import Markdown

from cltrace.commands.shared.guide_pages import find_pages
from cltrace.errors import UsageError
from cltrace.report.formats.screen_text import ascii_text
from cltrace.report.formats.terminal import is_ascii_only
from cltrace.similar_names import suggest_name

_COMMENT: Final = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_IMAGE: Final = re.compile(r"^!\[.*\n?", re.MULTILINE)
_LINK: Final = re.compile(r"(?<!\w)\[([^\]]+)\]\([^)]+\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of `help`."""
    parser.add_argument(
        "topic", nargs="?", metavar="TOPIC", help="show this topic or verb (default: list topics)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Show a topic, or list all. Raises: `UsageError` for an unknown topic."""
    pages = find_pages()
    if arguments.topic is None:
        text = list_topics(pages)
    elif arguments.topic in pages:
        text = pages[arguments.topic].read_text(encoding="utf-8")
    else:
        raise UsageError(_unknown_topic(arguments.topic, pages))
    _show(text, arguments.color)
    return 0


def list_topics(pages: dict[str, Traversable]) -> str:
    """Return a list of topics with the titles of their pages, as Markdown."""
    lines = ["# Topics", ""]
    for topic, page in pages.items():
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- **{topic}**: {title}")
    return "\n".join([*lines, "", "`cltrace help TOPIC` shows a topic."])


def _unknown_topic(topic: str, pages: dict[str, Traversable]) -> str:
    way_out = suggest_name(topic, pages) or ": `cltrace help` lists the topics"
    return f"there is no topic {topic!r}{way_out}"


def _show(text: str, color: str) -> None:
    """Print Markdown, through the pager if the output is a terminal.

    Links lead to files that a terminal cannot open, so only their words are left.
    """
    plain = _LINK.sub(r"\1", _IMAGE.sub("", _COMMENT.sub("", text)))
    is_colored = {"always": True, "never": False}.get(color)
    console = Console(
        force_terminal=is_colored,
        no_color=is_colored is False,
        color_system="auto",
        highlight=False,
    )
    with console.capture() as capture:
        console.print(Markdown(plain))
    output = "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    if is_ascii_only(sys.stdout.encoding):
        output = ascii_text(output)
    if sys.stdout.isatty():
        pydoc.pager(output)
    else:
        sys.stdout.write(output)
