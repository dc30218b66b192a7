"""The words of a line of LLVM IR."""

import re
from typing import Final

_TOKEN: Final = re.compile(
    r'"[^"]*"'
    r'|[%@$](?:"[^"]*"|[-\w.$]+)'
    r"|!(?:[\w.]+)?"
    r"|f?0x[HKLMR]?[0-9A-Fa-f]+"
    r"|-?\d+(?:\.\d+(?:[eE][-+]?\d+)?)?"
    r"|[-\w.$]+"
    r"|\S"
)


class UnreadableError(Exception):
    """A line of IR that is not understood. Readers turn it into an error that names the source."""


def symbol_name(word: str) -> str:
    """The name of a symbol: without its sign and quotes, bytes that are escaped in them decoded."""
    name = word[1:].strip('"')
    if "\\" not in name:
        return name
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), name.encode())
    return raw.decode("utf-8", "surrogateescape")


class Tokens:
    """A line's words, read one after the other."""

    __slots__ = ("line", "position", "words")

    def __init__(self, line: str) -> None:
        self.line = line
        self.words: list[str] = _TOKEN.findall(line)
        self.position = 0

    def peek(self, ahead: int = 0) -> str:
        """The next word, or an empty one at the end."""
        position = self.position + ahead
        return self.words[position] if position < len(self.words) else ""

    def take(self) -> str:
        """The next word, and go past it."""
        if self.position >= len(self.words):
            raise UnreadableError(f"the line ends early: {self.line.strip()}")
        word = self.words[self.position]
        self.position += 1
        return word

    def skip(self, word: str) -> bool:
        """Go past `word` if it comes next, and say whether it did."""
        if self.peek() == word:
            self.position += 1
            return True
        return False

    def expect(self, word: str) -> None:
        """Go past `word`, which has to come next."""
        if not self.skip(word):
            raise UnreadableError(f"expected {word!r} before {self.peek()!r}: {self.line.strip()}")

    def skip_words(self, words: frozenset[str]) -> None:
        """Go past all of `words` that come next."""
        while self.peek() in words:
            self.position += 1

    def skip_any(self, words: frozenset[str]) -> None:
        """Go past all of `words` that come next, with what they have in parentheses."""
        while self.peek() in words:
            self.position += 1
            if self.peek() == "(":
                self.skip_group()

    def skip_group(self) -> None:
        """Go past a group in parentheses."""
        depth = 0
        while True:
            word = self.take()
            depth += (word == "(") - (word == ")")
            if depth == 0:
                return
