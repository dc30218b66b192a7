"""Files that a live page follows: a source and the headers that it includes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_INCLUDE: Final = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE
)
_MAX_FILES: Final = 1000
_MAX_BYTES: Final = 64 << 20


def included_files(file: Path, directories: Sequence[Path]) -> Sequence[Path]:
    """Return a source and the headers that it includes, directly or not, from some directories.

    Places where a header is missed are among them, as it may come to be there.
    """
    places = {file: None}
    pending = [file]
    while pending and len(places) < _MAX_FILES:
        including = pending.pop()
        for name in _included_names(including):
            for place in _places(name, including, file, directories):
                is_new = place not in places
                places[place] = None
                if place.is_file():
                    pending += [place] if is_new else []
                    break
    return list(places)


def _included_names(file: Path) -> Iterator[str]:
    try:
        if file.stat().st_size > _MAX_BYTES:
            return
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for match in _INCLUDE.finditer(text):
        yield match[1] or match[2]


def _places(
    name: str, including: Path, source: Path, directories: Sequence[Path]
) -> Iterator[Path]:
    """Yield the places at which an included file is looked for, in their order."""
    if including != source:
        yield including.parent / name
    for directory in directories:
        yield directory / name
