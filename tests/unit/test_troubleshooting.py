"""The messages that the page on troubleshooting quotes are those of the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text(), re.MULTILINE)
MIN_LETTERS = 9
"""Letters that a text of the code needs to say which message it is."""


def patterns_of(tree: ast.AST) -> Iterator[str]:
    """Yield each text of a module as a regular expression, with values as wildcards."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(part.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
                else ".*"
                for part in node.values
            ]
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub("%[sdr]", ".*", re.escape(node.value))


def letters_of(pattern: str) -> int:
    return len(re.findall(r"[A-Za-z]", re.sub(r"\\.|\.\*", "", pattern)))


@pytest.fixture(scope="module")
def patterns() -> list[re.Pattern[str]]:
    texts = {
        text.replace("`", "")
        for path in (ROOT / "cltrace").rglob("*.py")
        for text in patterns_of(ast.parse(path.read_text()))
        if "\n" not in text
    }
    return [re.compile(text) for text in sorted(texts) if letters_of(text) >= MIN_LETTERS]


def find_code(message: str, patterns: list[re.Pattern[str]]) -> bool:
    """Whether the code has the message, whole or up to what another text adds."""
    text = message.removeprefix("warning: ").removeprefix("--layer on: ")
    return any(pattern.match(text) for pattern in patterns)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_code_has_a_quoted_message(message: str, patterns: list[re.Pattern[str]]) -> None:
    assert find_code(message, patterns)


@pytest.mark.parametrize(
    "message",
    ["app.cltrace is there already: -f overwrites it", "no traced process imported pyopenCL", ""],
)
def test_another_wording_is_noticed(message: str, patterns: list[re.Pattern[str]]) -> None:
    assert not find_code(message, patterns)


def test_every_message_has_a_cause() -> None:
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert len(sections) == len(MESSAGES) >= 30
    for section in sections:
        assert "\nCause: " in section, section
