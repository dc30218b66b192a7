"""Conditions of branches in the source: their texts, and the negations around them.

clang has no instruction for a `!` in the condition of an `if`: it swaps the targets of the branch. The
source tells whether the branch is taken where the condition, as written, is true.
"""

import re
from typing import Final

_NEAR: Final = 64
"""Bytes before a parenthesis among which its negations are looked for."""
_MEMBERS: Final = 512
"""Bytes before an operand among which the objects that it is a member of are looked for."""
_STATEMENT: Final = re.compile(r"(?:for|while|do|if|switch)\b")
_STOPS: Final = frozenset(b";{},?:")


class SourceConditions:
    """A source in which conditions are found by their places. Comments are blank."""

    def __init__(self, code: str) -> None:
        self._code = code.encode("utf-8", "surrogateescape")
        self._begins = [0]
        for match in re.finditer(rb"\n", self._code):
            self._begins.append(match.end())

    def is_negated(self, line: int, column: int) -> bool:
        """Return True if an odd number of `!` stands before the condition at a place, in bytes from 1."""
        at = self._position(line, column)
        if at is None:
            return False
        return (self._negations_of_operand(at) + self._negations_around(at)) % 2 == 1

    def text(self, line: int, column: int) -> str:
        """Return the condition whose operator, or begin, is at a place; "" if there is none.

        It begins with `!` where negations around it make the opposite decide.
        """
        at = self._position(line, column)
        if at is None:
            return ""
        begin, end = self._begin_of(at), self._end_of(at)
        words = self._code[begin:end].decode("utf-8", "replace").split()
        text = " ".join(words).removeprefix("return ")
        if _STATEMENT.match(text):
            return ""
        if not self.is_negated(line, column):
            return text
        own = text.lstrip("!")
        return f"!{own}" if re.fullmatch(r"\w+", own) else f"!({own})"

    def _position(self, line: int, column: int) -> int | None:
        """Return the position of a place, in bytes; None if the source has no such place."""
        if not 1 <= line <= len(self._begins):
            return None
        at = self._begins[line - 1] + column - 1
        return at if 0 <= at < len(self._code) else None

    def _begin_of(self, at: int) -> int:
        """Return the begin of the operand of `&&`, `||`, or of parentheses, that a position is in."""
        return self._edge(range(at - 1, -1, -1), b")(", -1) + 1

    def _end_of(self, at: int) -> int:
        return self._edge(range(at, len(self._code)), b"()", len(self._code))

    def _edge(self, positions: range, parentheses: bytes, default: int) -> int:
        """Return the first position that is outside of an operand, `default` if none is.

        `parentheses` are those that begin and end an inner part in the order of the positions.
        """
        begin, end = parentheses
        depth = 0
        for position in positions:
            sign = self._code[position]
            depth += (sign == begin) - (sign == end)
            if depth < 0 or (not depth and self._ends_operand(position)):
                return position
        return default

    def _ends_operand(self, position: int) -> bool:
        """Return True for a sign that stands between the conditions of a statement."""
        sign = self._code[position]
        is_logical = self._code[position : position + 1] * 2 in (
            self._code[position : position + 2],
            self._code[position - 1 : position + 1],
        )
        return sign in _STOPS or (sign in b"&|" and is_logical) or self._is_assignment(position)

    def _negations_around(self, at: int) -> int:
        """Return the number of `!` before the parentheses around a position, within its statement."""
        count = depth = 0
        for position in range(at - 1, -1, -1):
            sign = self._code[position]
            if sign == ord(")"):
                depth += 1
            elif sign == ord("(") and depth:
                depth -= 1
            elif sign == ord("("):
                before = self._code[max(position - _NEAR, 0) : position].rstrip()
                if re.search(rb"\w$", before[-1:]):  # a call, or the statement's own parenthesis
                    break
                count += _trailing_negations(before)
            elif not depth and (sign in _STOPS or self._is_assignment(position)):
                break
        return count

    def _negations_of_operand(self, at: int) -> int:
        """Return the number of `!` before the operand that begins, or has its member, at a position."""
        if not re.match(rb"[\w(*&~]|!(?!=)", self._code[at : at + 2]):
            return 0  # an operator: a sign before its operand is not one before the condition
        before = self._code[max(at - _MEMBERS, 0) : at].rstrip()
        while match := re.search(rb"(?:\.|->)$", before):
            before = before[: match.start()].rstrip()
            before = re.sub(rb"(?:\w+|\[[^\[\]]*\]|\([^()]*\))$", b"", before).rstrip()
        own = re.match(rb"(?:!(?!=)\s*)+", self._code[at:])
        return _trailing_negations(before) + (own[0].count(b"!") if own else 0)

    def _is_assignment(self, position: int) -> bool:
        around = self._code[max(position - 1, 0) : position + 2]
        return (
            around[-2:-1] == b"="
            and around[-1:] != b"="
            and around[:1] not in {b"=", b"!", b"<", b">"}
        )


def _trailing_negations(text: bytes) -> int:
    """Return the number of `!` at the end of a text."""
    count = 0
    while text.endswith(b"!"):
        count += 1
        text = text[:-1].rstrip()
    return count
