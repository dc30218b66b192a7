"""Lines of a source as its `#line` directives name them.

Code is compiled without these directives, so that each place is one of the source itself; reports name
the file and line that the directives state.
"""

import re
from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from typing import Final

from cltrace.kernels.compiler import SOURCE_NAME
from cltrace.kernels.events.annotations import blank_comments
from cltrace.kernels.ir.source_places import Place

_DIRECTIVE: Final = re.compile(
    r'^[ \t]*#[ \t]*(?:line[ \t]+)?(?P<line>\d{1,9})(?:[ \t]+"(?P<file>[^"\n]*)")?[^\n]*$',
    re.MULTILINE,
)
_MAX_SOURCES: Final = 8


class NamedLines:
    """The lines of a source with their names.

    Attributes:
        code: the source without its directives; its lines stay where they are.
        has_names: True if there are directives.
    """

    def __init__(self, source: str) -> None:
        parts: list[str] = []
        end = 0
        self._first: list[int] = [1]
        self._names: list[tuple[str, int]] = [(SOURCE_NAME, 1)]
        for match in _DIRECTIVE.finditer(blank_comments(source)):
            line = source.count("\n", 0, match.start()) + 2
            file = match["file"] if match["file"] is not None else self._names[-1][0]
            self._first.append(line)
            self._names.append((file, int(match["line"])))
            parts += [source[end : match.start()], " " * (match.end() - match.start())]
            end = match.end()
        self.code = "".join([*parts, source[end:]])
        self.has_names = len(self._first) > 1

    def place(self, file: str, line: int) -> tuple[str, int]:
        """Return the file and line by which a place of the program is named."""
        if file != SOURCE_NAME or line < 1:
            return file, line
        number = bisect_right(self._first, line) - 1
        name, first = self._names[number]
        return name, first + line - self._first[number]

    def text(self, place: Place) -> str:
        """Return the name of a place, with its file."""
        file, line = self.place(place.file, place.line)
        return str(replace(place, file=file, line=line))


@lru_cache(_MAX_SOURCES)
def named_lines(source: str) -> NamedLines:
    """Return the lines of a source."""
    return NamedLines(source)
