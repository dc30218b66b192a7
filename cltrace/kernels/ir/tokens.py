"""Tokens of a line of LLVM IR."""

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
    """A line of IR that cannot be read. Readers turn it into an error that names the source."""


def symbol_name(word: str) -> str:
    """Return the name of a symbol without its sigil and quotes, with escaped bytes decoded."""
    return decoded_text(word[1:].strip('"'))


def decoded_text(text: str) -> str:
    """Return text with its escapes, each of which is a byte of UTF-8, decoded.

    Bytes that are no UTF-8 become surrogates, as in the names of files.
    """
    if "\\" not in text:
        return text
    encoded = text.encode("utf-8", "surrogateescape")
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), encoded)
    return raw.decode("utf-8", "surrogateescape")


class Tokens:
    """The tokens of a line, read one after the other."""

    __slots__ = ("line", "position", "words")

    def __init__(self, line: str) -> None:
        self.line = line
        self.words: list[str] = _TOKEN.findall(line)
        self.position = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the token `ahead` of the next one without consuming it; "" beyond the end."""
        position = self.position + ahead
        return self.words[position] if position < len(self.words) else ""

    def take(self) -> str:
        """Consume and return the next token."""
        if self.position >= len(self.words):
            raise UnreadableError(f"the line ends early: {self.line.strip()}")
        word = self.words[self.position]
        self.position += 1
        return word

    def skip(self, word: str) -> bool:
        """Consume `word` if it is next, and return whether it was."""
        if self.peek() == word:
            self.position += 1
            return True
        return False

    def expect(self, word: str) -> None:
        """Consume `word`, which has to be next."""
        if not self.skip(word):
            raise UnreadableError(f"expected {word!r} before {self.peek()!r}: {self.line.strip()}")

    def skip_words(self, words: frozenset[str]) -> None:
        """Consume all of `words` that come next."""
        while self.peek() in words:
            self.position += 1

    def take_alignment(self) -> int:
        """Take the alignment of an access in bytes; 0 if there is none."""
        if self.peek() != "," or self.peek(1) != "align":
            return 0
        self.take()
        self.take()
        return int(self.take())

    def skip_any(self, words: frozenset[str]) -> frozenset[str]:
        """Consume all of `words` that come next, with any group in parentheses after each.

        Return those that were there.
        """
        skipped: list[str] = []
        while self.peek() in words:
            skipped.append(self.take())
            if self.peek() == "(":
                self.skip_group()
        return frozenset(skipped)

    def skip_group(self) -> None:
        """Consume a group in parentheses."""
        depth = 0
        while True:
            word = self.take()
            depth += (word == "(") - (word == ")")
            if depth == 0:
                return
