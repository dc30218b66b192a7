"""Files that a program's source includes: their texts at the build, by the names that it uses."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

_DIRECTIVE: Final = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.+)$", re.MULTILINE)
_DEFINED_NAME: Final = re.compile(
    r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+("[^"\n]+"|<[^>\n]+>)', re.MULTILINE
)
_WRITTEN: Final = re.compile(r'"([^"]+)"|<([^>]+)>')
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_PATH: Final = re.compile(r"[^\s()\"<>,#]*[./][^\s()\"<>,#]*")
_MAX_EXPANSIONS: Final = 8
_MAX_FILES: Final = 1000
_MAX_BYTES: Final = 16 << 20


def find_included_files(
    source: str, options: str, headers: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the texts that `source` includes, directly and indirectly, by the name that it uses.

    `options` are the build's: `-I` names directories, `-D` macros that a directive may use instead of a
    name. `headers` are texts by name. They take precedence over files. All of them are in the result.

    A file that is found beside an including file is named relative to the latter's name: `y.h` beside
    `sub/x.h` is `sub/y.h`. A file that cannot be read is left out, and so is all beyond 1,000 files or
    16 MiB.
    """
    words = _words(options)
    searched = [Path(), *(Path(name) for name in _values(words, "-I"))]
    macros = dict(
        definition.partition("=")[::2]
        for definition in _values(words, "-D")
        if "=" in definition and "(" not in definition.partition("=")[0]
    )
    included: dict[str, str] = {}
    total_bytes = 0
    pending = [("", name) for name in (*_names(source, macros), *headers)]
    while pending and len(included) < _MAX_FILES and total_bytes < _MAX_BYTES:
        beside, plain = pending.pop()
        for name in dict.fromkeys([posixpath.normpath(posixpath.join(beside, plain)), plain]):
            if name in included:
                break
            text = headers[name] if name in headers else _read_first(searched, name)
            if text is not None:
                included[name] = text
                total_bytes += len(text)
                directory = posixpath.dirname(name)
                pending.extend((directory, other) for other in _names(text, macros))
                break
    return included


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError:
        return options.split()


def _values(words: Iterable[str], flag: str) -> Iterator[str]:
    """Yield the values of a flag, which are the rest of its word or the next word."""
    remaining = iter(words)
    for word in remaining:
        if word == flag:
            yield next(remaining, "")
        elif word.startswith(flag):
            yield word.removeprefix(flag).strip('"' if flag == "-I" else "")


def _names(text: str, macros: dict[str, str]) -> Iterator[str]:
    """Yield the names that a text's directives include. Its own macros that are names join `macros`."""
    macros.update(_DEFINED_NAME.findall(text))
    for operand in _DIRECTIVE.findall(text):
        expanded = operand
        for _ in range(_MAX_EXPANSIONS):
            if _WRITTEN.match(expanded):
                break
            expanded = _IDENTIFIER.sub(lambda found: macros.get(found[0], found[0]), expanded)
        written = _WRITTEN.search(expanded)
        if written:
            yield written[1] or written[2]
        else:
            yield from _PATH.findall(expanded)


def _read_first(directories: Iterable[Path], name: str) -> str | None:
    for directory in directories:
        path = directory / name
        try:
            if path.is_file() and path.stat().st_size <= _MAX_BYTES:
                return path.read_text(errors="replace")
        except (OSError, ValueError):
            continue
    return None
